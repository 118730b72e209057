"""MarginalLogistic: logistic regression from tables of counts of pairs of columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from llpgan.methods.linear import Features, one_blas_thread
from llpgan.methods.mean_map import class_probabilities, fit_log_partition
from llpgan.tables import MarginalTables, open_rows
from llpgan.tables.encode import ValueEncoder
from llpgan.utils.arrays import Array


@dataclass(kw_only=True, eq=False, repr=False)
class MarginalLogistic(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression on all pairs of values of categorical columns, from their tables alone.

    Logistic regression needs the labels only through the mean operator: how many rows of each class have each
    feature. If the features are the values and pairs of values of categorical columns, these numbers are in
    tables of counts, as in aggregated reports, and no labelled row is needed [1]_. The method minimizes

        Σ_j log Σ_k exp(θ_k·φ(x_j)) − Σ_k θ_k·μ_k + (1 + σ²/s²) ‖θ‖² / 2C

    where μ is read off the tables. The first sum runs over rows without labels. If there are none, rows are drawn
    that have the tables of each class and are as random as possible otherwise (the distribution of largest
    entropy [2]_). Noise of variance σ² in the counts raises the penalty by its ratio to the sampling variance s²
    that the count of a class has in a mean cell: if the weights of features are normally distributed with variance
    C, a weight that is measured with so much more noise is shrunk by so much more.

    Parameters
    ----------
    C : float, default=0.03
        Inverse of the regularization strength.
    n_rows : int, default=100000
        The number of rows to draw where there are none.
    tol : float, default=1e-5
        The largest slope that counts as zero.
    random_state : int, RandomState instance or None, default=None
        The seed of the rows that are drawn; used only where there are none.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of the columns of ``predict_proba``.
    encoder_ : ValueEncoder
        The columns and their values, as whose positions rows are encoded.
    instance_shape_ : tuple of int
        The shape of an encoded row: one position per column.
    known_ : ndarray of bool
        For each value and each pair of values, whether the tables tell of it.
    noise_ratio_ : float
        The variance of the noise, divided by the sampling variance of a mean cell; 0 without noise.
    model_ : Linear
        The weights of values and pairs of values, and the intercepts.

    See Also
    --------
    MeanMap : Logistic regression with a mean operator that is estimated from bags.
    llpgan.tables.MarginalTables : The tables to learn from.

    References
    ----------
    .. [1] E. Diemert et al., "Lessons from the AdKDD'21 privacy-preserving ML challenge", 2022.
    .. [2] A. Gilotte, A. Ben Yahmed and D. Rohde, "Learning from aggregated data with a maximum entropy model",
       2022.

    Examples
    --------
    >>> from llpgan import MarginalLogistic
    >>> from llpgan.tables import MarginalTables
    >>> rows = {"sex": ["f", "m"] * 50, "job": ["clerk", "clerk", "nurse", "nurse"] * 25}
    >>> tables = MarginalTables.from_rows(rows, [0, 0, 1, 0] * 25)
    >>> model = MarginalLogistic(C=1.0, random_state=0).fit_tables(tables)
    >>> model.predict({"sex": ["f", "m"], "job": ["nurse", "clerk"]})
    array([1, 0])
    """

    C: float = 0.03
    n_rows: int = 100_000
    tol: float = 1e-5
    random_state: int | np.random.RandomState | None = None

    _parameter_constraints: ClassVar = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "n_rows": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }
    learns_from: ClassVar = "tables of counts of pairs of columns"

    @property
    def values_(self) -> dict[str, tuple[str, ...]]:
        """From each column to its values."""
        check_is_fitted(self, "encoder_")
        return self.encoder_.values

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labelled rows: count them by pairs of columns, then learn from the counts and the rows.

        Parameters
        ----------
        X : table or path
            The rows: a file, a frame or a dict of categorical columns.
        y : array-like of shape (n_rows,)
            The class of each row.

        Returns
        -------
        Self
            The fitted estimator.
        """
        return self.fit_tables(MarginalTables.from_rows(X, y), X)

    def fit_tables(self, tables: MarginalTables, rows: Any = None) -> Self:
        """Learn from tables of pairs of columns.

        Parameters
        ----------
        tables : MarginalTables
            The counts of classes by pairs of values.
        rows : table or path, default=None
            Rows without labels: a file, a frame or a dict with the columns of the tables. They should be those
            that were counted, or a random sample of them. None means that rows are drawn.

        Returns
        -------
        Self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a column is missing from the rows, or a parameter is out of range.
        TypeError
            If ``tables`` are not :class:`~llpgan.tables.MarginalTables`.
        """
        self._validate_params()
        if not isinstance(tables, MarginalTables):
            raise TypeError(f"fit_tables takes MarginalTables, got a {type(tables).__name__}")
        self.classes_ = tables.classes
        self.encoder_ = ValueEncoder(dict(tables.values))
        self.n_features_in_, self.instance_type_ = len(tables.values), np.dtype(np.int64).str
        self.instance_shape_ = (self.n_features_in_,)
        self.known_, self.noise_ratio_ = known_features(tables), noise_ratio(tables)
        if rows is None:
            positions, weights = draw_rows(tables, self.n_rows, check_random_state(self.random_state))
        else:
            positions = tables.positions(rows)
            weights = np.full(positions.shape[1], tables.totals.sum() / positions.shape[1])
        features, (operator, prior) = self._features(positions), mean_operator_of_pairs(tables)
        with one_blas_thread():
            C = self.C / (1 + self.noise_ratio_)
            self.model_ = fit_log_partition(features, operator, prior, C, self.tol, weights=weights)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class for each row.

        Parameters
        ----------
        X : table or path
            The rows: a file, a frame or a dict with the columns of the tables. A value that the tables do not have
            is ignored.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The probabilities, with the classes in the order of ``classes_``.
        """
        return self.predict_encoded(self.encode(X))

    def encode(self, X: Any) -> NDArray[np.int64]:
        """Encode rows as the positions of their values.

        Parameters
        ----------
        X : table or path
            The rows, as in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            The positions, and −1 for a value that the tables do not have.
        """
        check_is_fitted(self, "model_")
        return self.encoder_.encode(open_rows(X, self.encoder_.text_columns))

    def predict_encoded(self, instances: Any) -> Array:
        """Predict the probability of each class for rows that are already encoded.

        Parameters
        ----------
        instances : ndarray of shape (n_rows, n_columns)
            What :meth:`encode` returns.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The probabilities, with the classes in the order of ``classes_``.
        """
        check_is_fitted(self, "model_")
        return self._probabilities(np.asarray(instances))

    def predict(self, X: Any) -> Array:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : table or path
            The rows, as in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_rows,)
            The classes.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _probabilities(self, instances: Array) -> Array:
        return class_probabilities(self.model_, self._features(instances.T))

    def _features(self, positions: NDArray[np.int64]) -> Features:
        """One column of zeros and ones for each value and each pair of values that the tables know."""
        sizes = [len(known) for known in self.values_.values()]
        n_cells = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
        if len(self.known_) != sum(sizes) + n_cells:
            raise ValueError(f"known_ has {len(self.known_)} entries for {sum(sizes) + n_cells} values and pairs")
        matrix = pair_features(positions, sizes, self.known_)
        n_features = matrix.shape[1]
        return Features(cast(Array, matrix), np.zeros(n_features), np.ones(n_features))


