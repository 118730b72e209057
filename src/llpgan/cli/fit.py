"""``llpgan fit``, ``llpgan pairs`` and ``llpgan store``."""

import re
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from llpgan.bags import Bags
from llpgan.bags.on_disk import is_stored
from llpgan.cli.main import make_console
from llpgan.cli.options import passes_on
from llpgan.ecological import GroupShares, shares_by
from llpgan.ecological.model_shares import group_rows
from llpgan.evaluation import BagScores, bag_scores
from llpgan.evaluation.choose import (
    DefaultMethod,
    are_photographs,
    chooses_by_held_out_bags,
    default_method,
    default_with_features,
)
from llpgan.evaluation.compare import name_method, set_seed
from llpgan.evaluation.splitters import BagShuffleSplit
from llpgan.methods.auto_llp import AutoLLP
from llpgan.methods.base import LLPClassifier
from llpgan.methods.pairs import MarginalLogistic
from llpgan.persistence import load, save
from llpgan.persistence.model import CARD, MODEL_FOLDER, REPORT, model_card, plain_text
from llpgan.report import ReportContent, collect_content
from llpgan.report.page import saved_pages
from llpgan.report.text import format_percent
from llpgan.tables import MarginalTables, Rows, RowStream, TableSpec, label_values, open_rows, open_stream
from llpgan.tables.backbones import LITES, is_installed
from llpgan.tables.build import matched_rows, read_bags
from llpgan.tables.embedding import FeatureEncoder
from llpgan.tables.spec import check_names
from llpgan.tables.store import store_tables
from llpgan.tables.streams import ImageEncoder, count_parquet_rows
from llpgan.utils.arrays import Array, choose_classes
from llpgan.utils.files import claim_folder, refuse_within
from llpgan.utils.messages import format_seconds, warn_user
from llpgan.utils.workers import is_first_process, run_on_cluster


def labels_as_classes(labels: Array, classes: Array, column: str, names: Sequence[str] = ()) -> Array:
    """The class of each label.

    Parameters
    ----------
    labels : ndarray
        The labels of all rows.
    classes : ndarray
        The classes of the model.
    column : str
        The column of the labels, for messages.
    names : sequence of str, default=()
        The classes of the different values, in their sorted order, for labels with other names.

    Examples
    --------
    >>> labels_as_classes(np.array(["no", "yes"]), np.array(["no", "yes"]), "vote")
    array(['no', 'yes'], dtype='<U3')
    >>> labels_as_classes(np.array(["F", "T"]), np.array(["no", "yes"]), "vote", names=["no", "yes"])
    array(['no', 'yes'], dtype='<U3')
    """
    found, index = np.unique(labels, return_inverse=True)
    chosen = _match_values(found, classes, column, names)
    return classes[chosen][index]


def _match_values(found: Array, classes: Array, column: str, names: Sequence[str]) -> list[int]:
    """The position of the class of each value that was found."""
    place = {str(name): position for position, name in enumerate(classes.tolist())}
    texts = [str(value) for value in (names or found.tolist())]
    if len(texts) != len(found):
        raise ValueError(f"column {column!r} has the values {found.tolist()}, but {len(texts)} names are given")
    if all(text in place for text in texts):
        return [place[text] for text in texts]
    if not names and found.dtype.kind in "biuf" and set(found.tolist()) <= set(range(len(classes))):
        order = _order_of_numbers(column, list(place))
        said = ", ".join(f"{value:g} as {classes[order[int(value)]]}" for value in found.astype(float))
        warnings.warn(f"column {column!r}: reading {said}", stacklevel=4)
        return [order[int(value)] for value in found]
    raise ValueError(
        f"column {column!r} has the values {texts}, but the classes are {list(place)}: name the class of each "
        f"value, in the order of the values (label_names)"
    )


