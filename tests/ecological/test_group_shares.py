"""Shares of groups: intervals within bounds, differences, and shares among some of the outcomes."""

import numpy as np
import pytest

from llpgan.ecological import GroupShares, shares_from_counts
from llpgan.ecological.shares import group_text
from tests.ecological.simulated_counts import simulated


@pytest.fixture
def shares(rng):
    return shares_from_counts(simulated(rng)[0], aggregation_bias=0.3)


def test_intervals_lie_within_the_bounds_around_the_shares(shares):
    low, high = shares.intervals
    assert (shares.lowest <= low).all()
    assert (low < shares.shares).all()
    assert (shares.shares < high).all()
    assert (high <= shares.highest).all()
    np.testing.assert_allclose(shares.shares.sum(axis=1), 1)


def test_a_share_is_found_by_names_and_a_wrong_name_is_said(shares):
    found = shares.share(1, 2)
    assert found.value == shares.shares[1, 2]
    assert (found.low, found.high) == (shares.intervals[0][1, 2], shares.intervals[1][1, 2])
    with pytest.raises(ValueError, match="there is no outcome 'green'"):
        shares.share(1, "green")
    with pytest.raises(ValueError, match="there is no group 7"):
        shares.difference(7, 1)


def test_a_difference_has_the_variance_of_the_difference(shares):
    found = shares.difference(0, 2)[1]
    weights = np.zeros((3, 3))
    weights[0, 1], weights[2, 1] = 1, -1
    variance = np.einsum("rc,rcsd,sd->", weights, shares.covariance, weights)
    assert found.value == pytest.approx(shares.shares[0, 1] - shares.shares[2, 1])
    assert found.high - found.low == pytest.approx(2 * 1.959964 * np.sqrt(variance), rel=1e-3)
    assert len(shares.differences()) == 9


def test_a_group_does_not_differ_from_itself(shares):
    same = shares.difference(1, 1)[0]
    assert (same.value, same.low, same.high) == (0, pytest.approx(0, abs=1e-6), pytest.approx(0, abs=1e-6))


def test_without_an_outcome_shares_are_among_the_others(shares):
    found = shares.without([2])
    np.testing.assert_allclose(
        found.shares, shares.shares[:, :2] / shares.shares[:, :2].sum(axis=1, keepdims=True)
    )
    np.testing.assert_allclose(found.sizes, shares.sizes * (1 - shares.shares[:, 2]))
    assert found.outcomes == (0, 1)
    draws = np.random.default_rng(0).multivariate_normal(
        shares.shares.ravel(), shares.covariance.reshape(9, 9) / 400, 20_000
    )
    kept = draws.reshape(-1, 3, 3)[:, :, :2]
    spread = (kept / kept.sum(axis=2, keepdims=True)).std(axis=0) * 20
    np.testing.assert_allclose(np.sqrt(np.einsum("rcrc->rc", found.covariance)), spread, rtol=0.05)
    assert (found.lowest <= found.shares).all()
    assert (found.shares <= found.highest).all()


def test_all_outcomes_cannot_be_left_out(shares):
    with pytest.raises(ValueError, match="all outcomes are left out"):
        shares.without([0, 1, 2])


def test_columns_have_a_row_for_each_group_and_outcome(shares):
    columns = shares.columns()
    assert list(columns) == ["group", "size", "outcome", "share", "low", "high", "lowest", "highest", "goodman"]
    assert columns["group"] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert columns["outcome"] == [0, 1, 2] * 3
    assert columns["share"] == shares.shares.ravel().tolist()


def test_shares_without_a_covariance_have_no_intervals():
    half, none = np.full((2, 2), 0.5), np.full((2, 2), np.nan)
    shares = GroupShares(("a", None), ("no", "yes"), np.ones(2), half, None, half * 0, half * 2, none)
    assert shares.intervals is None
    assert shares.share("a", "yes").low is None
    assert shares.difference("a", None)["yes"].high is None
    assert shares.columns()["low"] == [None] * 4
    assert str(shares).splitlines()[-1] == "missing  yes  0.500"
    assert group_text(("a", None)) == "a, missing"
