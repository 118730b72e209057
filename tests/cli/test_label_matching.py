import numpy as np
import pytest

from llpgan.cli.fit import labels_as_classes

CLASSES = np.array(["other", "trump"])


def test_labels_may_be_the_classes_names():
    assert labels_as_classes(np.array(["trump", "other"]), CLASSES, "vote").tolist() == ["trump", "other"]
    assert labels_as_classes(np.array([1, 0]), np.array([0, 1]), "vote").tolist() == [1, 0]


def test_numbers_count_the_classes_with_a_word():
    with pytest.warns(UserWarning, match="reading 0 as other, 1 as trump"):
        assert labels_as_classes(np.array([1, 0, 1]), CLASSES, "vote").tolist() == ["trump", "other", "trump"]


def test_other_names_are_translated_in_their_sorted_order():
    given = labels_as_classes(np.array(["R", "D"]), CLASSES, "vote", names=["other", "trump"])
    assert given.tolist() == ["trump", "other"]


def test_what_cannot_be_matched_is_refused_with_both_lists():
    with pytest.raises(
        ValueError, match=r"column 'vote' has the values \['D', 'R'\], but the classes are \['other'"
    ):
        labels_as_classes(np.array(["R", "D"]), CLASSES, "vote")
    with pytest.raises(ValueError, match="3 names are given"):
        labels_as_classes(np.array(["R", "D"]), CLASSES, "vote", names=["other", "trump", "none"])
    with pytest.raises(ValueError, match="name the class of each value"):
        labels_as_classes(np.array([1, 2]), CLASSES, "vote")