def _order_of_numbers(column: str, classes: Sequence[str]) -> list[int]:
    """The class of each number: in their order, but of two classes the one that the column is named after is 1.

    >>> _order_of_numbers("is_sick", ["sick", "healthy"]), _order_of_numbers("y", ["sick", "healthy"])
    ([1, 0], [0, 1])
    >>> _order_of_numbers("y", ["sick", "not sick"])
    [1, 0]
    """
    if len(classes) == 2 and classes[1] == f"not {classes[0]}":
        return [1, 0]
    words = [set(re.findall(r"[^\W_]+", name.casefold())) for name in (column, *classes)]
    named = [bool(each) and (each <= words[0] or words[0] <= each) for each in words[1:]]
    return [1, 0] if named == [True, False] else list(range(len(classes)))


def _warn_of_swapped_labels(labels: Array, bags: Bags, column: str) -> None:
    """Say so if the labels of two classes contradict the proportions, and would agree the other way round."""
    if bags.n_classes != 2 or bags.share_constraints is not None:
        return
    of_second = bags.means((labels == bags.classes[1]).astype(float)[:, None])[:, 0]
    given, weights = bags.proportions[:, 1], bags.totals / bags.totals.sum()
    gap, swapped = weights @ np.abs(of_second - given), weights @ np.abs(1 - of_second - given)
    if swapped < gap / 2:
        warnings.warn(
            f"column {column!r} contradicts the proportions of the bags: they differ by {100 * gap:.0f} points on "
            f"average, and by {100 * swapped:.0f} if its values mean the other class: "
            "name the class of each value, in the order of the values (label_names)",
            stacklevel=3,
        )


#: The options of a command with a model that describe the tables of bags.
BAG_OPTIONS = ("bag", "proportions", "counts", "long", "unmatched", "tolerance")


def open_model_rows(model: LLPClassifier, data: str, spec: TableSpec) -> tuple[Rows, TableSpec]:
    """The rows of a file, read as in the training of the model, but those to drop; and the column of weights."""
    rows = open_rows(data, _text_columns(model), spec.bag_ids)
    spec = replace(spec, weight=find_weight(model, rows, spec.weight))
    return matched_rows(rows, model.classes_, spec), spec


def open_model_stream(model: LLPClassifier, data: str) -> RowStream:
    """The rows of a file, read part by part as in the training of the model."""
    return open_stream(data, _text_columns(model))


def check_predictions(
    model: LLPClassifier, threshold: float | Mapping[str, float] | None, coverage: float | None
) -> None:
    """Refuse thresholds of classes that the model does not have, and sets that it cannot give."""
    n_classes = len(model.classes_)
    choose_classes(np.full((1, n_classes), 1 / n_classes), model.classes_, threshold)
    if coverage is not None:
        model.require_sets().select_thresholds(coverage)


def load_model(model: str, image: str | None, resize: bool) -> LLPClassifier:
    """With what the user says of images: which column has their paths, and whether they may have another size."""
    loaded = load(model)
    if image is None and not resize:
        return loaded
    encoder = loaded.encoder_
    if isinstance(encoder, FeatureEncoder):  # images of any size
        loaded.encoder_ = replace(encoder, column=image or encoder.column)
        return loaded
    if not isinstance(encoder, ImageEncoder):
        given = "image" if image is not None else "resize"
        raise ValueError(f"{model} did not learn from images: leave this option away ({given})")
    loaded.encoder_ = replace(encoder, column=image or encoder.column, resize=resize or encoder.resize)
    return loaded


def find_weight(model: LLPClassifier, rows: Rows, weight: str | None) -> str | None:
    """The column of weights to score by: the one that is named, else the one that the model learned with."""
    column = getattr(model, "weight_column_", None)  # which MarginalLogistic does not have
    if weight is not None or column is None:
        return weight
    if column in rows.table.column_names:
        warn_user(f"rows count as column {column!r} says, as in training; name another one to change it (weight)")
        return column
    learned = f"weights from column {column!r}, which {rows.name} does not have" if column else "weights"
    warn_user(f"the model learned with {learned}; here all rows count the same, unless you name a column (weight)")
    return None


