"""Counts by group and outcome are checked before anything is estimated, and every mistake is named."""

import numpy as np
import pandas as pd
import pytest

from llpgan.ecological import GroupCounts, shares_from_counts

GROUPS, OUTCOMES = [[80.0, 20.0], [30.0, 70.0]], [[50.0, 50.0], [40.0, 60.0]]
NAMES = (["black", "white"], ["yes", "no"], ["A", "B"])


@pytest.mark.parametrize(
    ("groups", "outcomes", "message"),
    [
        ([[80, 20], [30, 71]], OUTCOMES, "unit 'B': its groups sum to 101, its outcomes to 100"),
        ([[80, 20], [-30, 130]], OUTCOMES, "unit 'B': -30 of group 'black' is not a count"),
        (GROUPS, [[50, 50], [np.nan, 60]], "unit 'B': outcome 'yes' has no count"),
        ([[0, 100], [0, 100]], OUTCOMES, "group 'black' is in no unit"),
        (GROUPS, [[100, 0], [100, 0]], "outcome 'no' is in no unit"),
        ([[80, 20]], OUTCOMES, "1 units in groups, but 2 in outcomes"),
        ([[100], [100]], OUTCOMES, "groups: one row per unit and at least two columns"),
    ],
)
def test_a_mistake_is_named_by_unit_and_column(groups, outcomes, message):
    with pytest.raises(ValueError, match=message):
        GroupCounts(groups, outcomes, *NAMES)


def test_names_must_be_as_many_as_columns_and_differ():
    with pytest.raises(ValueError, match="group_names: 3 names, but 2 are needed"):
        GroupCounts(GROUPS, OUTCOMES, ["a", "b", "c"])
    with pytest.raises(ValueError, match="unit_names: 'A' is given twice"):
        GroupCounts(GROUPS, OUTCOMES, unit_names=["A", "A"])


def test_a_table_is_read_by_the_names_of_its_columns(tmp_path):
    frame = pd.DataFrame({"no": [30, 60], "precinct": ["A", "B"], "yes": [50, 40], "w": [20, 70], "b": [80, 30]})
    frame.to_csv(tmp_path / "precincts.csv", index=False)
    for table in (frame, tmp_path / "precincts.csv"):
        counts = GroupCounts.from_table(
            table, groups=["b", "w"], outcomes=["yes", "no"], unit="precinct", remainder="abstained"
        )
        assert counts.groups.tolist() == [[80, 20], [30, 70]]
        assert counts.outcomes.tolist() == [[50, 30, 20], [40, 60, 0]]
        assert (counts.group_names, counts.unit_names) == (("b", "w"), ("A", "B"))
        assert counts.outcome_names == ("yes", "no", "abstained")


def test_a_table_with_more_outcomes_than_people_or_a_unit_twice_is_refused():
    table = {"unit": ["A", "B"], "b": [80, 30], "w": [20, 70], "yes": [50, 40], "no": [60, 60]}
    names = {"groups": ["b", "w"], "outcomes": ["yes", "no"]}
    with pytest.raises(
        ValueError, match="unit 'A': its outcomes sum to 110, more than its groups, 100: nobody is"
    ):
        GroupCounts.from_table(table, **names, unit="unit", remainder="rest")
    with pytest.raises(ValueError, match="unit 'A' has two rows, 0 and 1"):
        GroupCounts.from_table(table | {"unit": ["A", "A"]}, **names, unit="unit")
    with pytest.raises(ValueError, match="has no column 'white'"):
        GroupCounts.from_table(table, groups=["b", "white"], outcomes=["yes", "no"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": ["b"]}, r"'b' is the only one \(groups\): name at least two columns"),
        (
            {"outcomes": ["yes"]},
            r"'yes' is the only one \(outcomes\): name at least two columns, or those who are",
        ),
        ({"outcomes": ["yes", "b"]}, r"column 'b' is named twice: \(groups\) and \(outcomes\)"),
        ({"strata": "county"}, r"row 1: its 'county' is missing, so it is in no stratum \(strata\)"),
        (
            {},
            r"csv: unit 'A': its groups sum to 100, its outcomes to 90; both must count the same people: ",
        ),
    ],
)
def test_a_mistake_in_a_table_is_named_by_option_and_file(options, message, tmp_path):
    table = {"unit": ["A", "B"], "b": [80, 30], "w": [20, 70], "yes": [50, 40], "no": [40, 60]}
    pd.DataFrame(table | {"county": ["x", None]}).to_csv(tmp_path / "precincts.csv", index=False)
    names = {"groups": ["b", "w"], "outcomes": ["yes", "no"], "unit": "unit"}
    with pytest.raises(ValueError, match=message):
        GroupCounts.from_table(tmp_path / "precincts.csv", **names | options)


