import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression

from llpgan import BagLogistic, Bags
from llpgan.estimators.bag_logistic import bag_cross_entropy


@pytest.fixture
def three_classes(rng):
    labels = rng.integers(3, size=60)
    return Bags.from_labels(
        rng.normal(size=(60, 2)) + np.eye(3)[labels, :2], labels, np.sort(rng.integers(9, size=60))
    )


def plain_loss(bags, weights, class_scores):
    """Bag by bag, row by row."""
    total = 0.0
    for bag in range(bags.n_bags):
        rows = bags.rows_of(bag)
        odds = np.exp(class_scores[:, rows])
        mean = (odds / odds.sum(axis=0)).mean(axis=1)
        total -= weights[bag] * sum(p * np.log(q) for p, q in zip(bags.proportions[bag], mean, strict=True))
    return total


def test_the_loss_is_the_bags_cross_entropy(three_classes, bags, rng):
    for some in (three_classes, bags):
        weights = rng.random(some.n_bags)
        scores = rng.normal(size=(3 if some.n_classes == 3 else 1, len(some.instances)))
        class_scores = scores if some.n_classes == 3 else np.vstack([-scores / 2, scores / 2])
        value, _ = bag_cross_entropy(some, weights)(scores)
        assert value == pytest.approx(plain_loss(some, weights, class_scores))


def test_the_slope_is_the_losss(three_classes, bags, rng):
    for some, outputs in ((three_classes, 3), (bags, 1)):
        loss = bag_cross_entropy(some, rng.random(some.n_bags))
        shape = (outputs, len(some.instances))
        at = rng.normal(size=shape).ravel()
        error = check_grad(
            lambda x, loss=loss, shape=shape: loss(x.reshape(shape))[0],
            lambda x, loss=loss, shape=shape: loss(x.reshape(shape))[1].ravel(),
            at,
        )
        assert error < 1e-5


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bags_of_one_are_logistic_regression(n_classes, rng):
    labels = rng.integers(n_classes, size=90)
    instances = rng.normal(size=(90, 3)) + np.eye(3)[labels]
    model = BagLogistic(C=0.7, n_resamples=0, standardize=False, tol=1e-8).fit(instances, labels)
    expected = LogisticRegression(C=0.7, tol=1e-8).fit(instances, labels)
    np.testing.assert_allclose(model.predict_proba(instances), expected.predict_proba(instances), atol=1e-5)


def test_outliers_are_bent(bags):
    far = np.array(bags.instances)
    far[0] = 1e6
    straight, limited = (BagLogistic(n_resamples=0, limit=limit).fit_bags(bags) for limit in (None, 3.0))
    assert np.abs(straight._features(far).array()).max() > 1e5
    assert np.abs(limited._features(far).array()).max() <= 3


def test_resamples_are_averaged(bags):
    model = BagLogistic(n_resamples=3, random_state=0).fit_bags(bags)
    assert len(model.models_) == 3
    each = []
    for linear in model.models_:
        alone = BagLogistic(n_resamples=0).fit_bags(bags)
        alone.models_ = [linear]
        each.append(alone.predict_proba(bags.instances))
    np.testing.assert_allclose(model.predict_proba(bags.instances), np.mean(each, axis=0))


def test_the_seed_draws_the_resamples(bags):
    one, same, other = (
        BagLogistic(random_state=seed, n_resamples=3).fit_bags(bags).predict_proba(bags.instances)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
