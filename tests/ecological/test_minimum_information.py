"""The estimate of cells is the minimum that its docstring says, and intervals hold the truth."""

import cvxpy
import numpy as np
import pytest

from llpgan.ecological import GroupCounts, cross_entropy_rates, fit_cells, rake_cells, shares_from_counts
from llpgan.ecological.cells import cell_covariance, cell_spreads, interactions, softmax, sum_covariances
from tests.ecological.simulated_counts import simulated, wrong


def alternating(counts, n=20_000):
    """Rake, sum up, and again: the plain way to the same minimum."""
    overall = counts.outcomes.sum(axis=0) / counts.outcomes.sum()
    outcomes = counts.outcomes + overall
    outcomes *= (counts.totals / outcomes.sum(axis=1))[:, None]
    rates = cross_entropy_rates(counts) * 0.9 + 0.1 * overall
    for _ in range(n):
        cells = rake_cells(counts.groups[:, :, None] * rates, counts.groups, outcomes, max_iter=10)
        before, rates = rates, cells.sum(axis=0) / cells.sum(axis=(0, 2))[:, None]
        if np.abs(rates - before).max() < 1e-7:
            break
    return cells.sum(axis=0)


def test_without_a_prior_it_is_alternating_raking(rng):
    counts, _ = simulated(rng, n_units=25, scale=1)
    found = fit_cells(counts, prior_scale=np.inf).unit_cells.sum(axis=0)
    assert wrong(found, alternating(counts)) < 0.2


def test_without_a_prior_it_is_the_convex_minimum(rng):
    counts, _ = simulated(rng, n_units=8, n_groups=2, n_outcomes=2, scale=1)
    rates, total = cvxpy.Variable((2, 2), nonneg=True), 0
    constraints = [cvxpy.sum(rates, axis=1) == 1]
    tables = []
    for groups, outcomes in zip(counts.groups, counts.outcomes, strict=True):
        table = cvxpy.Variable((2, 2), nonneg=True)
        constraints += [cvxpy.sum(table, axis=1) == groups, cvxpy.sum(table, axis=0) == outcomes]
        total += cvxpy.sum(cvxpy.rel_entr(table, cvxpy.multiply(groups[:, None], rates)))
        tables.append(table)
    cvxpy.Problem(cvxpy.Minimize(total), constraints).solve(cvxpy.CLARABEL)
    expected = sum(table.value for table in tables)
    assert wrong(fit_cells(counts, prior_scale=np.inf).unit_cells.sum(axis=0), expected) < 0.5


def test_with_a_prior_the_gradient_of_both_terms_is_zero(rng):
    counts, _ = simulated(rng)
    found = fit_cells(counts)
    expected = counts.groups.sum(axis=0)[:, None] * softmax(found.log_rates)
    penalty = found.overdispersion / 1.5**2 * interactions(found.log_rates)
    gradient = expected - found.unit_cells.sum(axis=0) + penalty
    assert np.abs(gradient).sum() < 2e-3 * counts.groups.sum()


def test_the_cells_of_every_unit_have_its_margins(rng):
    counts, _ = simulated(rng)
    cells = fit_cells(counts).unit_cells
    np.testing.assert_allclose(cells.sum(axis=2), counts.groups, atol=1e-4)
    np.testing.assert_allclose(cells.sum(axis=1), counts.outcomes, atol=1e-9)


def test_neither_the_order_of_units_nor_of_columns_matters(rng):
    counts, _ = simulated(rng)
    units, groups, outcomes = rng.permutation(counts.n_units), [2, 0, 1], [1, 2, 0]
    other = GroupCounts(counts.groups[units][:, groups], counts.outcomes[units][:, outcomes])
    first, second = (shares_from_counts(one, aggregation_bias=0.3) for one in (counts, other))
    np.testing.assert_allclose(second.shares, first.shares[groups][:, outcomes], atol=2e-3)
    np.testing.assert_allclose(second.intervals[0], first.intervals[0][groups][:, outcomes], atol=5e-3)


def test_groups_and_outcomes_may_change_places(rng):
    counts, _ = simulated(rng, shift=0.5)
    found = fit_cells(counts, prior_scale=np.inf).unit_cells.sum(axis=0)
    swapped = fit_cells(GroupCounts(counts.outcomes, counts.groups), prior_scale=np.inf).unit_cells.sum(axis=0).T
    assert wrong(swapped, found) < 0.2


def test_ten_times_as_many_people_of_the_same_units_change_neither_shares_nor_intervals(rng):
    counts, _ = simulated(rng, shift=1.0)
    more = shares_from_counts(GroupCounts(10 * counts.groups, 10 * counts.outcomes))
    once = shares_from_counts(counts)
    np.testing.assert_allclose(more.shares, once.shares, atol=0.01)
    np.testing.assert_allclose(np.sqrt(np.abs(more.covariance)), np.sqrt(np.abs(once.covariance)), atol=0.01)


def test_places_that_lean_the_way_of_those_who_live_there_mislead_it_less_than_the_cross_entropy():
    errors = []
    for seed in range(5):
        counts, cells = simulated(np.random.default_rng(seed), shift=0.5, lean=1.0)
        plain = counts.groups.sum(axis=0)[:, None] * cross_entropy_rates(counts)
        truth = cells.sum(axis=0)
        errors.append((wrong(fit_cells(counts).unit_cells.sum(axis=0), truth), wrong(plain, truth)))
    found, of_cross_entropy = np.mean(errors, axis=0)
    assert found < 0.8 * of_cross_entropy


@pytest.mark.slow
def test_intervals_hold_the_truth_of_the_model_that_they_are_made_for():
    held = []
    for seed in range(60):
        counts, cells = simulated(np.random.default_rng(seed), n_units=40)
        low, high = shares_from_counts(counts, aggregation_bias=0).intervals
        truth = cells.sum(axis=0) / counts.groups.sum(axis=0)[:, None]
        held.append((low <= truth) & (truth <= high))
    assert 0.88 < np.mean(held) < 0.99


def test_the_covariance_of_cells_sums_to_zero_and_does_not_depend_on_blocks(rng):
    _, cells = simulated(rng, n_units=10)
    spreads, design, penalty = cell_spreads(cells), np.ones((10, 1)), np.full((1, 1, 1), 1.5**-2)
    whole = cell_covariance([(spreads, design)], 2.0, 20, penalty)
    blocks = [(spreads[:4], design[:4]), (spreads[4:], design[4:])]
    parts = cell_covariance(blocks, 2.0, 20, penalty)
    for name in ("sampling", "confounding", "moving"):
        one, other = getattr(whole, name), getattr(parts, name)
        over_groups = one.reshape(3, 3, 3, 3).sum(axis=0)
        np.testing.assert_allclose(over_groups, 0, atol=1e-6 * np.abs(one).max())
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6 * np.abs(one).max())
    wider = sum_covariances([whole], 1.0)
    np.testing.assert_allclose(wider, whole.sampling + whole.moving @ whole.moving, rtol=1e-9, atol=1e-6)


def test_settings_that_mean_nothing_are_refused(rng):
    counts, _ = simulated(rng, n_units=10)
    for scale in (0, -1.0, np.nan, True):
        with pytest.raises(ValueError, match="prior_scale must be a number above 0"):
            fit_cells(counts, prior_scale=scale)
    with pytest.raises(ValueError, match="aggregation_bias must be a finite number"):
        shares_from_counts(counts, aggregation_bias=-0.1)
