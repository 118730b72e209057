"""A column that looks like the label is refused, in both forms, and has its way out."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

from llpgan import Bags
from llpgan.data import datasets
from llpgan.tables import Columns
from llpgan.tables.build import refuse_leaking_counts
from llpgan.tables.columns import find_few_values, value_type
from llpgan.tables.join import BagCounts, PartBags, bag_keys

BAG = np.repeat([0, 1, 2], 4)
SHARES = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
LABELS = [0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
HARMLESS = [0, 1] * 6


def refuse(table, name, shares, classes):
    bag_of_row, bag_ids = bag_keys(table, ["bag"])
    found, counts = find_few_values(name, table[name], max(2, len(classes))), BagCounts()
    if found is not None and len(found[0]) > 1:
        counts.add(PartBags(bag_of_row, np.arange(len(bag_ids))), *found)
        is_text = value_type(table[name]) == "text"
        refuse_leaking_counts(name, is_text, counts.table(len(shares)), shares, classes)


def leaks(values, name="x", classes=("no", "trump"), shares=SHARES):
    try:
        refuse(pa.table({name: values, "bag": BAG}), name, shares, list(classes))
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
    assert "Name it as the label (label), which keeps it out of the features" in said


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


def test_bags_with_equal_shares_are_uninformative():
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
    with pytest.raises(
        ValueError, match=f"the table: column '{name}' looks like the label.* among the {kind} \\({kind}\\) to"
    ):
        Bags.from_tables(table, RESULTS, bag="state")
    as_label = Bags.from_tables(table, RESULTS, bag="state", label=name)
    assert as_label.features == ("age",)
    left_out = Bags.from_tables(table, RESULTS, bag="state", columns=Columns(drop=name))
    assert left_out.features == ("age",)
    all_the_same = Bags.from_tables(table, RESULTS, bag="state", columns=Columns(**{kind: name}))
    assert any(feature.startswith(name) for feature in all_the_same.features)


def noisy_label(n_bags, agreement, rng, rows=60):
    """A column of two values that agrees with the label so often, in bags whose shares differ."""
    bag = np.repeat(np.arange(n_bags), rows)
    labels = rng.random(len(bag)) < np.linspace(0.2, 0.8, n_bags)[bag]
    column = np.where(rng.random(len(bag)) < agreement, labels, ~labels)
    shares = np.array([labels[bag == i].mean() for i in range(n_bags)])
    return {"bag": bag, "vote": np.where(column, "R", "D"), "age": rng.normal(size=len(bag))}, shares


def said_of(table, shares, **options):
    results = {"bag": list(range(len(shares))), "no": 1 - shares, "yes": shares}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        Bags.from_tables({name: list(values) for name, values in table.items()}, results, bag="bag", **options)
    return [str(warning.message) for warning in said if "under another name" in str(warning.message)]


def test_the_label_under_another_name_is_named_in_a_warning(rng):
    table, shares = noisy_label(20, 0.97, rng)
    (said,) = said_of(table, shares)
    assert said.startswith("column 'vote' may be the label under another name")
    assert "leave it out (drop)" in said
    assert not said_of(table, shares, label="vote")
    assert not said_of(table, shares, columns=Columns(drop="vote"))
    assert not said_of(table, shares, columns=Columns(categories="vote"))


@pytest.mark.parametrize("values", [("Clinton", "Trump", "Johnson", None), (3, 4, 5, None)])
def test_a_label_with_others_and_missing_ones_is_seen_too(rng, values):
    table, shares = noisy_label(20, 0.97, rng)
    vote = np.array([values[v == "R"] for v in table["vote"]], dtype=object)
    vote[rng.random(len(vote)) < 0.03] = values[2]
    vote[rng.random(len(vote)) < 0.03] = values[3]
    assert said_of(table | {"vote": vote}, shares)


def test_a_number_that_determines_the_shares_is_warned_of(rng):
    table, shares = noisy_label(30, 0.5, rng)
    score = shares[table["bag"]] * 7 + rng.normal(scale=0.05, size=len(table["bag"]))
    (said,) = said_of(table | {"score": score}, shares)
    assert said.startswith("column 'score'")


def test_features_that_only_help_and_few_bags_are_no_reason_to_warn(rng):
    table, shares = noisy_label(20, 0.6, rng)
    helpful = shares[table["bag"]] + rng.normal(scale=0.6, size=len(table["bag"]))
    assert not said_of(table | {"helpful": helpful}, shares)
    assert not said_of(*noisy_label(6, 0.97, rng))
    assert not said_of(*noisy_label(20, 0.97, rng)[:1], np.full(20, 0.5))


def test_the_election_has_its_vote_under_another_name_and_no_honest_column_is_blamed():
    known = datasets.load_election()
    renamed = known.people.append_column("vote", [np.where(known.votes == "trump", "R", "D")])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        Bags.from_tables(renamed, datasets.RESULTS, bag="state")
    (blamed,) = [str(warning.message) for warning in said if "under another name" in str(warning.message)]
    assert blamed.startswith("column 'vote'")
