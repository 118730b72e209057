import re

import numpy as np
import pandas as pd
import pytest

from llpgan.cli.fit import labels_as_classes
from llpgan.cli.main import main

CLASSES = np.array(["other", "trump"])


def test_labels_may_be_the_classes_names():
    assert labels_as_classes(np.array(["trump", "other"]), CLASSES, "vote").tolist() == ["trump", "other"]
    assert labels_as_classes(np.array([1, 0]), np.array([0, 1]), "vote").tolist() == [1, 0]


def test_numbers_count_the_classes_with_a_word():
    with pytest.warns(UserWarning, match="reading 0 as other, 1 as trump"):
        assert labels_as_classes(np.array([1, 0, 1]), CLASSES, "vote").tolist() == ["trump", "other", "trump"]


@pytest.mark.parametrize("column", ["sick", "is_sick", "Sick"])
def test_one_is_the_class_that_the_column_is_named_after(column):
    with pytest.warns(UserWarning, match="reading 0 as healthy, 1 as sick"):
        found = labels_as_classes(np.array([1, 0]), np.array(["sick", "healthy"]), column)
    assert found.tolist() == ["sick", "healthy"]


def test_labels_that_contradict_the_proportions_are_noted(tmp_path, rng, capsys):
    """Of two results, the first is what 1 stands for; with the names the right way round nothing is said."""
    bag = np.repeat(np.arange(20), 10)
    labels = (rng.random(200) < np.repeat(np.linspace(0.05, 0.95, 20), 10)).astype(int)
    shares = np.bincount(bag, labels) / 10
    people = {"bag": bag, "x": labels + rng.normal(size=200), "outcome": labels}
    pd.DataFrame(people).to_csv(tmp_path / "people.csv", index=False)
    results = pd.DataFrame({"bag": range(20), "ill": shares, "well": 1 - shares})
    results.to_csv(tmp_path / "results.csv", index=False)
    command = [
        *("fit", str(tmp_path / "people.csv"), "--bag", "bag", "--proportions", str(tmp_path / "results.csv")),
        *("--method", "MeanMap", "--label", "outcome", "--out", str(tmp_path / "model"), "--overwrite"),
    ]
    swapped = r"'outcome' contradicts the proportions of the bags: .* \(--label_names\)"
    main(command)
    assert re.search(swapped, capsys.readouterr().err)
    main([*command, "--label_names", "well,ill"])
    assert "contradicts" not in capsys.readouterr().err


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
