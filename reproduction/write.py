"""What an experiment leaves: a table as Markdown and CSV, a figure as SVG and PNG, made from rows alone."""

from collections.abc import Iterable
from pathlib import Path

from llpgan.utils.files import replace_file
from reproduction.outputs import Table, save_figure
from reproduction.registry import Experiment
from reproduction.run import Row, make_results


def write_outputs(name: str, experiment: Experiment, rows: Iterable[Row], folder: Path) -> Table:
    """Write ``name`` .md, .csv, .svg and .png into the folder, and give the table."""
    results = make_results(rows)
    if not results:
        raise ValueError(f"there are no rows of {name} yet: let it run, or look for them in another folder (out)")
    table = experiment.table(results)
    page = f"{table.as_markdown()}\n![{table.title}]({name}.svg)\n"
    for ending, text in (("md", page), ("csv", table.as_csv())):
        with replace_file(folder / f"{name}.{ending}") as aside:
            aside.write_text(text, encoding="utf-8")
    save_figure(experiment.figure(results), folder / name)
    return table
