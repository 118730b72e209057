"""Importance and effect of columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.evaluation.scores import bag_cross_entropies
from llpgan.methods.base import LLPClassifier
from llpgan.tables.encode import Date, Number
from llpgan.utils.arrays import Array, to_frame
from llpgan.utils.messages import did_you_mean
from llpgan.utils.old_names import OldName

Columns = Sequence[str] | Mapping[str, Sequence[int]] | None


class Rise(NamedTuple):
    """The increase of the loss of bags, over repeated shuffles.

    Attributes
    ----------
    mean : float
        The mean increase.
    sd : float
        The standard deviation over the shuffles.
    """

    mean: float
    sd: float


def importance(
    model: LLPClassifier,
    bags: Bags,
    columns: Columns = None,
    *,
    repeats: int = 5,
    random_state: int = 0,
    max_rows: int = 20_000,
    seed: int | None = None,
) -> dict[str, Rise]:
    """Measure how much the loss of bags increases if the values of a column are shuffled.

    The loss is the mean cross-entropy of bags. An increase close to zero means that the model does not need the
    column.

    Parameters
    ----------
    model : LLPClassifier
        A fitted model.
    bags : Bags
        The bags, encoded as for the model.
    columns : sequence of str or mapping of str to sequence of int, default=None
        The columns of the user's table, or the positions of groups of columns of the instances, by name. The
        columns of a group are shuffled together, because one column of a table may have become several. None means
        all columns of the table.
    repeats : int, default=5
        The number of shuffles.
    random_state : int, default=0
        The seed of the shuffles.
    max_rows : int, default=20000
        The maximum number of rows. If there are more, each bag keeps the same share of its rows at random, and at
        least one. The losses before and after are of the same rows.
    seed : int, default=None
        The former name of ``random_state``.

    Returns
    -------
    dict of str to Rise
        The increase for each column or group of columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(80, 2)), np.arange(80) // 4
    >>> bags = Bags.from_labels(X, X[:, 0] > 0, groups)
    >>> from llpgan import MeanMap
    >>> rises = importance(MeanMap().fit_bags(bags), bags)
    >>> rises["column 0"].mean > 3 * abs(rises["column 1"].mean)
    True
    """
    refuse_other_than_bags(bags, "bags")
    if bags.instances.ndim != 2:
        raise ValueError(
            f"importance is of a table's columns, but instances have shape {bags.instances.shape[1:]}"
        )
    if seed is not None:
        warnings.warn("importance(seed=...) is now random_state", FutureWarning, stacklevel=2)
        random_state = seed
    rng = np.random.default_rng(random_state)
    kept = fewer_rows(bags.drop_weightless(), max_rows, rng)

    before = bag_cross_entropies(kept, model.predict_proba(kept)).mean()
    rises = {}
    for name, group in select_columns(bags, columns).items():
        found = []
        for _ in range(repeats):
            after = model.predict_encoded(_shuffle(kept, group, rng), check_input=False)
            found.append(float(bag_cross_entropies(kept, after).mean() - before))
        rises[name] = Rise(float(np.mean(found)), float(np.std(found, ddof=1)) if repeats > 1 else 0.0)
    return rises


def find_columns(bags: Bags) -> dict[str, Sequence[int]]:
    """Find the positions of the columns of the user's table among those of the instances."""
    if bags.encoder is not None:
        return dict(bags.encoder.positions)
    names = bags.features or [f"column {i}" for i in range(bags.instances.shape[1])]
    return {name: [i] for i, name in enumerate(names)}


def select_columns(bags: Bags, columns: Columns) -> Mapping[str, Sequence[int]]:
    """Look up columns that are given by name; None means all."""
    if isinstance(columns, Mapping):
        return columns
    there = find_columns(bags)
    for name in (names := list(there if columns is None else [columns] if isinstance(columns, str) else columns)):
        if name not in there:
            raise ValueError(f"there is no column {name!r} (columns){did_you_mean(name, there)}")
    return {name: there[name] for name in names}


def _shuffle(bags: Bags, group: Sequence[int], rng: np.random.Generator) -> Array:
    instances = np.array(bags.instances)
    columns, n, weights = list(group), len(instances), bags.uneven_weights
    places = rng.permutation(n) if weights is None else rng.choice(n, n, p=weights / weights.sum())
    instances[:, columns] = instances[places[:, None], columns]
    return instances


