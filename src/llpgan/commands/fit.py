"""``llpgan fit``: from files to a trained model and its report."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

import llpgan
from llpgan.bags import Bags
from llpgan.commands.labels import labels_as_classes
from llpgan.commands.terminal import terminal
from llpgan.estimators import METHODS
from llpgan.estimators.base import Array, LLPClassifier
from llpgan.files import refuse_existing
from llpgan.model_files import save
from llpgan.model_files.manifest import MANIFEST
from llpgan.processes import is_first_process
from llpgan.report import render, tell
from llpgan.selection.candidates import seeded
from llpgan.sources import label_values, open_rows
from llpgan.stored_instances import StoredInstances

_ROWS_TOLD = 100_000  # in the report on a store
_KNOWN = [getattr(llpgan, name) for name in METHODS]  # so that the command line knows them by name


def fit(
    data: str,
    *,
    method: LLPClassifier | None = None,
    seed: int = 0,
    out: str = "model",
    report: bool = True,
    overwrite: bool = False,
    **tables: Any,
) -> LLPClassifier:
    """Learn a classifier of rows from the class proportions of their bags, and save it with a report.

    Args:
        data: a table of rows (.csv, .csv.gz, .parquet), a folder of folders of images (each a bag), an .npz, or a
            store, which stays on disk and holds its proportions already.
        method: the method by name, such as DLLP; its settings as --method.epochs 50. If none is named, tables are
            learned by BagLogistic, in seconds, images by LLPGAN, and tables in a store by DLLP.
        seed: the method's random_state, if that is not set: the same seed gives the same model.
        out: the folder for the model and its report.html.
        report: whether to write a report.
        overwrite: replace the model that is there.
        tables: see Bags.from_tables.
    """
    refuse_existing(Path(out), overwrite, mark=MANIFEST)
    console = terminal(stderr=True, quiet=not is_first_process())
    bags = Bags.from_tables(data, **tables)
    console.print(f"{data}: {in_words(bags)}")
    model = _ready(method or usual_method(bags), seed, verbose=console.is_terminal).fit_bags(bags)
    if not is_first_process():  # of several that train together, and have the same model
        return model
    pages = {"report.html": page(model, bags, data, tables.get("label"))} if report else {}
    save(model, out, overwrite=overwrite, pages=pages)
    console.print(f"saved {out}" + (f", report {Path(out) / 'report.html'}" if report else ""))
    return model


def usual_method(bags: Bags) -> LLPClassifier:
    """For tables the quickest that is good with few bags, if they are in memory; else a network."""
    if bags.instances.ndim != 2:
        return llpgan.LLPGAN()
    return llpgan.DLLP() if is_stored(bags) else llpgan.BagLogistic()


def is_stored(bags: Bags) -> bool:
    """Whether the instances stay in their file."""
    return isinstance(bags.instances, StoredInstances)


def page(model: LLPClassifier, bags: Bags, data: str, label: str | None) -> str:
    """The report on a model; by labels too, where a column tells them. Of a store, it tells of some bags."""
    encoder = bags.encoder
    notes, columns = ([], {}) if encoder is None else (encoder.notes, encoder.positions)
    if is_stored(bags):
        bags, n_bags = _some_bags(bags), bags.n_bags
        notes = [*notes, f"this page tells of {bags.n_bags:,} of the {n_bags:,} bags, drawn at random"]
    labels = known_labels(data, label, model)
    return render(tell(model, bags, title=Path(data).name, notes=notes, columns=columns, labels=labels))


def _some_bags(bags: Bags) -> Bags:
    """Whole bags with some 100,000 rows together, at least one, in memory."""
    order = np.random.default_rng(0).permutation(bags.n_bags)
    n_drawn = int(np.searchsorted(np.cumsum(bags.sizes[order]), _ROWS_TOLD, side="right"))
    return bags.subset(np.sort(order[: max(1, n_drawn)]))


def _ready(method: LLPClassifier, seed: int, verbose: bool) -> LLPClassifier:
    """A copy with the seed, and a progress bar, where the method has such settings."""
    copied = seeded(method, seed)
    if verbose and "verbose" in copied.get_params(deep=False):
        copied.set_params(verbose=True)
    return copied


def known_labels(data: Any, label: str | None, model: LLPClassifier) -> Array | None:
    """The classes of all rows, where a column tells them: to judge a model by, not to train it."""
    if label is None:
        return None
    try:
        return labels_as_classes(label_values(open_rows(data), label), model.classes_, label)
    except ValueError as error:
        warnings.warn(f"the report does not judge by labels: {error}", stacklevel=2)
        return None


def in_words(bags: Bags) -> str:
    """How many there are of what."""
    classes = ", ".join(str(name) for name in bags.classes.tolist())
    return f"{len(bags.instances):,} rows in {bags.n_bags:,} bags, {bags.n_classes} classes ({classes})"
