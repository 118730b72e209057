"""Files with semicolons, tabs and decimal commas are read as those with commas and points."""

import gzip

import numpy as np
import pyarrow as pa
import pytest

from llpgan import Bags
from llpgan.tables import open_stream, read_table
from llpgan.tables import read as csv_blocks
from llpgan.tables.read import CsvFile, find_separator
from llpgan.tables.store import store_tables

POINTS = "state,age,city\nOhio,1.5,Rome\nOhio,2,Oslo\nIowa,-3.25,Rome\nIowa,,Oslo\n"
SHARES = "state,no,yes\nOhio,0.25,0.75\nIowa,0.5,0.5\n"


def with_commas(text, separator=";"):
    return text.replace(",", separator).replace(".", ",")


@pytest.mark.parametrize(
    ("header", "separator"),
    [
        ("a,b\n1,2", ","),
        ("a;b\n1;2", ";"),
        ("a\tb\n1\t2", "\t"),
        ("a\n1", ","),
        ('"a;b;c",d\n1,2', ","),
        ("age;income, net;state\n40;1,5;Ohio\n50;2;Iowa", ";"),
        ("unit (a;b),x,y\n1,2,3", ","),
    ],
)
def test_the_separator_is_seen_in_the_header(write, header, separator):
    assert find_separator(f"{header}\n") == separator
    assert CsvFile.open(write("t.csv", f"{header}\n")).delimiter == separator


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("packed", [False, True])
def test_semicolons_and_decimal_commas_are_read_in_every_reader(write, separator, packed, monkeypatch):
    text = with_commas(POINTS, separator).encode()
    path = write("t.csv.gz", gzip.compress(text)) if packed else write("t.csv", text)
    expected = read_table(write("points.csv", POINTS)).to_pydict()
    assert read_table(path).to_pydict() == expected
    for block_bytes in (16, 2**24):
        monkeypatch.setattr(csv_blocks, "_BLOCK_BYTES", block_bytes)
        stream = open_stream(path)
        assert stream.schema.field("age").type == pa.float64()
        assert pa.concat_tables(part.table for part in stream.rows(2)).to_pydict() == expected


def test_decimal_points_stay_where_columns_are_separated_by_semicolons(write):
    path = write("t.csv", POINTS.replace(",", ";"))
    assert read_table(path).to_pydict() == read_table(write("points.csv", POINTS)).to_pydict()


def test_commas_in_quotes_and_in_columns_of_text_are_no_decimals(write):
    path = write("t.csv", 'n,word\n"1,234",x\n"2,345",y\n')
    assert read_table(path)["n"].to_pylist() == ["1,234", "2,345"]
    path = write("t.csv", "code;n\n1,5;1\n2,5;2\n")
    assert read_table(path, text=["code"])["code"].to_pylist() == ["1,5", "2,5"]
    assert pa.concat_tables(p.table for p in open_stream(path, ["code"]).rows(9))["code"].to_pylist() == [
        "1,5",
        "2,5",
    ]


def test_bags_of_semicolons_are_those_of_commas(write, tmp_path):
    expected = Bags.from_tables(write("people.csv", POINTS), write("shares.csv", SHARES), bag="state")
    people, shares = write("p.csv", with_commas(POINTS)), write("s.csv", with_commas(SHARES))
    for bags in (
        Bags.from_tables(people, shares, bag="state"),
        store_tables(people, tmp_path / "store", shares, bag="state"),
    ):
        np.testing.assert_array_equal(bags.proportions, expected.proportions)
        assert bags.features == expected.features
        np.testing.assert_allclose(np.sort(bags.instances[:], axis=0), np.sort(expected.instances, axis=0))
