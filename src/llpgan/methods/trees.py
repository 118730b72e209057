"""Trees that LightGBM grows, and whose leaves get their values here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import lightgbm
import numpy as np

from llpgan.utils.arrays import Array

_BYTE = 256
_ROWS_AT_ONCE = 2**14  # of predictions: their columns stay in a processor's cache


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
    def from_text(cls, number: int, text: str) -> Tree:
        """The first tree of a text in LightGBM's format. All that is used of it is checked."""
        lines = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        try:
            features, left, right = (
                [int(part) for part in lines.get(name, "").split()]
                for name in ("split_feature", "left_child", "right_child")
            )
            thresholds = [float(part) for part in lines.get("threshold", "").split()]
            own = np.array([float(part) for part in lines["leaf_value"].split()])
        except (ValueError, KeyError) as error:
            raise ValueError(f"tree {number} cannot be read: {error!r}") from None
        n_nodes, n_leaves = len(features), len(own)
        # each node and leaf but the root must be the child of one node before it
        is_after = all(child < 0 or child > node for side in (left, right) for node, child in enumerate(side))
        children = [*range(-n_leaves if n_nodes else 0, 0), *range(1, n_nodes)]
        same_sizes = n_nodes == len(thresholds) == len(left) == len(right) == n_leaves - 1
        if not same_sizes or not is_after or sorted([*left, *right]) != children:
            raise ValueError(f"tree {number} is damaged: its nodes and leaves do not make a tree")
        if not np.isfinite([*thresholds, *own]).all() or min(features, default=0) < 0:
            raise ValueError(f"tree {number} is damaged: a threshold, value or feature is out of range")
        if any(lines.get(name, "0").strip() != "0" for name in ("num_cat", "is_linear")):
            raise ValueError(f"tree {number} has splits or leaves of a kind that BagBoosting never makes")
        return cls(number, features, thresholds, left, right, own)

    def leaves(self, columns: Array) -> Array:
        """(n_rows,): the leaf of each row of features."""
        number_type = np.uint8 if len(self.own) <= _BYTE else np.intp
        if not len(self.features):  # a single leaf
            return np.zeros(len(columns), number_type)
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
    weights : array of shape (n_rows,), optional
        How much each row counts. The rows of a leaf are then counted in units of the mean weight.
    """

    def __init__(
        self,
        rows: Array,
        max_leaves: int,
        min_rows: int,
        features_a_tree: float = 1.0,
        monotonic_cst: Sequence[int] | None = None,
        weights: Array | None = None,
    ) -> None:
        self.n_features = rows.shape[1]
        #: The weight of each row in splits, 1 on average.
        self.weights = np.ones(len(rows)) if weights is None else weights / weights.mean()
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
        self._dataset = lightgbm.Dataset(np.ascontiguousarray(rows), params=self.settings).construct()
        #: Whether any feature parts the rows into leaves that are large enough.
        self.can_split = any(self._dataset.feature_num_bin(feature) > 0 for feature in range(self.n_features))

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
        self._weights = grower.weights[self._rows]
        settings = grower.settings | {"feature_fraction_seed": seed}
        self._booster = lightgbm.Booster(settings, grower.dataset(rows)) if grower.can_split else None

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return 0 if self._booster is None else int(self._booster.num_trees())

    def grow(self, slope: Array) -> Tree | None:
        """Add a tree, whose leaves have no values of ours yet; None if no split lowers the loss.

        Splits part rows by their slopes and weights alone: LightGBM estimates the rows of a leaf from their
        curvatures, and with few rows or uneven curvatures finds empty leaves. The leaves' values make up for it.

        Parameters
        ----------
        slope : array of shape (n_rows,)
            Of the loss in each row's score.
        """
        slope = slope[self._rows]
        largest = float(np.abs(slope).max(initial=0))
        if largest == 0 or self._booster is None:
            return None
        number, slope = self.n_trees, slope / largest
        self._booster.update(fobj=lambda *_: (slope, self._weights))
        if self.n_trees == number:
            return None
        tree = read_trees(self._booster.model_to_string(num_iteration=1, start_iteration=number))[0]._replace(
            number=number
        )
        if not tree.features:
            self._booster.set_leaf_output(number, 0, 0.0)
            return None
        return tree

    def set_values(self, tree: Tree, values: Array) -> None:
        """Set the values of the leaves of a tree."""
        assert self._booster is not None
        for leaf, value in enumerate(values.tolist()):
            self._booster.set_leaf_output(tree.number, leaf, value)

    def as_text(self, n_trees: int) -> str:
        """The first so many trees in LightGBM's text format; of none, an empty text."""
        return str(self._booster.model_to_string(num_iteration=n_trees)) if n_trees and self._booster else ""

    def gains(self, n_trees: int) -> Array:
        """(n_features,): by how much the splits at each feature lowered the loss, in the first so many trees."""
        if n_trees == 0 or self._booster is None:
            return np.zeros(self._n_features)
        return np.asarray(self._booster.feature_importance("gain", iteration=n_trees))


@lru_cache(maxsize=256)
def read_trees(text: str) -> tuple[Tree, ...]:
    """The trees of a text in LightGBM's format, in order; of an empty text, none.

    LightGBM itself is not given texts of saved models: it checks little, and a damaged one ends the process.
    """
    blocks = text.split("end of trees")[0].split("Tree=")[1:]
    if text and not blocks:
        raise ValueError("a text of trees holds no tree")
    return tuple(Tree.from_text(number, block) for number, block in enumerate(blocks))


def tree_scores(text: str, rows: Array) -> Array:
    """(n_rows,): the sum of the trees; 0 where there are none."""
    trees, scores = read_trees(text), np.zeros(len(rows))
    most = max((feature for tree in trees for feature in tree.features), default=0)
    if most >= rows.shape[1]:
        raise ValueError(f"a tree splits at feature {most}, but rows have {rows.shape[1]} features")
    for first in range(0, len(rows) if trees else 0, _ROWS_AT_ONCE):
        columns = np.asfortranarray(rows[first : first + _ROWS_AT_ONCE])
        part = scores[first : first + _ROWS_AT_ONCE]
        for tree in trees:
            part += tree.own[tree.leaves(columns)]
    return scores
