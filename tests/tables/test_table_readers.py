"""Tables come out the same from wherever they are read; a file that is none is named."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from llpgan.tables import is_table, read_table
from llpgan.tables.read import CsvFile

CSV = "age,city,share\n31,Rome,0.5\n47,Oslo,\n,Rome,1.25\n"
COLUMNS = {"age": [31, 47, None], "city": ["Rome", "Oslo", "Rome"], "share": [0.5, None, 1.25]}
MORE_THAN_A_BLOCK = 300_000  # rows; Arrow reads a megabyte at a time


def parquet(path, columns):
    pq.write_table(pa.table(columns), path)
    return path


SOURCES = {
    "csv": lambda write: write("t.csv", CSV),
    "its path as text": lambda write: str(write("t.csv", CSV)),
    "csv with a byte order mark": lambda write: write("t.csv", b"\xef\xbb\xbf" + CSV.encode()),
    "csv with Windows' line ends": lambda write: write("t.csv", CSV.replace("\n", "\r\n")),
    "csv.gz": lambda write: write("t.csv.gz", gzip.compress(CSV.encode())),
    "tsv": lambda write: write("t.tsv", CSV.replace(",", "\t")),
    "tsv.gz": lambda write: write("t.TSV.gz", gzip.compress(CSV.replace(",", "\t").encode())),
    "parquet": lambda write: parquet(write("t.parquet", ""), COLUMNS),
    "pandas": lambda write: pd.DataFrame(COLUMNS),
    "polars": lambda write: pl.DataFrame(COLUMNS),
    "arrow": lambda write: pa.table(COLUMNS),
    "dict": lambda write: COLUMNS,
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_same_table_from_everywhere(source, write):
    table = read_table(source(write))
    assert table.column_names == list(COLUMNS)
    assert table.to_pydict() == COLUMNS
    assert is_table(source(write))


def test_arrays_are_no_tables():
    assert not is_table(np.zeros((2, 2)))
    with pytest.raises(TypeError, match="a table is a file, a frame or a dict of columns, not a ndarray"):
        read_table(np.zeros((2, 2)))


@pytest.mark.parametrize("missing", ["", "?", "NA", "N/A", "NULL", "null", "None", "NaN", "nan", '""'])
def test_signs_of_missing_values_in_csv(write, missing):
    table = read_table(write("t.csv", f"n,word\n1,a\n{missing},{missing}\n2.5,b\n"))
    assert table.to_pydict() == {"n": [1, None, 2.5], "word": ["a", None, "b"]}


def test_the_index_of_a_pandas_frame_is_no_column():
    frame = pd.DataFrame({"age": [31, 47]}, index=pd.Index(["a", "b"], name="who"))
    assert read_table(frame).column_names == ["age"]


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["a", "b"])], ids=str)
def test_text_of_polars_can_be_computed_with(kind):
    column = read_table(pl.DataFrame({"word": pl.Series(["b", "a", None], dtype=kind)}))["word"]
    assert column.drop_null().to_pylist() == ["b", "a"]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("1234567", "1.5", (1234567.0, 1.5)),
        ("1234567", "unknown", ("1234567", "unknown")),
        ("2016-11-08", "never", ("2016-11-08", "never")),
        ("", "late", (None, "late")),
        ("true", "maybe", ("true", "maybe")),
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_types_may_change_after_the_first_block(write, first, last, expected, ending):
    text = f"n,fixed\n{f'{first},1{chr(10)}' * MORE_THAN_A_BLOCK}{last},1\n".encode()
    table = read_table(write(f"t{ending}", gzip.compress(text, 1) if ending.endswith("gz") else text))
    assert (table["n"][0].as_py(), table["n"][-1].as_py()) == expected
    assert table["n"].null_count == (MORE_THAN_A_BLOCK if first == "" else 0)
    assert table["fixed"].type == pa.int64()


def test_texts_may_hold_line_breaks_also_where_blocks_meet(write):
    n_rows = 60_000
    lines = "".join(f'"told\nin {i},\n""quotes""",{i}\n' for i in range(n_rows))
    table = read_table(write("t.csv", "said,n\n" + lines))
    assert table["n"].to_pylist() == list(range(n_rows))
    assert table["said"][n_rows - 1].as_py() == f'told\nin {n_rows - 1},\n"quotes"'


