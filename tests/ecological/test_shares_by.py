"""Shares of classes by group from a model: bags are met, groups are named, order does not matter."""

import numpy as np
import pandas as pd
import pytest

from llpgan import BagLogistic, Bags, MeanMap
from llpgan.ecological import match_probabilities, shares_by
from llpgan.ecological.model_shares import estimate_row_shares

CLASSES = ["no", "yes"]


@pytest.fixture(scope="module")
def people():
    """Twelve hundred people of thirty towns; the old vote yes more often, and more so where they are many."""
    rng = np.random.default_rng(0)
    town = np.repeat(np.arange(30), 40)
    old = rng.random(1200) < np.repeat(rng.uniform(0.1, 0.9, 30), 40)
    vote = rng.random(1200) < np.where(old, 0.75, 0.25)
    frame = pd.DataFrame({"town": town, "old": old.astype(int), "height": rng.normal(size=1200), "vote": vote})
    frame["sex"] = pd.Series(rng.choice(["f", "m"], 1200)).where(rng.random(1200) < 0.95)
    return frame


@pytest.fixture(scope="module")
def results(people):
    share = people.groupby("town")["vote"].mean()
    return pd.DataFrame({"town": share.index, "no": 1 - share.to_numpy(), "yes": share.to_numpy()})


@pytest.fixture(scope="module")
def model(people, results):
    return MeanMap().fit_bags(Bags.from_tables(people[["town", "old", "height"]], results, bag="town"))


def test_matched_predictions_meet_every_bag_and_shift_its_logits_alike(rng):
    bags = Bags.from_arrays(np.zeros((60, 1)), np.repeat(np.arange(6), 10), rng.dirichlet(np.ones(3), 6))
    predicted = rng.dirichlet(np.ones(3), 60)
    matched = match_probabilities(bags, predicted)
    np.testing.assert_allclose(bags.means(matched), bags.proportions, atol=1e-9)
    np.testing.assert_allclose(matched.sum(axis=1), 1, atol=1e-6)
    for bag in range(6):
        moved = np.log(matched[bags.rows_of(bag)] / predicted[bags.rows_of(bag)])
        apart = moved - moved[:, :1]
        np.testing.assert_allclose(apart, np.broadcast_to(apart[:1], apart.shape), atol=1e-4)


def test_a_class_that_a_bag_does_not_have_is_matched_to_zero():
    bags = Bags.from_arrays(np.zeros((4, 1)), [0, 0, 1, 1], {0: [1, 0, 0], 1: [0.5, 0.5, 0]})
    matched = match_probabilities(bags, np.full((4, 3), 1 / 3))
    np.testing.assert_allclose(matched, [[1, 0, 0], [1, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]], atol=1e-12)


def test_shares_by_a_column_hold_the_truth(people, results):
    bags = Bags.from_tables(people[["town", "old", "height"]], results, bag="town")
    model = BagLogistic(random_state=0).fit_bags(bags)
    shares = shares_by(model, people, "old", bag="town", proportions=results)
    assert (shares.groups, shares.outcomes) == ((0, 1), ("no", "yes"))
    truth = people.groupby("old")["vote"].mean().to_numpy()
    low, high = (ends[:, 1] for ends in shares.intervals)
    assert ((low <= truth) & (truth <= high)).all()
    total = (shares.sizes[:, None] * shares.shares).sum(axis=0)
    np.testing.assert_allclose(total[1], people["vote"].sum(), rtol=1e-6)


def test_a_table_and_its_bags_say_the_same(people, results, model):
    bags = Bags.from_tables(people[["town", "old", "height"]], results, bag="town")
    by_table = shares_by(model, people, "sex", bag="town", proportions=results)
    by_bags = shares_by(model, bags, people["sex"])
    assert by_table.groups == by_bags.groups == ("f", "m", None)
    np.testing.assert_allclose(by_table.shares, by_bags.shares)
    np.testing.assert_allclose(by_table.covariance, by_bags.covariance)


def test_several_columns_make_tuples_and_the_order_of_rows_does_not_matter(people, results, model):
    shares = shares_by(model, people, ["sex", "old"], bag="town", proportions=results)
    assert shares.groups == (("f", 0), ("f", 1), ("m", 0), ("m", 1), (None, 0), (None, 1))
    assert set(shares.columns(["sex", "old"])) >= {"sex", "old"}
    again = shares_by(
        model, people.sample(frac=1, random_state=0), ["sex", "old"], bag="town", proportions=results
    )
    np.testing.assert_allclose(again.shares, shares.shares, atol=1e-9)
    np.testing.assert_allclose(again.covariance, shares.covariance, atol=1e-9)


def test_groups_by_bag_have_the_shares_of_their_bag(people, results, model):
    shares = shares_by(model, people, "town", bag="town", proportions=results)
    np.testing.assert_allclose(shares.shares[:, 1], results["yes"], atol=1e-6)
    low, high = shares.intervals
    np.testing.assert_allclose(high - low, 0, atol=1e-4)


