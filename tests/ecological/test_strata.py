"""Strata, units of several districts without strata, covariates, and confounding."""

import warnings

import numpy as np
import pytest

from llpgan.ecological import GroupCounts, fit_cells, shares_from_counts
from llpgan.ecological.cells import fit_margins, softmax
from tests.ecological.simulated_counts import simulated, wrong


def two_districts(n_units=30):
    """Two districts in which the same groups behave in opposite ways."""
    rng = np.random.default_rng(0)
    groups = np.stack([rng.multinomial(800, rng.dirichlet(np.full(2, 1.5))) for _ in range(2 * n_units)])
    rates = np.array([[[0.8, 0.2], [0.3, 0.7]], [[0.2, 0.8], [0.5, 0.5]]])[np.repeat([0, 1], n_units)]
    groups[:n_units] = np.sort(groups[:n_units], axis=1)[:, ::-1]  # the first group is many in the first district
    groups[n_units:] = np.sort(groups[n_units:], axis=1)
    cells = rng.multinomial(groups, softmax(np.log(rates) + rng.normal(0, 0.1, (2 * n_units, 1, 2)))).astype(float)
    return cells, np.repeat(["east", "west"], n_units)


@pytest.fixture(scope="module")
def cells_and_strata():
    return two_districts()


@pytest.fixture(scope="module")
def shares(cells_and_strata):
    cells, strata = cells_and_strata
    return shares_from_counts(
        GroupCounts(cells.sum(axis=2), cells.sum(axis=1), ["a", "b"], ["no", "yes"], strata=strata)
    )


def test_strata_hold_the_truth_where_one_estimate_for_all_warns(cells_and_strata, shares):
    cells, _ = cells_and_strata
    truth = cells.sum(axis=0) / cells.sum(axis=(0, 2))[:, None]
    low, high = shares.intervals
    assert ((low <= truth) & (truth <= high)).all()
    with pytest.warns(UserWarning, match="name the column that says which"):
        pooled = shares_from_counts(GroupCounts(cells.sum(axis=2), cells.sum(axis=1)))
    assert pooled.divergence >= 1
    assert (pooled.intervals[1] - pooled.intervals[0] > high - low).all()


