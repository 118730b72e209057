"""Learning from less than a full vector of shares: bounds, unknown classes, subsets, noise of known size."""

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from llpgan import DLLP, LLPGAN, LLPVAT, BagBoosting, BagLogistic, Bags, MeanMap
from llpgan.bags import UninformativeBagsWarning
from llpgan.bags.known_shares import KnownShares, nearest_within, remove_noise
from llpgan.evaluation import bag_scores
from llpgan.tables.store import store_tables


def divergence(q, p):
    return float(np.sum(q * np.log(np.maximum(q, 1e-300) / p)))


@pytest.mark.parametrize("seed", range(8))
def test_the_nearest_shares_within_bounds_are_those_of_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    p, middle = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
    low, high = np.maximum(middle - 0.1, 0), np.minimum(middle + 0.1, 1)
    found = nearest_within(p[None], low[None], high[None])[0]
    limits = {
        "bounds": list(zip(low, high, strict=True)),
        "constraints": {"type": "eq", "fun": lambda q: q.sum() - 1},
    }
    solved = minimize(divergence, middle, args=(p,), method="SLSQP", tol=1e-12, **limits)
    assert found.sum() == pytest.approx(1)
    assert divergence(found, p) <= solved.fun + 1e-8


@pytest.mark.parametrize("seed", range(8))
def test_denoised_shares_are_those_of_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    p, given, variance = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3)), 10 ** rng.uniform(-4, 1)

    def loss(q):
        return divergence(q, p) + float(np.sum((q - given) ** 2)) / (2 * variance)

    found = remove_noise(p[None], given[None], np.array([variance]))[0]
    solved = minimize(
        loss,
        given,
        method="SLSQP",
        tol=1e-12,
        bounds=[(1e-9, 1)] * 3,
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
    )
    assert loss(found) <= solved.fun + 1e-7


@pytest.mark.parametrize("kind", ["bounds", "noise"])
def test_the_slope_of_the_loss_is_that_of_the_targets(kind):
    rng = np.random.default_rng(0)
    given, predicted = rng.dirichlet(np.ones(3), 5), rng.dirichlet(np.ones(3), 5)
    low, high = (np.maximum(given - 0.1, 0), np.minimum(given + 0.1, 1)) if kind == "bounds" else (given, given)
    known = KnownShares(low, high, None if kind == "bounds" else np.full(5, 0.05), np.full(5, 40.0))
    direction = rng.normal(size=(5, 3)) * 1e-6
    direction -= direction.mean(axis=1, keepdims=True)
    rise = known.losses(predicted + direction) - known.losses(predicted - direction)
    slope = -(known.targets(predicted) / predicted * 2 * direction).sum(axis=1)
    np.testing.assert_allclose(rise, slope, rtol=1e-3, atol=1e-10)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=1200)
    instances = rng.normal(size=(1200, 2)) + 3 * np.eye(3)[labels][:, :2]
    return instances, labels, np.arange(1200) // 20


@pytest.fixture
def shares(rows):
    return Bags.from_labels(*rows).proportions


@pytest.mark.parametrize("method", [BagLogistic(n_resamples=0), DLLP(epochs=3, random_state=0)], ids=repr)
def test_bounds_that_leave_one_vector_give_the_ordinary_model(method, rows, shares):
    instances, _, bag = rows
    exact = Bags.from_arrays(instances, bag, shares)
    tight = Bags.from_arrays(instances, bag, lower=shares, upper=shares)
    models = [type(method)(**method.get_params()).fit_bags(bags) for bags in (exact, tight)]
    assert tight.share_constraints is not None
    np.testing.assert_allclose(*(model.predict_proba(instances) for model in models), atol=2e-4)


KNOWN = {
    "one class unknown": lambda p: dict(
        proportions=np.where(np.arange(len(p))[:, None] % 3 == np.arange(3), np.nan, p)
    ),
    "two of three unknown in some": lambda p: dict(
        proportions=np.where((np.arange(len(p))[:, None] % 2 == 0) & (np.arange(3) > 0), np.nan, p)
    ),
    "bounds": lambda p: dict(lower=np.maximum(p - 0.05, 0), upper=np.minimum(p + 0.05, 1)),
    "an upper bound alone": lambda p: dict(upper=np.minimum(p + 0.02, 1)),
    "noise": lambda p: dict(
        proportions=p + np.random.default_rng(1).normal(scale=0.05, size=p.shape), proportions_sd=0.05
    ),
}


