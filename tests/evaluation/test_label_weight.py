"""How much a label counts beside a bag."""

import numpy as np
import pytest

from llpgan import BagLogistic, Bags, MeanMap
from llpgan.evaluation.choose import choose_label_weight


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(0)
    instances = rng.normal(size=(600, 3))
    labels = (instances[:, 0] + rng.normal(size=600) > 0).astype(int)
    groups = np.digitize(instances[:, 0] + rng.normal(size=600), [-1, -0.5, 0, 0.5, 1])
    return Bags.from_labels(instances, labels, groups), labels


def test_the_weight_has_about_the_lowest_loss_of_held_out_labels_in_any_order(bags):
    bags, labels = bags
    rows, model = np.arange(0, 600, 15), BagLogistic(n_resamples=0)
    found = choose_label_weight(model, bags, rows, labels[rows], weights=[0.01, 0.1, 1.0])
    assert found.log_losses[found.weight] < min(found.log_losses.values()) + 0.1
    assert list(found.log_losses) == [0.01, 0.1, 1.0]
    assert choose_label_weight(model, bags, rows[::-1], labels[rows[::-1]], weights=[0.01, 0.1, 1.0]) == found


def test_labels_go_with_their_rows_in_any_order(bags):
    bags, labels = bags
    rows = np.array([50, 3, 17, 4])
    both = bags.add_labels(rows, labels[rows])
    np.testing.assert_array_equal(both.proportions[-4:].argmax(axis=1), labels[np.sort(rows)])
    which = np.isin(np.arange(600), rows)
    np.testing.assert_array_equal(bags.add_labels(which, labels[which]).proportions, both.proportions)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (dict(weights=[]), "weights: there must be at least one"),
        (dict(cv=5), "cv must be from 2 to the number of labels, which is 3, got 5"),
        (dict(cv=3, weights=[-1.0]), "weight must be a number above 0"),
    ],
)
def test_what_cannot_be_chosen_from_is_named(bags, given, said):
    with pytest.raises(ValueError, match=said):
        choose_label_weight(BagLogistic(), bags[0], [0, 1, 2], bags[1][:3], **given)
    with pytest.raises(ValueError, match="MeanMap cannot weigh bags"):
        choose_label_weight(MeanMap(), bags[0], [0, 1, 2], bags[1][:3], cv=2)
