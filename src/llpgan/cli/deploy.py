"""``llpgan conformalize``, ``monitor`` and ``suggest``: a model in use."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
from rich.table import Table

from llpgan.bags import Bags
from llpgan.cli.evaluate import score_on_bags
from llpgan.cli.fit import BAG_OPTIONS, list_inputs, load_model, open_model_rows, read_instances
from llpgan.cli.main import make_console, make_visible
from llpgan.cli.options import passes_on
from llpgan.evaluation import MonitorReport, PredictionSets, read_history, suggest_labels
from llpgan.evaluation import monitor as compare_with_reference
from llpgan.evaluation.sets import SetLevel
from llpgan.methods.base import LLPClassifier
from llpgan.persistence import save
from llpgan.persistence.model import CARD, MODEL_FOLDER, REPORT, SETS_PAGE, files_of_model
from llpgan.report import monitor_page
from llpgan.report.text import format_percent, format_percent_interval
from llpgan.tables import Rows, TableSpec, shared_bags
from llpgan.tables.columns import plain_values
from llpgan.utils.arrays import check_between_0_and_1
from llpgan.utils.files import (
    check_endings,
    claim_folder,
    output_file,
    output_if_named,
    refuse_input,
)


@passes_on(Bags.from_tables, only=BAG_OPTIONS)
def conformalize(
    model: str,
    data: str,
    *,
    weight: str | None = None,
    score: Literal["probability", "cumulative"] = "probability",
    by_class: bool = False,
    worst_case: bool = False,
    recalibrate: Literal["temperature", "vector", "isotonic"] | None = None,
    random_state: int = 0,
    image: str | None = None,
    resize: bool = False,
    out: str | None = None,
    overwrite: bool = False,
    **tables: Any,
) -> PredictionSets:
    """Add prediction sets to a saved model, from bags that it was not trained on.

    The bags must have been drawn at random. Then ``llpgan predict --coverage 0.9`` writes a set of classes for
    each row that contains the right one with a probability of 90 %.

    Parameters
    ----------
    model : str
        The folder of a saved model.
    data : str
        A file like that of the training, with rows of held-out bags.
    weight : str, default=None
        The column that says how much each row counts, such as survey weights. None means the one that
        ``llpgan fit`` learned with, if any.
    score : {"probability", "cumulative"}, default="probability"
        probability gives the smallest sets; cumulative gives larger sets to rows that are hard to classify.
    by_class : bool, default=False
        Whether to reach the coverage for the rows of each predicted class, instead of all rows together.
    worst_case : bool, default=False
        Whether to use a bound on the coverage that holds for bags that are not random; the sets are larger.
    recalibrate : {"temperature", "vector", "isotonic"}, default=None
        Correct the probabilities first, with every second bag; the others are used for the sets. None means that
        the probabilities stay as they are.
    random_state : int, default=0
        The seed of the tests of randomness.
    image : str, default=None
        The column that holds the paths of images. None means the same name as in the training.
    resize : bool, default=False
        Resize images to the size of the training images.
    out : str, default=None
        The folder for the new model. None means that the given one is replaced, which needs ``--overwrite``.
    overwrite : bool, default=False
        Replace a model that is there.
    **tables : dict
        The parameters of Bags.from_tables that describe the proportions of bags.

    Examples
    --------
    llpgan conformalize model held_out.csv --bag box --proportions boxes.csv --out model_with_sets
    """
    if out is None and not overwrite:
        raise ValueError(f"{model} would be replaced: name a folder (out), or allow it (overwrite)")
    target, spec = Path(model if out is None else out), _make_spec(data, weight, tables)
    kept = {name: Path(model, name) for name in (REPORT, CARD)}
    with claim_folder(target, MODEL_FOLDER, overwrite=overwrite, inputs=list_inputs(data, tables)):
        loaded = load_model(model, image, resize)
        bags = _encode_bags(loaded, *open_model_rows(loaded, data, spec))
        if recalibrate is not None:
            every_second = list(range(0, bags.n_bags, 2))
            loaded.recalibrate(bags.take_bags(every_second), kind=recalibrate, random_state=random_state)
            bags = bags.take_bags([place for place in range(bags.n_bags) if place % 2])
        loaded.conformalize(bags, score=score, by_class=by_class, worst_case=worst_case, random_state=random_state)
        found = score_on_bags(loaded, bags)
        pages = {name: path.read_text(encoding="utf-8") for name, path in kept.items() if path.is_file()}
        pages[SETS_PAGE] = found.page(f"Prediction sets from {Path(data).name}", type(loaded).__name__)
        save(loaded, target, overwrite=overwrite, pages=pages)
    _show_levels(found.levels, bags)
    make_console(stderr=True).print(f"saved {target}, with {SETS_PAGE}")
    return loaded.require_sets()


def _show_levels(levels: Sequence[SetLevel], bags: Bags) -> None:
    """The sets of some levels on the bags that they come from."""
    table = Table("level", "coverage", "95 % interval", "mean size", "sets of one class", title_justify="left")
    table.title = f"Prediction sets of {bags.n_bags:,} bags"
    for each in levels:
        level = f"{100 * each.level:.0f} %"
        if each.estimated is None or each.scores is None:
            table.add_row(level, "too few bags", "", "", "")
            continue
        coverage, interval = format_percent(each.estimated.value), format_percent_interval(each.estimated)
        single = format_percent(each.scores.share_single)
        table.add_row(level, coverage, interval, f"{each.scores.mean_size:.2f}", single)
    make_console().print(table)


@passes_on(Bags.from_tables, only=BAG_OPTIONS)
def monitor(
    model: str,
    data: str,
    *,
    weight: str | None = None,
    history: str = "history.jsonl",
    coverage: float = 0.9,
    level: float = 0.05,
    random_state: int = 0,
    image: str | None = None,
    resize: bool = False,
    html: str | None = None,
    overwrite: bool = False,
    **tables: Any,
) -> MonitorReport:
    """Compare new bags of a model in use with those of the time when it was put to use.

    The first call writes the reference to the history file; run it on held-out bags. Each later call adds a line.
    The exit status is 0 if nothing has changed, 3 if the data have changed, and 4 if the model has become worse.
    The probability of a false alarm is at most 5 %, however often you look.

    Parameters
    ----------
    model : str
        The folder of a saved model.
    data : str
        A file like that of the training, with rows of new bags.
    weight : str, default=None
        The column that says how much each row counts, such as survey weights. None means the one that
        ``llpgan fit`` learned with, if any.
    history : str, default="history.jsonl"
        The file of JSON lines that holds the reference and all looks.
    coverage : float, default=0.9
        The level of the prediction sets, if the model has any.
    level : float, default=0.05
        The probability of a false alarm, over all looks together.
    random_state : int, default=0
        The seed of the tests of randomness.
    image : str, default=None
        The column that holds the paths of images. None means the same name as in the training.
    resize : bool, default=False
        Resize images to the size of the training images.
    html : str, default=None
        A file (.html) for a page with the course over time.
    overwrite : bool, default=False
        Replace the page if it is there. The history is always added to.
    **tables : dict
        The parameters of Bags.from_tables that describe the proportions of bags.

    Examples
    --------
    llpgan monitor model new_rows.csv --bag box --proportions new_boxes.csv --history history.jsonl
    """
    inputs = [*list_inputs(data, tables), *files_of_model(model)]
    if html is not None and Path(html).suffix.lower() != ".html":
        raise ValueError(f"{html}: the page is written to a file that ends in .html (html)")
    if Path(history).exists() and not Path(history).is_file():
        raise FileExistsError(f"{history} is no file: name a file of JSON lines (history)")
    refuse_input(Path(history), inputs)
    check_between_0_and_1(coverage, "coverage", such_as=0.9)
    check_between_0_and_1(level, "level", such_as=0.05)
    spec = _make_spec(data, weight, tables)
    if os.path.lexists(history):
        read_history(history)  # a damaged line is an error before work starts
    with output_if_named(html, overwrite=overwrite, inputs=inputs) as page:
        loaded = load_model(model, image, resize)
        bags = _encode_bags(loaded, *open_model_rows(loaded, data, spec))
        found = compare_with_reference(
            loaded, bags, history=history, coverage=coverage, level=level, random_state=random_state
        )
        make_console().print(make_visible(str(found)))
        if page is not None:
            title, method = f"Monitoring on {Path(data).name}", type(loaded).__name__
            page.write_text(monitor_page(found, title, method), encoding="utf-8")
    return found


@passes_on(Bags.from_tables, only=BAG_OPTIONS)
def suggest(
    model: str,
    data: str,
    *,
    weight: str | None = None,
    budget: int = 50,
    strategy: Literal["variance", "uncertainty", "random"] = "variance",
    label: str | None = None,
    keep: Sequence[str] = (),
    random_state: int = 0,
    image: str | None = None,
    resize: bool = False,
    out: str = "to_label.csv",
    overwrite: bool = False,
    **tables: Any,
) -> list[int]:
    """List the rows whose labels would help most.

    Parameters
    ----------
    model : str
        The folder of a saved model.
    data : str
        The table of rows.
    weight : str, default=None
        The column that says how much each row counts, such as survey weights. None means the one that
        ``llpgan fit`` learned with, if any.
    budget : int, default=50
        The number of rows to label.
    strategy : {"variance", "uncertainty", "random"}, default="variance"
        variance selects rows that reduce the variance of all predictions most; uncertainty selects those whose
        most probable class is least probable.
    label : str, default=None
        The column of the labels that are known already; rows that have one are left out.
    keep : sequence of str, default=()
        The columns of the data to copy, such as id.
    random_state : int, default=0
        The seed.
    image : str, default=None
        The column that holds the paths of images. None means the same name as in the training.
    resize : bool, default=False
        Resize images to the size of the training images.
    out : str, default="to_label.csv"
        The file (.csv) for the rows: their positions from 0, the most helpful first, and their probabilities.
    overwrite : bool, default=False
        Replace a file that is there.
    **tables : dict
        The parameters of Bags.from_tables that describe the proportions of bags.

    Examples
    --------
    llpgan suggest model people.csv --bag state --proportions results.csv --budget 50 --keep id
    """
    check_endings(out=(out, ".csv"))
    spec = _make_spec(data, weight, tables, label)
    if budget < 1:
        raise ValueError(f"--budget must be a number of rows from 1 on, got {budget}")
    inputs = [*list_inputs(data, tables), *files_of_model(model)]
    with output_file(Path(out), overwrite=overwrite, inputs=inputs) as aside:
        loaded = load_model(model, image, resize)
        rows, spec = open_model_rows(loaded, data, spec)
        kept = {name: plain_values(rows.column(name)) for name in keep}
        classes = [f"p_{name}" for name in loaded.classes_.tolist()]
        if clash := kept.keys() & {"row", *classes}:
            raise ValueError(f"column {min(clash)!r} cannot be copied: the file has one of that name (keep)")
        labels = None if label is None else plain_values(rows.column(label))
        bags = _encode_bags(loaded, rows, spec)
        is_known = [] if labels is None else [value not in (None, "") for value in labels.to_pylist()]
        known = np.flatnonzero(is_known)
        found = suggest_labels(loaded, bags, budget, strategy=strategy, labelled=known, random_state=random_state)
        places = found.rows.tolist()
        probabilities = loaded.predict_encoded(bags.instances[found.rows])
        columns = {"row": pa.array([rows.number(place) for place in places])} | {
            name: values.take(pa.array(places)) for name, values in kept.items()
        }
        columns |= dict(zip(classes, map(pa.array, probabilities.T), strict=True))
        pa.csv.write_csv(pa.table(columns), aside)
    make_console(stderr=True).print(f"saved {out}: {len(places):,} rows to label, the most helpful first")
    return places


def _make_spec(data: str, weight: str | None, tables: Mapping[str, Any], label: str | None = None) -> TableSpec:
    """The columns of the bag, and a table of the bags; both must be named."""
    if tables.get("bag") is None and not Path(data).is_dir():  # in a folder of images, bags are folders
        raise ValueError("the bag of each row is not known: name its column (bag)")
    spec = TableSpec(**tables, weight=weight, label=label)
    if not spec.tables_of_bags:
        raise ValueError("the shares of the bags are not known: name a table of them (proportions) or (counts)")
    return spec


def _encode_bags(model: LLPClassifier, rows: Rows, spec: TableSpec) -> Bags:
    """The bags of a table, encoded as in the training of the model."""
    features = None if model.encoder_ is None else model.encoder_.features
    bags = shared_bags(rows, model.classes_, spec)
    return replace(bags, instances=read_instances(model, rows), features=features, encoder=model.encoder_)