@pytest.mark.parametrize("said", KNOWN.values(), ids=KNOWN)
def test_less_than_all_shares_is_enough_to_learn(said, rows, shares):
    instances, labels, bag = rows
    options = said(shares)
    bags = Bags.from_arrays(instances, bag, partial="proportions" in options, **options)
    assert BagLogistic(n_resamples=10, random_state=0).fit_bags(bags).score(instances, labels) > 0.88


@pytest.mark.slow
@pytest.mark.parametrize("method", [DLLP, LLPGAN])
def test_networks_learn_from_bounds_too(method, rows, shares):
    instances, labels, bag = rows
    bags = Bags.from_arrays(instances, bag, lower=np.maximum(shares - 0.05, 0), upper=np.minimum(shares + 0.05, 1))
    assert method(epochs=15, random_state=0).fit_bags(bags).score(instances, labels) > 0.88


def test_a_single_unknown_share_is_what_is_left(rows, shares):
    instances, _, bag = rows
    unknown = np.where(np.arange(3) == 2, np.nan, shares)
    bags = Bags.from_arrays(instances, bag, unknown, partial=True)
    np.testing.assert_allclose(bags.proportions, shares, atol=1e-9)


def test_what_is_known_goes_with_a_part_of_the_bags(rows, shares):
    instances, _, bag = rows
    bags = Bags.from_arrays(instances, bag, lower=shares * 0.9, upper=np.minimum(shares * 1.1, 1))
    np.testing.assert_array_equal(bags.take_bags([4, 7]).share_constraints.lower, (shares * 0.9)[[4, 7]])
    met = bag_scores(bags, np.repeat(shares, 20, axis=0))
    np.testing.assert_allclose(met.total_variation, 0, atol=1e-9)


def test_a_method_that_needs_all_shares_says_so(rows, shares):
    instances, _, bag = rows
    bags = Bags.from_arrays(instances, bag, upper=np.minimum(shares + 0.1, 1))
    with pytest.raises(
        ValueError, match=r"MeanMap needs all shares of each bag.*BagLogistic, DLLP, LLPGAN and LLPVAT"
    ):
        MeanMap().fit_bags(bags)


NAN = float("nan")
WRONG = {
    "crossing": (
        dict(lower={"a": [0.6, 0.1], "b": [0, 0]}, upper={"a": [0.5, 0.9], "b": [1, 1]}),
        "bag 'a': the lower bound 0.6 of class 0 is above its upper bound 0.5",
    ),
    "too high": (dict(lower={"a": [0.7, 0.6], "b": [0, 0]}), "bag 'a': no shares satisfy these bounds"),
    "too low": (dict(upper={"a": [0.2, 0.3], "b": [1, 1]}), "bag 'a': no shares satisfy these bounds"),
    "nothing known": (
        dict(proportions={"a": [NAN, NAN], "b": [0.5, 0.5]}, partial=True),
        "bag 'a': none of its shares is known",
    ),
    "too much known": (
        dict(proportions={"a": [1.2, NAN], "b": [0.5, 0.5]}, partial=True),
        "bag 'a': the value 1.2 of class 0 is not a share",
    ),
    "not asked for": (
        dict(proportions={"a": [NAN, 0.5], "b": [0.5, 0.5]}),
        "bag 'a': the value nan of class 0 is not a number",
    ),
    "negative noise": (
        dict(proportions={"a": [0.5, 0.5], "b": [0.5, 0.5]}, proportions_sd=-1),
        "proportions_sd must be one number, or one for each of the 2 bags",
    ),
    "noise of too few bags": (
        dict(proportions={"a": [0.5, 0.5], "b": [0.5, 0.5]}, proportions_sd=[0.1, 0.1, 0.1]),
        "proportions_sd must be one number, or one for each of the 2 bags",
    ),
    "noise in words": (
        dict(proportions={"a": [0.5, 0.5], "b": [0.5, 0.5]}, proportions_sd="much"),
        "proportions_sd must be numbers",
    ),
    "noisy percentages": (
        dict(proportions={"a": [51, 49], "b": [0.5, 0.5]}, proportions_sd=1),
        "bag 'a': the value 51 of class 0 is further from a share than noise of standard deviation 1 explains",
    ),
    "a bound that is NaN": (
        dict(upper={"a": [NAN, 1], "b": [1, 1]}),
        "bag 'a': the upper bound nan of class 0 is not a share",
    ),
    "percentages": (dict(upper={"a": [25, 90], "b": [50, 90]}), "bag 'a': the upper bound 25 of class 0 is not"),
    "bounds of other classes": (
        dict(lower={"a": [0, 0], "b": [0, 0]}, upper={"a": [1, 1, 1], "b": [1, 1, 1]}),
        "upper has the shape .2, 3., but there must be 2 classes",
    ),
    "both": (
        dict(proportions={"a": [0.5, 0.5], "b": [0.5, 0.5]}, upper={"a": [1, 1], "b": [1, 1]}),
        "give either proportions",
    ),
}