def test_columns_that_are_asked_for_as_text_stay_as_they_stand(write):
    path = write("t.csv", "zip,n\n01234,1\n1234,2\n")
    assert read_table(path, text=["zip"])["zip"].to_pylist() == ["01234", "1234"]
    assert read_table(path)["zip"].to_pylist() == [1234, 1234]


PARQUET = pa.BufferOutputStream()
pq.write_table(pa.table(COLUMNS), PARQUET)
PARQUET = PARQUET.getvalue().to_pybytes()
PACKED = gzip.compress(CSV.encode() * 1000)
LATIN_1 = "Zürich,1\n".encode("latin-1")

NO_TABLES = {
    "garbage": ("t.csv", np.random.default_rng(0).bytes(10_000), "not text in UTF-8"),
    "zeros": ("t.csv", b"\0" * 1000, "not text in UTF-8"),
    "UTF-16": ("t.csv", CSV.encode("utf-16"), "in its first line: this is not text in UTF-8"),
    "header of Latin-1": ("t.csv", "größe\n1\n".encode("latin-1"), "in its first line: this is not text in UTF-8"),
    "text of Latin-1": ("t.csv", b"city,n\n" + LATIN_1, "column 'city': this is not text in UTF-8"),
    "text of Latin-1 later": (
        "t.csv",
        b"n,city\n" + b"1,Oslo\n" * MORE_THAN_A_BLOCK + b"1," + LATIN_1[:6] + b"\n",
        "column 'city': this is not text in UTF-8",
    ),
    "unknown ending": ("t.xlsx", b"PK", "is a spreadsheet: save it as CSV"),
    "no ending": ("table", CSV.encode(), "is not a table: a file that ends in .csv"),
    "cut gzip": ("t.csv.gz", PACKED[: len(PACKED) // 2], "is not a table that can be read: Truncated"),
    "cut gzip's end": ("t.csv.gz", PACKED[:-4], "is not a table that can be read: Truncated"),
    "not gzip": ("t.csv.gz", CSV.encode(), "is not a table that can be read"),
    "cut parquet": ("t.parquet", PARQUET[:-20], "is not a table that can be read"),
    "parquet without its middle": ("t.parquet", PARQUET[:40] + PARQUET[-40:], "is not a table that can be read"),
    "csv as parquet": ("t.parquet", CSV.encode(), "is not a table that can be read"),
    "empty": ("t.csv", b"", "is not a table that can be read: Empty CSV file"),
    "empty parquet": ("t.parquet", b"", "is not a table that can be read"),
    "only a header": ("t.csv", b"age,city\n", "is empty: it has columns ['age', 'city'], but no rows"),
    "rows of other lengths": ("t.csv", b"a,b\n1,2\n1,2,3\n", "Expected 2 columns, got 3: 1,2,3"),
    "repeated names": (
        "t.csv",
        b"age,city,age\n1,2,3\n",
        "has more than one column 'age': columns need names of their own",
    ),
}


@pytest.mark.parametrize(("name", "content", "said"), NO_TABLES.values(), ids=NO_TABLES)
def test_a_file_that_is_no_table_is_named(write, name, content, said):
    path = write(name, content)
    with pytest.raises(ValueError) as error:
        read_table(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_text_of_another_encoding_in_a_column_that_is_asked_for_as_text(write):
    path = write("t.csv", b"city,n\n" + LATIN_1)
    with pytest.raises(ValueError, match=r"t\.csv is not a table that can be read: In CSV column #0: .*UTF8"):
        read_table(path, text=["city"])


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*people\.csv"):
        read_table(tmp_path / "people.csv")


WRONG_FRAMES = {
    "repeated names": (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the table has more than one column 'a'"),
    "repeated names of arrow": (pa.table([[1], [2]], names=["a", "a"]), "the table has more than one column 'a'"),
    "mixed types of pandas": (
        pd.DataFrame({"a": [1, "x"]}),
        "Could not convert 'x' with type str: tried to convert to int64; Conversion failed for column a",
    ),
    "text first": (pd.DataFrame({"a": ["x", 1]}), "Conversion failed for column a"),
    "mixed types of a dict": ({"b": [1], "a": [1, "x"]}, "column 'a' cannot be read: Could not convert 'x'"),
    "lengths": ({"a": [1], "b": [1, 2]}, "Column 1 named b expected length 1 but got length 2"),
    "no rows": (pd.DataFrame({"a": []}), "the table is empty: it has columns ['a'], but no rows"),
}


@pytest.mark.parametrize(("frame", "said"), WRONG_FRAMES.values(), ids=WRONG_FRAMES)
def test_a_frame_that_is_no_table(frame, said):
    with pytest.raises(ValueError) as error:
        read_table(frame)
    assert said in str(error.value)


OTHER_FORMS = {
    "separator named as Excel does": b"sep=;\r\nstate;age\r\nOhio;31\r\n",
    "with a byte-order mark": b"\xef\xbb\xbfsep=;\nstate;age\nOhio;31\n",
    "a separator of a tab": b"sep=\t\nstate\tage\nOhio\t31\n",
}


@pytest.mark.parametrize("content", OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_a_first_line_may_name_the_separator(content, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    file = CsvFile.open(path)
    assert file.read().to_pylist() == [{"state": "Ohio", "age": 31}]
    assert [block.to_pylist() for block in file.read_blocks({})] == [[{"state": "Ohio", "age": 31}]]


WIDTHS = {
    "too few": (
        "state,age\n" + "Ohio,31\n" * 500 + "Ohio\n" + "Ohio,31\n" * 9,
        "line 502: Expected 2 columns, got 1",
    ),
    "a quote": (
        'state,age\nOhio,31\n"Iowa,32\nUtah,5\n',
        "(line|record) 3: Expected 2 columns, got 1.*is a quote not closed",
    ),
    "a title": ("Our people\nstate,age\nOhio,31\n", "line 2: Expected 1 columns, got 2.*lines before the header"),
    "an image": ("\x89PNG\n", "is an image, not CSV"),
    "a Parquet file": ("PAR1", "is a Parquet file, not CSV"),
    "JSON": ('{"state": "Ohio"}', "is JSON, not CSV"),
    "NUL": ("st\0ate,age\nOhio,31\n", "has NUL characters. Remove them: tr -d"),
    "UTF-16": ("s\0t\0,\0a\0\n\0O\0h\0,\x003\0\n\0", "If it is UTF-16LE, convert it: iconv -f UTF-16LE"),
    "empty lines": ("\n\n\n", "Empty CSV file"),
}


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("content", "message"), WIDTHS.values(), ids=WIDTHS)
def test_what_is_wrong_with_a_csv_file_is_said_by_its_line(content, message, whole, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=message):
        file = CsvFile.open(path)
        file.read() if whole else list(file.read_blocks({}))


@pytest.mark.parametrize("whole", [True, False])
def test_a_text_may_be_longer_than_the_readers_block(whole, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("note,age\nshort,1\n" + "x" * 3_000_000 + ",2\nshort,3\n")
    file = CsvFile.open(path)
    tables = [file.read()] if whole else list(file.read_blocks({}))
    assert [len(str(note)) for table in tables for note in table["note"].to_pylist()] == [5, 3_000_000, 5]
    assert [age for table in tables for age in table["age"].to_pylist()] == [1, 2, 3]
