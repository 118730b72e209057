"""What is said of tables is checked before they are read, for bags in memory and for stores alike."""

import re

import pandas as pd
import pytest

from llpgan import Bags
from llpgan.tables import Columns
from llpgan.tables.store import store_tables

PEOPLE = pd.DataFrame({"state": ["Ohio", "Iowa"] * 3, "age": [20, 31, 44, 57, 61, 18]})
SHARES = pd.DataFrame({"state": ["Ohio", "Iowa"], "no": [0.5, 1], "yes": [0.5, 0]})

WRONG = {
    "no bag": (dict(bag=[]), "bag is an empty list: name at least one column"),
    "a number": (dict(bag=3), "bag: the table has no column '3'; there are 'state', 'age'"),
    "a fraction": (dict(bag=0.5), "bag must be the name of a column, or a list of names, got 0.5"),
    "twice": (dict(bag=["state", "state"]), "bag names a column twice"),
    "other case": (dict(bag="State "), "no column 'State '; there are 'state', 'age'. Did you mean 'state'?"),
    "misspelt label": (dict(label="agee"), "no column 'agee'; there are 'state', 'age'. Did you mean 'age'?"),
    "the bag as label": (dict(label="state"), "column 'state' is given as bag and as label"),
    "labels": (dict(label=["age"]), "label must be the name of a column, got ['age']"),
    "columns": (dict(columns={"drop": "age"}), "columns must be Columns of llpgan.tables, such as"),
    "classes": (
        dict(classes="yes"),
        "classes must be a list of names of columns, such as ['no', 'yes'], got 'yes'",
    ),
    "one class": (dict(classes=["yes"]), "classes must be at least two names that differ"),
    "misspelt class": (
        dict(classes=["no", "Yess"]),
        "no column 'Yess' for that class; there are 'state', 'no', 'yes'. D",
    ),
    "tolerance": (dict(tolerance=float("nan")), "tolerance must be a number from 0 to below 1, got nan"),
    "image size of a table": (dict(image_size=(32, 32)), "image_size is for images, but the table has none"),
    "image size": (dict(image_size=32), "image_size must be height and width in pixels"),
}


@pytest.mark.parametrize(("options", "said"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("stored", [False, True], ids=["bags", "store"])
def test_options_that_are_none_are_named(options, said, stored, tmp_path):
    options = {"bag": "state", **options}
    with pytest.raises((ValueError, TypeError), match=re.escape(said.removeprefix("bag: ") if stored else said)):
        if stored:
            store_tables(PEOPLE, tmp_path / "store", SHARES, **options)
        else:
            Bags.from_tables(PEOPLE, SHARES, **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (dict(max_categories=0), "max_categories must be a whole number of at least 1, got 0"),
        (dict(max_categories=-1), "max_categories must be a whole number of at least 1, got -1"),
        (dict(min_count=0.5), "min_count must be a whole number of at least 1, got 0.5"),
        (dict(drop=3), "drop must be the name of a column, or a list of names, got 3"),
        (dict(only=[1]), "only must be the name of a column, or a list of names, got [1]"),
    ],
)
def test_columns_that_are_none_are_named(options, said):
    with pytest.raises((ValueError, TypeError), match=re.escape(said)):
        Columns(**options)


TABLES = {
    "named": SHARES.set_index("state"),
    "of another name": SHARES.set_index("state").rename_axis("row_0"),
    "without a name": SHARES.set_index("state").rename_axis(None),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_frame_may_be_indexed_by_bag(table):
    bags = Bags.from_tables(PEOPLE, table, bag="state")
    assert bags.classes.tolist() == ["no", "yes"]
    assert bags.proportions.tolist() == [[1, 0], [0.5, 0.5]]


def test_the_margins_of_a_cross_table_are_no_class():
    votes = pd.Series(["no", "yes", "no", "yes", "yes", "no"], name="vote")
    counts = pd.crosstab(PEOPLE["state"], votes, margins=True)
    with pytest.raises(ValueError, match="column 'All' is the sum of the others, or more, so it is a total"):
        Bags.from_tables(PEOPLE, counts=counts, bag="state")
