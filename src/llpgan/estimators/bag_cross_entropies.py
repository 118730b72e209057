"""The cross-entropy of bags for many linear classifiers at once, each with its own weights of the bags."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from llpgan.bags import Bags
from llpgan.estimators.bag_blocks import BagBlock, in_threads
from llpgan.utils.arrays import Array

_LEAST = 1e-12  # of a mean prediction, so that its logarithm is finite


class BagCrossEntropies:
    """Σ_i w_ri · (−p_i · log p̄_i) + penalty / 2 · ‖θ_r‖² of classifiers θ_r, r = 0, 1, ..., and its slope.

    p̄_i is the mean over bag i of softmax(θ_r · x). A matrix product scores a block of rows for all classifiers,
    which takes a small part of the time of as many products with a vector.

    Parameters
    ----------
    bags : Bags
        With the shares that are known of them.
    blocks : sequence of BagBlock
        Their features, the last of which is one.
    weights : array of shape (n_classifiers, n_bags)
        How much each bag counts for each classifier.
    penalty : float
        Of the squared weights; the intercepts have none.
    """

    def __init__(self, bags: Bags, blocks: Sequence[BagBlock], weights: Array, penalty: float) -> None:
        self._bags, self._blocks, self._weights, self._penalty = bags, blocks, weights, penalty
        self._n_outputs = 1 if bags.n_classes == 2 else bags.n_classes

    def __call__(self, points: Array, which: Array) -> tuple[Array, Array]:
        """Values (r,) and slopes (r, n) at points (r, n), of the classifiers with these numbers."""
        by_output = points.reshape(len(points), self._n_outputs, -1)
        weights = self._weights[which].T

        def of_block(block: BagBlock) -> tuple[Array, Array]:
            with np.errstate(over="ignore"):  # exp(−score), of which 1 / (1 + ∞) is right
                return self._of_block(block, by_output, weights[block.bags])

        values, slopes = np.zeros(len(points)), np.zeros_like(by_output)
        for value, slope in in_threads(of_block, self._blocks):
            values += value
            slopes += slope
        values += self._penalty / 2 * np.einsum("rkd,rkd->r", by_output[:, :, :-1], by_output[:, :, :-1])
        slopes[:, :, :-1] += self._penalty * by_output[:, :, :-1]
        return values, slopes.reshape(points.shape)

    def _of_block(self, block: BagBlock, points: Array, weights: Array) -> tuple[Array, Array]:
        """Values (r,) and slopes (r, outputs, d), of weights (bags, r)."""
        features = block.read()
        found = class_probabilities_of(features, points)
        counted = found if block.shares is None else found * block.shares[:, None, None]
        sizes = block.sizes[:, None, None]
        means = block.sums(counted) / sizes
        if self._n_outputs == 1:
            means = np.concatenate([1 - means, means], axis=1)
        means = np.maximum(means, _LEAST)
        targets, values = self._targets(block, means, weights)
        pull = -targets / means / sizes
        if self._n_outputs == 1:
            slope = block.for_rows(pull[:, 1:] - pull[:, :1])
            slope *= 1 - found
        else:
            slope = block.for_rows(pull)
            slope -= np.einsum("nkr,nkr->nr", slope, found)[:, None]
        slope *= counted
        flat = slope.reshape(len(slope), -1).T @ features
        return values, flat.reshape(self._n_outputs, len(points), -1).swapaxes(0, 1)

    def _targets(self, block: BagBlock, means: Array, weights: Array) -> tuple[Array, Array]:
        """The shares that means (bags, K, r) should meet, weighted, and the values (r,)."""
        if self._bags.known is None:
            targets = self._bags.proportions[block.bags, :, None] * weights[:, None]
            return targets, -np.einsum("ikr,ikr->r", targets, np.log(means))
        known = self._bags.known.of(np.arange(self._bags.n_bags)[block.bags])
        found = [known.pulls_and_losses(means[:, :, r]) for r in range(means.shape[2])]
        nearest = np.stack([targets for targets, _ in found], axis=2)
        values = [weights[:, r] @ losses for r, (_, losses) in enumerate(found)]
        return nearest * weights[:, None], np.array(values)


def class_probabilities_of(features: Array, points: Array) -> Array:
    """(rows, outputs, r): the softmax of the scores of r classifiers; of two classes, that of the second.

    Parameters
    ----------
    features : array of shape (rows, d)
        The last of them one.
    points : array of shape (r, outputs, d)
        The classifiers.

    Examples
    --------
    >>> class_probabilities_of(np.array([[2.0, 1.0]]), np.array([[[0.0, 0.0]], [[0.0, np.log(3)]]])).round(2)
    array([[[0.5 , 0.75]]])
    """
    n_outputs = points.shape[1]
    flat = points.swapaxes(0, 1).reshape(n_outputs * len(points), -1)
    scores: Any = (features @ flat.T).reshape(len(features), n_outputs, len(points))
    if n_outputs == 1:
        np.exp(np.negative(scores, out=scores), out=scores)
        scores += 1
        return np.asarray(np.reciprocal(scores, out=scores))
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return np.asarray(scores)
