import json
import os

import pytest

from llpgan.evaluation.compare import append_row, read_rows

SCORES = {"cross_entropy": [0.5], "total_variation": [0.1], "hard_total_variation": [0.2]}
ROW = {"run": "a", "method": "MeanMap", "fold": 0, "bags": [3], **SCORES, "notes": [], "seconds": 0.1}
OTHER = ROW | {"fold": 1}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.jsonl"


def test_a_last_row_without_a_line_break_is_a_row(path):
    path.write_text(json.dumps(ROW))
    before = path.read_bytes()
    assert read_rows(path) == [ROW]
    assert path.read_bytes() == before
    append_row(path, OTHER)
    assert path.read_text() == f"{json.dumps(ROW)}\n{json.dumps(OTHER)}\n"


@pytest.mark.parametrize("n_bytes", [1, 5, 30, 100])
def test_a_row_that_was_cut_short_is_written_over_by_the_next_but_not_by_a_reader(path, n_bytes):
    path.write_text(f"{json.dumps(ROW)}\n{json.dumps(OTHER)[:n_bytes]}")
    before = path.read_bytes()
    assert read_rows(path) == [ROW]
    assert path.read_bytes() == before
    append_row(path, OTHER)
    assert path.read_text() == f"{json.dumps(ROW)}\n{json.dumps(OTHER)}\n"


DAMAGED = {
    "a letter": "Dear mother",
    "a list": "[1, 2]",
    "a number": "3",
    "nothing": "{}",
    "no fold": json.dumps({name: value for name, value in ROW.items() if name != "fold"}),
    "a fold of another type": json.dumps(ROW | {"fold": "0"}),
    "no scores": json.dumps({name: value for name, value in ROW.items() if name != "cross_entropy"}),
    "scores of other bags": json.dumps(ROW | {"cross_entropy": [1.0, 2.0]}),
    "scores that are texts": json.dumps(ROW | {"cross_entropy": ["low"]}),
    "a failure without words": json.dumps(ROW | {"failed": 1}),
    "notes that are none": json.dumps(ROW | {"notes": 1}),
    "brackets": "[" * 100_000,
}


@pytest.mark.parametrize("line", DAMAGED.values(), ids=DAMAGED)
def test_a_line_that_is_no_row_is_named_and_the_file_stays_as_it_is(path, line):
    for end in ("", "\n"):
        path.write_text(f"{json.dumps(ROW)}\n{line}{end}")
        before = path.read_bytes()
        with pytest.raises(ValueError, match=r"rows\.jsonl, line 2: not a row of a comparison"):
            read_rows(path)
        assert path.read_bytes() == before


def test_a_pipe_is_not_waited_for(path):
    os.mkfifo(path)
    with pytest.raises(ValueError, match=r"rows\.jsonl is not a file of rows"):
        read_rows(path)
