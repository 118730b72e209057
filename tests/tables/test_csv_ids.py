"""Ids of bags in a CSV that differ stay different; those that are plain numbers are numbers."""

import datetime as dt

import pyarrow as pa
import pytest

from llpgan import Bags
from llpgan.tables.read import id_type
from llpgan.tables.store import store_tables

IDS = {
    "leading zeros": (["01", "1"], ("01", "1")),
    "only leading zeros": (["01", "02"], ("01", "02")),
    "20 digits": (["10000000000000000001", "10000000000000000002"], None),
    "whole numbers": (["7", "12"], (7, 12)),
    "negative": (["-7", "12"], (-7, 12)),
    "spaces": (["7", " 7"], (" 7", "7")),
    "plus": (["+7", "7"], ("+7", "7")),
    "fractions": (["1.5", "2.5"], (1.5, 2.5)),
    "fractions that are equal": (["1.5", "1.50"], ("1.5", "1.50")),
    "dates": (["2020-01-01", "2020-01-02"], (dt.date(2020, 1, 1), dt.date(2020, 1, 2))),
    "text": (["Iowa", "Ohio"], ("Iowa", "Ohio")),
    "numbers and text": (["1", "A"], ("1", "A")),
}


@pytest.mark.parametrize(("ids", "expected"), IDS.values(), ids=IDS)
def test_different_ids_are_different_bags(write, tmp_path, ids, expected):
    people = write("people.csv", "id,age\n" + "".join(f"{i},{age}\n" for age, i in enumerate([*ids, *ids])))
    shares = write("shares.csv", "id,no,yes\n" + "".join(f"{i},0.5,0.5\n" for i in ids))
    expected = expected or tuple(sorted(ids))
    assert Bags.from_tables(people, shares, bag="id").bag_ids == expected
    assert store_tables(people, tmp_path / "store", shares, bag="id").bag_ids == expected


def test_a_bag_that_is_written_otherwise_in_the_other_file_is_suggested(write):
    people, shares = write("people.csv", "id,age\n01,1\n02,2\n"), write("shares.csv", "id,no,yes\n1,0,1\n02,1,0\n")
    with pytest.raises(ValueError, match=r"bag '01' of .* has no row in .*; there are '02', '1'"):
        Bags.from_tables(people, shares, bag="id")


def test_no_ids_have_no_type():
    assert id_type([]) == pa.null()
