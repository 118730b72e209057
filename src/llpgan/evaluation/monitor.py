"""Monitoring of a model in use: whether its accuracy has fallen, or the data have changed."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from llpgan.bags.bags import Bags
from llpgan.bags.on_disk import column_moments
from llpgan.evaluation.calibrate import CountRegression, NotRandomError, check_random_bags
from llpgan.evaluation.scores import Estimate, bag_scores
from llpgan.methods.base import LLPClassifier
from llpgan.utils.arrays import Array, check_between_0_and_1
from llpgan.utils.files import lock_for_writing, replace_file

LEVEL = 0.05
LEAST_BAGS = 20
_SMALLEST_DRIFT = 0.1  # standard deviations of a column; a smaller shift is not reported, however certain it is
_MOST_DEGREES = 1e6
_VERSION = 1
_PROBED, _SAME_MODEL = 8, 1e-3  # instances, and how much their probabilities may differ between machines
Status = Literal["quiet", "drift", "alarm"]
#: Figures that raise an alarm, the direction that is worse, and their part of the error level.
_ALARMS = {"accuracy": (-1, 0.5), "bag error": (1, 0.5), "coverage": (-1, 0.125)}
#: Figures of which any change is drift.
_DRIFTS = {"overconfidence": 0.125}
_PART_OF_CLASSES = _PART_OF_COLUMNS = 0.125


@dataclass(frozen=True)
class Figure:
    """A figure with its standard error.

    Attributes
    ----------
    value : float
        The figure.
    error : float
        Its standard error.
    degrees : float
        The degrees of freedom of the standard error.
    """

    value: float
    error: float
    degrees: float

    def as_estimate(self) -> Estimate:
        """The figure with its 95 % interval."""
        half = float(stdtrit(self.degrees, 0.975)) * self.error
        return Estimate(self.value, self.value - half, self.value + half)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What one look at a model's bags measured: one line of a history file.

    Attributes
    ----------
    time : str
        When the look was taken, in ISO format.
    n_bags : int
        The number of bags.
    n_rows : int
        The number of rows.
    why : str
        Why the accuracy cannot be estimated. Empty if it can.
    level : float or None
        The level of the prediction sets. None if the model has none.
    figures : dict of str to Figure
        The accuracy, the overconfidence (mean probability of the predicted class minus accuracy) and the coverage
        of prediction sets; of bags that are not random, the bag error.
    classes : dict of str to Figure
        The share of each class.
    columns : dict of str to Figure
        The mean of each column of the instances, and the mean predicted probability of each class.
    spreads : dict of str to float
        The standard deviation of each of them over rows.
    probe : list of float
        What the model predicts for a few fixed instances, which shows whether looks are of one model. Empty in
        histories of earlier versions.
    """

    time: str
    n_bags: int
    n_rows: int
    why: str
    level: float | None
    figures: dict[str, Figure]
    classes: dict[str, Figure]
    columns: dict[str, Figure]
    spreads: dict[str, float]
    probe: list[float] = field(default_factory=list)

    def to_json(self) -> str:
        """Write the snapshot as one line of JSON.

        Returns
        -------
        str
            The line, without its end.
        """
        return json.dumps({"version": _VERSION, **asdict(self)}, ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Snapshot:
        """Read a snapshot from a line of JSON.

        Parameters
        ----------
        line : str
            The line.

        Returns
        -------
        Snapshot
            The snapshot.

        Raises
        ------
        ValueError
            If the line is not what :meth:`to_json` writes.
        """
        try:
            content = json.loads(line)
            version = content.pop("version")
            if version == _VERSION:
                for name in ("figures", "classes", "columns"):
                    content[name] = {key: Figure(**value) for key, value in content[name].items()}
                look = cls(**content)
                _refuse_damaged(look)
                return look
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
            raise ValueError(
                "it is no line of a history that llpgan monitor wrote: give another file, or remove the line"
            ) from error
        raise ValueError(f"it has version {version!r} of histories, and this version of llpgan reads {_VERSION}")


def _refuse_damaged(look: Snapshot) -> None:
    """Refuse a look whose figures cannot be compared."""
    figures = [*look.figures.values(), *look.classes.values(), *look.columns.values()]
    given = [[each.value, each.error, each.degrees] for each in figures]
    if not all(type(number) in (int, float) for number in chain(*given, look.spreads.values(), look.probe)):
        raise TypeError("a figure is no number")
    numbers, spreads = np.array([*given, [0, 0, 1]], dtype=float), np.array([*look.spreads.values(), 0.0])
    is_possible = np.isfinite(numbers).all() and (numbers[:, 1] >= 0).all() and (numbers[:, 2] > 0).all()
    if not is_possible or not np.isfinite(spreads).all() or (spreads < 0).any():
        raise ValueError("a figure is not finite, or its error is negative")
    if not look.classes:
        raise KeyError("a model has classes")
    if not (isinstance(look.why, str) and isinstance(look.time, str)):
        raise TypeError("the reason and the time are texts")
    if not (isinstance(look.n_bags, int) and isinstance(look.n_rows, int)):
        raise TypeError("numbers of bags and rows are whole")
    if look.level is not None:
        check_between_0_and_1(look.level, "level", such_as=0.9)


@dataclass(frozen=True)
class Change:
    """The comparison of one figure with the reference.

    Attributes
    ----------
    name : str
        The figure.
    kind : str
        ``"figure"``, ``"class"`` or ``"column"``.
    then : Estimate
        Its value in the reference.
    now : Estimate
        Its value now.
    p_value : float
        The smaller of the p-values of this look alone and of all looks since the reference together.
    limit : float
        The change counts if the p-value is below this limit.
    size : float
        The change in standard deviations of the column; for other figures, the difference itself.
    is_significant : bool
        Whether the change counts.
    """

    name: str
    kind: str
    then: Estimate
    now: Estimate
    p_value: float
    limit: float
    size: float
    is_significant: bool


@dataclass(frozen=True, eq=False)
class MonitorReport:
    """Comparison of new bags with those of the reference.

    Attributes
    ----------
    status : {"quiet", "drift", "alarm"}
        ``"alarm"`` if the accuracy or the coverage has fallen, or the bag error has risen; ``"drift"`` if only the
        calibration, the columns or the class shares have changed.
    sentences : list of str
        The evidence.
    changes : list of Change
        All comparisons.
    snapshots : list of Snapshot
        The course: the reference, and all looks up to this one.
    """

    status: Status
    sentences: list[str]
    changes: list[Change]
    snapshots: list[Snapshot] = field(repr=False)

    @property
    def exit_status(self) -> int:
        """The exit status of ``llpgan monitor``: 0 if quiet, 3 for drift, 4 for an alarm."""
        return {"quiet": 0, "drift": 3, "alarm": 4}[self.status]

    def __str__(self) -> str:
        return "\n".join([f"{self.status.capitalize()}.", *self.sentences])


def monitor(
    model: LLPClassifier,
    bags: Bags,
    *,
    reference: Bags | None = None,
    history: str | Path | None = None,
    coverage: float = 0.9,
    level: float = LEVEL,
    random_state: int = 0,
) -> MonitorReport:
    """Compare new bags of a model in use with those of its reference.

    If bags are random, the accuracy, the overconfidence and the coverage of the model's prediction sets are
    estimated without labels; otherwise the bag error is compared. Class shares, columns and predictions are
    compared in any case, with standard errors over bags.

    You may look as often as you like: the t-th look spends level / (t (t + 1)) of the error level, which sums to
    ``level`` over any number of looks (alpha spending [1]_). Half of it goes to the accuracy, and an eighth each
    to coverage, overconfidence, class shares and columns. Each look tests its own bags, and all looks since the
    reference together, so that a slow decline is noticed as well. The probability that a model whose data have
    not changed ever gets another status than ``"quiet"`` is therefore at most ``level``.

    Parameters
    ----------
    model : LLPClassifier
        The fitted model.
    bags : Bags
        New bags, with the encoding of the training bags.
    reference : Bags, default=None
        Bags from the time when the model was put to use, which it was not trained on. None means the first line
        of ``history``.
    history : str or Path, default=None
        A file of JSON lines, to which this look is added. If it does not exist and there is no ``reference``,
        this look becomes the reference.
    coverage : float, default=0.9
        The level of the prediction sets, if the model has any (see ``conformalize``).
    level : float, default=0.05
        The probability of a false alarm, over all looks together.
    random_state : int, default=0
        The seed of the tests of randomness.

    Returns
    -------
    MonitorReport
        The status, the evidence, and all comparisons.

    References
    ----------
    .. [1] K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70,
       1983.

    Examples
    --------
    >>> from llpgan import BagLogistic
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(9600, 2))
    >>> y, bag = (X[:, 0] + rng.normal(size=9600) > 0).astype(int), np.arange(3200) // 16
    >>> train, then, now = (Bags.from_labels(X[i::3], y[i::3], bag) for i in range(3))
    >>> model = BagLogistic(n_resamples=0).fit_bags(train)
    >>> monitor(model, now, reference=then).status
    'quiet'
    """
    check_between_0_and_1(level, "level", such_as=0.05)
    check_between_0_and_1(coverage, "coverage", such_as=0.9)
    for given in (bags,) if reference is None else (bags, reference):
        model.refuse_training_bags(given)
    path = None if history is None else Path(history)
    if path is None and reference is None:
        raise ValueError("there is nothing to compare with: give reference or history")
    with nullcontext() if path is None else lock_for_writing(path):  # no look of another process is lost
        looks = [] if path is None or not os.path.lexists(path) else read_history(path)
        looks = _take_looks(model, bags, reference, looks, path, coverage, random_state)
        if path is not None:
            write_history(path, looks)
    return compare_looks(looks, level=level)


def _take_looks(
    model: LLPClassifier,
    bags: Bags,
    reference: Bags | None,
    looks: list[Snapshot],
    path: Path | None,
    coverage: float,
    random_state: int,
) -> list[Snapshot]:
    """The looks of a history, those of the reference and of the new bags included."""
    if looks and reference is not None:
        raise ValueError(
            f"{path} has a reference already, its first line: leave out reference, or use another file"
        )
    if reference is not None:
        looks = [take_snapshot(model, reference, coverage=coverage, random_state=random_state)]
    now = take_snapshot(model, bags, coverage=coverage, random_state=random_state)
    _refuse_other_looks(looks, now, "the reference" if path is None else str(path))
    return [*looks, now]


def _refuse_other_looks(looks: Sequence[Snapshot], now: Snapshot, where: str) -> None:
    """Refuse a history of another model, and bags that were looked at before: they are no new evidence."""
    if looks and None not in (looks[0].level, now.level) and looks[0].level != now.level:
        raise ValueError(
            f"{where} is of sets with a coverage of {looks[0].level:g}, not {now.level:g}, which would look "
            f"like a change: give the same level (coverage), or use another history"
        )
    for place, look in enumerate(looks):
        for what in ("classes", "columns", "spreads"):
            there, here = getattr(look, what).keys(), getattr(now, what).keys()
            if there != here:
                raise ValueError(
                    f"{where} is of another model: of its {what}, {min(there ^ here)!r} is "
                    f"{'unknown here' if min(there ^ here) in there else 'missing'}; use another history"
                )
        is_same = len(look.probe) in (0, len(now.probe)) and np.allclose(
            look.probe or now.probe, now.probe, rtol=0, atol=_SAME_MODEL
        )
        if not is_same:
            raise ValueError(f"{where} is of another model, which predicts otherwise: use another history")
        if (look.n_rows, look.classes, look.columns) == (now.n_rows, now.classes, now.columns):
            name = f"look {place}" if place else "the reference"
            raise ValueError(f"{where}: these bags are those of {name}, of {look.time}: give new ones")


def take_snapshot(model: LLPClassifier, bags: Bags, *, coverage: float = 0.9, random_state: int = 0) -> Snapshot:
    """Measure what can be measured of a model on bags, without labels."""
    bags = bags.drop_weightless()
    if bags.n_bags < LEAST_BAGS:
        raise ValueError(f"monitoring needs {LEAST_BAGS} bags or more, got {bags.n_bags}")
    probabilities = model.predict_proba(bags)
    sets = getattr(model, "sets_", None)
    figures, why = {}, ""
    try:
        check_random_bags(bags, probabilities, "The accuracy", random_state)
    except NotRandomError as error:
        why = str(error)
    if why:
        errors = bag_scores(bags, probabilities).total_variation
        figures["bag error"] = _mean_over_bags(errors, bags.totals)
    else:
        right = np.eye(bags.n_classes)[probabilities.argmax(axis=1)]
        regression = CountRegression(bags, probabilities)
        accuracy = regression.mean(right)
        degrees = float(max(1, bags.n_bags - 5))
        figures["accuracy"] = Figure(accuracy.value, accuracy.error, degrees)
        sure = float(probabilities.max(axis=1).mean())
        figures["overconfidence"] = Figure(sure - accuracy.value, accuracy.error, degrees)
        if sets is not None:
            covered = regression.mean(sets.contain(probabilities, coverage).astype(np.float64))
            figures["coverage"] = Figure(covered.value, covered.error, degrees)
    shares = bags.nearest_shares(bags.means(probabilities))
    table, names = _columns_to_compare(bags, probabilities, model.classes_)
    means, (_, spreads) = bags.means(table), column_moments(table, bags.weights)
    return Snapshot(
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        n_bags=bags.n_bags,
        n_rows=len(bags.instances),
        why=why,
        level=None if sets is None else coverage,
        figures=figures,
        classes={str(name): _mean_over_bags(shares[:, k], bags.totals) for k, name in enumerate(bags.classes)},
        columns={name: _mean_over_bags(means[:, j], bags.totals) for j, name in enumerate(names)},
        spreads={name: float(spread) for name, spread in zip(names, spreads, strict=True)},
        probe=_probe(model),
    )


def _probe(model: LLPClassifier) -> list[float]:
    """What a model predicts for a few fixed instances of zeros and ones."""
    rng = np.random.default_rng(0)
    instances = rng.integers(2, size=(_PROBED, *model.instance_shape_)).astype(model.instance_type_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # images of such values are dark
        found = model.predict_encoded(instances)
    return [round(value, 6) for value in found[:, 1:].ravel().tolist()]


def compare_looks(looks: Sequence[Snapshot], *, level: float = LEVEL) -> MonitorReport:
    """Compare the last of several looks, and all but the first together, with the first."""
    reference, now = looks[0], looks[-1]
    if len(looks) == 1:
        said = f"These {now.n_bags:,} bags are the reference, with which later looks are compared."
        return MonitorReport("quiet", [said, *([now.why] if now.why else [])], [], list(looks))
    since = looks[1:]
    spent = level / (len(since) * (len(since) + 1)) / (1 if len(since) == 1 else 2)
    changes = []
    for name, (direction, part) in _ALARMS.items():
        changes += _compare(reference, since, "figures", name, direction, spent * part)
    for name, part in _DRIFTS.items():
        changes += _compare(reference, since, "figures", name, 0, spent * part)
    for name in reference.classes:
        changes += _compare(
            reference, since, "classes", name, 0, spent * _PART_OF_CLASSES / len(reference.classes)
        )
    for name in reference.columns:
        changes += _compare(
            reference, since, "columns", name, 0, spent * _PART_OF_COLUMNS / len(reference.columns)
        )
    significant = [change for change in changes if change.is_significant]
    alarms = [change for change in significant if change.name in _ALARMS and change.kind == "figure"]
    status: Status = "alarm" if alarms else "drift" if significant else "quiet"
    return MonitorReport(status, _sentences(now, changes, len(since)), changes, list(looks))


def read_history(path: str | Path) -> list[Snapshot]:
    """Read the looks of a history file.

    Parameters
    ----------
    path : str or Path
        The file of JSON lines.

    Returns
    -------
    list of Snapshot
        The looks; the first is the reference.

    Raises
    ------
    ValueError
        If a line is damaged.
    """
    looks = []
    if Path(path).exists() and not Path(path).is_file():
        raise ValueError(f"{path} is not a file of JSON lines, but a folder or a device: name another history")
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no history that llpgan monitor wrote: give another file") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                looks.append(Snapshot.from_json(line))
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
    return looks


def write_history(path: str | Path, looks: Sequence[Snapshot]) -> None:
    """Write looks to a history file, completely or not at all.

    Parameters
    ----------
    path : str or Path
        The file of JSON lines.
    looks : sequence of Snapshot
        The looks; the first is the reference.
    """
    with replace_file(Path(path)) as aside:
        aside.write_text("".join(look.to_json() + "\n" for look in looks), encoding="utf-8")


def _mean_over_bags(values: Array, weights: Array) -> Figure:
    """The mean over rows of figures that are known bag by bag; its error over bags holds for any bags."""
    shares = weights / weights.sum()
    mean = float(shares @ values)
    n = len(values)
    error = float(np.sqrt(n / (n - 1) * np.sum((shares * (values - mean)) ** 2)))
    return Figure(mean, error, float(n - 1))


def _columns_to_compare(bags: Bags, probabilities: Array, classes: Array) -> tuple[Array, list[str]]:
    """The columns of the instances, or the brightness and contrast of images, and the predictions."""
    instances = bags.instances
    names = [f"predicted share of {name}" for name in classes.tolist()]
    if instances.ndim == 2:
        given = bags.features or [f"column {j}" for j in range(instances.shape[1])]
        return np.hstack([np.asarray(instances, dtype=np.float64), probabilities]), [*map(str, given), *names]
    pixels = np.asarray(instances, dtype=np.float64).reshape(len(instances), instances.shape[1], -1)
    light = [f"{what} of channel {c}" for what in ("brightness", "contrast") for c in range(pixels.shape[1])]
    return np.hstack([pixels.mean(axis=2), pixels.std(axis=2), probabilities]), [*light, *names]


def _compare(
    reference: Snapshot, since: Sequence[Snapshot], kind: str, name: str, direction: int, limit: float
) -> list[Change]:
    """Compare one figure, if both the reference and this look have it."""
    then, now = getattr(reference, kind).get(name), getattr(since[-1], kind).get(name)
    if then is None or now is None:
        return []
    past = [figure for look in since if (figure := getattr(look, kind).get(name)) is not None]
    p_value = min(
        _p_value(then, each, direction) for each in ([now] if len(past) == 1 else [now, _pool_figures(past)])
    )
    size, least = now.value - then.value, 0.0
    if kind == "columns":
        spread = reference.spreads[name]
        size, least = (size / spread if spread > 0 else np.sign(size) * np.inf), _SMALLEST_DRIFT
    is_significant = p_value < limit and abs(size) >= least
    return [
        Change(
            name,
            {"figures": "figure", "classes": "class", "columns": "column"}[kind],
            then.as_estimate(),
            now.as_estimate(),
            p_value,
            limit,
            float(size),
            bool(is_significant),
        )
    ]


def _pool_figures(figures: Sequence[Figure]) -> Figure:
    """The mean of several looks, each weighted by its degrees of freedom, which grow with its bags."""
    weights = np.array([figure.degrees for figure in figures])
    weights = weights / weights.sum()
    value = float(weights @ [figure.value for figure in figures])
    error = float(np.sqrt(np.sum([(w * f.error) ** 2 for w, f in zip(weights, figures, strict=True)])))
    return Figure(value, error, float(sum(figure.degrees for figure in figures)))


def _p_value(then: Figure, now: Figure, direction: int) -> float:
    """Welch's test of two figures, for a change in one direction, or in any (0)."""
    variances = np.array([then.error**2, now.error**2])
    if variances.sum() == 0:
        return 1.0 if then.value == now.value else 0.0
    degrees = variances.sum() ** 2 / (variances**2 / [then.degrees, now.degrees]).sum()
    statistic = (now.value - then.value) / np.sqrt(variances.sum())
    degrees = min(degrees, _MOST_DEGREES)
    if direction == 0:
        return float(2 * stdtr(degrees, -abs(statistic)))
    return float(stdtr(degrees, -direction * statistic))


_WORDS = {
    "accuracy": "The accuracy fell from {then} to {now}.",
    "bag error": "The bag error rose from {then} to {now}.",
    "coverage": "The coverage of the prediction sets fell from {then} to {now}.",
    "overconfidence": "The calibration changed: the mean confidence minus the accuracy was {then} and is {now}.",
}


def _share_text(figure: Estimate) -> str:
    """A share with its interval: 87.5 % (84.6 to 90.4 %)."""
    if figure.low is None or figure.high is None:
        return f"{100 * figure.value:.1f} %"
    return f"{100 * figure.value:.1f} % ({100 * figure.low:.1f} to {100 * figure.high:.1f} %)"


def _sentences(now: Snapshot, changes: Sequence[Change], n_looks: int) -> list[str]:
    """The evidence in sentences: what changed, and the accuracy in any case."""
    found = []
    for change in changes:
        if change.kind == "figure" and change.is_significant:
            found.append(_WORDS[change.name].format(then=_share_text(change.then), now=_share_text(change.now)))
        elif change.kind == "figure" and change.name in ("accuracy", "bag error"):
            found.append(
                f"The {change.name} was {_share_text(change.then)} and is {_share_text(change.now)}: "
                f"no significant change (p = {change.p_value:.2g}, limit {change.limit:.2g})."
            )
    for kind, what in (("class", "Shares of classes"), ("column", "Columns")):
        moved = sorted((c for c in changes if c.kind == kind and c.is_significant), key=lambda c: -abs(c.size))
        if moved:
            form = (lambda value: f"{100 * value:.1f} %") if kind == "class" else "{:.3g}".format
            named = ", ".join(f"{c.name} ({form(c.then.value)} to {form(c.now.value)})" for c in moved[:5])
            more = f" and {len(moved) - 5} more" if len(moved) > 5 else ""
            found.append(f"{what} that changed: {named}{more}.")
    if now.why:
        found.append(now.why)
    look = "This is the first look" if n_looks == 1 else f"This is look {n_looks}"
    found.append(f"{look} since the reference, at {now.n_bags:,} bags of {now.n_rows:,} rows.")
    return found
