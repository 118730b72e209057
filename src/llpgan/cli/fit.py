"""``llpgan fit``: from files to a trained model and its report."""

import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from llpgan.bags import Bags
from llpgan.bags.stored_instances import is_stored
from llpgan.cli.command_options import passing_on
from llpgan.cli.console import terminal
from llpgan.cli.label_matching import labels_as_classes
from llpgan.cli.model_inputs import tables_in
from llpgan.data.experiments import costs
from llpgan.estimators.auto_llp import AutoLLP
from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation import BagScores, bag_scores
from llpgan.evaluation.groups import GroupShares, shares_by
from llpgan.evaluation.groups.shares_by import groups_of_rows
from llpgan.evaluation.selection import BagShuffleSplit
from llpgan.evaluation.selection.candidates import name_of, seeded
from llpgan.evaluation.selection.default_method import chooses_by_held_out_bags, default_method
from llpgan.persistence import save
from llpgan.persistence.manifest import MODEL_FOLDER, REPORT
from llpgan.report import Story, tell
from llpgan.report.saved_pages import saved_pages
from llpgan.tables import label_values, open_rows
from llpgan.tables.store import is_store
from llpgan.training.launch_environment import is_first_process
from llpgan.utils.arrays import Array
from llpgan.utils.output_paths import claimed_folder

_ROWS_TOLD = 100_000  # in the report on a store