def _text_columns(model: LLPClassifier) -> Sequence[str]:
    return () if model.encoder_ is None else model.encoder_.text_columns


def list_inputs(data: str, options: Mapping[str, Any]) -> list[Any]:
    """The files that bags are made from."""
    return [data, *(options.get(name) for name in ("proportions", "counts", "lower", "upper"))]


def read_instances(model: LLPClassifier, rows: Rows) -> Any:
    """What the model sees of the rows."""
    if model.encoder_ is not None:
        return model.encoder_.encode(rows)
    if rows.array is None:
        raise ValueError(
            f"{rows.name} is no array, but the model was trained on one: give an .npz or .npy, "
            f"or train with Bags.from_tables, which knows what to do with columns"
        )
    _refuse_other_shape(model, rows.name, rows.array)
    return rows.array


def _refuse_other_shape(model: LLPClassifier, name: str, array: Array) -> None:
    if array.shape[1:] != model.instance_shape_:
        raise ValueError(
            f"{name} holds an array of shape {array.shape}, but the model was trained on instances of shape "
            f"{model.instance_shape_}"
        )


_ROWS_TOLD = 100_000  # in the report on a store


@passes_on(Bags.from_tables, "instances")
def fit(
    data: str,
    *,
    method: LLPClassifier | None = None,
    label_names: Sequence[str] = (),
    time_limit: float | None = None,
    hold_out: float = 0.0,
    by: Sequence[str] = (),
    random_state: int = 0,
    out: str = "model",
    report: bool = True,
    overwrite: bool = False,
    cluster: str | None = None,
    workers: int | None = None,
    **tables: Any,
) -> LLPClassifier:
    """Learn a classifier of rows from the class proportions of their bags, and save it with a report.

    Parameters
    ----------
    data : str
        A table of rows (.csv, .csv.gz, .parquet), a folder with one folder of images per bag, an .npz file, or a
        store, which stays on disk and has its proportions.
    method : LLPClassifier, default=None
        The name of the method, such as DLLP. Its settings are given as --method.epochs 50. None means AutoLLP for
        tables, which weighs trees and a linear model; for up to 5,000 small images, the best of BagLogistic, DLLP
        and LLPGAN on held-out bags; and DLLP for more or larger images. If llpgan[images] is installed,
        photographs are also tried with features of a pretrained network.
    time_limit : float, default=None
        How many seconds AutoLLP may take, which learns from tables if no method is named. None means 300.
    hold_out : float, default=0.0
        The share of bags that is held out of training. The report then shows how well the model fits them.
    by : sequence of str, default=()
        The column or columns that define groups, such as race,college. The report then shows the share of each
        class in each group.
    label_names : sequence of str, default=()
        The class of each value of the label, in the sorted order of the values, if they have other names.
    random_state : int, default=0
        The seed of the method, unless it is set there. The same seed gives the same model.
    out : str, default="model"
        The folder for the model and its report.html.
    report : bool, default=True
        Whether to write a report.
    overwrite : bool, default=False
        Replace a model that is there.
    cluster : str, default=None
        Train in several workers on a Ray cluster: its address, or auto for the one that this machine belongs to,
        or for a new one on this machine. All machines need the same files under the same paths. None means the
        processes that torchrun has started, or one.
    workers : int, default=None
        The number of workers on the cluster. None means one for each of its CPUs.
    **tables : dict
        The parameters of Bags.from_tables.

    Examples
    --------
    llpgan fit people.csv --bag state --proportions results.csv --out model
    """
    arguments = {name: value for name, value in locals().items() if name not in ("cluster", "workers", "tables")}
    refuse_idle_names(label_names, tables)
    refuse_idle_groups(by, report, tables)
    for setting in ("checkpoint", "tensorboard"):
        refuse_within(getattr(method, setting, None), Path(out), f"--method.{setting}")
    if by:
        check_names(by, "by")
    if hold_out != 0 and not 0 < hold_out < 1:
        raise ValueError(f"--hold_out is a share of the bags, between 0 and 1, got {hold_out:g}")
    spec = TableSpec(**tables)
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"--time_limit is a number of seconds above 0, got {time_limit:g}")
    if time_limit is not None and method is not None:
        raise ValueError("--time_limit is for the default method: leave it out, or see --method.time_limit")
    if cluster is not None:
        run_on_cluster(fit, arguments | tables, cluster, workers)
        return load(out)
    if workers is not None:
        raise ValueError("the number of workers is given (workers), but no cluster to start them on (cluster)")
    if (check_machine := getattr(method, "check_machine", None)) is not None:
        check_machine()
    console = make_console(stderr=True, quiet=not is_first_process())
    claim = claim_folder(Path(out), MODEL_FOLDER, overwrite=overwrite, inputs=list_inputs(data, tables))
    with claim if is_first_process() else nullcontext():  # of several that train together, one writes
        bags, kept = read_bags(data, spec)
        console.print(f"{data}: {describe_bags(bags)}")
        console.print(describe_origin(data, bags, tables))
        groups = read_groups(kept, by)
        if kept is not None and kept.image is None and tables.get("image") is None:  # only labels are needed again
            kept = replace(kept, table=kept.table.select([name for name in [tables.get("label")] if name]))
        training, held_out, rows = split_rows(bags, hold_out, random_state)
        if method is None and are_photographs(training) and is_installed(LITES[0]):
            console.print(f"features of a pretrained network ({LITES[0]}) are tried too")
            features = Bags.from_tables(
                data if kept is None else kept, **{**tables, "features": LITES[0], "image_size": None}
            )
            of_features, held_out_features, _ = split_rows(features, hold_out, random_state)
            found, is_better = default_with_features(training, of_features, random_state, time_limit)
            print_choice(found, console)
            method = found.method
            if is_better:
                bags, training, held_out = features, of_features, held_out_features
        model, seconds = train_method(
            method or choose_method(training, random_state, console, time_limit), training, random_state
        )
        if bags.weights is not None:
            model.weight_column_ = tables.get("weight") or ""
        if not is_first_process():
            return model
        story = None
        if report:
            labels = read_labels(kept, tables.get("label"), model, bags, label_names)
            held_out_labels = None
            if labels is not None and held_out is not None:
                held_out_labels = np.delete(labels, rows)
            labels = labels if labels is None else labels[rows]
            shares = None if groups is None else shares_by(model, training, groups[rows])
            story = collect_fit_report(
                model,
                training,
                data,
                labels,
                describe_origin(data, bags, tables),
                held_out,
                shares,
                rows,
                held_out_labels,
                kept,
            )
        save(model, out, overwrite=overwrite, pages=saved_pages(model, story))
        if isinstance(model, AutoLLP):
            console.print(f"tried: {model.chosen_}")
        console.print(summary_line(model, training, seconds, story, held_out))
        pages = f", with {REPORT} and {CARD}" if report else ""
        console.print(f"saved {out}{pages}")
        console.print(
            f"Next: {f'open {Path(out) / REPORT} in a browser; ' if report else ''}llpgan predict {out} NEW_ROWS"
        )
        if are_photographs(bags) and not is_installed(LITES[0]):
            console.print(
                "Features of a pretrained network may predict photographs better: pip install 'llpgan[images]', "
                f"then --features {LITES[0]}"
            )
        return model