def pair_features(positions: NDArray[np.int64], sizes: list[int], known: NDArray[np.bool_]) -> sparse.csr_array:
    """(rows, values + pairs of values): which value and which pair each row has; unknown ones are left out.

    >>> pair_features(np.array([[0, 1], [1, -1]]), [2, 2], np.ones(8, dtype=bool)).toarray().astype(int)
    array([[1, 0, 0, 1, 0, 1, 0, 0],
           [0, 1, 0, 0, 0, 0, 0, 0]])
    """
    n_columns, n_rows = positions.shape
    places, offset = [], 0
    for column in range(n_columns):
        places.append(np.where(positions[column] >= 0, offset + positions[column], -1))
        offset += sizes[column]
    for a in range(n_columns):
        for b in range(a + 1, n_columns):
            there = (positions[a] >= 0) & (positions[b] >= 0)
            places.append(np.where(there, offset + positions[a] * sizes[b] + positions[b], -1))
            offset += sizes[a] * sizes[b]
    column_of = np.column_stack(places)
    kept = (column_of >= 0) & known[column_of]
    row_starts = np.append(0, np.cumsum(kept.sum(axis=1)))
    return sparse.csr_array((np.ones(row_starts[-1]), column_of[kept], row_starts), shape=(n_rows, offset))


def known_features(tables: MarginalTables) -> NDArray[np.bool_]:
    """For each value and each pair of values, whether the tables count it."""
    n_values = sum(map(len, tables.values.values()))
    pairs = [~np.isnan(tables.counts[pair][..., 0]).ravel() for pair in tables.pairs]
    return np.concatenate([np.ones(n_values, dtype=bool), *pairs])


def mean_operator_of_pairs(tables: MarginalTables) -> tuple[Array, Array]:
    """(K, features): the share of all rows that are of a class and have a feature; and the share of each class."""
    n_classes, totals = len(tables.classes), tables.totals
    values = [tables.column_counts(name) for name in tables.values]
    pairs = [np.nan_to_num(tables.counts[pair].reshape(-1, n_classes)) for pair in tables.pairs]
    return np.concatenate([*values, *pairs]).T / totals.sum(), totals / totals.sum()


