"""Logistic regression from tables of pairs: that of labelled rows, and without rows."""

from copy import copy

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from llpgan import MarginalLogistic
from llpgan.methods.pairs import draw_rows, pair_features
from llpgan.tables import MarginalTables


def made(n_rows, n_classes=2, seed=0):
    """Three columns that depend on each other, and classes that depend on pairs of them."""
    rng = np.random.default_rng(seed)
    a = rng.integers(4, size=n_rows)
    b = (a + rng.integers(3, size=n_rows)) % 4
    c = (b + (rng.random(n_rows) < 0.4)) % 3
    score = 1.5 * (a == b) - 2.0 * (c == 1) + (a == 3)
    labels = (rng.random(n_rows) < expit(score)).astype(int) + (n_classes > 2) * (c == 2) * rng.integers(
        2, size=n_rows
    )
    return {"a": a, "b": b, "c": c}, labels


@pytest.mark.parametrize("n_classes", [2, 3])
def test_tables_and_rows_give_the_logistic_regression_of_labels(n_classes):
    rows, labels = made(2000, n_classes)
    tables = MarginalTables.from_rows(rows, labels)
    model = MarginalLogistic(C=0.5, tol=1e-8).fit_tables(tables, rows)
    matrix = pair_features(tables.positions(rows), [4, 4, 3], model.known_)
    expected = LogisticRegression(C=0.5, tol=1e-8, max_iter=5000).fit(matrix, labels).predict_proba(matrix)
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-4)
    np.testing.assert_allclose(model.fit(rows, labels).predict_proba(rows), expected, atol=1e-4)


def test_drawn_rows_have_the_tables_of_each_class():
    tables = MarginalTables.from_rows(*made(4000))
    codes, weights = draw_rows(tables, 20_000, check_random_state(0))
    assert weights.sum() == pytest.approx(4000)
    for k, half in enumerate((slice(0, 10_000), slice(10_000, None))):
        for (a, b), (i, j) in zip(tables.pairs, [(0, 1), (0, 2), (1, 2)], strict=True):
            shape = tables.counts[a, b].shape[:2]
            cell = np.ravel_multi_index((codes[i, half], codes[j, half]), shape)
            found = np.bincount(cell, weights[half], minlength=np.prod(shape)).reshape(shape)
            np.testing.assert_allclose(found, tables.counts[a, b][..., k], atol=15)


def log_loss(model, rows, labels):
    return -np.log(model.predict_proba(rows)[np.arange(len(labels)), labels]).mean()


def test_tables_alone_are_almost_as_good_as_labels():
    rows, labels = made(20_000)
    test, test_labels = made(20_000, seed=1)
    model = MarginalLogistic(C=1.0, n_rows=20_000, random_state=0)
    alone = log_loss(model.fit_tables(MarginalTables.from_rows(rows, labels)), test, test_labels)
    supervised = log_loss(model.fit(rows, labels), test, test_labels)
    assert alone < supervised + 0.003
    same = MarginalLogistic(C=1.0, n_rows=20_000, random_state=0)
    same.fit_tables(MarginalTables.from_rows(rows, labels))
    assert log_loss(same, test, test_labels) == alone


@pytest.mark.parametrize("with_rows", [True, False])
def test_knowing_the_noise_is_better_than_ignoring_it(with_rows):
    rows, labels = made(2000)
    test, test_labels = made(20_000, seed=1)
    told, ignored = [], []
    for seed in range(4):
        tables = MarginalTables.from_rows(rows, labels, sd=20.0, random_state=seed)
        positive = {pair: np.maximum(cells, 0) for pair, cells in tables.counts.items()}
        exact = copy(tables)  # contradictions without noise would be refused
        vars(exact).update(counts=positive, sd=0.0)
        model = MarginalLogistic(C=1.0, n_rows=5000, random_state=0)
        for known, losses in ((tables, told), (exact, ignored)):
            losses.append(log_loss(model.fit_tables(known, rows if with_rows else None), test, test_labels))
    assert np.mean(told) < np.mean(ignored)


def test_cells_that_were_left_out_change_nothing():
    rows, labels = made(2000)
    tables = MarginalTables.from_rows(rows, labels, threshold=100)
    model = MarginalLogistic(C=1.0, n_rows=5000, random_state=0).fit_tables(tables)
    assert not model.known_.all()
    assert (model.model_.weights[:, ~model.known_] == 0).all()
    assert log_loss(model, rows, labels) < 0.62


def test_what_it_cannot_learn_from_is_named():
    with pytest.raises(TypeError, match="fit_tables takes MarginalTables, got a dict"):
        MarginalLogistic().fit_tables({})
    tables = MarginalTables.from_rows(*made(50))
    with pytest.raises(ValueError, match="no column 'b'"):
        MarginalLogistic().fit_tables(tables, {"a": [1], "c": [2]})
    with pytest.raises(ValueError, match="'C' parameter"):
        MarginalLogistic(C=0).fit_tables(tables)