def test_units_without_anybody_change_nothing():
    some = GroupCounts([[80, 20], [30, 70], [50, 50], [10, 90]], [[70, 30], [40, 60], [55, 45], [30, 70]])
    more = GroupCounts(np.vstack([some.groups, [0, 0]]), np.vstack([some.outcomes, [0, 0]]))
    np.testing.assert_array_equal(shares_from_counts(some).shares, shares_from_counts(more).shares)


def test_too_few_units_are_refused():
    with pytest.raises(ValueError, match="2 units with anybody in them, but 2 groups: there must be more units"):
        shares_from_counts(GroupCounts(GROUPS, OUTCOMES))
    with pytest.raises(TypeError, match="counts must be GroupCounts, got a list"):
        shares_from_counts(GROUPS)


def test_frames_are_matched_by_their_units_and_name_their_columns():
    groups = pd.DataFrame(GROUPS, columns=["black", "white"], index=["A", "B"])
    outcomes = pd.DataFrame(OUTCOMES, columns=["yes", "no"], index=["A", "B"])
    counts = GroupCounts(groups, outcomes.iloc[::-1])
    assert (counts.group_names, counts.outcome_names, counts.unit_names) == (
        ("black", "white"),
        ("yes", "no"),
        ("A", "B"),
    )
    np.testing.assert_array_equal(counts.outcomes, OUTCOMES)
    with pytest.raises(ValueError, match="unit 'B' has no row in outcomes"):
        GroupCounts(groups, outcomes.rename(index={"B": "C"}))
    with pytest.raises(ValueError, match="outcomes: unit 'A' has two rows"):
        GroupCounts(groups, outcomes.rename(index={"B": "A"}))


def test_a_row_of_totals_is_no_unit():
    units = {"unit": ["a", "b", "c", "Total"], "x": [10, 30, 5, 45], "y": [20, 5, 5, 30]}
    units |= {"yes": [12, 20, 4, 36], "no": [18, 15, 6, 39]}
    with pytest.raises(ValueError, match="unit 'Total' is the sum of all others"):
        GroupCounts.from_table(units, groups=["x", "y"], outcomes=["yes", "no"], unit="unit")
    others = {name: values[:3] for name, values in units.items()}
    assert GroupCounts.from_table(others, groups=["x", "y"], outcomes=["yes", "no"], unit="unit").n_units == 3
    with pytest.raises(ValueError, match="unit 'b' has none"):
        GroupCounts.from_table(
            {**others, "income": [1.0, None, 2.0]},
            groups=["x", "y"],
            outcomes=["yes", "no"],
            unit="unit",
            covariates=["income"],
        )


def test_a_total_is_no_group():
    """It would be read as a second group, and people of the first would count twice."""
    table = {"black": [30, 10], "Total": [100, 80], "yes": [60, 50]}
    with pytest.raises(
        ValueError, match=r"column 'Total' is a total, which counts people .* again: .* \(groups\)"
    ):
        GroupCounts.from_table(table, groups=["black", "Total"], outcomes=["yes"], remainder="no")
