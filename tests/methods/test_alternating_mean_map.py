import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from llpgan import AlternatingMeanMap, Bags, InvCal, LaplacianMeanMap, MeanMap
from llpgan.methods.mean_map import best_labels, class_counts, class_scores


def objective(model, features, labels):
    scores = class_scores(model.model_, features)
    losses = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(labels)), labels]
    return losses.sum() + np.sum(model.model_.weights**2) / (2 * model.C)


@pytest.fixture
def hard_bags(rng):
    labels = rng.integers(3, size=150)
    return Bags.from_labels(rng.normal(size=(150, 2)) + 2 * np.eye(3, 2)[labels], labels, np.arange(150) // 10)


def test_the_objective_never_rises(hard_bags):
    objectives = []
    for turns in range(1, 8):
        model = AlternatingMeanMap(max_turns=turns, tol=1e-9).fit_bags(hard_bags)
        features = model._features(hard_bags.instances)
        labels = best_labels(hard_bags, class_scores(model.model_, features))
        objectives.append(objective(model, features, labels))
    assert objectives[-1] < objectives[0]
    assert np.diff(objectives).max() < 1e-6


def test_it_ends_at_the_logistic_regression_of_its_pseudo_labels(hard_bags):
    model = AlternatingMeanMap(tol=1e-9, standardize=False).fit_bags(hard_bags)
    labels = best_labels(hard_bags, class_scores(model.model_, model._features(hard_bags.instances)))
    supervised = LogisticRegression(tol=1e-9, max_iter=10_000).fit(hard_bags.instances, labels)
    np.testing.assert_allclose(
        model.predict_proba(hard_bags.instances), supervised.predict_proba(hard_bags.instances), atol=1e-5
    )
    counts = [np.bincount(labels[hard_bags.rows_of(bag)], minlength=3) for bag in range(hard_bags.n_bags)]
    np.testing.assert_array_equal(counts, class_counts(hard_bags))


@pytest.mark.parametrize("start", [None, LaplacianMeanMap(similarity="nearest"), InvCal(kernel="rbf")])
def test_any_classifier_may_start_it(start, hard_bags):
    model = AlternatingMeanMap(start=start).fit_bags(hard_bags)
    assert type(model.start_) is type(start or MeanMap())
    assert start is None or not hasattr(start, "classes_")
