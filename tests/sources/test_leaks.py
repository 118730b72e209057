"""A column that looks like the label is refused, in both forms, and has its way out."""

import numpy as np
import pyarrow as pa
import pytest

from llpgan import Bags
from llpgan.sources import Columns
from llpgan.sources.leaks import refuse_leak

BAG = np.repeat([0, 1, 2], 4)
SHARES = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
LABELS = [0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
HARMLESS = [0, 1] * 6


def leaks(values, name="x", classes=("no", "trump"), shares=SHARES):
    try:
        refuse_leak(pa.table({name: values}), [name], BAG, shares, list(classes))
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", ["trump", "voted_trump", "Voted Trump", "TRUMP?", "for-trump"])
def test_a_column_of_two_values_named_after_a_class(name):
    assert f"column {name!r} looks like the label: it is named after the class 'trump'" in leaks(HARMLESS, name)


@pytest.mark.parametrize("name", ["trumpet", "votes", "no_car", "x"])
def test_other_names_are_no_leak(name):
    assert not leaks(HARMLESS, name)


def test_more_than_two_values_named_after_a_class_are_no_leak():
    assert not leaks(list(range(12)), "trump_approval")


LABEL_IN_EVERY_TYPE = {
    "numbers": LABELS,
    "other numbers": [7 - 4 * label for label in LABELS],
    "floats": [float(label) for label in LABELS],
    "booleans": [bool(label) for label in LABELS],
    "text": [["a", "b"][label] for label in LABELS],
    "codes": pa.array([["a", "b"][label] for label in LABELS]).dictionary_encode(),
}


@pytest.mark.parametrize("values", LABEL_IN_EVERY_TYPE.values(), ids=LABEL_IN_EVERY_TYPE)
def test_a_column_with_a_classs_share_in_every_bag(values):
    said = leaks(values)
    assert "column 'x' looks like the label: it has the share of the class" in said
    assert "Say so (label x), which keeps it out of the features" in said


def test_missing_values_do_not_hide_the_label():
    assert "share of the class 'no'" in leaks([*LABELS[:8], None, None, 0, 0])
    assert "share of the class 'no'" in leaks(np.array([*LABELS[:8], np.nan, np.nan, 0, 0]))
    assert "named after" in leaks([None, *HARMLESS[1:]], "voted_trump")


def test_labels_of_three_classes():
    labels = [0, 1, 2, 2, 0, 0, 1, 2, 1, 1, 1, 0]
    shares = np.array([np.bincount(labels[start : start + 4], minlength=3) / 4 for start in (0, 4, 8)])
    assert "looks like the label" in leaks(["abc"[label] for label in labels], classes="123", shares=shares)
    assert "share of the class '3'" in leaks([label == 2 for label in labels], classes="123", shares=shares)
    assert not leaks([0, 1, 2] * 4, classes="123", shares=shares)


def test_almost_the_shares_is_no_leak():
    assert not leaks([1 - LABELS[0], *LABELS[1:]])


def test_where_all_bags_have_the_same_shares_they_tell_nothing():
    assert not leaks(HARMLESS, shares=np.full((3, 2), 0.5))


PEOPLE = {
    "state": BAG,
    "voted_trump": HARMLESS,
    "answer": [["a", "b"][label] for label in LABELS],
    "age": range(12),
}
RESULTS = {"state": [0, 1, 2], "other": SHARES[:, 0], "trump": SHARES[:, 1]}


def people(*names):
    return {name: list(PEOPLE[name]) for name in ("state", "age", *names)}


@pytest.mark.parametrize(("name", "kind"), [("voted_trump", "numbers"), ("answer", "categories")])
def test_the_ways_out_are_to_name_it_the_label_or_a_feature(name, kind):
    table = people(name)
    with pytest.raises(ValueError, match=f"the table: column '{name}' looks like the label.* among the {kind} to"):
        Bags.from_tables(table, RESULTS, bag="state")
    as_label = Bags.from_tables(table, RESULTS, bag="state", label=name)
    assert as_label.features == ("age",)
    left_out = Bags.from_tables(table, RESULTS, bag="state", columns=Columns(drop=name))
    assert left_out.features == ("age",)
    all_the_same = Bags.from_tables(table, RESULTS, bag="state", columns=Columns(**{kind: name}))
    assert any(feature.startswith(name) for feature in all_the_same.features)
