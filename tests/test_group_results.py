"""Pages of results on groups are made from the rows beside them, and keep what was promised."""

import json

import pytest
from benchmarks import ecological_simulation, election_groups, new_zealand, new_zealand_settings
from benchmarks.rows import RESULTS


def rows_of(name):
    return [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("benchmark", [ecological_simulation, election_groups, new_zealand, new_zealand_settings])
def test_the_page_is_that_of_its_rows(benchmark):
    name = benchmark.__name__.rpartition(".")[2]
    assert benchmark.page(rows_of(name)) == (RESULTS / f"{name}.md").read_text()


def test_all_districts_are_there_with_small_errors_and_intervals_that_hold():
    found = {row["election"]: row for row in new_zealand.summary(rows_of("new_zealand"))}
    assert found["all districts"]["districts"] == 280
    assert float(found["all districts"]["minimum information"]) <= 9.5
    for election in ("2011", "2014", "all districts"):
        assert 90 <= float(found[election]["intervals that hold the truth (%)"]) <= 97


def test_both_shares_of_the_southern_counties_are_close_and_inside_their_intervals():
    row = rows_of("new_zealand")[-1]
    assert row["election"] == new_zealand.SOUTH
    for i, truth in enumerate(row["truth"]):
        assert abs(row["shares"]["share"][i] - truth) <= 0.03
        assert row["shares"]["low"][i] <= truth <= row["shares"]["high"][i]
