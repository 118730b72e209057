"""Rows part after part are the rows at once, also where blocks of a CSV end in odd places."""

import gzip
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llpgan import Bags
from llpgan.tables import open_rows, open_stream
from llpgan.tables import read as csv_blocks
from llpgan.tables.streams import split_evenly


@pytest.fixture(params=[7, 20, 64, 2**24])
def blocks(request, monkeypatch):
    monkeypatch.setattr(csv_blocks, "_BLOCK_BYTES", request.param)


def whole(source, n_rows=3, text=()):
    parts = list(open_stream(source, text).rows(n_rows))
    assert [part.first_row for part in parts] == list(np.cumsum([0, *map(len, parts)])[:-1])
    assert {len(part) for part in parts[:-1]} <= {n_rows}
    return pa.concat_tables(part.table for part in parts)


TEXTS = {
    "plain": "a,b\n1,x\n2,y\n3,z\n4,x\n",
    "no line break at the end": "a,b\n1,x\n2,y\n3,z",
    "fractions later": "a,b\n1,x\n2,y\n3.5,z\n4,x\n",
    "words later": "a,b\n01,x\n2,y\nthree,z\n4,x\n",
    "missing first": "a,b\n,x\nNA,y\n,z\n4,x\n",
    "all missing": "a,b\n,x\n,y\n,z\n",
    "moments later": "a,b\n2016-11-08,x\n2016-11-08,y\n2016-11-08 20:15:00,z\n2016-11-08 20:15:00.5,z\n",
    "truth and words": "a,b\ntrue,x\nfalse,y\nperhaps,z\n",
    "line breaks in quotes": 'a,b\n1,"x\ny"\n2,"say ""no""\n"\n3,"z,\n\n"\n4,x\n',
    "a quote in a cell": 'a,b\n1,5" pipe\n2,"x\ny"\n3,6"" pipe\n4,7" pipe\n5,"z\n"\n',
    "a quote in a name": 'a" pipe,b\n1,x\n2,"y\n"\n3,z\n',
    "text after quotes": 'a,b\n1,"x" y\n2,"x"" \n"y"z\n3,"x\n"\n',
    "empty quotes": 'a,b\n1,""\n2,""""\n3,"\n""\n"\n4,x\n',
    "a line break in a name": '"a\nz",b\n1,x\n2,y\n3,z\n',
    "carriage returns": "a,b\r\n1,x\r\n2,y\r\n3,z\r\n",
    "a mark of UTF-8": "\ufeffa,b\n1,ä\n2,y\n3,ö\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_csv_in_blocks_is_the_csv_at_once(text, blocks, tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode())
    expected = open_rows(path).table
    expected = expected.cast(
        pa.schema([(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in expected.schema])
    )
    assert whole(path).equals(expected)
    packed = tmp_path / "x.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert whole(packed).equals(expected)


CELLS = st.text('x1 ",\n', max_size=6)
QUOTED = CELLS.map(lambda cell: '"' + cell.replace('"', '""') + '"')
UNQUOTED = st.from_regex(r'[x1][x1 "]{0,4}', fullmatch=True)
ROW = st.tuples(QUOTED | UNQUOTED, QUOTED | UNQUOTED)


@settings(deadline=None)
@given(st.lists(ROW, min_size=1, max_size=9), st.sampled_from([5, 11, 30]))
def test_any_quotes_in_blocks_are_read_as_at_once(rows, size):
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_blocks, "_BLOCK_BYTES", size)
        path = Path(folder, "x.csv")
        path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in rows))
        expected = open_rows(path, ["a", "b"]).table
        assert whole(path, text=["a", "b"]).to_pydict() == expected.to_pydict()


def test_a_single_quote_does_not_make_one_block_of_the_file(tmp_path):
    (tmp_path / "x.csv").write_text('a,b\n1,5" pipe\n' + "2,y\n" * 1000)
    blocks = list(csv_blocks._line_blocks(tmp_path / "x.csv", ",", 64))
    assert max(map(len, blocks)) < 3 * 64
    assert b"".join(block.removeprefix(b"a,b\n") for block in blocks).count(b"\n") == 1001


