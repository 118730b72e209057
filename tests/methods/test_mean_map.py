import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from llpgan import Bags, MeanMap
from llpgan.methods.mean_map import class_means


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_bags_of_one_are_logistic_regression(rng, n_classes, C):
    labels = rng.integers(n_classes, size=200)
    instances = rng.normal(size=(200, 4)) + np.eye(n_classes, 4)[labels]
    model = MeanMap(C=C, tol=1e-9, standardize=False).fit(instances, labels)
    supervised = LogisticRegression(C=C, tol=1e-9, max_iter=10_000).fit(instances, labels)
    np.testing.assert_allclose(model.predict_proba(instances), supervised.predict_proba(instances), atol=1e-6)


def test_class_means_are_exact_where_bags_differ_only_in_proportions(rng):
    means, proportions = rng.normal(size=(3, 4)), rng.dirichlet(np.ones(3), size=7)
    found = class_means(proportions @ means, proportions, rng.integers(1, 9, size=7))
    np.testing.assert_allclose(found, means)


def test_a_bag_counts_by_its_size(rng):
    """A bag of size m is m bags of its mean."""
    means, proportions = rng.normal(size=(6, 2)), rng.dirichlet(np.ones(2), size=6)
    sizes = np.array([1, 2, 3, 1, 2, 5])
    one_each = class_means(np.repeat(means, sizes, axis=0), np.repeat(proportions, sizes, axis=0), np.ones(14))
    np.testing.assert_allclose(class_means(means, proportions, sizes), one_each)


def test_units_do_not_matter_to_standard_columns(blobs):
    instances, labels, groups = blobs
    other_units = instances * [1e6, 1.0, 1e-3] + [0.0, 1e3, 5.0]
    one, other = (MeanMap().fit(X, labels, groups=groups).predict_proba(X) for X in (instances, other_units))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_images_are_rows_of_pixels_in_one_unit(blobs):
    instances, labels, groups = blobs
    images = instances.reshape(-1, 1, 1, 3)
    model = MeanMap().fit(images, labels, groups=groups)
    assert model.score(images, labels) > 0.9
    assert np.ndim(model.scale_) == 0


def test_the_condition_is_near_the_size_of_random_bags(rng):
    labels = rng.integers(2, size=10_000)
    model = MeanMap().fit(rng.normal(size=(10_000, 2)), labels, groups=np.arange(10_000) // 20)
    assert 15 < model.condition_ < 25


@pytest.mark.parametrize(
    ("proportions", "said"),
    [
        ([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], "condition number.*differ .here by 0 at most"),
        ([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5 + 1e-7]], r"condition number \d.*e\+1"),
        ([[0.5, 0.3, 0.2], [0.2, 0.4, 0.4]], "at least as many bags as classes .here 2 bags, 3 classes"),
        ([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0], [0.1, 0.9, 0.0]], "every class apart from the others"),
    ],
)
def test_a_hopeless_system_is_described(rng, proportions, said):
    bags = Bags.from_arrays(rng.normal(size=(12, 2)), np.arange(12) % len(proportions), np.array(proportions))
    with pytest.raises(ValueError, match=said):
        MeanMap().fit_bags(bags)