def train_method(method: LLPClassifier, bags: Bags, random_state: int) -> tuple[LLPClassifier, float]:
    """A copy of the method with this seed, trained, and how many seconds that took. It shows its progress."""
    model, start = set_seed(method, random_state), time.perf_counter()
    shows = {"verbose": True} if "verbose" in model.get_params(deep=False) else {}
    model.set_params(**shows).fit_bags(bags)
    return model.set_params(**dict.fromkeys(shows, False)), time.perf_counter() - start


def describe_origin(data: str, bags: Bags, tables: Mapping[str, Any]) -> str:
    """Describe where the proportions came from."""
    within = ", where cells are empty within the classes that are given" if tables.get("within") else ""
    if tables.get("proportions") is not None:
        return f"proportions: from {tables['proportions']}{within}"
    if tables.get("counts") is not None:
        return f"proportions: from the counts of {tables['counts']}{within}"
    bounds = [str(tables[name]) for name in ("lower", "upper") if tables.get(name) is not None]
    if bounds:
        return f"proportions: within the bounds of {' and '.join(bounds)}"
    if is_stored(bags.instances):
        return f"proportions: those in the store {data}"
    return (
        f"proportions: counted in column {tables['label']!r} of {len(bags.instances):,} rows; scores by it are "
        f"thus of labels that the training used"
    )


