from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from llpgan import DLLP, Bags, MeanMap
from llpgan.bags.fit_warnings import kept_epoch
from llpgan.evaluation import label_scores
from llpgan.methods.base import changed_settings
from llpgan.report import collect_content
from llpgan.report.charts import chosen_epoch
from llpgan.report.content import _mosaic
from llpgan.report.drawing import shorten
from llpgan.report.text import describe_accuracy, shown_classes, worst_bags
from tests.plain import plain_mlp
from tests.report.conftest import told


def test_figures_are_the_models(blobs, bags):
    instances, labels, _ = blobs
    model = MeanMap().fit_bags(bags)
    story = collect_content(model, bags, title="", labels=labels)
    assert story.labels.accuracy.value == accuracy_score(labels, model.predict(instances))
    assert 1 - story.scores.mean_total_variation.value == pytest.approx(
        model.score(instances, bags.proportions[bags.bag_index], groups=bags.bag_index)
    )
    counts = [np.histogram(p, 20, (0, 1))[0] for p in model.predict_proba(instances).T]
    np.testing.assert_array_equal(story.probability_counts, counts)
    assert list(story.rises) == ["column 0", "column 1", "column 2"]


def test_who_knows_only_the_overall_shares_misses_by_the_distance_from_them(bags):
    story = collect_content(MeanMap().fit_bags(bags), bags, title="")
    misses = [np.abs(p - bags.prior).sum() / 2 for p in bags.proportions]
    np.testing.assert_allclose(story.overall.total_variation, misses)


def test_a_model_is_doubted_for_what_its_training_warned_of(blobs, bags, rng):
    instances, labels, _ = blobs
    model = MeanMap().fit_bags(bags)
    assert collect_content(model, bags, title="").doubt == ""
    alike = Bags.from_labels(instances, labels, np.argsort(np.argsort(labels, kind="stable")) % 4)
    assert "have the same proportions" in collect_content(model, alike, title="").doubt
    assert (
        "hardly better"
        in collect_content(model, replace(bags, instances=rng.permutation(instances)), title="").doubt
    )
    constant = replace(bags, instances=np.broadcast_to(instances[:1], instances.shape))
    assert "predicts the same for every instance" in collect_content(model, constant, title="").doubt


def test_a_wrong_label_is_named(bags):
    with pytest.raises(ValueError, match=r"row 0: label 7 is not one of the classes \[0, 1\]"):
        collect_content(MeanMap().fit_bags(bags), bags, title="", labels=np.full(80, 7))


def test_bags_of_other_classes_are_refused(blobs, bags):
    instances, labels, groups = blobs
    others = Bags.from_labels(instances, labels + 1, groups)
    with pytest.raises(ValueError, match=r"the bags have classes \[1, 2\], the model \[0, 1\]"):
        collect_content(MeanMap().fit_bags(bags), bags, title="", held_out=others)


def test_too_many_columns_are_not_shuffled(rng):
    bags = Bags.from_labels(rng.normal(size=(8, 101)), [0, 1, 0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 1])
    story = collect_content(MeanMap().fit_bags(bags), bags, title="")
    assert story.rises is None
    assert "There are 101 columns" in story.why_no_rises


def test_settings_have_no_addresses():
    values = {
        s.name: s.value
        for s in changed_settings(DLLP(classifier=plain_mlp, random_state=np.random.RandomState(0)))
    }
    assert values["classifier"] == "partial"
    assert values["random_state"] == "RandomState"
    assert values["activation"] == "None"


def test_the_epoch_that_was_kept_met_the_held_out_bags_best():
    story = told("three classes", False)
    assert chosen_epoch(story) == kept_epoch(story.history) > 0
    assert chosen_epoch(told("images", False)) is None


def test_the_worst_bags_come_first():
    story = told("three classes", False)
    bags = worst_bags(story, 4)
    errors = sorted(story.scores.total_variation, reverse=True)[:4]
    np.testing.assert_array_equal(story.scores.total_variation[bags], errors)


def test_of_many_classes_the_largest_are_shown(rng):
    labels = rng.choice(15, p=np.arange(1, 16) / 120, size=600)
    labels[:15] = np.arange(15)
    bags = Bags.from_labels(rng.normal(size=(600, 2)), labels, np.arange(600) // 20)
    story = collect_content(MeanMap().fit_bags(bags), bags, title="")
    left_out = set(range(15)) - set(shown_classes(story))
    assert len(left_out) == 3
    assert bags.prior[sorted(left_out)].max() <= bags.prior[shown_classes(story)].min()


def test_a_mosaic_has_each_image_in_its_place(rng):
    images = rng.random((64, 3, 4, 5))
    mosaic = _mosaic(images, 0, 1)
    assert mosaic.shape == (8 * 5 - 1, 8 * 6 - 1, 3)
    second_row_third_column = mosaic[5:9, 12:17]
    np.testing.assert_array_equal(second_row_third_column, np.round(255 * images[10]).transpose(1, 2, 0))


def test_large_images_are_thinned():
    assert _mosaic(np.zeros((64, 1, 200, 200)), 0, 1).shape == (8 * 51 - 1, 8 * 51 - 1, 3)


def test_accuracy_is_described_with_its_rows_and_the_recall_of_each_class():
    scores = label_scores(np.array([0, 0, 0, 1]), np.array([[0.9, 0.1]] * 3 + [[0.6, 0.4]]), np.arange(2))
    assert describe_accuracy(scores, ("no", "yes"), " of held-out bags") == (
        "Accuracy by the labels of 4 instances of held-out bags: 75.0 %. Always predicting the commonest class "
        "would have 75.0 %. Recall: 100 % of “no”, 0.0 % of “yes”."
    )


def test_long_names_are_cut():
    assert shorten("x" * 500) == "x" * 17 + "…"
