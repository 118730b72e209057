"""Predictions of rows changed as little as possible so that each bag has its proportions."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from llpgan.bags import Bags, validation
from llpgan.evaluation.groups.raking import matching_shifts, raked, softmax

Table = NDArray[np.float64]
_LEAST = 1e-12  # a probability of zero could not be raised
_PSEUDO_ROWS = 1.0  # with the classes of all bags together, so that no class of a bag has a share of 0


def matched_probabilities(bags: Bags, probabilities: ArrayLike) -> Table:
    """The probabilities of rows that meet the proportions of their bags and are nearest to those predicted.

    In each bag all logits are shifted alike, which minimises Σ_j w_j KL(matched_j ‖ predicted_j) among all tables
    of probabilities whose mean is the bag's proportions, with w_j the weight of a row.

    Parameters
    ----------
    bags : Bags
        Which row belongs to which bag, and the proportions of each bag.
    probabilities : array-like of shape (n_rows, n_classes)
        The predicted probability of each class.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        The result.

    Examples
    --------
    >>> bags = Bags.from_arrays(np.zeros((2, 1)), ["a", "a"], {"a": [0.5, 0.5]})
    >>> matched_probabilities(bags, [[0.5, 0.5], [0.8, 0.2]]).round(3).tolist()
    [[0.333, 0.667], [0.667, 0.333]]
    """
    _refuse_less_than_proportions(bags)
    predicted, weights = clipped_probabilities(bags, probabilities), bags.row_weights
    matched = np.empty_like(predicted)
    for bag in range(bags.n_bags):
        rows = bags.rows_of(bag)
        matched[rows] = _matched(predicted[rows], weights[rows], bags.proportions[bag], bags.prior)
    return matched


def clipped_probabilities(bags: Bags, probabilities: ArrayLike) -> Table:
    """Predictions that fit the bags, none of them zero.

    Parameters
    ----------
    bags : Bags
        The bags of the rows.
    probabilities : array-like of shape (n_rows, n_classes)
        The predicted probability of each class.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        The result.
    """
    table = np.clip(validation.probabilities(probabilities, len(bags.bag_index), bags.n_classes), _LEAST, None)
    return table / table.sum(axis=1, keepdims=True)


def _refuse_less_than_proportions(bags: Bags) -> None:
    if bags.known is not None:
        raise ValueError(
            "predictions cannot be matched to bags of which less is known than all proportions (bounds, unknown "
            "shares or noise): give the proportions of every bag"
        )
    if bags.bag_weights is not None:
        raise ValueError(
            "predictions cannot be matched to bags that overlap, or that count differently (bag_weights): give "
            "bags of which each row belongs to one"
        )


def _matched(predicted: Table, weights: Table, proportions: Table, prior: Table) -> Table:
    """Of one bag. A class that nobody has is first given a little, so that its shift is finite."""
    total, none = weights.sum(), np.zeros((1, predicted.shape[1]))
    totals = total * proportions + _PSEUDO_ROWS * prior
    totals *= total / totals.sum()
    there = totals > 0
    logits = np.log(predicted[None, :, there])
    shifts = matching_shifts(logits, weights[None], totals[None, there], none[:, there])
    close = np.zeros_like(predicted)
    close[:, there] = softmax(logits + shifts[:, None, :])[0]
    counts = weights > 0
    cells = raked((weights[:, None] * close)[None], weights[None], (total * proportions)[None])[0]
    close[counts] = cells[counts] / weights[counts, None]
    return close
