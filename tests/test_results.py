"""Pages of results are made from the rows beside them, and say what these say."""

import json

from benchmarks import election
from benchmarks.rows import RESULTS

ROWS = [json.loads(line) for line in (RESULTS / "election.jsonl").read_text().splitlines()]


def test_the_elections_table_is_that_of_its_rows():
    assert election.page(ROWS) == (RESULTS / "election.md").read_text()


def test_every_method_and_every_vote_are_in_the_table():
    assert [row["method"] for row in election.summary(ROWS)] == [*election.COMPARED, election.EVERY_VOTE]
    assert [row["method"] for row in election.summary(ROWS[:1])] == [ROWS[0]["method"]]


def test_a_seed_is_asked_for_only_where_it_makes_a_difference():
    assert election.is_random("DLLP")
    assert not election.is_random("MeanMap")
    assert not election.is_random(election.EVERY_VOTE)