def test_a_quote_that_is_never_closed_is_said_before_memory_is_full(tmp_path, monkeypatch, blocks):
    monkeypatch.setattr(csv_blocks, "_LONGEST_LINE", 100)
    monkeypatch.setattr(csv_blocks, "_BLOCK_BYTES", 64)
    (tmp_path / "x.csv").write_text('a,b\n1,"pipe\n' + "2,y\n" * 1000)
    with pytest.raises(ValueError, match=r"x\.csv has a line of more than 100 bytes: is a quote not closed\?"):
        whole(tmp_path / "x.csv")


def test_columns_of_text_are_read_as_they_stand(blocks, tmp_path):
    (tmp_path / "x.tsv").write_text("zip\tn\n01\t1\n1\t2\n007\t3\n")
    table = whole(tmp_path / "x.tsv", text=["zip", "not there"])
    assert table.to_pydict() == {"zip": ["01", "1", "007"], "n": [1, 2, 3]}


WRONG = {
    "a line too short": (
        b"a,b\n1,2\n1,2\n1,2\n1\n",
        "x.csv is not a table that can be read: CSV parse error: .*Expected 2 columns, got 1",
    ),
    "empty": (b"", "x.csv is not a table that can be read"),
    "no rows": (b"a,b\n", "x.csv is empty: it has columns"),
    "Latin": ("a,b\n1,x\n2,y\n3,\xe4\n".encode("latin-1"), "x.csv, column 'b': this is not text in UTF-8"),
    "two columns of a name": (b"a,a\n1,2\n", "x.csv has more than one column 'a'"),
}


@pytest.mark.parametrize(("data", "said"), WRONG.values(), ids=WRONG)
def test_a_csv_that_cannot_be_read_is_said(data, said, blocks, tmp_path):
    (tmp_path / "x.csv").write_bytes(data)
    with pytest.raises(ValueError, match=said):
        whole(tmp_path / "x.csv")


READING = """
import sys
import torch  # with it, the interpreter takes a while to end
from llpgan.tables import open_stream

for _ in open_stream(sys.argv[1]).rows(1000):
    pass
sys.exit(3)
"""


@pytest.mark.slow
def test_no_thread_of_the_reader_is_at_work_when_the_process_ends(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n" + "1,2\n" * 200)
    ends = [subprocess.run([sys.executable, "-c", READING, str(tmp_path / "x.csv")]).returncode for _ in range(2)]
    assert ends == [3] * 2


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.npy"])
def test_a_pipe_is_not_waited_for(name, tmp_path):
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match=f"{name} is not a table"):
        open_stream(tmp_path / name)


def test_a_file_that_another_process_is_writing_is_no_part_of_a_folder(tmp_path):
    pa.parquet.write_table(pa.table({"x": [1]}), tmp_path / "0.parquet")
    (tmp_path / ".llpgan-77-1.parquet").write_bytes(b"half of a t")
    assert whole(tmp_path).to_pydict() == {"x": [1]}


def test_parts_are_even_whatever_the_file_holds(tmp_path):
    table = pa.table({"x": range(100), "codes": pa.array(["a", "b"] * 50).dictionary_encode()})
    pa.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=7)
    assert whole(tmp_path / "x.parquet", 16)["x"].to_pylist() == list(range(100))
    for n_rows in (1, 6, 7, 99, 100, 1000):
        batches = (table.slice(start, 7) for start in range(0, 100, 7))
        parts = [len(part) for part in split_evenly(batches, n_rows)]
        assert sum(parts) == 100
        assert set(parts[:-1]) <= {n_rows}


def test_types_of_several_files_are_brought_together(tmp_path):
    pa.parquet.write_table(pa.table({"x": [1, 2], "y": ["a", "b"]}), tmp_path / "0.parquet")
    pa.parquet.write_table(pa.table({"y": ["c"], "x": [2.5]}), tmp_path / "1.parquet")
    assert whole(tmp_path).to_pydict() == {"x": [1.0, 2.0, 2.5], "y": ["a", "b", "c"]}


