"""Bounds hold the truth, regressions find shares that are the same everywhere, raking keeps odds ratios."""

import cvxpy
import numpy as np
import pytest

from llpgan.ecological import (
    GroupCounts,
    cell_bounds,
    clipped_rates,
    cross_entropy_rates,
    goodman_rates,
    rake_cells,
    share_bounds,
)
from llpgan.ecological.cells import matching_shifts, softmax
from tests.ecological.simulated_counts import simulated

RATES = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])


@pytest.fixture
def alike(rng):
    """Every group has the same shares in every unit, without chance."""
    groups = rng.integers(20, 200, (12, 2)).astype(float)
    return GroupCounts(groups, groups @ RATES)


@pytest.mark.parametrize("method", [goodman_rates, cross_entropy_rates])
def test_shares_that_are_the_same_everywhere_are_found(alike, method):
    np.testing.assert_allclose(method(alike), RATES, atol=1e-4)


def test_the_cross_entropy_is_at_its_minimum(rng):
    counts, _ = simulated(rng, n_units=20)
    rates = cvxpy.Variable((3, 3), nonneg=True)
    entropy = cvxpy.sum(cvxpy.multiply(counts.outcomes, cvxpy.log(counts.groups @ rates)))
    cvxpy.Problem(cvxpy.Maximize(entropy), [cvxpy.sum(rates, axis=1) == 1]).solve(cvxpy.CLARABEL)
    np.testing.assert_allclose(cross_entropy_rates(counts), rates.value, atol=2e-3)


def test_goodman_says_that_it_knows_nothing_where_units_do_not_determine_it():
    counts = GroupCounts([[10, 20], [20, 40], [30, 60]], [[15, 15], [30, 30], [45, 45]])
    assert np.isnan(goodman_rates(counts)).all()
    assert clipped_rates(np.array([[1.5, -0.5]])).tolist() == [[1.0, 0.0]]


def test_bounds_hold_the_true_cells(rng):
    counts, cells = simulated(rng)
    low, high = cell_bounds(counts)
    assert ((low <= cells) & (cells <= high)).all()
    least, most = share_bounds(counts)
    shares = cells.sum(axis=0) / counts.groups.sum(axis=0)[:, None]
    assert ((least <= shares) & (shares <= most)).all()


def test_bounds_are_reached_in_units_of_one_group():
    low, high = share_bounds(GroupCounts([[100, 0], [0, 50]], [[30, 70], [40, 10]]))
    np.testing.assert_allclose(low, [[0.3, 0.7], [0.8, 0.2]])
    np.testing.assert_allclose(high, low)


def test_raking_meets_margins_and_keeps_odds_ratios(rng):
    tables, rows = rng.random((5, 3, 4)) + 0.1, rng.random((5, 3)) + 0.5
    columns = rng.dirichlet(np.ones(4), 5) * rows.sum(axis=1, keepdims=True)
    found = rake_cells(tables, rows, columns)
    np.testing.assert_allclose(found.sum(axis=2), rows, rtol=1e-7)
    np.testing.assert_allclose(found.sum(axis=1), columns, rtol=1e-12)
    changed = np.log(found / tables)
    apart = changed - changed.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(apart, np.broadcast_to(apart[:, :, :1], apart.shape), atol=1e-6)


def test_shifts_of_logits_are_raking(rng):
    logits, weights = rng.normal(0, 3, (6, 4, 3)), rng.random((6, 4)) * 10
    totals = rng.dirichlet(np.full(3, 0.3), 6) * weights.sum(axis=1, keepdims=True) + 1e-4
    totals *= weights.sum(axis=1, keepdims=True) / totals.sum(axis=1, keepdims=True)
    shifts = matching_shifts(logits, weights, totals, np.zeros((6, 3)), tol=1e-10)
    found = weights[:, :, None] * softmax(logits + shifts[:, None])
    expected = rake_cells(weights[:, :, None] * softmax(logits), weights, totals, max_iter=100_000, tol=1e-12)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_totals_that_no_shift_can_meet_are_refused():
    one_class = np.array([[[0.0, -1e9]]])
    with pytest.raises(ValueError, match="no shift of the logits matches the totals"):
        matching_shifts(one_class, np.ones((1, 1)), np.array([[0.5, 0.5]]), np.zeros((1, 2)))
