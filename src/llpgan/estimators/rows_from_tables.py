"""Rows that have given tables of pairs of columns: drawn from a tree, and weighted to meet all tables.

The distribution of largest entropy with given tables of all pairs is p(x) ∝ exp Σ_{a<b} θ_ab(x_a, x_b). The best
tree among such distributions (Chow and Liu, 1968) can be sampled exactly; multiplying the weights of its rows by
the ratio of wanted to present counts, table by table (iterative proportional fitting), leads to the distribution
itself as the number of rows grows, because a tree is one of its kind.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from llpgan.tables.marginal_tables import MarginalTables

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
        The counts to meet.
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
    parts = [_of_class(tables, k, -(-n_rows // n_classes), random_state) for k in range(n_classes)]
    return np.concatenate([codes for codes, _ in parts], axis=1), np.concatenate([w for _, w in parts])


def _of_class(
    tables: MarginalTables, k: int, n_rows: int, random_state: np.random.RandomState
) -> tuple[Codes, Table]:
    names = list(tables.values)
    wanted = {
        (names.index(a), names.index(b)): np.maximum(tables.filled(a, b)[..., k], 0) for a, b in tables.pairs
    }
    codes = _tree_rows(wanted, len(names), n_rows, random_state)
    return codes, _raked(codes, wanted, float(tables.totals[k]), tables.sd**2)


def _tree_rows(
    tables: dict[tuple[int, int], Table], n_columns: int, n_rows: int, random_state: np.random.RandomState
) -> Codes:
    """Rows of the tree whose columns know most of each other: each column drawn given the one before it."""
    codes = np.zeros((n_columns, n_rows), dtype=np.int64)
    for parent, column, table in _edges(tables, n_columns):
        if parent is None:
            codes[column] = _drawn(table.sum(axis=1)[None], np.zeros(n_rows, dtype=np.int64), random_state)
        else:
            codes[column] = _drawn(table, codes[parent], random_state)
    return codes


def _edges(tables: dict[tuple[int, int], Table], n_columns: int) -> Iterator[tuple[int | None, int, Table]]:
    """Parent, column and their table, along the spanning tree of largest mutual information, root first."""
    known = {pair: _mutual_information(table) for pair, table in tables.items()}
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


def _mutual_information(table: Table) -> float:
    joint = (table + _TINY) / (table + _TINY).sum()
    return float(np.sum(joint * np.log(joint / (joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)))))


def _drawn(table: Table, given: Codes, random_state: np.random.RandomState) -> Codes:
    """For each row a value, drawn from the row of the table that is given."""
    below = np.cumsum(table + _TINY, axis=1)
    places = random_state.random_sample(len(given)) * below[given, -1]
    found = np.empty(len(given), dtype=np.int64)
    for value in range(len(table)):
        here = given == value
        found[here] = np.searchsorted(below[value], places[here], side="right")
    return np.minimum(found, table.shape[1] - 1)


def _raked(codes: Codes, tables: dict[tuple[int, int], Table], total: float, variance: float) -> Table:
    """Weights with which the rows meet all tables, as far as noise of that variance lets these be believed.

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