def noise_ratio(tables: MarginalTables) -> float:
    """The variance of the noise over the sampling variance of a mean cell, where a cell's rows are known.

    Of K noisy counts whose sum is known, each has the variance σ² (1 − 1/K).
    """
    totals, n_cells = tables.totals, sum(cells[..., 0].size for cells in tables.counts.values())
    prior, mean_cell = totals / totals.sum(), totals.sum() * len(tables.pairs) / n_cells
    noise = tables.sd**2 * (1 - 1 / len(prior))
    return float(noise / (mean_cell * np.mean(prior * (1 - prior))))


Table = NDArray[np.float64]
Codes = NDArray[np.int64]
_SWEEPS, _STILL = 30, 1e-3  # over all tables at most, and the share of rows in wrong cells that changes no more
_TINY = 1e-9  # of a count


def draw_rows(
    tables: MarginalTables, n_rows: int, random_state: np.random.RandomState
) -> tuple[Codes, NDArray[np.float64]]:
    """Draw rows that have the tables of their classes, an equal number of each class.

    Parameters
    ----------
    tables : MarginalTables
        The counts to match.
    n_rows : int
        How many rows to draw.
    random_state : RandomState
        The source of random numbers.

    Returns
    -------
    positions : ndarray of shape (n_columns, n_rows)
        The values of the rows, by their position.
    weights : ndarray of shape (n_rows,)
        How many people a row stands for.
    """
    n_classes = len(tables.classes)
    parts = [_draw_class_rows(tables, k, -(-n_rows // n_classes), random_state) for k in range(n_classes)]
    return np.concatenate([codes for codes, _ in parts], axis=1), np.concatenate([w for _, w in parts])


def _draw_class_rows(
    tables: MarginalTables, k: int, n_rows: int, random_state: np.random.RandomState
) -> tuple[Codes, Table]:
    names = list(tables.values)
    wanted = {
        (names.index(a), names.index(b)): np.maximum(tables.fill_counts(a, b)[..., k], 0) for a, b in tables.pairs
    }
    codes = _tree_rows(wanted, len(names), n_rows, random_state)
    return codes, _rake(codes, wanted, float(tables.totals[k]), tables.sd**2)


def _tree_rows(
    tables: dict[tuple[int, int], Table], n_columns: int, n_rows: int, random_state: np.random.RandomState
) -> Codes:
    """Rows of the tree whose columns know most of each other: each column drawn given the one before it."""
    codes = np.zeros((n_columns, n_rows), dtype=np.int64)
    for parent, column, table in _edges(tables, n_columns):
        if parent is None:
            codes[column] = _draw(table.sum(axis=1)[None], np.zeros(n_rows, dtype=np.int64), random_state)
        else:
            codes[column] = _draw(table, codes[parent], random_state)
    return codes


def _edges(tables: dict[tuple[int, int], Table], n_columns: int) -> Iterator[tuple[int | None, int, Table]]:
    """Parent, column and their table, along the spanning tree of largest mutual information, root first."""
    known = {}  # the mutual information of two columns
    for pair, table in tables.items():
        joint = (table + _TINY) / (table + _TINY).sum()
        independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        known[pair] = float(np.sum(joint * np.log(joint / independent)))
    root, other = max(known, key=lambda pair: known[pair])
    yield None, root, tables[root, other]
    inside = [root]
    while len(inside) < n_columns:
        outside = [column for column in range(n_columns) if column not in inside]
        parent, column = max(
            ((a, b) for a in inside for b in outside), key=lambda edge: known[min(edge), max(edge)]
        )
        yield parent, column, tables[parent, column] if parent < column else tables[column, parent].T
        inside.append(column)


def _draw(table: Table, given: Codes, random_state: np.random.RandomState) -> Codes:
    """For each row a value, drawn from the row of the table that is given."""
    below = np.cumsum(table + _TINY, axis=1)
    places = random_state.random_sample(len(given)) * below[given, -1]
    found = np.empty(len(given), dtype=np.int64)
    for value in range(len(table)):
        here = given == value
        found[here] = np.searchsorted(below[value], places[here], side="right")
    return np.minimum(found, table.shape[1] - 1)


def _rake(codes: Codes, tables: dict[tuple[int, int], Table], total: float, variance: float) -> Table:
    """Weights with which the rows match all tables, as far as noise of that variance lets these be believed.

    A cell that has m and is reported to have n goes to m · (n + variance) / (m + variance): the mean of both, if m
    is as uncertain as a count is.
    """
    cells = {pair: np.ravel_multi_index(codes[list(pair)], table.shape) for pair, table in tables.items()}
    weights, before = np.full(codes.shape[1], total / codes.shape[1]), np.inf
    for _ in range(_SWEEPS):
        off = 0.0
        for pair, table in tables.items():
            present = np.bincount(cells[pair], weights, minlength=table.size)
            off = max(off, float(np.abs(present - table.ravel()).sum()) / total)
            ratio = (table.ravel() + variance + _TINY) / (present + variance + _TINY)
            weights = weights * ratio[cells[pair]]
            weights *= total / weights.sum()
        if before - off < _STILL:
            break
        before = off
    return weights
