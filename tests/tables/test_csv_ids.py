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


@pytest.mark.parametrize("ids", [["1", "2"], ["0.5", "1.5"], ["2020-01-01", "2020-01-02"], [" 7", "8 "]])
def test_a_total_row_does_not_make_other_ids_of_numbers_and_dates(ids, tmp_path, monkeypatch):
    """Its name makes a text of the whole column of that table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(f"area,age\n{ids[0]},20\n{ids[1]},40\n{ids[0]},31\n")
    (tmp_path / "areas.csv").write_text(f"area,no,yes\n{ids[1]},0,1\n{ids[0]},0.5,0.5\nTotal,0.3,0.7\n")
    with pytest.warns(UserWarning, match="bag 'Total' of areas.csv has no instance"):
        bags = Bags.from_tables("people.csv", "areas.csv", bag="area")
    assert bags.proportions.tolist() == [[0.5, 0.5], [0.0, 1.0]]


def test_columns_with_neither_name_nor_values_are_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("area,age,,\na,20,,\nb,40,,\n")
    (tmp_path / "areas.csv").write_text("area|no|yes|\na|0.25|0.75|\nb|1|0|\n")
    bags = Bags.from_tables("people.csv", "areas.csv", bag="area")
    assert bags.features == ("age",)
    assert bags.classes.tolist() == ["no", "yes"]
    assert store_tables("people.csv", "store", "areas.csv", bag="area").features == ("age",)
    (tmp_path / "people.csv").write_text("area,age,\na,20,\nb,40,3\n")
    assert Bags.from_tables("people.csv", "areas.csv", bag="area").features == ("age", "")
