from dataclasses import replace
from tempfile import TemporaryFile

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from llpgan import BagBoosting, BagLogistic, Bags, MeanMap, load, save
from llpgan.bags.on_disk import StoredInstances
from llpgan.methods import boosting as boosting_blocks
from llpgan.methods import linear
from llpgan.persistence.onnx import to_onnx
from llpgan.tables.store import store_bags

QUICK = {"random_state": 0, "n_models": 2}


@pytest.fixture(scope="module")
def rings():
    """A class within a ring of the other, which no line parts."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 2))
    return rows, (np.hypot(*rows.T) < 1).astype(int)


@pytest.fixture(scope="module")
def label_shift():
    """Rings in four large bags that differ in the classes' shares alone."""
    rng = np.random.default_rng(1)
    groups = np.repeat(range(4), 1500)
    labels = (rng.random(6000) < np.array([0.2, 0.4, 0.6, 0.8])[groups]).astype(int)
    radius = np.where(labels, 0.5, 1.5) + 0.3 * rng.normal(size=6000)
    angle = rng.random(6000) * 2 * np.pi
    return (
        np.column_stack([radius * np.cos(angle), radius * np.sin(angle), labels + rng.normal(size=6000)]),
        labels,
        groups,
    )


def test_learns_from_random_bags_what_no_line_can(rings):
    rows, labels = rings
    groups = np.arange(2000) // 10
    model = BagBoosting(**QUICK).fit(rows, labels, groups=groups)
    linear = BagLogistic(n_resamples=0).fit(rows, labels, groups=groups)
    assert model.bag_shift_ == "covariate"
    assert roc_auc_score(labels, model.predict_proba(rows)[:, 1]) > 0.9
    assert roc_auc_score(labels, linear.predict_proba(rows)[:, 1]) < 0.7


def test_learns_from_four_bags_under_label_shift(label_shift):
    rows, labels, groups = label_shift
    model = BagBoosting(**QUICK).fit(rows, labels, groups=groups)
    assert model.bag_shift_ == "label"
    assert model.score(rows, labels) > 0.9
    assert model.score(rows, labels) > MeanMap().fit(rows, labels, groups=groups).score(rows, labels) + 0.1


