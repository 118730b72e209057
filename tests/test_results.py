"""Pages of results are made from the rows beside them, and say what these say."""

import json

from benchmarks.accuracy import election, methods_since, records
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


def test_the_table_of_later_methods_is_that_of_its_rows():
    rows = [json.loads(line) for line in (RESULTS / "methods_since.jsonl").read_text().splitlines()]
    assert methods_since.page(rows) == (RESULTS / "methods_since.md").read_text()


def test_a_method_that_refuses_bags_says_so_in_its_table():
    rows = [
        {"problem": "digits-16", "method": "DLLP", "seed": 0, "accuracy": 0.5, "cpu_seconds": 2.0},
        {"problem": "digits-16", "method": "ROT", "seed": 0, "accuracy": 0.25, "cpu_seconds": 3.0},
        {"problem": "digits-16", "method": "LLPFC", "seed": 0, "refused": "too few bags"},
    ]
    by_method = {row["method"]: list(row.values())[1:] for row in methods_since.summary(rows, "digits")}
    assert by_method == {"DLLP": ["50.00", "1.0"], "ROT": ["25.00", "1.5"], "LLPFC": ["refused", ""]}


def test_the_table_of_records_is_that_of_its_rows():
    rows = [json.loads(line) for line in (RESULTS / "records.jsonl").read_text().splitlines()]
    assert records.page(rows) == (RESULTS / "records.md").read_text()
    assert "LLPVAT, counts" in records.page(rows)
