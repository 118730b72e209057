"""What an experiment leaves: a table as Markdown and CSV, a figure as SVG and PNG, made from rows alone."""

from collections.abc import Iterable
from pathlib import Path

from llpgan.data.experiments.cell_measuring import Row
from llpgan.data.experiments.cell_results import results_of
from llpgan.data.experiments.figures import save_figure
from llpgan.data.experiments.markdown_tables import Table
from llpgan.data.experiments.registry import Experiment
from llpgan.utils.atomic_files import whole_file


def write_outputs(name: str, experiment: Experiment, rows: Iterable[Row], folder: Path) -> Table:
    """Write ``name`` .md, .csv, .svg and .png into the folder, and give the table."""
    results = results_of(rows)
    if not results:
        raise ValueError(f"there are no rows of {name} yet: let it run, or look for them in another folder (out)")
    table = experiment.table(results)
    page = f"{table.as_markdown()}\n![{table.title}]({name}.svg)\n"
    for ending, text in (("md", page), ("csv", table.as_csv())):
        with whole_file(folder / f"{name}.{ending}") as aside:
            aside.write_text(text, encoding="utf-8")
    save_figure(experiment.figure(results), folder / name)
    return table
