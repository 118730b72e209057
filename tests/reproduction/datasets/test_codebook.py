"""The codebook of the election data says what the tables hold."""

import re
from pathlib import Path

import pyarrow.csv

from llpgan.data.datasets import PEOPLE, RESULTS

ROOT = Path(__file__).parents[3]
CODEBOOK = (ROOT / "docs" / "election_data.md").read_text(encoding="utf-8")


def test_every_column_is_explained_with_what_is_missing():
    people = pyarrow.csv.read_csv(PEOPLE)
    told = dict(re.findall(r"^\| `(\w+)` \| .* \| (\d+) \|$", CODEBOOK, re.MULTILINE))
    assert {name: int(missing) for name, missing in told.items()} == {
        name: people[name].null_count for name in people.column_names
    }
    assert f"{len(people):,} voters" in CODEBOOK


def test_scales_and_results_are_those_of_the_codebook():
    people, results = pyarrow.csv.read_csv(PEOPLE), pyarrow.csv.read_csv(RESULTS)
    for name, low, high in re.findall(r"`(\w+)` \| from (\d+) \([^)]*\) to (\d+) ", CODEBOOK):
        values = set(people[name].drop_null().to_pylist())
        assert values == set(range(int(low), int(high) + 1)), name
    for name in results.column_names:
        assert f"| `{name}` |" in CODEBOOK
    assert f"{len(results)} rows" in CODEBOOK