def test_without_proportions_they_are_the_mean_predictions(people, model):
    shares = shares_by(model, people, "old")
    expected = [model.predict_proba(people)[people["old"] == old].mean(axis=0) for old in (0, 1)]
    np.testing.assert_allclose(shares.shares, expected)
    assert shares.intervals is None


def test_a_class_can_be_left_out(rng):
    votes, town = rng.integers(3, size=600), np.repeat(np.arange(30), 20)
    votes = np.where(rng.random(600) < 0.6, town % 3, votes)
    names = np.array(["abstained", "left", "right"])
    bags = Bags.from_labels(rng.normal(size=(600, 3)) + 2 * np.eye(3)[votes], names[votes], town)
    model = MeanMap().fit_bags(bags)
    shares = shares_by(model, bags, np.repeat(["a", "b"], 300), exclude=["abstained"])
    assert shares.outcomes == ("left", "right")
    np.testing.assert_allclose(shares.shares.sum(axis=1), 1)


def test_one_group_has_the_known_shares(people, results, model):
    shares = shares_by(model, people.assign(all=1), "all", bag="town", proportions=results)
    np.testing.assert_allclose(shares.shares[0, 1], people["vote"].mean(), atol=1e-6)
    low, high = shares.intervals
    np.testing.assert_allclose(high - low, 0, atol=1e-4)


def test_mistakes_are_named(people, results, model):
    bags = Bags.from_tables(people[["town", "old", "height"]], results, bag="town")
    with pytest.raises(ValueError, match="has no column 'rage'"):
        shares_by(model, people, "rage", bag="town", proportions=results)
    with pytest.raises(ValueError, match="by: 1,200 different groups, more than 1,000"):
        shares_by(model, people, "height", bag="town", proportions=results)
    with pytest.raises(ValueError, match="neither the proportions nor the counts"):
        shares_by(model, people, "old", bag="town")
    with pytest.raises(ValueError, match="by: 3 values, but 1200 rows"):
        shares_by(model, bags, ["a", "b", "a"])
    with pytest.raises(ValueError, match="are for tables"):
        shares_by(model, bags, people["sex"], bag="town")
    with pytest.raises(ValueError, match="there is no outcome 'abstained'"):
        shares_by(model, bags, people["sex"], exclude=["abstained"])
    with pytest.raises(ValueError, match="prior_scale must be a number above 0"):
        estimate_row_shares(bags, np.full((1200, 2), 0.5), np.zeros(1200, dtype=np.int64), ["a"], prior_scale=0)


def test_a_weight_of_three_is_the_same_as_the_row_three_times(people, results, model):
    weighted = people.assign(n=1 + people.index % 3)
    repeated = weighted.loc[weighted.index.repeat(weighted["n"])]
    once = shares_by(model, weighted, "sex", bag="town", proportions=results, weight="n")
    often = shares_by(model, repeated, "sex", bag="town", proportions=results)
    np.testing.assert_allclose(once.sizes, often.sizes)
    np.testing.assert_allclose(once.shares, often.shares, atol=1e-9)
    np.testing.assert_allclose(once.covariance, often.covariance, atol=1e-9)
    np.testing.assert_allclose(once.goodman, often.goodman, atol=1e-9)
    plain = shares_by(model, weighted, "sex", weight="n").shares
    np.testing.assert_allclose(plain, shares_by(model, repeated, "sex").shares, atol=1e-12)


def test_rows_without_weight_change_nothing_and_a_group_of_them_is_refused(people, results, model):
    weighted = people.assign(n=(people["height"] > -1).astype(float))
    kept = people[people["height"] > -1]
    once = shares_by(model, weighted, "old", bag="town", proportions=results, weight="n")
    np.testing.assert_allclose(once.shares, shares_by(model, kept, "old", bag="town", proportions=results).shares)
    light = people.assign(n=people["old"].astype(float))
    with pytest.raises(ValueError, match="group 0: the weights of its rows sum to 0"):
        shares_by(model, light, "old", bag="town", proportions=results, weight="n")


def test_bags_of_which_less_is_known_or_that_overlap_are_refused(rng):
    instances, rows = rng.normal(size=(4, 1)), [0, 1, 2, 3]
    bounded = Bags.from_arrays(instances, [0, 0, 1, 1], lower={0: [0.2, 0.1], 1: [0.1, 0.5]})
    overlapping = Bags.from_memberships(instances, [*rows, 0], [0, 0, 1, 1, 1], {0: [0.5, 0.5], 1: [1, 0]})
    with pytest.raises(ValueError, match="of which less is known than all proportions"):
        match_probabilities(bounded, np.full((4, 2), 0.5))
    with pytest.raises(ValueError, match="overlap, or that count differently"):
        match_probabilities(overlapping, np.full((5, 2), 0.5))