def test_more_units_than_a_district_has_give_a_warning_unless_the_bias_is_stated():
    counts, _ = simulated(np.random.default_rng(1), n_units=130, n_groups=2, n_outcomes=2, shift=0.05, scale=0.5)
    with pytest.warns(UserWarning, match="130 units are more|differ from that for all"):
        wide = shares_from_counts(counts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        narrow = shares_from_counts(counts, aggregation_bias=0.3)
    np.testing.assert_array_equal(wide.shares, narrow.shares)
    assert (wide.covariance[0, 0, 0, 0] > narrow.covariance[0, 0, 0, 0]).all()


def test_a_stratum_is_estimated_as_if_it_were_alone_and_strata_add_up(cells_and_strata, shares):
    cells, strata = cells_and_strata
    total = np.zeros((2, 2))
    for name, part in shares.by_stratum.items():
        own = cells[strata == name]
        alone = shares_from_counts(GroupCounts(own.sum(axis=2), own.sum(axis=1)), aggregation_bias=0.3)
        np.testing.assert_allclose(part.shares, alone.shares)
        np.testing.assert_allclose(part.covariance, alone.covariance)
        total += part.shares * part.sizes[:, None]
    np.testing.assert_allclose(shares.shares, total / shares.sizes[:, None])


def test_chance_adds_in_squares_and_all_strata_are_biased_alike(cells_and_strata):
    cells, strata = cells_and_strata
    fits = [fit_margins(*(cells[strata == name].sum(axis=axis) for axis in (2, 1))) for name in ("east", "west")]
    counts = GroupCounts(cells.sum(axis=2), cells.sum(axis=1), strata=strata)
    found = shares_from_counts(counts, aggregation_bias=0.7)
    moving, chance = (sum(getattr(fit.covariance, name) for fit in fits) for name in ("moving", "sampling"))
    sizes, found = np.repeat(found.sizes, 2), found.covariance.reshape(4, 4)
    np.testing.assert_allclose(found * np.outer(sizes, sizes), chance + 0.49 * moving @ moving, rtol=1e-6)
    apart = chance + 0.49 * sum(fit.covariance.moving @ fit.covariance.moving for fit in fits)
    assert (np.diag(found) * sizes**2 > 1.1 * np.diag(apart)).all()


def test_the_order_of_units_does_not_matter(cells_and_strata, shares):
    cells, strata = cells_and_strata
    order = np.random.default_rng(3).permutation(len(cells))
    other = GroupCounts(
        cells[order].sum(axis=2), cells[order].sum(axis=1), ["a", "b"], ["no", "yes"], strata=strata[order]
    )
    found = shares_from_counts(other)
    assert list(found.by_stratum) == ["east", "west"]
    np.testing.assert_allclose(found.shares, shares.shares, atol=1e-4)


def test_a_stratum_with_few_units_borrows_from_the_others():
    counts, cells = simulated(np.random.default_rng(4), n_units=62, n_groups=3, n_outcomes=2)
    strata = np.repeat(["large", "small"], [60, counts.n_units - 60])
    found = shares_from_counts(GroupCounts(counts.groups, counts.outcomes, strata=strata))
    small, truth = found.by_stratum["small"], cells[60:].sum(axis=0)
    low, high = small.intervals
    shares = truth / truth.sum(axis=1, keepdims=True)
    assert ((low <= shares) & (shares <= high)).mean() > 0.8
    with pytest.raises(ValueError, match="there must be more units than groups"):
        shares_from_counts(GroupCounts(counts.groups[60:], counts.outcomes[60:]))


def test_strata_that_are_all_too_small_give_a_warning(cells_and_strata):
    cells, _ = cells_and_strata
    counts = GroupCounts(cells.sum(axis=2), cells.sum(axis=1), strata=np.arange(len(cells)) // 2)
    with pytest.warns(UserWarning, match="no stratum has 2 units per group"):
        assert len(shares_from_counts(counts).by_stratum) == 30


def test_groups_that_a_stratum_does_not_have_are_left_out_of_it(cells_and_strata):
    cells, strata = two_districts()
    cells[strata == "west", 0, 1] += cells[strata == "west", 1, 1]
    cells[strata == "west", 1] = 0  # one group: nothing is unknown
    found = shares_from_counts(GroupCounts(cells.sum(axis=2), cells.sum(axis=1), ["a", "b"], strata=strata))
    west = found.by_stratum["west"]
    assert west.groups == ("a",)
    np.testing.assert_allclose(west.intervals[0], west.shares)
    np.testing.assert_allclose(west.shares[0], cells[strata == "west"].sum(axis=(0, 1)) / west.sizes[0])


def test_leaving_out_an_outcome_holds_for_every_stratum():
    counts, _ = simulated(np.random.default_rng(5), n_units=60)
    strata = ["x", "y"] * 30
    counts = GroupCounts(counts.groups, counts.outcomes, strata=strata[: counts.n_units])
    found = shares_from_counts(counts, exclude=[2])
    assert found.outcomes == found.by_stratum["x"].outcomes == (0, 1)
    np.testing.assert_allclose(found.by_stratum["y"].shares.sum(axis=1), 1)
    assert found.confounding.shape == (2, 3, 2, 3, 2)
    table = found.columns(stratum="county")
    assert table["county"] == [None] * 6 + ["x"] * 6 + ["y"] * 6
    assert len(table["share"]) == 18
    assert list(found.to_frame(stratum="county").columns) == list(table)


def test_strata_differ_by_the_difference_of_their_shares(shares):
    found = shares.stratum_difference("east", "west", "a")["yes"]
    east, west = (shares.by_stratum[name] for name in ("east", "west"))
    assert found.value == pytest.approx(east.share("a", "yes").value - west.share("a", "yes").value)
    variance = east.covariance[0, 1, 0, 1] + west.covariance[0, 1, 0, 1]
    assert found.high - found.low == pytest.approx(2 * 1.959964 * np.sqrt(variance), rel=1e-6)
    with pytest.raises(ValueError, match="there is no stratum 'north'"):
        shares.stratum_difference("north", "west", "a")


def confounded(strength, n_units=300):
    """Units whose shifts depend on a number that goes with who lives there."""
    rng = np.random.default_rng(6)
    share = rng.uniform(0.1, 0.9, n_units)
    number = (share - 0.5) / share.std() + rng.normal(0, 0.7, n_units)
    logits = np.log(np.array([[0.6, 0.4], [0.4, 0.6]]))
    shifts = strength * number[:, None] * np.array([0.5, -0.5])
    rates = softmax(logits + shifts[:, None, :])
    groups = np.column_stack([share, 1 - share]) * 10_000
    return groups, groups[:, :, None] * rates, number


def test_covariates_remove_the_bias_that_they_explain():
    groups, cells, number = confounded(0.5)
    counts = GroupCounts(groups, cells.sum(axis=1))
    informed = GroupCounts(groups, cells.sum(axis=1), covariates=number)
    truth = cells.sum(axis=0)
    plain = wrong(fit_cells(counts).unit_cells.sum(axis=0), truth)
    assert plain > 3
    assert wrong(fit_cells(informed).unit_cells.sum(axis=0), truth) < plain / 5


def test_confounding_biases_a_difference_by_about_what_its_correlation_allows():
    groups, cells, number = confounded(0.3)
    found = shares_from_counts(GroupCounts(groups, cells.sum(axis=1)), aggregation_bias=0.3)
    truth = cells.sum(axis=0) / cells.sum(axis=(0, 2))[:, None]
    apart = found.sensitivity(0, 1, 0)
    error = abs(apart.difference - (truth[0, 0] - truth[1, 0]))
    correlation = np.corrcoef(groups[:, 0], number)[0, 1]
    assert error == pytest.approx(apart.largest_bias(correlation), rel=0.25)
    assert error <= apart.largest_bias(correlation) * 1.05


def test_the_critical_correlation_is_that_with_which_the_difference_can_vanish(shares):
    found = shares.sensitivity("a", "b", "yes")
    assert found.largest_bias(found.critical_correlation) == pytest.approx(abs(found.difference))
    assert 0 < found.critical_correlation < 1


def test_strata_and_covariates_that_do_not_fit_the_units_are_refused():
    groups, outcomes = [[60, 40], [30, 70]], [[50, 50], [40, 60]]
    with pytest.raises(ValueError, match="strata: 1 values, but 2 units"):
        GroupCounts(groups, outcomes, strata=["x"])
    with pytest.raises(ValueError, match="unit 1 has no stratum"):
        GroupCounts(groups, outcomes, strata=["x", None])
    with pytest.raises(ValueError, match="covariates: one row of known numbers per unit"):
        GroupCounts(groups, outcomes, covariates=[1.0, np.nan])


def test_fractions_are_no_counts():
    with pytest.raises(ValueError, match="these are fractions, not counts"):
        GroupCounts([[0.6, 0.4], [0.3, 0.7]], [[0.5, 0.5], [0.4, 0.6]])


def test_units_of_the_same_name_in_two_strata_are_two_units():
    table = {"county": ["x", "x", "y"], "precinct": [1, 2, 1], "a": [5, 6, 7], "b": [4, 3, 2]}
    table |= {"no": [3, 3, 3], "yes": [6, 6, 6], "income": [1.0, 2.0, 3.0]}
    sides = {"groups": ["a", "b"], "outcomes": ["no", "yes"], "unit": "precinct"}
    counts = GroupCounts.from_table(table, **sides, strata="county", covariates=["income"])
    assert counts.unit_names == ((("x", 1)), ("x", 2), ("y", 1)) or counts.unit_names == (
        (1, "x"),
        (2, "x"),
        (1, "y"),
    )
    assert counts.strata == ("x", "x", "y")
    assert counts.covariates.tolist() == [[1], [2], [3]]
    with pytest.raises(ValueError, match="unit 1 has two rows, 0 and 2"):
        GroupCounts.from_table(table, **sides)


def test_many_names_are_shown_in_short(shares):
    assert repr(shares) == "GroupShares(2 groups, 2 outcomes, 2 strata)"
    names = [f"g{i}" for i in range(40)]
    assert "and 34 more" in repr(GroupCounts(np.ones((2, 40)), np.full((2, 40), 1.0), names))
