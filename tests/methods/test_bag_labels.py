from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from llpgan import Bags
from llpgan.methods.mean_map import best_labels, class_counts, signs_within


@st.composite
def bags_and_scores(draw, n_classes):
    """Up to three bags of up to five rows, scores of each row and class."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    counts = [np.bincount(draw(st.lists(st.integers(0, n_classes - 1), min_size=m, max_size=m))) for m in sizes]
    proportions = [np.append(c, np.zeros(n_classes - len(c))) / c.sum() for c in counts]
    groups = draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist()))
    scores = draw(arrays(float, (sum(sizes), n_classes), elements=st.floats(-5, 5, width=16)))
    return Bags.from_arrays(np.zeros((len(groups), 1)), groups, np.array(proportions)), scores


def check_against_all_labelings(bags, scores):
    found = best_labels(bags, scores)
    for bag in range(bags.n_bags):
        rows, counts = bags.rows_of(bag), class_counts(bags)[bag]
        sums = [
            scores[rows, list(labels)].sum()
            for labels in product(range(bags.n_classes), repeat=len(rows))
            if np.array_equal(np.bincount(labels, minlength=bags.n_classes), counts)
        ]
        np.testing.assert_array_equal(np.bincount(found[rows], minlength=bags.n_classes), counts)
        np.testing.assert_allclose(scores[rows, found[rows]].sum(), max(sums))


@given(bags_and_scores(n_classes=2))
def test_two_classes_have_the_best_of_all_labelings(case):
    check_against_all_labelings(*case)


@given(bags_and_scores(n_classes=3))
def test_three_classes_have_the_best_of_all_labelings(case):
    check_against_all_labelings(*case)


@given(st.integers(1, 30), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_counts_sum_to_the_size_and_are_within_one_of_the_proportions(size, n_classes, seed):
    proportions = np.random.default_rng(seed).dirichlet(np.ones(n_classes))
    bags = Bags.from_arrays(np.zeros((size, 1)), np.zeros(size, int), proportions[None])
    counts = class_counts(bags)[0]
    assert counts.sum() == size
    assert np.abs(counts - size * proportions).max() < 1


def test_a_class_at_zero_gets_none(rng):
    bags = Bags.from_arrays(np.zeros((5, 1)), ["a"] * 5, {"a": [0.0, 0.33, 0.67]})
    assert 0 not in best_labels(bags, rng.normal(size=(5, 3)) + np.array([9, 0, 0]))


@given(arrays(float, 5, elements=st.floats(-5, 5, width=16)), st.integers(0, 5), st.integers(0, 5))
def test_signs_within_are_the_best_of_all(scores, one, other):
    fewest, most = sorted([one, other])
    bags = Bags.from_arrays(np.zeros((5, 1)), [0] * 5, np.array([[0.5, 0.5]]))
    found = signs_within(bags, scores, np.array([fewest]), np.array([most]))
    allowed = [np.array(y) for y in product([-1, 1], repeat=5) if fewest <= y.count(1) <= most]
    np.testing.assert_allclose(found @ scores, max(y @ scores for y in allowed))
