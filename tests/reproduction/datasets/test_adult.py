"""Adult: the official pair of files and the one table give the same columns."""

import gzip

import pytest

from reproduction.datasets import load_adult

HEAD = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income,split"
)
OHIO = "39, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, Male, 2174, 0, 40, Cuba, {}"
IOWA = "50, Private, 83311, HS-grad, 9, Divorced, Sales, Husband, White, Female, 0, 0, 13, United-States, {}"


def write_official(folder):
    (folder / "adult.data").write_text(f"{OHIO.format('<=50K')}\n{IOWA.format('>50K')}\n\n")
    (folder / "adult.test").write_text(f"|1x3 Cross validator\n{IOWA.format('>50K.')}\n\n")


def write_table(folder, *rows, head=HEAD):
    rows = rows or (OHIO.format("<=50K,train"), IOWA.format(">50K,test"), IOWA.format(">50K,train"))
    (folder / "adult.csv.gz").write_bytes(gzip.compress("\n".join([head, *rows, ""]).replace(", ", ",").encode()))


@pytest.mark.parametrize("write", [write_official, write_table])
@pytest.mark.parametrize("place", [".", "adult"])
def test_columns_and_labels_come_as_written(tmp_path, write, place):
    (tmp_path / place).mkdir(exist_ok=True)
    write(tmp_path / place)
    adult = load_adult(tmp_path)
    assert list(adult.columns) == HEAD.split(",")[:-2] == list(adult.test_columns)
    assert adult.columns["age"].tolist() == [39, 50]
    assert adult.columns["occupation"].tolist() == ["?", "Sales"]
    assert adult.labels.tolist() == ["<=50K", ">50K"]
    assert adult.test_columns["hours-per-week"].tolist() == [13]
    assert adult.test_labels.tolist() == [">50K"]


def test_columns_of_a_table_may_stand_in_any_order(tmp_path):
    row = OHIO.format("<=50K").split(", ")
    rows = [",".join([split, *reversed(row)]) for split in ("train", "test")]
    write_table(tmp_path, *rows, head=",".join(["split", *reversed(HEAD.split(",")[:-1])]))
    assert load_adult(tmp_path).columns["education"].tolist() == ["Bachelors"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (OHIO.format("<=50K").replace("39", "old"), "line 3: age 'old' is not a whole number"),
        (OHIO.format("50K"), "line 3: income '50K', where '<=50K' or '>50K' is expected"),
        (OHIO.format("<=50K").removeprefix("39, "), "line 3: 14 values, where 15 are expected"),
    ],
)
def test_what_is_wrong_with_a_row_is_named(tmp_path, row, message):
    write_official(tmp_path)
    (tmp_path / "adult.data").write_text("\n".join([OHIO.format("<=50K"), "", row]))
    with pytest.raises(ValueError, match=rf"adult\.data, {message}"):
        load_adult(tmp_path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (OHIO.format("<=50K,valid"), "line 2: split 'valid', where 'train' or 'test' is expected"),
        (OHIO.format("<=50K"), "line 2: 15 values, where 16 are expected"),
        (OHIO.format("<=50K,train"), "split 'test': there are no rows"),
    ],
)
def test_what_is_wrong_with_the_table_is_named(tmp_path, row, message):
    write_table(tmp_path, row)
    with pytest.raises(ValueError, match=rf"adult\.csv\.gz, {message}"):
        load_adult(tmp_path)


def test_a_table_without_a_column(tmp_path):
    write_table(tmp_path, head=HEAD.replace("race", "colour"))
    with pytest.raises(ValueError, match="no column 'race' in its first line; there are"):
        load_adult(tmp_path)


def test_a_table_that_is_cut_short(tmp_path):
    write_table(tmp_path)
    path = tmp_path / "adult.csv.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"adult\.csv\.gz: the gzip file is cut short"):
        load_adult(tmp_path)


def test_where_nothing_is_the_error_says_what_would_be_right(tmp_path):
    (tmp_path / "adult.data").touch()
    with pytest.raises(FileNotFoundError, match=r"no Adult in .*: there should be adult\.data and adult\.test or"):
        load_adult(tmp_path)
