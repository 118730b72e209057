"""Prediction sets from random bags: they cover, they are nested, and bags that cannot carry them are refused."""

import numpy as np
import pytest

from llpgan import Bags
from llpgan.evaluation.sets import PredictionSets, conformalize, order_scores, set_scores, sets_as_text


def draw(n, rng, bag_size=16, n_classes=4, sureness=1.0):
    """Random bags, probabilities that are too sure if sureness is above 1, and labels."""
    logits = 2 * rng.normal(size=(n, n_classes))
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (true.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    wrong = np.exp(sureness * logits)
    bags = Bags.from_labels(logits, labels, np.arange(n) // bag_size)
    return bags, wrong / wrong.sum(axis=1, keepdims=True), labels


@pytest.mark.parametrize("score", ["probability", "cumulative"])
def test_sets_of_an_overconfident_model_cover(score):
    rng = np.random.default_rng(0)
    bags, probabilities, _ = draw(8000, rng, sureness=3.0)
    sets = conformalize(bags, probabilities, score=score)
    _, new, labels = draw(20_000, rng, sureness=3.0)
    own = (np.cumsum(-np.sort(-new, axis=1), axis=1) < 0.9).sum(axis=1) + 1  # what the probabilities claim
    rank = (new > new[np.arange(len(new)), labels][:, None]).sum(axis=1)
    assert (rank < own).mean() < 0.87
    inside = sets.contain(new, 0.9)
    covered = inside[np.arange(len(new)), labels].mean()
    assert 0.9 < covered < 0.93
    assert sets.estimate_coverage(0.9)[0].low < covered < sets.estimate_coverage(0.9)[0].high


def test_bounds_allow_for_skewed_coverages():
    """Johnson's t: with estimates of 0.9 ± 0.01 and skewness -0.6, 0.1 (2 q² + 1) standard errors lower."""
    figures = np.full((2, 1), 0.9), np.full((2, 1), 0.01)
    plain, skewed, other = (
        PredictionSets("probability", False, False, 0.95, 105, np.array([0.5, 1.0]), *figures, *skews)
        for skews in ((), (np.full((2, 1), -0.6),), (np.full((2, 1), 0.6),))
    )
    q = 1.66023  # the quantile of Student's t with 100 degrees of freedom
    assert plain.bounds() == pytest.approx(np.full((2, 1), 0.9 - 0.01 * q), abs=1e-6)
    assert skewed.bounds() == pytest.approx(np.full((2, 1), 0.9 - 0.01 * (q + 0.1 * (2 * q**2 + 1))), abs=1e-6)
    assert (other.bounds() == plain.bounds()).all()


def test_coverage_is_reached_for_each_predicted_class():
    rng = np.random.default_rng(1)
    bags, probabilities, _ = draw(8000, rng, bag_size=8, n_classes=3)
    _, new, labels = draw(20_000, rng, n_classes=3)
    inside = conformalize(bags, probabilities, by_class=True).contain(new, 0.9)
    right = inside[np.arange(len(new)), labels]
    assert [right[new.argmax(axis=1) == k].mean() > 0.89 for k in range(3)] == [True] * 3


def test_sets_are_nested_and_never_empty():
    rng = np.random.default_rng(2)
    bags, probabilities, _ = draw(8000, rng)
    sets = conformalize(bags, probabilities)
    small, large = sets.contain(probabilities, 0.8), sets.contain(probabilities, 0.95)
    assert (large >= small).all()
    assert small[np.arange(8000), probabilities.argmax(axis=1)].all()


def test_scores_order_classes_by_probability():
    p = np.array([[0.5, 0.2, 0.3]])
    assert order_scores(p, "probability").tolist() == [[0, 0.8, 0.7]]
    assert order_scores(p, "cumulative").tolist() == [[0, 0.8, 0.5]]


def test_worst_case_holds_for_bags_that_are_not_random():
    rng = np.random.default_rng(3)
    bags, probabilities, labels = draw(4000, rng)
    order = np.argsort(labels + 0.5 * rng.random(4000), kind="stable")  # nearly pure bags
    pure = Bags.from_labels(bags.instances[order], labels[order], np.arange(4000) // 20)
    with pytest.raises(ValueError, match="needs bags that were drawn at random"):
        conformalize(pure, probabilities[order])
    sets = conformalize(pure, probabilities[order], worst_case=True)
    _, new, truth = draw(20_000, rng)
    assert sets.contain(new, 0.9)[np.arange(20_000), truth].mean() >= 0.9


def test_too_few_bags_are_refused():
    rng = np.random.default_rng(4)
    bags, probabilities, _ = draw(8000, rng, bag_size=400)
    with pytest.raises(
        ValueError, match=r"20 bags are too few for a coverage of 0\.99: every set would contain all"
    ):
        conformalize(bags, probabilities).contain(probabilities, 0.99)
    with pytest.raises(ValueError, match="need 20 bags or more, got 19"):
        conformalize(bags.take_bags(np.arange(19)), probabilities[: 19 * 400])


@pytest.mark.parametrize("bad", [0, 1, 90, float("nan"), "0.9"])
def test_levels_lie_between_0_and_1(bad):
    bags, probabilities, _ = draw(800, np.random.default_rng(5))
    sets = conformalize(bags, probabilities)
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        sets.select_thresholds(bad)


def test_set_scores_estimate_the_coverage():
    rng = np.random.default_rng(6)
    bags, probabilities, labels = draw(8000, rng)
    inside = probabilities > 0.1
    scores = set_scores(bags, probabilities, inside)
    truth = inside[np.arange(8000), labels].mean()
    assert scores.coverage.low < truth < scores.coverage.high
    assert scores.mean_size == pytest.approx(inside.sum(axis=1).mean())
    assert scores.sizes.sum() == pytest.approx(1)
    sorted_ = Bags.from_labels(bags.instances, labels, np.argsort(np.argsort(bags.instances[:, 0])) // 16)
    assert set_scores(sorted_, probabilities, inside).coverage is None


def test_sets_are_written_as_classes():
    assert sets_as_text(np.array([[True, False], [True, True]]), np.array(["no", "yes"])) == ["no", "no|yes"]
