"""``llpgan compare``."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from llpgan.bags import Bags
from llpgan.bags.on_disk import is_stored
from llpgan.cli.fit import (
    collect_fit_report,
    describe_bags,
    describe_origin,
    list_inputs,
    read_labels,
    refuse_idle_names,
    summary_line,
    train_method,
)
from llpgan.cli.main import make_console
from llpgan.cli.options import passes_on
from llpgan.evaluation.compare import (
    OVERALL,
    Comparison,
    Row,
    as_markdown,
    as_table,
    candidates,
    check_comparison,
    default_candidates,
    run_trial,
)
from llpgan.evaluation.compare import compare as compare_methods
from llpgan.evaluation.explain import fewer_rows
from llpgan.evaluation.splitters import WithinBagKFold
from llpgan.methods.base import LLPClassifier
from llpgan.persistence import save
from llpgan.persistence.model import MODEL_FOLDER
from llpgan.report import ComparisonDisplay, comparison_page
from llpgan.report.page import saved_pages
from llpgan.tables import TableSpec
from llpgan.tables.build import read_bags
from llpgan.utils.files import (
    check_endings,
    claim_folder,
    output_if_named,
    refuse_input,
    refuse_same_outputs,
    refuse_within,
    remove_leftovers,
    replace_file,
)
from llpgan.utils.messages import format_seconds

_MARK = "written by llpgan compare"


@passes_on(Bags.from_tables, "instances")
def compare(
    data: str,
    *,
    methods: list[LLPClassifier] | None = None,
    label_names: Sequence[str] = (),
    cv: int = 5,
    inside: bool = False,
    score: str = "cross_entropy",
    prefer_simple: bool = False,
    random_state: int = 0,
    n_jobs: int = 1,
    time_limit: float | None = None,
    out: str = "comparison",
    html: str | None = None,
    report: bool = True,
    overwrite: bool = False,
    **tables: Any,
) -> Comparison:
    """Compare methods on held-out bags, and save the selected one, trained on all bags, with a report.

    An interrupted comparison continues: the same command in the same folder runs only the folds that are missing.

    Parameters
    ----------
    data : str
        A table of rows (.csv, .csv.gz, .parquet), a folder with one folder of images per bag, or an .npz file.
    methods : list of LLPClassifier, default=None
        The names of the methods, such as MeanMap,LLPGAN. With settings, they are a list of class_path and
        init_args in a config file. Networks such as DLLP and LLPGAN take minutes, and AlterSVM and ConvSVM are for
        few rows. None means the methods that take seconds, among them AutoLLP, and for images DLLP too.
    label_names : sequence of str, default=()
        The class of each value of the label, in the sorted order of the values, if they have other names.
    cv : int, default=5
        The number of parts into which the bags are divided. Each is held out once.
    inside : bool, default=False
        Divide the rows of each bag instead, which suits few large bags.
    score : str, default="cross_entropy"
        The score of held-out bags: cross_entropy, total_variation or hard_total_variation.
    prefer_simple : bool, default=False
        Select the simplest method within one standard error of the best. Otherwise AutoLLP is selected if it is
        within two of the best, else the best.
    random_state : int, default=0
        The seed of folds and methods. The same seed gives the same folds, scores and model.
    n_jobs : int, default=1
        The number of processes. -1 means one per core.
    time_limit : float, default=None
        The maximum number of seconds of one fit. A method that takes longer is left out.
    out : str, default="comparison"
        The folder for the rows, the table, the picture and the model.
    html : str, default=None
        A file (.html) for a page on the comparison.
    report : bool, default=True
        Whether to write a report on the model.
    overwrite : bool, default=False
        Replace a model and a page that are there.
    **tables : dict
        The parameters of Bags.from_tables.

    Examples
    --------
    llpgan compare people.csv --bag state --proportions results.csv --methods MeanMap,BagLogistic
    """
    refuse_idle_names(label_names, tables)
    folder, inputs = Path(out), list_inputs(data, tables)
    if cv < 2:
        raise ValueError(f"--cv must be a number of folds from 2 on, got {cv}")
    check_comparison(score, n_jobs, time_limit)
    if methods is not None:
        candidates(methods, random_state)
    spec = TableSpec(**tables)
    refuse_within(html, folder / "model", "html")
    with (
        claim_folder(folder / "model", MODEL_FOLDER, overwrite=overwrite, inputs=inputs),
        output_if_named(html, overwrite=overwrite, inputs=inputs) as page,
    ):
        for path in (folder / "rows.jsonl", *_results(folder)):
            refuse_same_outputs({"html": html, "out": path})
        check_endings(html=(html, ".html"))
        for path in _results(folder):
            _refuse_others(path)
            refuse_input(path, inputs)
            remove_leftovers(path, only_writer=True)
        console = make_console(stderr=True)
        bags, kept = read_bags(data, spec)
        console.print(f"{data}: {describe_bags(bags)}")
        console.print(describe_origin(data, bags, tables))
        path_of_rows = folder / "rows.jsonl"
        rows_before = path_of_rows.read_bytes() if path_of_rows.is_file() else None
        tried = list(candidates(methods or default_candidates(bags), random_state).values())
        console.print(f"Comparing {len(tried)} methods on {cv} folds{_describe_length(tried, bags, cv, n_jobs)}")
        found = compare_methods(
            bags,
            methods,
            cv=WithinBagKFold(cv, random_state=random_state) if inside else cv,
            score=score,
            prefer_simple=prefer_simple,
            random_state=random_state,
            n_jobs=n_jobs,
            rows=path_of_rows,
            time_limit=time_limit,
            listener=_progress(console, score, cv),
        )
        if not found.methods_with_scores:
            _put_back(path_of_rows, rows_before)
        chosen = found.chosen  # an error if there is none
        make_console().print(as_table(found))
        _write_comparison(found, folder)
        if page is not None:
            title, origin = f"Comparison on {Path(data).name}", describe_origin(data, bags, tables)
            page.write_text(comparison_page(title, origin, found), encoding="utf-8")
        _print_doubt(console, found)
        console.print(f"Training {chosen} on all bags ...")
        model, seconds = train_method(found.methods[chosen], bags, random_state)
        story = None
        if report:
            labels = read_labels(kept, tables.get("label"), model, bags, label_names)
            origin = describe_origin(data, bags, tables)
            story = collect_fit_report(model, bags, data, labels, origin, table=kept)
        save(model, folder / "model", overwrite=overwrite, pages=saved_pages(model, story))
        console.print(summary_line(model, bags, seconds, story))
        written = [folder / "model", *_results(folder), path_of_rows, *([] if html is None else [Path(html)])]
        console.print(f"saved {', '.join(map(str, written))}")
        return found


_FEW_ROWS, _MORE_ROWS = 1_000, 3_000


def _describe_length(methods: Sequence[LLPClassifier], bags: Bags, folds: int, n_jobs: int) -> str:
    """About how long a comparison takes, by fits to some of the rows."""
    n_rows = len(bags.instances)
    if n_rows < _FEW_ROWS or is_stored(bags.instances):
        return ""
    rng, seconds = np.random.default_rng(0), 0.0
    samples = [fewer_rows(bags, n, rng) for n in (min(_FEW_ROWS, n_rows // 6), min(_MORE_ROWS, n_rows // 2))]
    sizes = [len(sample.instances) for sample in samples]
    for method in methods:
        few, more = (
            run_trial(method, sample, np.arange(n), np.arange(n))["seconds"]
            for sample, n in zip(samples, sizes, strict=True)
        )
        growth = max(0.0, more - few) / max(1, sizes[1] - sizes[0])
        seconds += more + growth * (n_rows * (1 - 1 / folds) - sizes[1])
    n_processes = min(folds * len(methods), os.cpu_count() or 1 if n_jobs == -1 else n_jobs)
    return f"; this takes about {format_seconds(seconds * folds / n_processes)}"


def _put_back(path: Path, before: bytes | None) -> None:
    """Leave a file as it was; None if there was none."""
    if before is None:
        path.unlink()
        return
    with replace_file(path) as aside:
        aside.write_bytes(before)


def _progress(console: Console, score: str, folds: int) -> Callable[[Row], None]:
    """One line per trial, with the time that later folds of the methods so far will take one after the other."""
    seconds: dict[str, float] = {}

    def show(row: Row) -> None:
        name, fold = row["method"], row["fold"] + 1
        if name == OVERALL:
            return
        seconds[name] = row["seconds"]
        result = row.get("failed") or f"{score.replace('_', ' ')} {sum(row[score]) / len(row[score]):.4f}"
        left = format_seconds(sum(seconds.values()) * (folds - fold))
        rest = f"; {left} left for later folds" if 1 < fold < folds else ""
        console.print(f"fold {fold} of {folds}, {name}: {result}; {row['seconds']:.1f} s{rest}")

    return show


def _results(folder: Path) -> list[Path]:
    """The table and the picture, in two formats."""
    return [folder / f"comparison.{ending}" for ending in ("md", "svg", "png")]


def _refuse_others(path: Path) -> None:
    """Refuse to replace a file of that name that no comparison wrote."""
    if os.path.lexists(path) and not (path.is_file() and _MARK.encode() in path.read_bytes()):
        raise FileExistsError(
            f"{path} was not written by llpgan compare and will not be replaced: move it, or name another folder"
        )


def _write_comparison(found: Comparison, folder: Path) -> None:
    """The results, with a mark by which the next comparison knows that it may replace them."""
    table, svg, png = _results(folder)
    for path in (table, svg, png):
        _refuse_others(path)
    with replace_file(table) as aside:
        aside.write_text(f"{as_markdown(found)}\n<!-- {_MARK} -->\n", encoding="utf-8")
    judged = [result for result in found.results if result.score is not None]
    figure = Figure(figsize=(7, 1.2 + 0.4 * len(judged)), layout="constrained")
    ComparisonDisplay.from_comparison(found, ax=figure.add_subplot())
    for path, field in ((svg, "Creator"), (png, "Software")):
        with replace_file(path) as aside:
            figure.savefig(aside, metadata={field: _MARK})


def _print_doubt(console: Console, found: Comparison) -> None:
    if not found.beats_overall_shares:
        console.print(
            f"{found.chosen} does not match new bags better than the overall shares do, beyond chance: "
            f"these bags may be uninformative about single rows"
        )