def test_held_out_losses_end_boosting(rings):
    rows, labels = rings
    model = BagBoosting(**QUICK, patience=3).fit(rows, labels, groups=np.arange(2000) // 10)
    losses = model.held_out_losses_
    assert model.n_rounds_ == np.argmin(losses)
    assert len(losses) == model.n_rounds_ + 1 + 3
    assert losses[model.n_rounds_] < losses[0]


def test_features_that_matter_are_important(rings):
    rows, labels = rings
    noise = np.random.default_rng(2).normal(size=(2000, 2))
    model = BagBoosting(**QUICK).fit(np.hstack([noise, rows]), labels, groups=np.arange(2000) // 10)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_[2:].sum() > 0.8


def test_trees_split_at_few_features_unless_bags_are_random(rings):
    rows, labels = rings
    rows = np.hstack([rows, np.random.default_rng(3).normal(size=(2000, 7))])
    by_feature = np.argsort(np.argsort(rows[:, 0] + 2 * rows[:, 1])) // 50
    for groups, expected, other in [(np.arange(2000) // 10, 1.0, 1 / 3), (by_feature, 1 / 3, 1.0)]:
        scores = [
            BagBoosting(**QUICK, bag_shift="covariate", max_rounds=20, max_features=share)
            .fit(rows, labels, groups=groups)
            .predict_proba(rows)
            for share in (None, expected, other)
        ]
        np.testing.assert_array_equal(scores[0], scores[1])
        assert np.abs(scores[0] - scores[2]).max() > 0.01


@pytest.mark.parametrize("bag_shift", ["covariate", "label"])
def test_constraints_hold_everywhere(bag_shift):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(1500, 2))
    labels = (rows[:, 0] + np.sin(3 * rows[:, 1]) + 0.5 * rng.normal(size=1500) > 0).astype(int)
    model = BagBoosting(**QUICK, monotonic_cst=[0, 1], bag_shift=bag_shift, max_rounds=40)
    model.fit(rows, labels, groups=np.arange(1500) // 5)
    assert model.n_rounds_ > 0
    for x in (-1.0, 0.0, 1.0):
        line = np.column_stack([np.full(50, x), np.linspace(-3, 3, 50)])
        assert np.diff(model.predict_proba(line)[:, 1]).min() >= -1e-12


@pytest.mark.parametrize(
    ("constraints", "message"),
    [([1], "monotonic_cst should be 3 values"), ([0, 2, 0], "−1, 0 and 1")],
)
def test_constraints_that_do_not_fit_are_refused(bags, constraints, message):
    with pytest.raises(ValueError, match=message):
        BagBoosting(monotonic_cst=constraints).fit_bags(bags)


def test_constraints_on_three_classes_are_refused(rng):
    with pytest.raises(ValueError, match="two classes; these bags have 3"):
        BagBoosting(monotonic_cst=[1]).fit(rng.normal(size=(9, 1)), [0, 1, 2] * 3, groups=[0] * 4 + [1] * 5)


def test_two_bags_are_learned_from_without_any_held_out(label_shift):
    rows, labels, groups = label_shift
    few = groups % 3 == 0
    model = BagBoosting(**QUICK, bag_shift="covariate").fit(rows[few], labels[few], groups=groups[few])
    assert model.held_out_losses_ == []
    assert len(model.trees_) == 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_saved_and_exported_models_predict_the_same(n_classes, tmp_path, rng):
    onnxruntime = pytest.importorskip("onnxruntime")
    labels = rng.integers(n_classes, size=400)
    rows = rng.normal(size=(400, 3)) + 2 * np.eye(3)[labels]
    model = BagBoosting(**QUICK).fit(rows, labels, groups=np.arange(400) // 4)
    expected = model.predict_proba(rows)
    assert np.ptp(expected[:, 0]) > 0.5
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(rows), expected)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    found = session.run(["probabilities"], {"instances": rows})[0]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_bags_of_one_are_labels(rings):
    rows, labels = rings
    model = BagBoosting(**QUICK).fit(rows, labels, groups=np.arange(2000))
    assert model.score(rows, labels) > 0.95


def test_many_classes_in_bags_of_labels(rng):
    labels = rng.integers(4, size=800)
    rows = rng.normal(size=(800, 4)) + 3 * np.eye(4)[labels]
    bags = Bags.from_labels(rows, labels, np.arange(800) // 8)
    model = BagBoosting(**QUICK).fit_bags(bags)
    assert (model.predict(rows) == labels).mean() > 0.8


@pytest.mark.parametrize("bag_shift", ["covariate", "label"])
def test_rows_in_blocks_are_learned_as_at_once(bag_shift, rings, tmp_path, monkeypatch):
    """From a file in blocks of a few bags, and splits by some of the rows: nearly the same."""
    rows, labels = rings
    bags = Bags.from_labels(rows, labels, np.arange(2000) % 200)
    settings = QUICK | {"bag_shift": bag_shift, "max_rounds": 30, "patience": 30}
    expected = BagBoosting(**settings).fit_bags(bags).predict_proba(rows)
    np.save(tmp_path / "rows.npy", rows)
    stored = replace(bags, instances=StoredInstances(tmp_path / "rows.npy"))
    monkeypatch.setattr(boosting_blocks, "_ROWS_A_BLOCK", 300)
    monkeypatch.setattr(boosting_blocks, "ROWS_FOR_SPLITS", 1999)
    n_read, read = [], StoredInstances._read
    monkeypatch.setattr(
        StoredInstances, "_read", lambda self, into, row: n_read.append(len(into)) or read(self, into, row)
    )
    models = []
    for most_kept in (len(rows) * rows.shape[1] * 8, 0):
        monkeypatch.setattr(linear, "_MOST_KEPT", most_kept)
        models.append(BagBoosting(**settings).fit_bags(stored))
        n_read.append(0)
    model, kept = models[1], n_read.index(0)
    assert sum(n_read[:kept]) < 10 * len(rows) < sum(n_read[kept:])  # features that take little memory are kept
    found = model.predict_proba(stored)
    np.testing.assert_array_equal(models[0].predict_proba(stored), found)
    assert model.held_out_means_.shape == ((200, 2) if bag_shift == "covariate" else (0, 2))
    assert np.corrcoef(found[:, 1], expected[:, 1])[0, 1] > 0.97


@pytest.mark.parametrize("bag_shift", ["covariate", "label"])
def test_scores_in_a_file_are_those_in_memory(bag_shift, rings, tmp_path, monkeypatch):
    monkeypatch.setattr(boosting_blocks, "_ROWS_A_BLOCK", 300)
    monkeypatch.setattr(boosting_blocks, "ROWS_FOR_SPLITS", 1999)
    rows, labels = rings
    bags = store_bags(Bags.from_labels(rows, labels, np.arange(2000) % 200), tmp_path / "store")
    model = BagBoosting(bag_shift=bag_shift, max_rounds=5, n_models=3, random_state=0)
    in_memory = model.fit_bags(bags).predict_proba(rows)
    monkeypatch.setattr(boosting_blocks, "MOST_BYTES", 0)
    with TemporaryFile() as file:
        monkeypatch.setattr(boosting_blocks, "TemporaryFile", lambda: file)
        np.testing.assert_array_equal(model.fit_bags(bags).predict_proba(rows), in_memory)
        assert file.closed


@pytest.mark.parametrize("bag_shift", ["covariate", "label"])
def test_rows_without_weight_change_nothing(bag_shift, rings):
    rows, labels = rings
    counts = np.arange(2000) % 2 == 0
    groups = np.arange(2000) // 10
    bags = Bags.from_labels(rows, labels, groups, weights=counts)
    assert not np.allclose(bags.proportions, Bags.from_labels(rows, labels, groups).proportions)
    model = BagBoosting(**QUICK, bag_shift=bag_shift, max_rounds=60).fit_bags(bags)
    means = bags.means(model.predict_proba(rows))
    assert np.abs(means - bags.proportions).mean() < 0.7 * np.abs(bags.prior - bags.proportions).mean()
    assert model.starts_[:, 0] == pytest.approx(np.log(bags.prior[1] / bags.prior[0]), abs=0.2)


def test_bags_without_weight_change_nothing(rings):
    rows, labels = rings
    groups = np.arange(2000) // 10
    wrong = groups % 2 == 1
    bags = Bags.from_labels(rows, np.where(wrong, 1 - labels, labels), groups)
    told = replace(bags, bag_weights=(np.arange(200) % 2 == 0).astype(float))
    settings = QUICK | {"bag_shift": "covariate", "max_rounds": 60}
    found = BagBoosting(**settings).fit_bags(told).predict_proba(rows)
    assert roc_auc_score(labels, found[:, 1]) > 0.85


def test_bounds_of_shares_are_learned_from(rings):
    rows, labels = rings
    groups = np.arange(2000) // 10
    shares = Bags.from_labels(rows, labels, groups).proportions
    bags = Bags.from_arrays(rows, groups, lower=np.maximum(shares - 0.05, 0), upper=np.minimum(shares + 0.05, 1))
    model = BagBoosting(**QUICK, max_rounds=60).fit_bags(bags)
    assert model.bag_shift_ == "covariate"
    assert roc_auc_score(labels, model.predict_proba(rows)[:, 1]) > 0.85
    with pytest.raises(ValueError, match='bag_shift="label" needs all shares'):
        BagBoosting(bag_shift="label").fit_bags(bags)
