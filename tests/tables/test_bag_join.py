"""Bags of one column or several, and the row of each bag in another table."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llpgan import Bags
from llpgan.tables.join import BagTable, bag_keys, shares_from_counts_table

RESULTS = pa.table({"state": ["OH", "IA"], "no": [0.25, 0.5], "yes": [0.75, 0.5]})


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["b", "a", "b"], ("a", "b")),
        ([7, 3, 7], (3, 7)),
        ([2.5, 1.5, 2.5], (1.5, 2.5)),
        ([True, False, True], (False, True)),
        (
            [dt.date(2020, 1, 2), dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
            (dt.date(2020, 1, 1), dt.date(2020, 1, 2)),
        ),
    ],
)
def test_bags_stand_in_the_order_of_their_ids(ids, expected):
    for table in (pa.table({"bag": ids}), pa.table({"bag": pa.array(ids).dictionary_encode()})):
        index, bag_ids = bag_keys(table, ["bag"])
        assert bag_ids == expected
        assert index.tolist() == [1, 0, 1]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.booleans()), min_size=1),
    st.integers(1, 3),
    st.booleans(),
)
@settings(max_examples=50)
def test_keys_agree_with_a_sort_of_tuples(rows, n_columns, in_chunks):
    keys = [row[:n_columns] for row in rows]
    columns = list(zip(*keys, strict=True))
    table = pa.table({str(i): pa.array(column) for i, column in enumerate(columns)})
    if in_chunks:  # codes that differ from chunk to chunk, as from a large file
        parts = [table.slice(0, 2), table.slice(2)]
        parts = [
            pa.table({n: part[n].combine_chunks().dictionary_encode() for n in "012"[:n_columns]})
            for part in parts
        ]
        table = pa.concat_tables(parts)
    index, ids = bag_keys(table, list("012"[:n_columns]))
    expected = sorted(set(keys))
    assert list(ids) == (expected if n_columns > 1 else [key[0] for key in expected])
    assert index.tolist() == [expected.index(key) for key in keys]


def test_a_bag_of_several_columns():
    table = pa.table({"state": ["OH", "IA", "OH"], "county": [2, 1, 1]})
    index, ids = bag_keys(table, ["state", "county"])
    assert ids == (("IA", 1), ("OH", 1), ("OH", 2))
    assert index.tolist() == [2, 0, 1]


REMEDY = (
    "Name the bag or leave the row out (?, NA, N/A, null, None and NaN also count as missing: write such a name "
    "in another way)"
)
WRONG_KEYS = {
    "unknown column": ({"a": [1]}, ["bag"], "p.csv has no column 'bag'; there are 'a'"),
    "no columns": ({}, ["bag"], "p.csv has no column 'bag'; there are no columns"),
    "missing id": ({"bag": ["a", None]}, ["bag"], f"p.csv, row 1 has no bag: its 'bag' is missing. {REMEDY}"),
    "nan": (
        {"bag": np.array([1, np.nan])},
        ["bag"],
        f"p.csv, row 1 has no bag: its 'bag' is missing. {REMEDY}",
    ),
    "one of two missing": (
        {"a": [1, 2], "b": [1, None]},
        ["a", "b"],
        f"p.csv, row 1 has no bag: its 'b' is missing. {REMEDY}",
    ),
    "lists": (
        {"bag": [[1]]},
        ["bag"],
        "p.csv: column 'bag' holds list<item: int64>: each row needs a single bag id",
    ),
}


@pytest.mark.parametrize(("columns", "names", "said"), WRONG_KEYS.values(), ids=WRONG_KEYS)
def test_what_is_no_bag_is_named(columns, names, said):
    with pytest.raises(ValueError) as error:
        bag_keys(pa.table(columns), names, "p.csv")
    assert str(error.value) == said


def test_rows_of_another_table_by_bag():
    table = BagTable.from_table(RESULTS, ["state"], None, "r.csv")
    assert table.classes == ("no", "yes")
    assert table.find_rows(["OH", "IA"], "p.csv").tolist() == [[0.25, 0.75], [0.5, 0.5]]


def test_classes_may_be_named_in_an_order_of_their_own():
    table = BagTable.from_table(RESULTS.append_column("county", [["a", "b"]]), ["state"], ["yes", "no"], "r.csv")
    assert table.classes == ("yes", "no")
    assert table.find_rows(["IA", "OH"], "p.csv").tolist() == [[0.5, 0.5], [0.75, 0.25]]


def test_rows_of_bags_of_two_columns():
    given_as = pa.table({"b": [1, 2], "a": ["y", "x"], "no": [0.1, 0.3], "yes": [0.9, 0.7]})
    table = BagTable.from_table(given_as, ["a", "b"], None, "r.csv")
    assert table.find_rows([("x", 2), ("y", 1)], "p.csv")[:, 0].tolist() == [0.3, 0.1]


def test_whole_numbers_are_the_same_bag_as_integers_and_as_floats():
    table = BagTable.from_table(
        pa.table({"state": [2.0, 1.0], "no": [1, 0], "yes": [0, 1]}), ["state"], None, "r.csv"
    )
    assert table.find_rows([1, 2], "p.csv").tolist() == [[0, 1], [1, 0]]


def test_bags_without_instances_are_warned_of():
    with pytest.warns(UserWarning, match=r"bag 'OH' of r\.csv has no instance in p\.csv"):
        BagTable.from_table(RESULTS, ["state"], None, "r.csv").find_rows(["IA"], "p.csv")


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["IA", "UT"], "bag 'UT' of p.csv has no row in r.csv; there are 'IA', 'OH'"),
        (["NV", "UT", "VT"], "bag 'NV' (and 2 more) of p.csv has no row in r.csv; there are 'IA', 'OH'"),
        (["oh "], "bag 'oh ' of p.csv has no row in r.csv; there are 'IA', 'OH'. Did you mean 'OH'?"),
        ([39], "bag 39 of p.csv has no row in r.csv: ids are int here and str there, such as 'IA'"),
    ],
)
def test_bags_without_proportions_are_refused(ids, said):
    with pytest.raises(ValueError) as error:
        BagTable.from_table(RESULTS, ["state"], None, "r.csv").find_rows(ids, "p.csv")
    assert str(error.value) == said


def test_names_that_only_look_alike_stay_different():
    table = BagTable.from_table(
        pa.table({"state": ["A\u030aland"], "no": [0.5], "yes": [0.5]}), ["state"], None, "r.csv"
    )
    with pytest.raises(ValueError, match=r"Did you mean 'A\u030aland'\? Both look alike, .* \(Unicode NFD\)"):
        table.find_rows(["\u00c5land"], "p.csv")


WRONG_TABLES = {
    "twice the same bag": (
        {"state": ["OH", "IA", "OH"], "no": [0, 1, 1], "yes": [1, 0, 0]},
        None,
        "r.csv: bag 'OH' occurs twice, in rows 0 and 2",
    ),
    "text": (
        {"state": ["OH"], "no": ["half"], "yes": [0.5]},
        None,
        "r.csv: column 'no', row 0: 'half' is not a number; name the columns that are classes (classes)",
    ),
    "a name beside": (
        {"state": ["OH"], "capital": ["Columbus"], "no": [0.5], "yes": [0.5]},
        None,
        "r.csv: column 'capital', row 0: 'Columbus' is not a number; name the columns that are classes (classes)",
    ),
    "infinity": ({"state": ["OH"], "no": [np.inf], "yes": [0.5]}, None, "r.csv: column 'no', row 0: inf is not a"),
    "unknown class": (
        {"state": ["OH"], "no": [1], "yes": [0]},
        ["no", "maybe"],
        "r.csv has no column 'maybe' for",
    ),
    "no class": (
        {"state": ["OH"]},
        None,
        "r.csv has only the columns of the bag: it also needs one column per class",
    ),
    "no bag": ({"no": [1], "yes": [0]}, None, "r.csv has no column 'state'; there are 'no', 'yes'"),
}


@pytest.mark.parametrize(("columns", "classes", "said"), WRONG_TABLES.values(), ids=WRONG_TABLES)
def test_what_is_no_table_of_proportions_is_named(columns, classes, said):
    with pytest.raises(ValueError) as error:
        BagTable.from_table(pa.table(columns), ["state"], classes, "r.csv")
    assert said in str(error.value)


def counted(no, yes):
    table = BagTable.from_table(pa.table({"state": ["IA", "OH"], "no": no, "yes": yes}), ["state"], None, "r.csv")
    return shares_from_counts_table(table, table.numbers, table.ids)


def test_counts_may_be_of_a_larger_population():
    np.testing.assert_allclose(counted([1_000_000, 0], [3_000_000, 7]), [[0.25, 0.75], [0, 1]])


@pytest.mark.parametrize(
    ("no", "yes", "said"),
    [
        ([1, -2], [1, 5], "r.csv: bag 'OH': -2 of class 'no' is not a count"),
        (
            [1, 2],
            [1, None],
            "r.csv: bag 'OH': nan of class 'yes' is not a count; if this class was not counted there, say so "
            "(within)",
        ),
        ([0, 2], [0, 1], "r.csv: bag 'IA': its counts sum to 0"),
    ],
)
def test_what_is_no_count_is_named(no, yes, said):
    with pytest.raises(ValueError) as error:
        counted(no, yes)
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("no", ""), "a column has no name, so it names no class"),
        (("yes", "yes "), "the same name but for spaces"),
    ],
)
def test_classes_need_names_that_differ(names, message, tmp_path):
    path = tmp_path / "towns.csv"
    path.write_text(f"town,{names[0]},{names[1]}\na,0.2,0.8\nb,0.5,0.5\n")
    with pytest.raises(ValueError, match=message):
        Bags.from_tables({"town": ["a", "b"], "x": [1, 2]}, path, bag="town")


def test_shares_that_are_given_as_counts_are_noted(recwarn):
    rows, shares = {"town": ["a", "b"], "x": [1, 2]}, {"town": ["a", "b"], "no": [0.25, 0.5], "yes": [0.75, 0.5]}
    bags = Bags.from_tables(rows, bag="town", counts=shares)
    assert bags.proportions.tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert "so these are shares: give them as (proportions)" in "".join(str(each.message) for each in recwarn)
