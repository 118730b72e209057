"""Trees that LightGBM grows one at a time, with values in their leaves that are ours to set."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import lightgbm
import numpy as np

from llpgan.utils.arrays import Array

# From the leaf of each row to the value of each leaf; the grown tree's own values come second.
LeafValues = Callable[[Array, Array], Array]


class TreeGrower:
    """The rows that trees are grown on, binned once for any number of :class:`Boosted` models.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Numbers, all finite.
    max_leaves : int
        The largest number of leaves of a tree.
    min_rows : int
        The smallest number of rows in a leaf.
    monotonic_cst : sequence of int, optional
        For each feature 1 (the score may only rise with it), −1 (only fall) or 0.
    """

    def __init__(
        self, rows: Array, max_leaves: int, min_rows: int, monotonic_cst: Sequence[int] | None = None
    ) -> None:
        self.columns = np.asfortranarray(rows)
        self.settings: dict[str, Any] = {
            "objective": "none",
            "num_leaves": max_leaves,
            "min_data_in_leaf": min_rows,
            "min_data_in_bin": 1,
            "min_sum_hessian_in_leaf": 0.0,
            "learning_rate": 1.0,
            "num_threads": 1,  # with more, sums and with them ties come out differently from run to run
            "deterministic": True,
            "force_col_wise": True,
            "feature_pre_filter": False,
            "verbose": -1,
        }
        self.is_monotonic = monotonic_cst is not None and any(monotonic_cst)
        if monotonic_cst is not None and self.is_monotonic:
            self.settings["monotone_constraints"] = list(monotonic_cst)
        self._dataset = lightgbm.Dataset(np.ascontiguousarray(rows), params=self.settings)

    def dataset(self, rows: Array | None) -> lightgbm.Dataset:
        """Some of the rows, with the same bins; all if None."""
        return self._dataset if rows is None else self._dataset.subset(rows.tolist())


class Boosted:
    """A sum of trees that is grown tree by tree.

    Parameters
    ----------
    grower : TreeGrower
        All rows, and the shape of trees.
    rows : array of int, optional
        The rows whose losses choose the splits, in order; None for all.
    """

    def __init__(self, grower: TreeGrower, rows: Array | None = None) -> None:
        self._grower, self._rows = grower, slice(None) if rows is None else rows
        self._booster = lightgbm.Booster(grower.settings, grower.dataset(rows))

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return int(self._booster.num_trees())

    def grow(self, slope: Array, values: LeafValues) -> Array | None:
        """Add a tree, and return what it adds to the score of each row; None if no split lowers the loss.

        Splits part rows by their slopes alone: LightGBM estimates the rows of a leaf from their curvatures, and
        with few rows or uneven curvatures finds empty leaves. The leaves' values make up for it.

        Parameters
        ----------
        slope : array of shape (n_rows,)
            Of the loss in each row's score.
        values : callable
            From the leaf of each row, and the values that LightGBM would give the leaves, to the leaves' values.
        """
        slope = slope[self._rows]
        largest = float(np.abs(slope).max())
        if largest == 0:
            return None
        tree, slope = self.n_trees, slope / largest
        self._booster.update(fobj=lambda *_: (slope, np.ones_like(slope)))
        if self.n_trees == tree:
            return None
        root = self._booster.dump_model(num_iteration=1, start_iteration=tree)["tree_info"][0]["tree_structure"]
        if "split_feature" not in root:
            self._booster.set_leaf_output(tree, 0, 0.0)
            return None
        leaves, own = self._leaves(root)
        given = values(leaves, own)
        for leaf, value in enumerate(given.tolist()):
            self._booster.set_leaf_output(tree, leaf, value)
        return given[leaves]

    def as_text(self, n_trees: int) -> str:
        """The first so many trees in LightGBM's text format; of none, an empty text."""
        return str(self._booster.model_to_string(num_iteration=n_trees)) if n_trees else ""

    def gains(self, n_trees: int) -> Array:
        """(n_features,): by how much the splits at each feature lowered the loss, in the first so many trees."""
        if n_trees == 0:
            return np.zeros(self._grower.columns.shape[1])
        return np.asarray(self._booster.feature_importance("gain", iteration=n_trees))

    def _leaves(self, root: dict[str, Any]) -> tuple[Array, Array]:
        """The leaf of each row, and LightGBM's values of the leaves."""
        columns = self._grower.columns
        leaves = np.zeros(len(columns), dtype=np.intp)
        own: dict[int, float] = {}
        waiting: list[tuple[dict[str, Any], Array | slice]] = [(root, slice(None))]
        while waiting:
            node, rows = waiting.pop()
            if "leaf_index" in node:
                leaves[rows] = node["leaf_index"]
                own[node["leaf_index"]] = node["leaf_value"]
                continue
            values = columns[:, node["split_feature"]]
            below = (values if isinstance(rows, slice) else values[rows]) <= node["threshold"]
            if isinstance(rows, slice):
                waiting += [
                    (node["left_child"], np.flatnonzero(below)),
                    (node["right_child"], np.flatnonzero(~below)),
                ]
            else:
                waiting += [(node["left_child"], rows[below]), (node["right_child"], rows[~below])]
        return leaves, np.array([own[leaf] for leaf in range(len(own))])


@lru_cache(maxsize=256)
def booster_of(text: str) -> lightgbm.Booster:
    """The model that LightGBM's text format describes; to read it runs no code."""
    return lightgbm.Booster(model_str=text)


def tree_scores(text: str, rows: Array) -> Array:
    """(n_rows,): the sum of the trees; 0 where there are none."""
    if not text:
        return np.zeros(len(rows))
    return np.asarray(booster_of(text).predict(rows, raw_score=True, num_threads=1), dtype=np.float64)