def fewer_rows(bags: Bags, max_rows: int, rng: np.random.Generator) -> Bags:
    """All bags, each with the same share of its rows: some ``max_rows`` in all."""
    share = max_rows / len(bags.instances)
    if share >= 1:
        return bags
    chosen = [
        rng.choice(bags.rows_of(b), max(1, int(bags.sizes[b] * share)), replace=False) for b in range(bags.n_bags)
    ]
    return bags.take_rows(np.sort(np.concatenate(chosen)))


_STEPS = 9  # values of a number, from its 5 % to its 95 % quantile
_MOST_VALUES = 10  # of a category: the commonest
_DAYS_OF_A_DATE = 2  # since 1970; fewer are times of the day
_FEW = 6  # a number with no more values than these is drawn at each of them


@dataclass(frozen=True, eq=False)
class PartialDependence:
    """What a model predicts on average if all instances had the same value in one column.

    Attributes
    ----------
    column : str
        The column of the user's table.
    names : tuple of str
        The values that the column was set to, as text.
    values : ndarray of shape (n_values,) or None
        The same as numbers, in the units of the table; None for categories.
    predicted : ndarray of shape (n_values, n_classes)
        The mean predicted probability of each class.
    classes : tuple of str
        The names of the classes.
    """

    column: str
    names: tuple[str, ...]
    values: NDArray[np.float64] | None
    predicted: NDArray[np.float64]
    classes: tuple[str, ...]

    def change(self, k: int) -> float:
        """By how much the column moves the mean prediction of a class.

        Parameters
        ----------
        k : int
            The place of the class.

        Returns
        -------
        float
            For a number, the prediction at its largest value minus that at its smallest: positive if it rises. For
            a category, the largest minus the smallest prediction.
        """
        of_class = self.predicted[:, k]
        return float(of_class[-1] - of_class[0] if self.values is not None else np.ptp(of_class))

    in_words = OldName("describe")

    def describe(self, k: int) -> str:
        """The direction of the effect on a class, in a sentence.

        Parameters
        ----------
        k : int
            The place of the class.

        Returns
        -------
        str
            The text.
        """
        of_class = self.predicted[:, k]
        if self.values is None:
            best, worst = int(of_class.argmax()), int(of_class.argmin())
            return (
                f"highest for {self.names[best]} ({_percent(of_class[best])}), lowest for {self.names[worst]} "
                f"({_percent(of_class[worst])})"
            )
        steps = np.sign(np.diff(of_class)[np.abs(np.diff(of_class)) > 1e-3])
        way = "does not change" if not len(steps) else "rises" if (steps > 0).all() else "falls"
        way = way if not len(steps) or abs(steps.sum()) == len(steps) else "goes up and down"
        first, last = _percent(of_class[0]), _percent(of_class[-1])
        return f"{way}: {first} at {self.names[0]}, {last} at {self.names[-1]}"

    def to_frame(self) -> Any:
        """The effect as a pandas frame, with one row per value.

        Returns
        -------
        pandas.DataFrame
            One row per entry.
        """
        shares = {f"predicted {name}": self.predicted[:, k].tolist() for k, name in enumerate(self.classes)}
        return to_frame({"column": [self.column] * len(self.names), "value": list(self.names), **shares})


