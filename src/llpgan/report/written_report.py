"""A report on a model, written to a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.estimators.base import LLPClassifier
from llpgan.report.page import render
from llpgan.report.story import tell
from llpgan.utils.output_paths import output_file


def write_report(
    model: LLPClassifier,
    bags: Bags,
    path: str | Path,
    *,
    title: str | None = None,
    notes: Sequence[str] = (),
    origin: str = "",
    labels: ArrayLike | None = None,
    held_out: Bags | None = None,
    shares: Any = None,
    overwrite: bool = False,
) -> Path:
    """Write a page on a trained model: one HTML file that loads nothing.

    Parameters
    ----------
    model : LLPClassifier
        A fitted model.
    bags : Bags
        The bags that it was trained on.
    path : str or Path
        The file to write.
    title : str, default=None
        The title of the page; the name of the method by default.
    notes : sequence of str, default=()
        Remarks on the data, in addition to those of the table that the bags came from.
    origin : str, default=""
        Where the proportions came from, such as "official results of 2016".
    labels : array-like of shape (n_instances,), default=None
        The class of each instance, in the order of ``bags.instances``; used only for scores.
    held_out : Bags, default=None
        Bags that the model was not trained on; used only for scores.
    shares : table or result, default=None
        Shares of classes by group, in a form that :meth:`GroupSharesDisplay.from_shares` takes.
    overwrite : bool, default=False
        Replace the file if it exists.

    Returns
    -------
    Path
        The file.
    """
    refuse_other_than_bags(bags, "bags")
    encoder = bags.encoder
    with output_file(Path(path), overwrite=overwrite) as aside:
        story = tell(
            model,
            bags,
            title=type(model).__name__ if title is None else title,
            notes=[*notes, *([] if encoder is None else encoder.notes)],
            columns=None if encoder is None else encoder.positions,
            origin=origin,
            labels=labels,
            held_out=held_out,
            shares=shares,
        )
        aside.write_text(render(story), encoding="utf-8")
    return Path(path)