def refuse_idle_names(label_names: Sequence[str], tables: Mapping[str, Any]) -> None:
    """Refuse names for labels that are not there, or that are the classes themselves."""
    if label_names and tables.get("label") is None:
        raise ValueError("names are given for labels (label_names), but no column of labels (label)")
    if label_names and tables.get("proportions") is None and tables.get("counts") is None:
        raise ValueError(
            "names for labels (label_names) say which class of the proportions each is; where the labels are "
            "counted, they are the classes"
        )


def refuse_idle_groups(by: Sequence[str], report: bool, tables: Mapping[str, Any]) -> None:
    """Refuse groups (by) where nothing would show them, or their shares cannot be estimated."""
    if by and not report:
        raise ValueError("groups are named (by), but there is no report to show their shares (report)")
    forms = ("lower", "upper", "partial", "within", "proportions_sd")
    less = next((name for name in forms if tables.get(name)), None)
    if by and less is not None:
        raise ValueError(f"shares of groups (by) need all shares of each bag, without noise: leave away ({less})")


def read_groups(rows: Rows | None, by: Sequence[str]) -> Array | None:
    """The group of each row, where columns of groups are named."""
    if not by:
        return None
    if rows is None:
        raise ValueError("groups (by) are columns of a table: a store has only encoded rows")
    index, names = group_rows(rows, list(by))
    found = np.empty(len(names), dtype=object)
    found[:] = names
    return np.asarray(found[index])


def summary_line(
    model: LLPClassifier, bags: Bags, seconds: float, story: ReportContent | None, held_out: Bags | None = None
) -> str:
    """What a training did: the method, by how much it misses its bags, and how long it took."""
    scores, overall = (
        _score_with_prior(model, bags, bags.prior) if story is None else (story.scores, story.overall)
    )
    line = f"{type(model).__name__}: bag error {_format_errors(scores, overall)} on the training bags"
    if held_out is not None:
        errors = _format_errors(*_score_with_prior(model, held_out, bags.prior))
        line += f", {errors} on {held_out.n_bags:,} held-out bags"
    return f"{line}; {seconds:.1f} s"


def _format_errors(scores: BagScores, overall: BagScores) -> str:
    error, baseline = (format_percent(found.mean_total_variation.value) for found in (scores, overall))
    return f"{error} (overall shares: {baseline})"


def _score_with_prior(model: LLPClassifier, bags: Bags, prior: Array) -> tuple[BagScores, BagScores]:
    """Of a model, and of the overall shares."""
    bags = _read_some_bags(bags) if is_stored(bags.instances) else bags
    found = model.predict_proba(bags)
    return bag_scores(bags, found), bag_scores(bags, np.broadcast_to(prior, found.shape))


def choose_method(
    bags: Bags, random_state: int, console: Console, time_limit: float | None = None
) -> LLPClassifier:
    """The method for bags where the user names none; it says which, why, and about how long it will take."""
    if chooses_by_held_out_bags(bags):
        console.print("Choosing a method by held-out bags, since none is named ...")
    found = default_method(bags, random_state, time_limit)
    print_choice(found, console)
    return found.method


def print_choice(found: DefaultMethod, console: Console) -> None:
    """Print which method is used, why, and about how long its training will take."""
    about = "" if found.seconds is None else f"; training will take about {format_seconds(found.seconds)}"
    console.print(f"Using {name_method(found.method)}: {found.reason}{about}")