def test_arrays_in_files_are_not_mapped(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(10.0).reshape(5, 2))
    parts = list(open_stream(tmp_path / "x.npy").rows(2))
    assert [type(part.array) for part in parts] == [np.ndarray] * 3
    np.testing.assert_array_equal(np.concatenate([part.array for part in parts]), np.arange(10.0).reshape(5, 2))


def test_parts_are_smaller_where_rows_are_wider():
    stream = open_stream({"x": range(5000)})
    assert [len(part) for part in stream.parts()] == [5000]
    assert [len(part) for part in stream.parts((3, 32, 32))] == [1024, 1024, 1024, 1024, 904]


def test_an_array_in_the_order_of_fortran_is_read_too(tmp_path):
    np.save(tmp_path / "x.npy", np.asfortranarray(np.arange(10.0).reshape(5, 2)))
    parts = [part.array for part in open_stream(tmp_path / "x.npy").rows(2)]
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(10.0).reshape(5, 2))


@pytest.fixture
def partitioned(tmp_path):
    """Five rows in folders of two columns, as Spark writes them, an empty one and some that are no tables."""
    folder = tmp_path / "people"
    rows = {"state=Ohio/zone=1": [1, 2], "state=New%20York/zone=2": [3], "state=New%20York/zone=7": [4, 5]}
    for name, ages in rows.items():
        (folder / name).mkdir(parents=True)
        pa.parquet.write_table(pa.table({"age": ages}), folder / name / "part-00000.snappy.parquet")
        (folder / name / ".part-00000.snappy.parquet.crc").write_bytes(b"crc")
    pa.parquet.write_table(
        pa.table({"age": pa.array([], pa.int64())}), folder / "state=Ohio/zone=1/part-1.parquet"
    )
    (folder / "_SUCCESS").write_text("")
    return folder


def test_a_folder_partitioned_by_columns_is_one_table(partitioned):
    expected = {
        "age": [3, 4, 5, 1, 2],
        "state": ["New York", "New York", "New York", "Ohio", "Ohio"],
        "zone": [2, 7, 7, 1, 1],
    }
    assert whole(partitioned, n_rows=2).to_pydict() == expected
    assert open_rows(partitioned).table.to_pydict() == expected


def test_folders_are_rows_and_proportions_alike(partitioned, tmp_path):
    (tmp_path / "results").mkdir()
    results = pa.table({"state": ["New York", "Ohio"], "no": [0.3, 0.6], "yes": [0.7, 0.4]})
    for place in range(2):
        pa.parquet.write_table(results.slice(place, 1), tmp_path / "results" / f"part-{place}.parquet")
    bags = Bags.from_tables(partitioned, tmp_path / "results", bag="state")
    assert bags.bag_ids == ("New York", "Ohio")
    assert bags.sizes.tolist() == [3, 2]
    assert bags.proportions.tolist() == [[0.3, 0.7], [0.6, 0.4]]


def test_a_folder_whose_files_do_not_fit_together_is_refused(partitioned):
    path = partitioned / "state=Ohio" / "part-9.parquet"
    pa.parquet.write_table(pa.table({"age": [1]}), path)
    with pytest.raises(ValueError, match=r"part-9.parquet and .* are in folders of different columns"):
        open_rows(partitioned)
    path.unlink()
    pa.parquet.write_table(pa.table({"age": [1], "zone": [1]}), path.parent / "zone=1" / "part-9.parquet")
    with pytest.raises(ValueError, match=r"do not both have a column 'zone'"):
        open_rows(partitioned)


def test_a_column_that_its_folder_says_too_is_refused(tmp_path):
    (tmp_path / "zone=1").mkdir()
    pa.parquet.write_table(pa.table({"age": [1], "zone": [1]}), tmp_path / "zone=1" / "x.parquet")
    with pytest.raises(ValueError, match=r"x.parquet has a column 'zone', which its folder says too"):
        open_rows(tmp_path)
