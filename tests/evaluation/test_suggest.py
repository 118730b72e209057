"""Rows to label: those that reduce the variance of predictions, none twice."""

import numpy as np
import pytest

from llpgan import Bags, MeanMap
from llpgan.evaluation.choose import suggest_labels


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(960, 4))
    return Bags.from_labels(X, (X[:, 0] + rng.normal(size=960) > 0).astype(int), np.arange(960) // 32)


@pytest.fixture(scope="module")
def model(bags):
    return MeanMap().fit_bags(bags)


@pytest.mark.parametrize("strategy", ["variance", "uncertainty", "random"])
def test_rows_are_distinct_and_the_same_for_a_seed(model, bags, strategy):
    found = suggest_labels(model, bags, 30, strategy=strategy, random_state=1)
    assert len(set(found.rows.tolist())) == 30
    assert (found.bag_of_row == bags.bag_index[found.rows]).all()
    again = suggest_labels(model, bags, 30, strategy=strategy, random_state=1)
    assert (found.rows == again.rows).all()


def test_each_step_is_the_best_of_all_by_brute_force(model, bags):
    first, second = suggest_labels(model, bags, 2, strategy="variance").rows
    p = model.predict_encoded(bags.instances)[:, 1]
    X = np.clip((bags.instances - bags.instances.mean(axis=0)) / bags.instances.std(axis=0), -3, 3)
    X = np.hstack([X, np.ones((960, 1))])
    q = p * (1 - p)

    def variance(rows):
        precision = np.eye(5) + sum(q[row] * np.outer(X[row], X[row]) for row in rows)
        return (q * np.einsum("ij,jk,ik->i", X, np.linalg.inv(precision), X)).mean()

    assert first == min(range(960), key=lambda row: variance([row]))
    assert second == min(range(960), key=lambda row: variance([first, row]) if row != first else np.inf)


def test_uncertain_rows_are_near_one_half(model, bags):
    rows = suggest_labels(model, bags, 10, strategy="uncertainty").rows
    p = model.predict_encoded(bags.instances).max(axis=1)
    assert p[rows].max() <= np.sort(p)[9]


def test_images_and_several_classes_are_supported():
    rng = np.random.default_rng(2)
    labels = rng.integers(3, size=240)
    X = rng.normal(size=(240, 1, 12, 12)) + labels[:, None, None, None]
    bags = Bags.from_labels(X, labels, np.arange(240) // 8)
    model = MeanMap().fit_bags(bags)
    assert len(suggest_labels(model, bags, 4, strategy="variance").rows) == 4


@pytest.mark.parametrize("budget", [0, 961, 2.5])
def test_a_budget_is_a_number_of_rows(model, bags, budget):
    with pytest.raises(ValueError, match="budget must be a number of rows from 1 to 960"):
        suggest_labels(model, bags, budget)


@pytest.mark.parametrize("strategy", ["variance", "uncertainty", "random"])
def test_rows_with_a_label_are_not_suggested(model, bags, strategy):
    first = suggest_labels(model, bags, 30, strategy=strategy).rows
    more = bags.add_labels(first, np.arange(30) % 2)
    for found in (
        suggest_labels(model, more, 930, strategy=strategy),
        suggest_labels(model, bags, 930, strategy=strategy, labelled=first),
    ):
        assert set(found.rows.tolist()) == set(range(960)) - set(first.tolist())
    with pytest.raises(ValueError, match="budget must be a number of rows without a known label from 1 to 930"):
        suggest_labels(model, more, 931, strategy=strategy)


def test_rows_of_bags_with_one_class_have_a_label(model):
    X = np.random.default_rng(1).normal(size=(64, 4))
    labels = np.repeat([0, 1, 1], [32, 16, 16])
    mixed = Bags.from_labels(X, labels, [*np.repeat(0, 16), *np.tile([1, 2], 16), *np.repeat(2, 16)])
    assert set(suggest_labels(model, mixed, 32).rows.tolist()) <= set(np.flatnonzero(mixed.bag_index > 0).tolist())
    with pytest.raises(ValueError, match="there is nothing to label"):
        suggest_labels(model, Bags.from_labels(X, labels, labels), 1)


@pytest.mark.parametrize("rows", [[960], [-1], [0.5]])
def test_labelled_rows_are_positions(model, bags, rows):
    with pytest.raises(ValueError, match="labelled: give the positions of rows, whole numbers from 0 to 959"):
        suggest_labels(model, bags, 1, labelled=rows)