@passing_on(Bags.from_tables, "instances")
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
        tables, which weighs trees and a linear model, and DLLP for tables in a store; for up to 5,000 small
        images, the best of BagLogistic, DLLP and LLPGAN on held-out bags; and DLLP for more or larger images.
    time_limit : float, default=None
        About how many seconds AutoLLP may take, which learns from tables if no method is named.
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
    **tables : dict
        The parameters of Bags.from_tables.

    Examples
    --------
    llpgan fit people.csv --bag state --proportions results.csv --out model
    """
    refuse_idle_names(label_names, tables)
    refuse_idle_groups(by, report, tables)
    console = terminal(stderr=True, quiet=not is_first_process())
    claim = claimed_folder(Path(out), MODEL_FOLDER, overwrite=overwrite, inputs=tables_in(data, tables))
    with claim if is_first_process() else nullcontext():  # of several that train together, one writes
        bags = Bags.from_tables(data, **tables)
        console.print(f"{data}: {in_words(bags)}", soft_wrap=True)
        console.print(origin(data, bags, tables), soft_wrap=True)
        groups = groups_in(data, by)
        training, held_out, rows = divided(bags, hold_out, random_state)
        model, seconds = trained(
            method or chosen(training, random_state, console, time_limit), training, random_state
        )
        if not is_first_process():
            return model
        story = None
        if report:
            labels = known_labels(data, tables.get("label"), model, label_names)
            labels = labels if labels is None else labels[rows]
            shares = None if groups is None else shares_by(model, training, groups[rows])
            story = told(model, training, data, labels, origin(data, bags, tables), held_out, shares)
        save(model, out, overwrite=overwrite, pages=saved_pages(model, story))
        if isinstance(model, AutoLLP):
            console.print(f"tried: {model.chosen_}", soft_wrap=True)
        console.print(in_the_end(model, training, seconds, story, held_out), soft_wrap=True)
        console.print(f"saved {out}" + (f", report {Path(out) / REPORT}" if report else ""), soft_wrap=True)
        return model


def trained(method: LLPClassifier, bags: Bags, random_state: int) -> tuple[LLPClassifier, float]:
    """A copy of the method with this seed, trained, and how many seconds that took. It tells its progress."""
    model, start = seeded(method, random_state), time.perf_counter()
    tells = {"verbose": True} if "verbose" in model.get_params(deep=False) else {}
    model.set_params(**tells).fit_bags(bags)
    return model.set_params(**dict.fromkeys(tells, False)), time.perf_counter() - start


def origin(data: str, bags: Bags, tables: Mapping[str, Any]) -> str:
    """Where the proportions came from, in words."""
    within = ", where cells are empty within the classes that are given" if tables.get("within") else ""
    if tables.get("proportions") is not None:
        return f"proportions: those of {tables['proportions']}{within}"
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


def groups_in(data: str, by: Sequence[str]) -> Array | None:
    """The group of each row, where columns of groups are named."""
    if not by:
        return None
    if is_store(data):
        raise ValueError("groups (by) are columns of a table: a store has only encoded rows")
    index, names = groups_of_rows(open_rows(data), list(by))
    found = np.empty(len(names), dtype=object)
    found[:] = names
    return np.asarray(found[index])


def in_the_end(
    model: LLPClassifier, bags: Bags, seconds: float, story: Story | None, held_out: Bags | None = None
) -> str:
    """What a training did: the method, by how much it misses its bags, and how long it took."""
    scores, overall = _scores(model, bags, bags.prior) if story is None else (story.scores, story.overall)
    told = f"{type(model).__name__}: bag error {_errors(scores, overall)} on the bags that it learned from"
    if held_out is not None:
        told += f", {_errors(*_scores(model, held_out, bags.prior))} on {held_out.n_bags:,} held-out bags"
    return f"{told}; {seconds:.1f} s"


def _errors(scores: BagScores, overall: BagScores) -> str:
    error, of_shares = (found.mean_total_variation.value for found in (scores, overall))
    return f"{error:.4f} (the overall shares have {of_shares:.4f})"


def _scores(model: LLPClassifier, bags: Bags, prior: Array) -> tuple[BagScores, BagScores]:
    """Of a model, and of the overall shares."""
    bags = _some_bags(bags) if is_stored(bags.instances) else bags
    found = model.predict_proba(bags)
    return bag_scores(bags, found), bag_scores(bags, np.broadcast_to(prior, found.shape))


def chosen(bags: Bags, random_state: int, console: Console, time_limit: float | None = None) -> LLPClassifier:
    """The method for bags where the user names none; it says which, why, and about how long it will take."""
    if chooses_by_held_out_bags(bags):
        console.print("no method was named: some are tried on held-out bags first", soft_wrap=True)
    found = default_method(bags, random_state, time_limit)
    about = "" if found.seconds is None else f"; training will take about {costs.in_words(found.seconds)}"
    console.print(f"{name_of(found.method)} is taken, since {found.reason}{about}", soft_wrap=True)
    return found.method


def divided(bags: Bags, hold_out: float, random_state: int) -> tuple[Bags, Bags | None, Array | slice]:
    """Bags to learn from, the share of them that is kept out, if any is, and the rows to learn from."""
    if hold_out == 0:
        return bags, None, slice(None)
    if not 0 < hold_out < 1:
        raise ValueError(f"--hold_out is a share of the bags, between 0 and 1, got {hold_out:g}")
    if bags.n_bags < 2:
        raise ValueError("--hold_out keeps bags out of training, and there is only one: leave it out")
    if is_stored(bags.instances):
        raise ValueError(
            "--hold_out takes bags in memory; of a store, --method.validation_fraction holds bags out"
        )
    splitter = BagShuffleSplit(1, hold_out, random_state=random_state)
    rows, others = next(splitter.split(bags.bag_index, bags.proportions[bags.bag_index], groups=bags.bag_index))
    return bags.part(rows), bags.part(others), rows


def told(
    model: LLPClassifier,
    bags: Bags,
    data: str,
    labels: Array | None = None,
    from_where: str = "",
    held_out: Bags | None = None,
    shares: GroupShares | None = None,
) -> Story:
    """All for a report on a model; by labels too, where they are known. Of a store, it tells of some bags."""
    encoder = bags.encoder
    notes, columns = ([], {}) if encoder is None else (encoder.notes, encoder.positions)
    if is_stored(bags.instances):
        bags, n_bags = _some_bags(bags), bags.n_bags
        notes = [*notes, f"this page tells of {bags.n_bags:,} of the {n_bags:,} bags, drawn at random"]
    title = Path(data).name
    return tell(
        model,
        bags,
        title=title,
        notes=notes,
        columns=columns,
        origin=from_where,
        labels=labels,
        held_out=held_out,
        shares=shares,
    )


def _some_bags(bags: Bags) -> Bags:
    """Whole bags with some 100,000 rows together, at least one, in memory."""
    order = np.random.default_rng(0).permutation(bags.n_bags)
    n_drawn = int(np.searchsorted(np.cumsum(bags.sizes[order]), _ROWS_TOLD, side="right"))
    return bags.subset(np.sort(order[: max(1, n_drawn)]))


def known_labels(data: Any, label: str | None, model: LLPClassifier, names: Sequence[str] = ()) -> Array | None:
    """The classes of all rows, where a column tells them: to judge a model by, not to train it."""
    if label is None:
        return None
    try:
        return labels_as_classes(label_values(open_rows(data), label), model.classes_, label, names)
    except ValueError as error:
        warnings.warn(f"the report does not judge by labels: {error}", stacklevel=2)
        return None


def in_words(bags: Bags) -> str:
    """How many there are of what."""
    classes = ", ".join(str(name) for name in bags.classes.tolist())
    return f"{len(bags.instances):,} rows in {bags.n_bags:,} bags, {bags.n_classes} classes ({classes})"
