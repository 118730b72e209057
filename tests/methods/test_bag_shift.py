import numpy as np
import pytest

from llpgan import Bags
from llpgan.methods.bag_boosting import shift_evidence


def as_they_are(instances):
    return instances


def bags_of(rows, labels, groups):
    return Bags.from_labels(rows, labels, groups)


@pytest.fixture
def groups():
    return np.repeat(np.arange(6), 500)


def test_classes_that_differ_in_number_alone_are_label_shift(rng, groups):
    labels = (rng.random(3000) < np.linspace(0.1, 0.9, 6)[groups]).astype(int)
    rows = rng.normal(size=(3000, 3)) + labels[:, None] * [1.0, 0.5, 0.0]
    found = shift_evidence(bags_of(rows, labels, groups), as_they_are)
    assert found.label_shift
    # What the bags imply is what labels would tell: the R² of a regression of the class on the features.
    fitted = np.linalg.lstsq(np.column_stack([np.ones(3000), rows]), labels, rcond=None)[0]
    explained = np.var(np.column_stack([np.ones(3000), rows]) @ fitted) / np.var(labels)
    assert found.implied_correlation == pytest.approx(explained, rel=0.3)


def test_bags_by_a_feature_are_not(rng, groups):
    """Their means differ by more than any two classes could."""
    rows = rng.normal(size=(3000, 3))
    rows[:, 0] += groups
    labels = (rng.random(3000) < 0.3 + 0.06 * rows[:, 0]).astype(int)
    found = shift_evidence(bags_of(rows, labels, groups), as_they_are)
    assert found.implied_correlation > 1
    assert not found.label_shift


def test_random_bags_are_not(rng):
    labels = rng.integers(2, size=3000)
    rows = rng.normal(size=(3000, 3)) + labels[:, None]
    found = shift_evidence(bags_of(rows, labels, np.arange(3000) // 30), as_they_are)
    assert found.dispersion == pytest.approx(1, abs=0.3)
    assert not found.label_shift


def test_three_classes(rng, groups):
    shares = rng.dirichlet([2, 2, 2], size=6)
    labels = np.array([rng.choice(3, p=shares[group]) for group in groups])
    rows = rng.normal(size=(3000, 2)) + np.eye(3)[labels][:, :2]
    assert shift_evidence(bags_of(rows, labels, groups), as_they_are).label_shift


def test_constant_columns_change_nothing(groups):
    labels = np.where(groups % 2, np.arange(3000) % 5 > 0, np.arange(3000) % 5 == 0).astype(int)
    rows = np.zeros((3000, 2))
    assert not shift_evidence(bags_of(rows, labels, groups), as_they_are).label_shift
