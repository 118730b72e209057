import numpy as np
import pytest

from llpgan import Bags
from llpgan.evaluation import estimate_accuracy


def simulated(seed, n_bags=60, size=20, accuracy=0.85, n_classes=3):
    rng = np.random.default_rng(seed)
    labels = rng.choice(
        n_classes, p=np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum(), size=n_bags * size
    )
    sure = rng.dirichlet(np.ones(n_classes), size=len(labels)) * 0.4
    named = np.where(rng.random(len(labels)) < accuracy, labels, rng.integers(n_classes, size=len(labels)))
    probabilities = sure + 0.6 * np.eye(n_classes)[named]
    return (
        Bags.from_labels(np.zeros((len(labels), 1)), labels, np.arange(len(labels)) // size),
        labels,
        probabilities,
    )


def truths(labels, probabilities):
    named, n = probabilities.argmax(1), len(labels)
    confusion = np.zeros((3, 3))
    for label, guess in zip(labels, named, strict=True):
        confusion[label, guess] += 1 / n
    chosen = probabilities[np.arange(n), labels]
    return {
        "accuracy": np.mean(named == labels),
        "brier": np.mean(((probabilities - np.eye(3)[labels]) ** 2).sum(1)),
        "log_loss": np.mean(-np.log(chosen)),
    }, confusion


def test_every_figure_is_near_the_truth_and_its_interval_holds_it():
    errors, held = [], []
    for seed in range(60):
        bags, labels, probabilities = simulated(seed)
        found = estimate_accuracy(bags, probabilities)
        truth, confusion = truths(labels, probabilities)
        figures = [getattr(found, name) for name in truth]
        errors.append([f.value - t for f, t in zip(figures, truth.values(), strict=True)])
        held.append([f.low <= t <= f.high for f, t in zip(figures, truth.values(), strict=True)])
        held[-1].append(((found.confusion.low <= confusion) & (confusion <= found.confusion.high)).mean())
        recall = confusion.diagonal() / confusion.sum(1)
        held[-1].append(((found.recall.low <= recall) & (recall <= found.recall.high)).mean())
    assert (np.abs(np.mean(errors, 0)) < 3.5 * np.std(errors, 0) / 60**0.5).all()
    assert (np.mean(held, 0) > 0.88).all()


def test_bags_of_one_row_are_labels():
    _, labels, probabilities = simulated(0, n_bags=30, size=4)
    bags = Bags.from_labels(np.zeros((120, 1)), labels)
    found = estimate_accuracy(bags, probabilities)
    truth, confusion = truths(labels, probabilities)
    assert found.accuracy.value == pytest.approx(truth["accuracy"])
    assert found.brier.value == pytest.approx(truth["brier"])
    assert found.log_loss.value == pytest.approx(truth["log_loss"])
    np.testing.assert_allclose(found.confusion.value, confusion, atol=1e-9)


def test_the_order_of_rows_and_of_bags_changes_nothing(rng):
    bags, labels, probabilities = simulated(1)
    order = rng.permutation(len(labels))
    renamed = 100 - bags.bag_index[order]
    turned = Bags.from_labels(np.zeros((len(labels), 1)), labels[order], renamed)
    one, two = estimate_accuracy(bags, probabilities), estimate_accuracy(turned, probabilities[order])
    assert one.accuracy.low == pytest.approx(two.accuracy.low)
    np.testing.assert_allclose(one.confusion.high, two.confusion.high)


def test_classes_will_do_but_have_no_brier_score():
    bags, _, probabilities = simulated(2)
    hard = estimate_accuracy(bags, probabilities.argmax(1))
    assert hard.accuracy == estimate_accuracy(bags, probabilities).accuracy
    assert hard.brier is None
    assert hard.log_loss is None


def test_always_the_same_class_is_right_as_often_as_there_are_such_rows():
    bags, labels, _ = simulated(3)
    found = estimate_accuracy(bags, np.full(len(labels), 2)).accuracy
    assert found.value == pytest.approx(np.mean(labels == 2))
    assert 0.01 < found.high - found.low < 0.2


def test_who_makes_no_mistake_in_sight_still_has_an_interval():
    bags, labels, _ = simulated(4)
    found = estimate_accuracy(bags, labels).accuracy
    assert found.value == pytest.approx(1)
    assert 1 - 6 / len(labels) < found.low < 1 - 1 / len(labels)


def test_noise_in_proportions_widens_the_interval_and_does_not_move_it(rng):
    plain, noisy, off = [], [], []
    for seed in range(40):
        bags, labels, probabilities = simulated(seed, n_classes=2, size=50)
        shares = bags.proportions + rng.normal(scale=0.05, size=(60, 1)) * [1, -1]
        rough = Bags(bags.instances, bags.bag_index, np.clip(shares, 0, 1), bags.bag_ids, bags.classes)
        one = estimate_accuracy(bags, probabilities).accuracy
        two = estimate_accuracy(rough, probabilities, proportions_sd=0.05).accuracy
        plain.append(one.high - one.low)
        noisy.append(two.high - two.low)
        off.append(two.value - np.mean(probabilities.argmax(1) == labels))
    assert np.mean(noisy) > 1.3 * np.mean(plain)
    assert abs(np.mean(off)) < 3.5 * np.std(off) / 40**0.5


def test_wrong_inputs_are_named():
    bags, labels, _ = simulated(5)
    with pytest.raises(ValueError, match=r"row 0: prediction 7 is not one of the classes \[0, 1, 2\]"):
        estimate_accuracy(bags, np.full(len(labels), 7))
    with pytest.raises(ValueError, match="1200 instances, but 3 rows of predictions"):
        estimate_accuracy(bags, np.ones((3, 3)) / 3)
    two = Bags.from_labels(np.zeros((4, 1)), [0, 1, 0, 1], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="needs 3 bags at least, here are 2"):
        estimate_accuracy(two, [0, 1, 0, 1])