def split_rows(bags: Bags, hold_out: float, random_state: int) -> tuple[Bags, Bags | None, Array | slice]:
    """Bags to learn from, the share of them that is kept out, if any is, and the rows to learn from."""
    if hold_out == 0:
        return bags, None, slice(None)
    if bags.n_bags < 2:
        raise ValueError("--hold_out keeps bags out of training, and there is only one: leave it out")
    if is_stored(bags.instances):
        raise ValueError(
            "--hold_out takes bags in memory; of a store, --method.validation_fraction holds bags out"
        )
    splitter = BagShuffleSplit(1, hold_out, random_state=random_state)
    rows, others = next(splitter.split(bags.bag_index, bags.proportions[bags.bag_index], groups=bags.bag_index))
    return bags.take_rows(rows), bags.take_rows(others), rows


def collect_fit_report(
    model: LLPClassifier,
    bags: Bags,
    data: str,
    labels: Array | None = None,
    from_where: str = "",
    held_out: Bags | None = None,
    shares: GroupShares | None = None,
    rows: Array | slice = slice(None),
    held_out_labels: Array | None = None,
    table: Rows | None = None,
) -> ReportContent:
    """The content of the report on a model; on a store, it covers some of the bags."""
    encoder = bags.encoder
    notes, columns = ([], {}) if encoder is None else (encoder.notes, encoder.positions)
    if is_stored(bags.instances):
        bags, n_bags = _read_some_bags(bags), bags.n_bags
        notes = [*notes, f"this page covers {bags.n_bags:,} of the {n_bags:,} bags, drawn at random"]
    title = f"{type(model).__name__} on {Path(data).name}"
    images = None
    if isinstance(encoder, FeatureEncoder) and table is not None:
        positions = np.arange(len(bags.instances)) if isinstance(rows, slice) else rows
        images = partial(encoder.read_images, table, positions)
    return collect_content(
        model,
        bags,
        title=title,
        notes=notes,
        columns=columns,
        origin=from_where,
        labels=labels,
        held_out=held_out,
        labels_held_out=held_out_labels,
        shares=shares,
        images=images,
    )


def _read_some_bags(bags: Bags) -> Bags:
    """Whole bags with some 100,000 rows together, at least one, in memory."""
    order = np.random.default_rng(0).permutation(bags.n_bags)
    n_drawn = int(np.searchsorted(np.cumsum(bags.sizes[order]), _ROWS_TOLD, side="right"))
    return bags.take_bags(np.sort(order[: max(1, n_drawn)]))


def read_labels(
    rows: Rows | None, label: str | None, model: LLPClassifier, bags: Bags, names: Sequence[str] = ()
) -> Array | None:
    """The classes of all rows of the bags, if a column has them: to evaluate a model, not to train it."""
    if label is None or rows is None:
        return None
    try:
        labels = labels_as_classes(label_values(rows, label), model.classes_, label, names)
    except ValueError as error:
        warnings.warn(f"the report does not judge by labels: {error}", stacklevel=2)
        return None
    _warn_of_swapped_labels(labels, bags, label)
    return labels


def describe_bags(bags: Bags) -> str:
    """How many there are of what."""
    classes = ", ".join(str(name) for name in bags.classes.tolist())
    return f"{len(bags.instances):,} rows in {bags.n_bags:,} bags, {bags.n_classes} classes ({classes})"


