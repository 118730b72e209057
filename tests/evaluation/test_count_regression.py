"""Means over rows and labels from bag counts: no bias, honest errors, and less noise than without predictions."""

import numpy as np
import pytest

from llpgan import Bags
from llpgan.evaluation.calibrate import CountRegression, check_random_bags
from llpgan.evaluation.without_labels import label_mean, pair_classes


def test_estimates_have_no_bias_and_honest_errors():
    rng = np.random.default_rng(0)
    errors, standard, plain = [], [], []
    for _ in range(200):
        p = rng.dirichlet([0.4] * 4, size=1280)
        labels = (p.cumsum(axis=1) < rng.random((1280, 1))).sum(axis=1)
        bags = Bags.from_labels(p, labels, np.arange(1280) // 16)
        figures = (p > 0.02).astype(float)
        mean = CountRegression(bags, p).mean(figures)
        truth = (p * figures).sum(axis=1).mean()
        errors.append(mean.value - truth)
        standard.append(mean.error)
        plain.append(float(label_mean(pair_classes(bags, figures, 0.0)).value) - truth)
    assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(200)
    assert np.mean(standard) == pytest.approx(np.std(errors), rel=0.2)
    assert np.std(errors) < 0.9 * np.std(plain)


def test_a_figure_that_is_the_same_for_all_rows_is_exact():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 1], size=800)
    bags = Bags.from_labels(p, rng.integers(2, size=800), np.arange(800) // 16)
    mean = CountRegression(bags, p).mean(np.ones((800, 2)))
    assert mean.value == pytest.approx(1)
    assert mean.error == pytest.approx(0, abs=1e-9)


def test_bags_of_one_row_give_the_labelled_mean():
    rng = np.random.default_rng(2)
    p = rng.dirichlet([1, 1], size=400)
    labels = rng.integers(2, size=400)
    bags = Bags.from_labels(p, labels, np.arange(400))
    figures = (p > 0.5).astype(float)
    assert CountRegression(bags, p).mean(figures).value == pytest.approx(
        figures[np.arange(400), labels].mean(), abs=0.03
    )


def test_weighted_partial_and_sorted_bags_are_refused():
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1, 1], size=800)
    labels = (rng.random(800) < p[:, 1]).astype(int)
    weighted = Bags.from_labels(p, labels, np.arange(800) // 16, weights=rng.random(800) + 0.5)
    with pytest.raises(ValueError, match="The accuracy cannot be estimated from rows or bags with weights"):
        check_random_bags(weighted, p, "The accuracy")
    groups = np.argsort(np.argsort(p[:, 1])) // 16
    by_probability = Bags.from_labels(rng.normal(size=(800, 1)), labels, groups)
    with pytest.raises(ValueError, match="most of all in predicted probability of 1"):
        check_random_bags(by_probability, p, "The accuracy")
