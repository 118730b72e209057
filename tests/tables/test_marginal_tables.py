"""Tables of pairs of columns: counted from rows, or read from a report."""

import numpy as np
import pandas as pd
import pytest

from llpgan.tables import MarginalTables

ROWS = {"sex": ["f", "m", "f", "m"], "job": ["clerk", "clerk", "nurse", None], "age": [20, 20, 30, 20]}
LABELS = np.array(["no", "yes", "yes", "yes"])


def as_report(tables):
    """One row for each cell, as :meth:`MarginalTables.from_counts` reads it."""
    return pd.DataFrame(
        [
            {"column_1": b, "value_1": y, "column_2": a, "value_2": x}
            | dict(zip(tables.classes.tolist(), tables.counts[a, b][i, j], strict=True))
            for a, b in tables.pairs
            for i, x in enumerate(tables.values[a])
            for j, y in enumerate(tables.values[b])
            if not np.isnan(tables.counts[a, b][i, j]).any()
        ]
    )


def test_cells_count_the_rows_of_each_class():
    tables = MarginalTables.from_rows(ROWS, LABELS)
    assert tables.values == {"sex": ("f", "m"), "job": ("", "clerk", "nurse"), "age": ("20", "30")}
    np.testing.assert_array_equal(tables.counts["sex", "job"][1], [[0, 1], [0, 1], [0, 0]])
    np.testing.assert_array_equal(tables.totals, [1, 3])
    np.testing.assert_array_equal(tables.column_counts("job"), [[0, 1], [1, 1], [0, 1]])


def test_a_report_is_read_whatever_the_order_of_its_columns():
    tables = MarginalTables.from_rows(ROWS, LABELS)
    read = MarginalTables.from_counts(as_report(tables))
    for a, b in tables.pairs:
        np.testing.assert_array_equal(read.fill_counts(a, b), tables.fill_counts(a, b))


def test_positions_of_unknown_values_are_minus_one():
    tables = MarginalTables.from_rows(ROWS, LABELS)
    rows = {"age": [30.0, 40.0], "sex": ["m", "x"], "job": [None, "clerk"]}
    assert tables.positions(rows).tolist() == [[1, -1], [0, 1], [1, -1]]


def test_small_cells_are_left_out_and_estimated():
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(6, size=2000).astype(str) for name in "abc"}
    labels = rng.integers(2, size=2000)
    exact = MarginalTables.from_rows(rows, labels)
    reported = MarginalTables.from_rows(rows, labels, threshold=55)
    left_out = np.isnan(reported.counts["a", "b"][..., 0])
    np.testing.assert_array_equal(left_out, exact.counts["a", "b"].sum(axis=2) < 55)
    assert 0 < left_out.sum() < 36
    read = MarginalTables.from_counts(as_report(reported), threshold=55)
    np.testing.assert_allclose(read.fill_counts("a", "b"), reported.fill_counts("a", "b"))
    off = np.abs(reported.fill_counts("a", "b") - exact.counts["a", "b"])[left_out]
    assert off.max() < 55 / 2


def test_noise_has_the_standard_deviation_that_was_asked_for():
    rows, labels = {name: np.arange(400).astype(str) for name in "ab"}, np.arange(400) % 2
    exact, noisy = (MarginalTables.from_rows(rows, labels, sd=sd, random_state=1).counts for sd in (0.0, 0.1))
    assert (noisy["a", "b"] - exact["a", "b"]).std() == pytest.approx(0.1, rel=0.01)


def cells(**changed):
    return {
        "column_1": ["a", "a"], "value_1": ["x", "y"], "column_2": ["b", "b"], "value_2": ["u", "v"],
        "no": [3, 4], "yes": [1, 2],
    } | changed  # fmt: skip


WRONG = {
    "negative": (cells(no=[-3, 4]), {}, "-3 of class 'no' in a='x', b='u' is not a count; give sd"),
    "no count": (cells(yes=[None, 2]), {}, "row 0 has no count of class 'yes'"),
    "text": (cells(yes=["many", "2"]), {}, "column 'yes'"),
    "twice": (cells(value_1=["x", "x"], value_2=["u", "u"]), {}, "row 1: a='x', b='u' is there twice"),
    "with itself": (cells(column_2=["b", "a"]), {}, "row 1 names the column 'a' twice"),
    "a pair without table": (
        cells(column_2=["b", "c"], column_1=["a", "a"]),
        {},
        "no table of the columns 'b' and 'c': all pairs",
    ),
    "no class": (cells(), {"classes": ["no"]}, "classes must be at least two names"),
    "no such class": (cells(), {"classes": ["no", "maybe"]}, "no column 'maybe'"),
    "an empty class": (cells(yes=[0, 0]), {}, "class 'yes': its counts sum to 0"),
    "negative noise": (cells(), {"sd": -1}, "sd must be a number that is not negative"),
    "no threshold": (cells(), {"threshold": float("nan")}, "threshold must be a number"),
    "no key": ({"column_1": ["a"]}, {}, "no column 'value_1'"),
}


@pytest.mark.parametrize(("report", "options", "said"), WRONG.values(), ids=WRONG)
def test_a_report_that_cannot_be_is_named(report, options, said):
    with pytest.raises(ValueError, match=said):
        MarginalTables.from_counts(report, **options)


def test_rows_that_cannot_be_counted_are_named():
    with pytest.raises(ValueError, match="column 'age' holds fractional numbers: put them into bins"):
        MarginalTables.from_rows({"age": [1.5, 2.0], "sex": ["f", "m"]}, [0, 1])
    with pytest.raises(ValueError, match="2 rows, but 3 labels"):
        MarginalTables.from_rows({"age": [1, 2], "sex": ["f", "m"]}, [0, 1, 1])
    with pytest.raises(ValueError, match="at least two columns"):
        MarginalTables.from_rows({"age": [1, 2]}, [0, 1])


def test_tables_are_read_back_from_their_frame():
    rng = np.random.default_rng(0)
    rows = {name: rng.choice(["x", "y", "07"], 200) for name in "abc"}
    for threshold in (0, 10):
        tables = MarginalTables.from_rows(
            rows, rng.integers(2, size=200), sd=3.0, threshold=threshold, random_state=0
        )
        again = MarginalTables.from_counts(tables.to_frame(), sd=3.0, threshold=threshold)
        assert again.values == tables.values
        for pair, counts in tables.counts.items():
            np.testing.assert_array_equal(again.counts[pair], counts)


def test_codes_with_leading_zeros_stay_what_they_are_in_a_file(tmp_path):
    tables = MarginalTables.from_rows({"code": ["07", "7", "8"], "year": [1999, 2000, 2000]}, [0, 1, 1])
    (tmp_path / "rows.csv").write_text("code,year\n07,1999\n7,2000\n8,2000\n")
    assert tables.positions(tmp_path / "rows.csv").tolist() == [[0, 1, 2], [0, 1, 1]]