def partial_dependence(
    model: LLPClassifier,
    bags: Bags,
    columns: Columns = None,
    *,
    max_rows: int = 2_000,
    random_state: int = 0,
) -> dict[str, PartialDependence]:
    """The mean prediction if all instances had the same value in a column, for each of several values.

    A number is set to nine quantiles from 5 % to 95 %, a category to each of its ten commonest values. It tells
    what the model does, not what causes what: values that never occur together are predicted too.

    Parameters
    ----------
    model : LLPClassifier
        A fitted model.
    bags : Bags
        With a table of instances.
    columns : sequence of str or mapping of str to sequence of int, default=None
        The columns of the user's table, or for each of them the positions of its columns among the instances. None
        means all columns.
    max_rows : int, default=2000
        The mean is over so many instances at most, drawn at random.
    random_state : int, default=0
        Of the draw.

    Returns
    -------
    dict of str to PartialDependence
        The mean predictions for each column.

    References
    ----------
    J. H. Friedman. Greedy function approximation: a gradient boosting machine. Annals of Statistics 29, 2001.

    Examples
    --------
    >>> from llpgan import MeanMap
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> bags = Bags.from_labels(X, X[:, 0] > 0, np.arange(80) // 4)
    >>> effects = partial_dependence(MeanMap().fit_bags(bags), bags)
    >>> effects["column 0"].change(1) > 0.5 > effects["column 1"].change(1)
    True
    """
    refuse_other_than_bags(bags, "bags")
    if bags.instances.ndim != 2:
        raise ValueError(
            f"partial dependence is on a table's columns, but instances have shape {bags.instances.shape[1:]}"
        )
    counted = np.flatnonzero(bags.is_counted)
    rows = np.sort(np.random.default_rng(random_state).permutation(counted)[:max_rows])
    instances, weights = np.array(bags.instances[rows]), bags.row_weights[rows]
    return {
        name: _column_dependence(model, bags, instances, weights, name, list(group))
        for name, group in select_columns(bags, columns).items()
    }


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _column_dependence(
    model: LLPClassifier, bags: Bags, instances: Array, weights: Array, name: str, group: list[int]
) -> PartialDependence:
    encoder = _encoder(bags, name)
    is_number = len(group) == 1 if encoder is None else isinstance(encoder, Number)
    patterns, is_number = _values_to_set(instances[:, group], weights, is_number)
    names, values = _texts(bags, name, group, patterns, is_number)
    predicted = []
    for place, pattern in enumerate(patterns):  # all have values of the same rows, which are checked once
        changed = instances.copy()
        changed[:, group] = pattern
        found = model.predict_encoded(changed, check_input=place == 0)
        predicted.append(np.average(found, axis=0, weights=weights))
    classes = tuple(str(label) for label in bags.classes.tolist())
    return PartialDependence(name, names, values, np.array(predicted), classes)


def _encoder(bags: Bags, name: str) -> Any:
    """How the column was encoded, if it came from a table."""
    columns = getattr(bags.encoder, "columns", ())
    return next((column for column in columns if column.name == name), None)


def _values_to_set(rows: Array, weights: Array, is_number: bool) -> tuple[Array, bool]:
    """What the column is set to: quantiles of a number that is not missing, or the commonest values."""
    if is_number:
        present = (rows[:, 1:] == 0).all(axis=1)
        found = np.unique(rows[present, 0] if present.any() else rows[:, 0])
        if len(found) > _FEW:
            shares = np.linspace(0.05, 0.95, _STEPS)
            of_present: dict[str, Any] = {"weights": weights[present], "method": "inverted_cdf"}
            found = np.unique(np.quantile(rows[present, 0], shares, **of_present))
        patterns = np.zeros((len(found), rows.shape[1]), dtype=rows.dtype)
        patterns[:, 0] = found
        return patterns, True
    found, places = np.unique(rows, axis=0, return_inverse=True)
    commonest = np.argsort(-np.bincount(places.ravel(), weights), kind="stable")[:_MOST_VALUES]
    return found[np.sort(commonest)[::-1]], False


def _texts(
    bags: Bags, name: str, group: list[int], patterns: Array, is_number: bool
) -> tuple[tuple[str, ...], NDArray[np.float64] | None]:
    """The values in the user's words and units."""
    if not is_number:
        features = [str(bags.features[i]) if bags.features else f"column {i}" for i in group]
        return tuple(_category(name, features, pattern) for pattern in patterns), None
    encoder, values = _encoder(bags, name), patterns[:, 0].astype(np.float64)
    if encoder is not None:
        values = _drop_rounding(values * encoder.scale + encoder.mean)
    if isinstance(encoder, Date) and np.abs(values).max() > _DAYS_OF_A_DATE:
        return tuple(str(np.datetime64(int(np.floor(day)), "D")) for day in values), values
    return tuple(_format_value(value) for value in values.tolist()), values


def _format_value(value: float) -> str:
    """Four digits, with commas and without an exponent unless the number is tiny.

    >>> _format_value(16930.2), _format_value(0.25), _format_value(-3.0)
    ('16,930', '0.25', '-3')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _drop_rounding(values: Array) -> Array:
    """Six digits: what single precision leaves of a user's number.

    >>> _drop_rounding(np.array([3.962e-09, 1.0000001])).tolist()
    [0.0, 1.0]
    """
    largest = float(np.abs(values).max())
    return values if largest == 0 else np.round(values, 5 - int(np.floor(np.log10(largest)))) + 0.0


def _category(name: str, features: list[str], pattern: Array) -> str:
    """The value whose column is 1; all zeros stand for a value that has none."""
    there = [feature for feature, value in zip(features, pattern, strict=True) if value == 1]
    if not there:
        return (
            "(other)" if all(value == 0 for value in pattern) else ", ".join(f"{value:.3g}" for value in pattern)
        )
    return ", ".join(feature.removeprefix(f"{name}=") for feature in there)