@pytest.mark.parametrize(("options", "said"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_known_is_named(options, said):
    with pytest.raises(ValueError, match=said):
        Bags.from_arrays([[1.0], [2.0], [3.0]], ["a", "a", "b"], **options)


def test_tables_of_bounds_and_empty_cells(rows, shares):
    instances, _, bag = rows
    people = pd.DataFrame(instances, columns=["x", "y"]).assign(bag=bag)
    table = pd.DataFrame(shares, columns=["a", "b", "c"]).assign(bag=np.arange(60))
    bounds = [table.assign(**{name: table[name] + by for name in "abc"}).clip(0, 59) for by in (-0.05, 0.05)]
    bags = Bags.from_tables(people, bag="bag", lower=bounds[0], upper=bounds[1].assign(bag=np.arange(60)))
    np.testing.assert_allclose(bags.share_constraints.lower, np.maximum(shares - 0.05, 0))
    table.loc[3, ["a", "b"]] = np.nan
    with pytest.raises(ValueError, match="bag 3: the value nan of class 'a' is not a number"):
        Bags.from_tables(people, table, bag="bag")
    partial = Bags.from_tables(people, table, bag="bag", partial=True)
    assert partial.share_constraints.upper[3, 0] == pytest.approx(1 - shares[3, 2])


def within_first_two(shares, full):
    """Of bags that are not full, the shares of the first two classes within these."""
    inside = shares[:, :2] / shares[:, :2].sum(axis=1, keepdims=True)
    return np.where(full[:, None], shares, np.column_stack([inside, np.full(len(shares), NAN)]))


@pytest.fixture
def full():
    return np.arange(60) % 5 == 0


@pytest.fixture
def subsets(rows, shares, full):
    instances, _, bag = rows
    return Bags.from_arrays(instances, bag, within_first_two(shares, full), within=True)


def test_the_loss_within_a_subset_is_its_formula_and_does_not_see_the_mass():
    rng = np.random.default_rng(0)
    within, predicted = np.array([[0.2, NAN, 0.8, NAN]]), rng.dirichlet(np.ones(4), 1)
    known = KnownShares(np.zeros((1, 4)), np.nan_to_num(within, nan=1.0), None, np.array([9.0]), within)
    inside = predicted[0, [0, 2]] / predicted[0, [0, 2]].sum()
    expected = sum(r * np.log(r / p) for r, p in zip([0.2, 0.8], inside, strict=True))
    assert known.losses(predicted)[0] == pytest.approx(expected)
    lighter = predicted * [0.5, 1, 0.5, 1]
    assert known.losses(lighter / lighter.sum())[0] == pytest.approx(expected)
    nearest = known.targets(predicted)
    np.testing.assert_allclose(nearest[0, [1, 3]], predicted[0, [1, 3]])
    np.testing.assert_allclose(nearest[0, [0, 2]], predicted[0, [0, 2]].sum() * within[0, [0, 2]])


def test_the_slope_of_the_loss_within_a_subset_is_that_of_the_pulls():
    rng = np.random.default_rng(0)
    within = np.array([[0.2, NAN, 0.8, NAN], [NAN] * 4, [0.3, 0.3, 0.4, NAN]])
    exact = np.array([0.1, 0.2, 0.3, 0.4])
    full = np.isnan(within).all(axis=1)[:, None]
    lower, upper = np.where(full, exact, 0), np.where(full, exact, np.nan_to_num(within, nan=1.0))
    known, predicted = KnownShares(lower, upper, None, np.full(3, 9.0), within), rng.dirichlet(np.ones(4), 3)
    direction = rng.normal(size=(3, 4)) * 1e-6
    direction -= direction.mean(axis=1, keepdims=True)
    rise = known.losses(predicted + direction) - known.losses(predicted - direction)
    slope = -(known.pulls_and_losses(predicted)[0] / predicted * 2 * direction).sum(axis=1)
    np.testing.assert_allclose(rise, slope, rtol=1e-5, atol=1e-11)


def test_a_logistic_model_of_subsets_is_at_the_minimum_of_the_formula(rows, subsets):
    instances, _, _ = rows
    model = BagLogistic(C=1.0, n_resamples=0, tol=1e-9).fit_bags(subsets)

    def loss(tilt):
        scores = np.log(model.predict_proba(instances)) + np.column_stack([instances, np.ones(1200)]) @ tilt
        found = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        return subsets.share_constraints.losses(subsets.means(found)).sum()

    intercepts = np.zeros((3, 3))
    for k in range(3):  # intercepts have no penalty
        step = intercepts.copy()
        step[2, k] = 1e-5
        assert abs(loss(step) - loss(-step)) / 2e-5 < 1e-3


@pytest.mark.parametrize(
    "method",
    [BagLogistic(n_resamples=5, random_state=0), BagBoosting(n_models=2, max_rounds=40, random_state=0)],
    ids=repr,
)
def test_shares_within_a_subset_help_in_addition_to_a_few_full_vectors(method, rows, shares, full, subsets):
    instances, labels, bag = rows
    alone = Bags.from_arrays(instances, bag, shares).take_bags(full)
    few = type(method)(**method.get_params()).fit_bags(alone).score(instances, labels)
    assert method.fit_bags(subsets).score(instances, labels) > max(0.88, few)


@pytest.mark.slow
@pytest.mark.parametrize("method", [DLLP, LLPGAN, LLPVAT])
def test_networks_learn_from_shares_within_a_subset(method, rows, subsets):
    instances, labels, _ = rows
    assert method(epochs=8, random_state=0).fit_bags(subsets).score(instances, labels) > 0.85


def test_full_vectors_said_to_be_within_all_classes_are_the_ordinary_bags(rows, shares):
    instances, _, bag = rows
    bags = Bags.from_arrays(instances, bag, shares, within=True)
    assert bags.share_constraints is None
    np.testing.assert_array_equal(bags.proportions, Bags.from_arrays(instances, bag, shares).proportions)


def test_counts_within_a_subset_are_its_shares(rows, shares, full, subsets):
    instances, _, bag = rows
    counts = np.where(np.isnan(within_first_two(shares, full)), NAN, np.round(shares * 20))
    counted = Bags.from_arrays(instances, bag, counts=counts, within=True)
    np.testing.assert_allclose(counted.share_constraints.within, subsets.share_constraints.within)
    np.testing.assert_allclose(counted.proportions, subsets.proportions)


def test_shares_within_a_subset_do_not_depend_on_the_order_of_rows_and_classes(rows, shares, full, subsets):
    instances, _, bag = rows
    order, turned = np.random.default_rng(0).permutation(1200), [2, 0, 1]
    again = Bags.from_arrays(instances[order], bag[order], within_first_two(shares, full)[:, turned], within=True)
    np.testing.assert_array_equal(again.share_constraints.within, subsets.share_constraints.within[:, turned])
    models = [BagLogistic(n_resamples=0).fit_bags(bags).predict_proba(instances) for bags in (subsets, again)]
    np.testing.assert_allclose(models[0][:, turned], models[1], atol=1e-4)


def test_shares_within_a_subset_go_with_a_part_of_the_bags_and_scores_do_not_count_the_mass(subsets, shares, full):
    some = subsets.take_bags([1, 5, 7])
    np.testing.assert_array_equal(some.share_constraints.within, subsets.share_constraints.within[[1, 5, 7]])
    assert (
        some.digest
        != dataclasses.replace(
            some, share_constraints=dataclasses.replace(some.share_constraints, within=None)
        ).digest
    )
    halved = shares * np.where(full[:, None], 1, [0.5, 0.5, 1])
    scores = bag_scores(subsets, np.repeat(halved / halved.sum(axis=1, keepdims=True), 20, axis=0))
    np.testing.assert_allclose(scores.total_variation, 0, atol=1e-9)
    np.testing.assert_allclose(scores.kl, 0, atol=1e-9)
    nobody = np.repeat(np.where(full[:, None], shares, [0.0, 0.0, 1.0]), 20, axis=0)
    assert bag_scores(subsets, nobody).hard_total_variation[~full].tolist() == [1.0] * 48


def test_bags_without_the_mass_of_a_subset_are_warned_of(subsets, full):
    with pytest.warns(UninformativeBagsWarning, match="no bag shows how common class 2 is next to classes 0, 1"):
        BagLogistic(n_resamples=0).fit_bags(subsets.take_bags(~full))


OUTSIDE = {
    "a sum that is not one": (
        dict(proportions={"a": [0.3, 0.3, NAN], "b": [0.2, 0.3, 0.5]}),
        "bag 'a': the shares within its given classes sum to 0.6, not 1",
    ),
    "one class": (
        dict(proportions={"a": [1, NAN, NAN], "b": [0.2, 0.3, 0.5]}),
        "bag 'a': only class 0 is given, and its share within itself is always 1",
    ),
    "no class": (dict(counts={"a": [4, 5, 1], "b": [NAN] * 3}), "bag 'b': its counts sum to 0"),
    "nothing": (
        dict(proportions={"a": [0.4, 0.5, 0.1], "b": [NAN] * 3}),
        "bag 'b': none of its shares is known",
    ),
    "percentages": (
        dict(proportions={"a": [40, 60, NAN], "b": [0.2, 0.3, 0.5]}),
        "bag 'a': the value 40 of class 0 is not a share",
    ),
    "a negative count": (
        dict(counts={"a": [-4, 5, NAN], "b": [1, 2, 3]}),
        "bag 'a': -4 of class 0 is not a count",
    ),
    "a full vector that is none": (
        dict(proportions={"a": [0.4, 0.6, NAN], "b": [0.2, 0.3, 0.4]}),
        "bag 'b': proportions sum to 0.9, not 1",
    ),
    "partial too": (
        dict(proportions={"a": [0.4, 0.6, NAN], "b": [0.2, 0.3, 0.5]}, partial=True),
        "either those of the whole bag .partial. or those within",
    ),
    "bounds": (dict(upper={"a": [1, 1, 1], "b": [1, 1, 1]}), "are proportions or counts, not bounds"),
    "noise": (
        dict(proportions={"a": [0.4, 0.6, NAN], "b": [0.2, 0.3, 0.5]}, proportions_sd=0.1),
        "needs shares of the whole bag",
    ),
}


@pytest.mark.parametrize(("options", "said"), OUTSIDE.values(), ids=OUTSIDE)
def test_shares_within_that_cannot_be_are_named(options, said):
    with pytest.raises(ValueError, match=said):
        Bags.from_arrays([[1.0], [2.0], [3.0]], ["a", "a", "b"], within=True, **options)


def test_tables_of_shares_within_a_subset(rows, shares, full, subsets, tmp_path):
    instances, _, bag = rows
    people = pd.DataFrame(instances, columns=["x", "y"]).assign(bag=bag)
    table = pd.DataFrame(within_first_two(shares, full), columns=["a", "b", "c"]).assign(bag=np.arange(60))
    people.to_csv(tmp_path / "people.csv", index=False)
    table.to_csv(tmp_path / "results.csv", index=False)
    bags = Bags.from_tables(tmp_path / "people.csv", tmp_path / "results.csv", bag="bag", within=True)
    np.testing.assert_allclose(bags.share_constraints.within, subsets.share_constraints.within)
    stored = store_tables(tmp_path / "people.csv", tmp_path / "store", table, bag="bag", within=True)
    np.testing.assert_array_equal(stored.share_constraints.within, bags.share_constraints.within)
    with pytest.raises(ValueError, match="either those of the whole bag"):
        Bags.from_tables(people, table, bag="bag", within=True, partial=True)


@pytest.mark.parametrize("form", ["within", "noise", "bounds"])
def test_labels_can_be_added_to_bags_with_partial_shares(form, rows, shares, subsets, full):
    instances, labels, bag = rows
    noisy = shares + np.random.default_rng(1).normal(scale=0.05, size=shares.shape)
    bags = {
        "within": lambda: subsets.take_bags(~full),
        "noise": lambda: Bags.from_arrays(instances, bag, noisy, proportions_sd=0.05),
        "bounds": lambda: Bags.from_arrays(instances, bag, upper=np.minimum(shares + 0.3, 1)),
    }[form]()
    truth = labels[np.isin(bag, bags.bag_ids)]
    beside = bags.add_labels(np.arange(30), truth[:30])
    exact = np.eye(3)[truth[:30]]
    np.testing.assert_array_equal(beside.proportions[-30:], exact)
    np.testing.assert_array_equal(
        beside.share_constraints.targets(np.full((beside.n_bags, 3), 1 / 3))[-30:], exact
    )
    np.testing.assert_array_equal(
        beside.share_constraints.take_bags(np.arange(bags.n_bags)).lower, bags.share_constraints.lower
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # labels tell the mass of subsets
        assert BagLogistic(n_resamples=0).fit_bags(beside).score(instances, labels) > 0.85


@pytest.mark.parametrize("name", ["partial", "within"])
def test_a_text_is_no_switch(name):
    with pytest.raises(TypeError, match=f"{name} must be True or False, got 'no'"):
        Bags.from_arrays([[1.0], [2.0]], ["a", "b"], {"a": [0, 1], "b": [1, 0]}, **{name: "no"})
