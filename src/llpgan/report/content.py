"""The content of a report on a model."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from matplotlib.image import imsave
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from llpgan.bags import Bags
from llpgan.bags.fit_warnings import describe_little_learned, reason_uninformative, reason_unlinked_classes
from llpgan.evaluation import (
    BagCalibration,
    BagScores,
    LabelScores,
    PartialDependence,
    Verdict,
    bag_scores,
    estimate_calibration,
    importance,
    judge_without_labels,
    label_scores,
    partial_dependence,
    randomness_test,
    worst_case,
)
from llpgan.evaluation.calibrate import LEAST_BAGS, NotRandomError
from llpgan.evaluation.explain import Rise, find_columns
from llpgan.evaluation.sets import SetLevel, score_levels
from llpgan.methods.base import LLPClassifier, Setting, changed_settings, describe_method
from llpgan.report.effects import GroupSharesDisplay
from llpgan.utils.arrays import Array

Pixels = NDArray[np.uint8]
_SIDE = 8  # images along each side of a mosaic
_N_PICTURES, _PICTURE = 12, 96  # images with their predictions, and pixels of the longer side
_LARGEST = 64  # pixels of an image's side; of larger ones every second, third, ... is shown


@runtime_checkable
class Generating(Protocol):
    """A model that generates instances."""

    def sample(self, n: int, random_state: int | None = None) -> Array:
        """Generate n instances, in the range of the training instances."""


class Mosaics(NamedTuple):
    """Real and generated images, each in a square of 8 by 8: ``(height, width, 3)``."""

    real: Pixels
    generated: Pixels


def make_mosaics(model: LLPClassifier, bags: Bags) -> Mosaics | None:
    """Real and generated images; None if instances are not images, or if the method generates none."""
    if bags.instances.ndim != 4 or not isinstance(model, Generating):
        return None
    rows = np.linspace(0, len(bags.instances) - 1, _SIDE**2).astype(np.int64)
    real = np.asarray(bags.instances[rows], dtype=np.float64)
    low, high = real.min(), real.max()
    return Mosaics(_mosaic(real, low, high), _mosaic(model.sample(_SIDE**2, random_state=0), low, high))


class Pictures(NamedTuple):
    """Images of the data with their predictions, each ``(height, width, 3)``."""

    title: str
    images: tuple[tuple[Pixels, str], ...]


# From positions of rows to their images, as bytes of shape (height, width, 3).
ReadImages = Callable[[Sequence[int]], Sequence[Pixels]]


def collect_pictures(
    bags: Bags, probabilities: Array, scores: BagScores, read: ReadImages | None = None
) -> tuple[Pictures, ...]:
    """The images with the most and least confident predictions, and some of the bag that is predicted worst."""
    if read is None and bags.instances.ndim != 4:
        return ()
    highest = probabilities.max(axis=1)
    order = np.argsort(highest, kind="stable")
    worst = int(np.argmax(scores.total_variation))
    of_worst = bags.rows_of(worst)
    given = ", ".join(
        f"{name}: {100 * share:.0f} %"
        for name, share in zip(bags.classes.tolist(), scores.given[worst], strict=True)
    )
    rows = {
        "Most confident": order[::-1][:_N_PICTURES],
        "Least confident": order[:_N_PICTURES],
        f"The bag that is predicted worst, {bags.bag_ids[worst]} (given: {given})": of_worst[:_N_PICTURES],
    }
    read = read or partial(_read_pixels, bags)
    found = []
    for title, some in rows.items():
        names = bags.classes[probabilities[some].argmax(axis=1)].tolist()
        captions = [f"{name}: {100 * sure:.0f} %" for name, sure in zip(names, highest[some], strict=True)]
        images = [_shrink(image) for image in read(some.tolist())]
        found.append(Pictures(title, tuple(zip(images, captions, strict=True))))
    return tuple(found)


def _read_pixels(bags: Bags, rows: Sequence[int]) -> list[Pixels]:
    """Instances that are images, as bytes."""
    images = np.asarray(bags.instances[np.asarray(rows)], dtype=np.float64)
    if bags.instances.dtype != np.uint8:
        low, high = images.min(), images.max()
        images = (images - low) * (255 / ((high - low) or 1))
    colours = _as_colours(np.clip(images, 0, 255).astype(np.uint8))
    return [image.transpose(1, 2, 0) for image in colours]


def _shrink(image: Pixels) -> Pixels:
    """The image with a longer side of at most 96 pixels."""
    small = Image.fromarray(image)
    small.thumbnail((_PICTURE, _PICTURE))
    return np.asarray(small)


def png_address(pixels: Pixels) -> str:
    """A picture as an address that carries it."""
    file = io.BytesIO()
    imsave(file, pixels, format="png")
    return "data:image/png;base64," + b64encode(file.getvalue()).decode()


def _mosaic(images: Array, low: float, high: float) -> Pixels:
    """Images ``(64, channels, height, width)`` in one, a pixel of white between them."""
    step = -(-max(images.shape[2:]) // _LARGEST)
    light = (np.asarray(images, dtype=np.float64) - low) / ((high - low) or 1)
    bytes_ = (255 * np.clip(light, 0, 1)).round().astype(np.uint8)[:, :, ::step, ::step]
    return tile_images(_as_colours(bytes_), _SIDE, fill=255)[:-1, :-1]


def tile_images(images: Array, n_columns: int, fill: int = 0) -> Array:
    """Images side by side in one, with a line between them: ``(N, C, H, W)`` to ``(height, width, C)``."""
    padding = ((0, -len(images) % n_columns), (0, 0), (0, 1), (0, 1))
    padded = np.pad(images, padding, constant_values=fill)
    n, channels, height, width = padded.shape
    grid = padded.reshape(n // n_columns, n_columns, channels, height, width).transpose(0, 3, 1, 4, 2)
    return grid.reshape(n // n_columns * height, n_columns * width, channels)


def _as_colours(images: Pixels) -> Pixels:
    """Three channels as they are; of any other number the first, in grey."""
    return images if images.shape[1] == 3 else np.repeat(images[:, :1], 3, axis=1)


class BagFacts(Protocol):
    """Sizes and proportions of bags, and the names of the classes."""

    @property
    def sizes(self) -> NDArray[Any]:
        """The number of instances in each bag."""

    @property
    def proportions(self) -> NDArray[np.float64]:
        """The given shares, of shape (n_bags, n_classes)."""

    @property
    def classes(self) -> Sequence[str]:
        """The names of the classes."""


class ReportedBags(BagFacts, Protocol):
    """The same with the names of bags and their scores."""

    @property
    def bag_names(self) -> Sequence[str]:
        """The names of the bags."""

    @property
    def scores(self) -> BagScores:
        """The comparison of predicted with given proportions."""


_BINS = 20
_MOST_COLUMNS = 100
_MOST_EFFECTS = 9
_NOT_HELD_OUT = (
    "How often single predictions are right is unknown: there are only the bags that the model was trained on, "
    "which give an optimistic score. Keep some bags out of training, and run llpgan evaluate on them."
)
_ROWS_TO_PREDICT = 200_000  # in all shuffles together, so that a report takes less time than the training
_N_REPEATS = 5  # shuffles of each column


@dataclass(frozen=True, eq=False)
class ReportContent:
    """The content of the report: figures and names, and nothing of the instances but counts.

    Attributes
    ----------
    title : str
        The title of the page.
    method : str
        The name of the method.
    about : str
        The method in one line.
    settings : tuple of Setting
        All parameters of the method, with their defaults.
    notes : tuple of str
        Remarks on the data.
    origin : str
        Where the proportions came from, or an empty text.
    instance_shape : tuple of int
        The shape of an instance.
    n_instances : int
        The number of instances in all bags.
    classes : tuple of str
        The names of the classes.
    bag_names : tuple of str
        The names of the bags, in the order of ``sizes``, ``proportions`` and ``scores``.
    sizes : ndarray of shape (n_bags,)
        The number of instances of each bag, or the sum of their weights.
    proportions : ndarray of shape (n_bags, n_classes)
        The proportions of the bags; where less is known, the possible ones that are nearest to the predictions.
    scores : BagScores
        The scores on the bags that the model was trained on.
    overall : BagScores
        The scores of a baseline that predicts the overall proportions for every instance.
    held_out : BagScores or None
        The scores on bags that the model was not trained on, if there are any.
    probability_counts : ndarray of shape (n_classes, 20)
        For each class the number of instances with a probability in each of 20 equal bins.
    history : tuple of mapping
        One mapping per epoch; empty for methods without epochs.
    rises : mapping or None
        The importance of each column; None for the reason in ``why_no_rises``.
    why_no_rises : str
        The reason why the importance of columns was not measured, or an empty text.
    effects : tuple of PartialDependence
        The direction of the effects of the most important columns.
    mosaics : Mosaics or None
        Real and generated images, if the model generates images.
    pictures : tuple of Pictures
        Images with their predictions, if instances are images.
    doubt : str
        Why not to rely on the model, as its training warned, or an empty text.
    verdict : Verdict
        The evaluation of single predictions by bags alone: by the held-out bags, if there are any. For the bags
        that the model was trained on it has the worst case, but no accuracy.
    labels : LabelScores or None
        The scores by labels, if there are any.
    noise_floor : float
        The mean bag error that chance alone causes in bags of this size, even if every probability is right.
    shares : GroupSharesDisplay or None
        Shares of classes by group, if they were estimated.
    overall_held_out : BagScores or None
        The scores of the baseline on the held-out bags, if there are any.
    labels_held_out : LabelScores or None
        The scores of the held-out bags by labels, if both are known.
    tried : tuple of mapping
        What an automatic method tried: method, weight, and the cross-entropy of held-out bags or None.
    date : str
        The day on which the report was made.
    calibration : BagCalibration or None
        The calibration of the probabilities, estimated from the held-out bags if these are random.
    sets : tuple of SetLevel
        The prediction sets of some levels, if the model has any: of the held-out bags, or else the training bags.
    """

    title: str
    method: str
    about: str
    settings: tuple[Setting, ...]
    notes: tuple[str, ...]
    origin: str
    instance_shape: tuple[int, ...]
    n_instances: int
    classes: tuple[str, ...]
    bag_names: tuple[str, ...]
    sizes: NDArray[Any]
    proportions: NDArray[np.float64]
    scores: BagScores
    overall: BagScores
    held_out: BagScores | None
    probability_counts: NDArray[np.int64]
    history: tuple[Mapping[str, float], ...]
    rises: Mapping[str, Rise] | None
    why_no_rises: str
    effects: tuple[PartialDependence, ...]
    mosaics: Mosaics | None
    pictures: tuple[Pictures, ...]
    doubt: str
    verdict: Verdict
    labels: LabelScores | None
    noise_floor: float
    shares: GroupSharesDisplay | None = None
    overall_held_out: BagScores | None = None
    labels_held_out: LabelScores | None = None
    tried: tuple[Mapping[str, Any], ...] = ()
    date: str = ""
    calibration: BagCalibration | None = None
    sets: tuple[SetLevel, ...] = ()


def collect_content(
    model: LLPClassifier,
    bags: Bags,
    *,
    title: str,
    notes: Sequence[str] = (),
    columns: Mapping[str, Sequence[int]] | None = None,
    origin: str = "",
    labels: ArrayLike | None = None,
    held_out: Bags | None = None,
    labels_held_out: ArrayLike | None = None,
    shares: Any = None,
    images: ReadImages | None = None,
) -> ReportContent:
    """Collect the content of the report on a trained model.

    Parameters
    ----------
    model : LLPClassifier
        The trained model.
    bags : Bags
        The bags that it was trained on.
    title : str
        The title of the page.
    notes : sequence of str, default=()
        Remarks on the data, such as "column 'id' is left out: every row has a different number, as ids do".
    columns : mapping, default=None
        For each column of the user's table, its positions among the columns of the instances. None means that each
        column stands for itself.
    origin : str, default=""
        Where the proportions came from, such as "proportions: from results.csv".
    labels : array-like of shape (n_samples,), default=None
        The class of each instance, in the order of ``bags.instances``. They are used only for scores.
    held_out : Bags, default=None
        Bags that the model was not trained on. They are used only for scores.
    labels_held_out : array-like, default=None
        The class of each instance of ``held_out``, in its order. They are used only for scores.
    shares : table or result, default=None
        Shares of classes by group, in a form that :meth:`GroupSharesDisplay.from_shares` takes.
    images : callable, default=None
        A function from positions of rows to their images, if instances are features of images.

    Returns
    -------
    ReportContent
        The content.

    Raises
    ------
    ValueError
        If bags and model do not have the same classes.
    """
    for others in (bags,) if held_out is None else (bags, held_out):
        if others.classes.tolist() != model.classes_.tolist():
            raise ValueError(
                f"the bags have classes {others.classes.tolist()}, the model {model.classes_.tolist()}"
            )
    if labels is not None and len(np.ravel(labels)) == len(bags.bag_index):
        labels = np.ravel(labels)[bags.is_counted]
    bags = bags.drop_weightless()
    probabilities = model.predict_proba(bags)
    groups = find_columns(bags) if columns is None else columns
    why_no_rises = _why_no_rises(bags, groups)
    rises = None
    if not why_no_rises:
        max_rows = min(20_000, _ROWS_TO_PREDICT // (len(groups) * _N_REPEATS))
        rises = importance(model, bags, groups, repeats=_N_REPEATS, max_rows=max_rows)
    scores = bag_scores(bags, probabilities)
    if held_out is None:
        of_held_out = None
        worst, randomness = worst_case(bags, probabilities), randomness_test(bags)
        verdict = Verdict(scores, worst, randomness, scores=None, why=_NOT_HELD_OUT)
    else:
        of_held_out = model.predict_proba(held_out)
        verdict = judge_without_labels(held_out, of_held_out)
    doubt = reason_uninformative(bags) or reason_unlinked_classes(bags)
    doubt = doubt or describe_little_learned(type(model).__name__, bags, probabilities, bags.prior) or ""
    return ReportContent(
        title=title,
        method=type(model).__name__,
        about=describe_method(model),
        settings=changed_settings(model),
        notes=tuple(notes),
        origin=origin,
        instance_shape=bags.instances.shape[1:],
        n_instances=len(bags.instances),
        classes=tuple(str(name) for name in bags.classes.tolist()),
        bag_names=tuple(name_bag(name) for name in bags.bag_ids),
        sizes=bags.shown_sizes,
        proportions=scores.given,
        scores=scores,
        overall=bag_scores(bags, np.broadcast_to(bags.prior, probabilities.shape)),
        held_out=None if held_out is None or of_held_out is None else bag_scores(held_out, of_held_out),
        probability_counts=np.array([np.histogram(p, bins=_BINS, range=(0, 1))[0] for p in probabilities.T]),
        history=tuple(getattr(model, "history_", ())),
        rises=rises,
        why_no_rises=why_no_rises,
        effects=_effects(model, bags, groups, rises),
        mosaics=make_mosaics(model, bags),
        pictures=collect_pictures(bags, probabilities, scores, images),
        doubt=doubt,
        verdict=verdict,
        labels=None if labels is None else label_scores(labels, probabilities, bags.classes, bags.weights),
        noise_floor=expected_bag_error(bags, probabilities),
        shares=None if shares is None else GroupSharesDisplay.prepare(shares),
        overall_held_out=None
        if held_out is None
        else bag_scores(held_out, np.broadcast_to(bags.prior, (len(held_out.instances), len(bags.prior)))),
        labels_held_out=None
        if held_out is None or of_held_out is None or labels_held_out is None
        else label_scores(labels_held_out, of_held_out, bags.classes, held_out.weights),
        tried=tuple(getattr(model, "tried_", ())),
        date=datetime.now(UTC).date().isoformat(),
        calibration=None
        if held_out is None or of_held_out is None or verdict.scores is None
        else measure_calibration(held_out, of_held_out),
        sets=()
        if (sets := getattr(model, "sets_", None)) is None
        else score_levels(
            sets, probabilities if of_held_out is None else of_held_out, held_out, weights=bags.weights
        ),
    )


def measure_calibration(bags: Bags, probabilities: ArrayLike) -> BagCalibration | None:
    """Estimate the calibration from bags; None if they are too few or not random."""
    with suppress(NotRandomError):
        return estimate_calibration(bags, probabilities) if bags.n_bags >= LEAST_BAGS else None
    return None


def name_bag(name: Any) -> str:
    """The name of a bag for readers.

    >>> name_bag("Ohio"), name_bag(("dec", "unknown"))
    ('Ohio', 'dec / unknown')
    """
    return " / ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def expected_bag_error(bags: Bags, probabilities: Array) -> float:
    """The mean bag error that chance alone causes if all probabilities are right.

    The count of class k in a bag then has the variance ``Σ_i p_ik (1 − p_ik)``. Its mean absolute deviation is
    ``√(2 / π)`` standard deviations if it is about normal.

    Parameters
    ----------
    bags : Bags
        The bags.
    probabilities : ndarray of shape (n_instances, n_classes)
        The probabilities of their instances.

    Returns
    -------
    float
    """
    shares = bags.row_weights / bags.totals[bags.bag_index]
    variances = shares[:, None] ** 2 * probabilities * (1 - probabilities)
    deviations = np.sqrt([np.bincount(bags.bag_index, column, bags.n_bags) for column in variances.T])
    return float(np.sqrt(2 / np.pi) * deviations.sum(axis=0).mean() / 2)


def _why_no_rises(bags: Bags, groups: Mapping[str, Sequence[int]]) -> str:
    if bags.instances.ndim != 2:
        return "The instances are images: what drives the predictions is not measured for single pixels."
    if not groups:
        return "No columns were named: what drives the predictions is not measured."
    if len(groups) > _MOST_COLUMNS:
        n = len(groups)
        return f"There are {n} columns: what drives the predictions is measured for {_MOST_COLUMNS} at most."
    return ""


def _effects(
    model: LLPClassifier, bags: Bags, groups: Mapping[str, Sequence[int]], rises: Mapping[str, Rise] | None
) -> tuple[PartialDependence, ...]:
    """The effects of the columns that matter: their shuffling raises the loss by two standard deviations."""
    if rises is None:
        return ()
    relevant = [name for name, rise in rises.items() if rise.mean > 2 * rise.sd and rise.mean > 0]
    chosen = sorted(relevant, key=lambda name: -rises[name].mean)[:_MOST_EFFECTS]
    found = partial_dependence(model, bags, {name: groups[name] for name in chosen})
    return tuple(found.values())
