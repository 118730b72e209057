"""Trees that LightGBM grows one at a time, with values in their leaves that are ours to set."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import lightgbm
import numpy as np

from llpgan.utils.arrays import Array

_BYTE = 256


class Tree(NamedTuple):
    """A tree of a :class:`Boosted` model. Nodes have numbers from 0, the root; the leaf k has the number −1 − k.

    Attributes
    ----------
    number : int
        Its place among the trees of the model.
    features, thresholds : list
        Of each node, the feature and the largest value of it that goes to the left.
    left, right : list of int
        The children of each node.
    own : array of shape (n_leaves,)
        The values that LightGBM would give its leaves.
    """

    number: int
    features: list[int]
    thresholds: list[float]
    left: list[int]
    right: list[int]
    own: Array

    @classmethod
    def from_text(cls, number: int, text: str) -> "Tree":
        """The one tree that a text in LightGBM's format describes."""
        tree = text[text.index("Tree=") : text.index("end of trees")]
        lines = dict(line.split("=", 1) for line in tree.splitlines() if "=" in line)
        features, left, right = (
            [int(part) for part in lines.get(name, "").split()]
            for name in ("split_feature", "left_child", "right_child")
        )
        thresholds = [float(part) for part in lines.get("threshold", "").split()]
        own = np.array([float(part) for part in lines["leaf_value"].split()])
        return cls(number, features, thresholds, left, right, own)

    def leaves(self, columns: Array) -> Array:
        """(n_rows,): the leaf of each row of features."""
        number_type = np.uint8 if len(self.own) <= _BYTE else np.intp
        below_node: dict[int, Array] = {-1 - leaf: np.array(leaf, number_type) for leaf in range(len(self.own))}
        for node in reversed(range(len(self.features))):  # children have higher numbers than their parents
            goes_left = columns[:, self.features[node]] <= self.thresholds[node]
            left, right = below_node.pop(self.left[node]), below_node.pop(self.right[node])
            below_node[node] = np.where(goes_left, left, right)
        return below_node[0]


class TreeGrower:
    """The rows that splits are chosen by, binned once for any number of :class:`Boosted` models.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Numbers, all finite.
    max_leaves : int
        The largest number of leaves of a tree.
    min_rows : int
        The smallest number of rows in a leaf.
    features_a_tree : float, default=1.0
        The share of the features that each tree may split at, drawn anew for each.
    monotonic_cst : sequence of int, optional
        For each feature 1 (the score may only rise with it), −1 (only fall) or 0.
    """

    def __init__(
        self,
        rows: Array,
        max_leaves: int,
        min_rows: int,
        features_a_tree: float = 1.0,
        monotonic_cst: Sequence[int] | None = None,
    ) -> None:
        self.n_features = rows.shape[1]
        self.settings: dict[str, Any] = {
            "objective": "none",
            "num_leaves": max_leaves,
            "min_data_in_leaf": min_rows,
            "min_data_in_bin": 1,
            "min_sum_hessian_in_leaf": 0.0,
            "feature_fraction": features_a_tree,
            "learning_rate": 1.0,
            "num_threads": 1,  # with more, sums and with them ties come out differently from run to run
            "deterministic": True,
            "force_col_wise": True,
            "feature_pre_filter": True,  # of features that no leaf of so many rows could be split at
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
    seed : int, default=0
        Which features each tree may split at depends on it.
    """

    def __init__(self, grower: TreeGrower, rows: Array | None = None, seed: int = 0) -> None:
        self._rows, self._n_features = slice(None) if rows is None else rows, grower.n_features
        settings = grower.settings | {"feature_fraction_seed": seed}
        self._booster = lightgbm.Booster(settings, grower.dataset(rows))

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return int(self._booster.num_trees())

    def grow(self, slope: Array) -> Tree | None:
        """Add a tree, whose leaves have no values of ours yet; None if no split lowers the loss.

        Splits part rows by their slopes alone: LightGBM estimates the rows of a leaf from their curvatures, and
        with few rows or uneven curvatures finds empty leaves. The leaves' values make up for it.

        Parameters
        ----------
        slope : array of shape (n_rows,)
            Of the loss in each row's score.
        """
        slope = slope[self._rows]
        largest = float(np.abs(slope).max(initial=0))
        if largest == 0:
            return None
        number, slope = self.n_trees, slope / largest
        self._booster.update(fobj=lambda *_: (slope, np.ones_like(slope)))
        if self.n_trees == number:
            return None
        tree = Tree.from_text(number, self._booster.model_to_string(num_iteration=1, start_iteration=number))
        if not tree.features:
            self._booster.set_leaf_output(number, 0, 0.0)
            return None
        return tree

    def give_values(self, tree: Tree, values: Array) -> None:
        """Set the values of the leaves of a tree."""
        for leaf, value in enumerate(values.tolist()):
            self._booster.set_leaf_output(tree.number, leaf, value)

    def as_text(self, n_trees: int) -> str:
        """The first so many trees in LightGBM's text format; of none, an empty text."""
        return str(self._booster.model_to_string(num_iteration=n_trees)) if n_trees else ""

    def gains(self, n_trees: int) -> Array:
        """(n_features,): by how much the splits at each feature lowered the loss, in the first so many trees."""
        if n_trees == 0:
            return np.zeros(self._n_features)
        return np.asarray(self._booster.feature_importance("gain", iteration=n_trees))


@lru_cache(maxsize=256)
def booster_of(text: str) -> lightgbm.Booster:
    """The model that LightGBM's text format describes; to read it runs no code."""
    return lightgbm.Booster(model_str=text)


def tree_scores(text: str, rows: Array) -> Array:
    """(n_rows,): the sum of the trees; 0 where there are none."""
    if not text:
        return np.zeros(len(rows))
    return np.asarray(booster_of(text).predict(rows, raw_score=True, num_threads=1), dtype=np.float64)