@passes_on(Bags.from_tables, "instances")
def store(data: str, *, to: str = "store", n_jobs: int = 1, overwrite: bool = False, **tables: Any) -> Bags:
    """Sort rows by bag into a store, in little memory for any number of rows; llpgan fit learns from it.

    If this ends early, the same command continues with the parts of Parquet files that are missing.

    Parameters
    ----------
    data : str
        A Parquet file or a folder of Parquet files, a CSV file, a folder with one folder of images per bag, or an
        .npy or .npz file.
    to : str, default="store"
        The folder for the store.
    n_jobs : int, default=1
        The number of processes that read parts of Parquet files; -1 means one per core.
    overwrite : bool, default=False
        Replace a store that is there, and give up an unfinished one of other data or options.
    **tables : dict
        The parameters of store_tables.

    Examples
    --------
    llpgan store people.parquet --bag state --proportions results.csv --to people_store
    """
    console = make_console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        n_rows = count_parquet_rows(Path(data)) if console.is_terminal else None
        task = bar.add_task("rows", total=2 * n_rows if n_rows else None)
        bags = store_tables(
            data, to, n_jobs=n_jobs, overwrite=overwrite, progress=partial(bar.advance, task), **tables
        )
    console.print(f"saved {to}: {describe_bags(bags)}")
    return bags


def pairs(
    report: str,
    *,
    rows: str | None = None,
    classes: Sequence[str] | None = None,
    sd: float = 0.0,
    threshold: float = 0.0,
    C: float = 0.03,
    n_rows: int = 100_000,
    random_state: int = 0,
    out: str = "model",
    overwrite: bool = False,
) -> MarginalLogistic:
    """Learn a classifier of rows from tables of counts of all pairs of columns, and save it.

    Parameters
    ----------
    report : str
        A table (.csv, .csv.gz, .parquet) with one row per cell: column_1, value_1, column_2, value_2, and one
        column of counts per class.
    rows : str, default=None
        A table of rows without labels, with the columns of the report: those that were counted, or a sample. None
        means that rows are drawn that have the counts of the report.
    classes : sequence of str, default=None
        The columns of the report that hold counts. None means all other columns.
    sd : float, default=0.0
        The standard deviation of the noise in each count.
    threshold : float, default=0.0
        Cells with fewer rows than this were left out of the report.
    C : float, default=0.03
        Inverse of the regularization strength: 0.03 suits many columns, 0.3 to 1 three or four.
    n_rows : int, default=100000
        The number of rows to draw where none are given.
    random_state : int, default=0
        The seed of the rows that are drawn. The same seed gives the same model.
    out : str, default="model"
        The folder for the model.
    overwrite : bool, default=False
        Replace a model that is there.

    Examples
    --------
    llpgan pairs report.csv --sd 20 --threshold 10 --C 0.3 --out model
    """
    console, method = make_console(stderr=True), MarginalLogistic(C=C, n_rows=n_rows, random_state=random_state)
    method._validate_params()
    with claim_folder(Path(out), MODEL_FOLDER, overwrite=overwrite, inputs=[report, rows]):
        tables = MarginalTables.from_counts(report, classes=classes, sd=sd, threshold=threshold)
        console.print(f"{report}: {describe_tables(tables)}")
        model = method.fit_tables(tables, rows)
        save(
            model,
            out,
            overwrite=overwrite,
            pages={CARD: model_card(model, training_data_section(tables, report, rows))},
        )
        console.print(f"saved {out}")
    return model


def describe_tables(tables: MarginalTables) -> str:
    """How many there are of what."""
    classes = ", ".join(str(name) for name in tables.classes.tolist())
    return (
        f"tables of {len(tables.pairs)} pairs of {len(tables.values)} columns, about {tables.totals.sum():,.0f} "
        f"rows, {len(tables.classes)} classes ({classes})"
    )


def training_data_section(tables: MarginalTables, report: str, rows: str | None) -> str:
    """The section of the model card on what the model learned from."""
    noise = f" Each count has noise of standard deviation {tables.sd:g}." if tables.sd else ""
    left_out = f" Cells below {tables.threshold:g} were left out." if tables.threshold else ""
    others = (
        "Rows were drawn from the tables"
        if rows is None
        else f"Rows without labels: {plain_text(Path(rows).name)}"
    )
    return (
        f"## Training data\n\nThe {plain_text(describe_tables(tables))}, of {plain_text(Path(report).name)}."
        f"{noise}{left_out} {others}.\n"
    )
