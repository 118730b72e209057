"""Pages of results on groups are made from the rows beside them, and keep what was promised."""

import itertools
import json

import pytest
from benchmarks.accuracy import (
    ecological_simulation,
    election_groups,
    new_zealand,
    new_zealand_sensitivity,
    new_zealand_strata,
    other_packages,
    robinson,
    several_counties,
)
from benchmarks.rows import RESULTS
from benchmarks.settings import new_zealand_settings


def rows_of(name):
    return [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    "benchmark",
    [
        ecological_simulation,
        election_groups,
        new_zealand,
        new_zealand_sensitivity,
        new_zealand_settings,
        new_zealand_strata,
        other_packages,
        robinson,
        several_counties,
    ],
)
def test_the_page_is_that_of_its_rows(benchmark):
    name = benchmark.__name__.rpartition(".")[2]
    assert benchmark.page(rows_of(name)) == (RESULTS / f"{name}.md").read_text()


def test_all_districts_are_there_with_small_errors_and_intervals_that_hold():
    found = {row["election"]: row for row in new_zealand.summary(rows_of("new_zealand"))}
    assert found["all districts"]["districts"] == 280
    assert float(found["all districts"]["minimum information"]) <= 7.0
    for election in ("2011", "2014", "all districts"):
        assert 94.7 <= float(found[election]["intervals that hold the truth (%)"]) <= 97.5


def test_both_shares_of_the_southern_counties_are_close_and_inside_their_intervals():
    row = rows_of("new_zealand")[-1]
    assert row["election"] == new_zealand.SOUTH
    for i, truth in enumerate(row["truth"]):
        assert abs(row["shares"]["share"][i] - truth) <= 0.03
        assert row["shares"]["low"][i] <= truth <= row["shares"]["high"][i]


def test_intervals_over_several_districts_hold_and_pools_without_strata_do_too_or_give_a_warning():
    for row in new_zealand_strata.summary(rows_of("new_zealand_strata")):
        assert 90 <= float(row["held (%), all"]) <= 97.5
        if row["held (%)"]:
            assert float(row["held (%)"]) >= 90


def test_the_error_falls_with_the_number_of_districts():
    rows = new_zealand_strata.summary(rows_of("new_zealand_strata"))
    assert [row["districts"] for row in rows] == [1, 2, 4, 8, 16, 35, "all"]
    for few, many in itertools.pairwise(rows):
        for years in ("2002, 2008", "2011, 2014"):
            assert float(many[f"error (%), {years}"]) <= 1.05 * float(few[f"error (%), {years}"])


def test_eight_counties_hold_with_strata_and_hold_or_warn_without():
    for row in several_counties.summary(rows_of("several_counties")):
        assert row["8 of 9 or warned"] == row["files"]
        if row["case"] != "neighbours":  # no margin shows that people vote rather like those around them
            assert row["files with 8 of 9"] >= 0.9 * row["files"]


def test_strata_give_robinsons_counties_the_right_sign_and_hold_the_truth():
    truth, pooled, strata, covariate = rows_of("robinson")
    assert pooled["difference"] < 0 < truth["difference"]
    assert pooled["warned"]
    for row in (strata, covariate):
        assert row["difference"] > 0
        for share, (low, high) in zip(truth["shares"], row["intervals"], strict=True):
            assert low <= share <= high
