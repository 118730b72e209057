"""UCI Adult."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from llpgan.utils.arrays import Array
from reproduction.datasets.files import StrPath, not_found, open_decompressed

_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
_INCOMES = ("<=50K", ">50K")
_SPLITS = ("train", "test")
_Row = tuple[str, list[str]]  # where it stands, and its values
_Table = tuple[dict[str, Array], Array]  # columns and labels


class TableSplit(NamedTuple):
    """Labelled columns to make bags of, and labelled columns to test on.

    Attributes
    ----------
    columns : dict of str to ndarray
        The columns of the training rows, by name.
    labels : ndarray of shape (n_samples,)
        The class of each training row.
    test_columns : dict of str to ndarray
        The columns of the test rows, by name.
    test_labels : ndarray of shape (n_test_samples,)
        The class of each test row.
    """

    columns: dict[str, Array]
    labels: Array
    test_columns: dict[str, Array]
    test_labels: Array


def load_adult(folder: StrPath) -> TableSplit:
    """Load the Adult data set of UCI: people of the US census of 1994, and whether they earned more than $50,000.

    There are 14 columns of integers or text, with ``?`` for missing values, and the labels ``<=50K`` and ``>50K``.

    Parameters
    ----------
    folder : str or Path
        The folder with the official files ``adult.data`` and ``adult.test``, or with one table ``adult.csv`` or
        ``adult.csv.gz`` that has a header and a column ``split``. They may also be in its folder ``adult``.

    Returns
    -------
    TableSplit
        The training and test data.
    """
    homes = [Path(folder), Path(folder, "adult")]
    for home in homes:
        if (home / "adult.data").is_file() and (home / "adult.test").is_file():
            return TableSplit(*_official(home / "adult.data"), *_official(home / "adult.test"))
        for path in (home / "adult.csv", home / "adult.csv.gz"):
            if path.is_file():
                return TableSplit(*_part(path, "train"), *_part(path, "test"))
    raise not_found("Adult", homes, ["adult.data and adult.test", "adult.csv", "adult.csv.gz"])


def _official(path: Path) -> _Table:
    """A table without a head; the one to test on begins with a remark and ends its labels with a full stop."""
    rows = ((where, [*row[:-1], row[-1].rstrip(".")]) for where, row in _rows(path) if not row[0].startswith("|"))
    return _table(str(path), rows)


def _part(path: Path, split: str) -> _Table:
    return _table(f"{path}, split {split!r}", _rows_of_split(path, split))


def _rows_of_split(path: Path, split: str) -> Iterator[_Row]:
    """The rows of one split, their columns in the official order."""
    rows = _rows(path)
    _, head = next(rows, ("", []))
    missing = {*_COLUMNS, "split"} - set(head)
    if missing:
        raise ValueError(f"{path}: no column {min(missing)!r} in its first line; there are {head}")
    order, split_column = [head.index(name) for name in _COLUMNS], head.index("split")
    for where, row in rows:
        if len(row) != len(head):
            raise ValueError(f"{where}: {len(row)} values, where {len(head)} are expected")
        if row[split_column] not in _SPLITS:
            raise ValueError(f"{where}: split {row[split_column]!r}, where 'train' or 'test' is expected")
        if row[split_column] == split:
            yield where, [row[column] for column in order]


def _rows(path: Path) -> Iterator[_Row]:
    with (
        open_decompressed(path) as file,
        io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="") as text,
    ):
        reader = csv.reader(text, skipinitialspace=True)
        try:
            yield from ((f"{path}, line {reader.line_num}", row) for row in reader if row)
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: not a table ({error})") from error


def _table(what: str, rows: Iterator[_Row]) -> _Table:
    checked = [_check_row(where, row) for where, row in rows]
    if not checked:
        raise ValueError(f"{what}: there are no rows")
    columns = {name: np.array(values) for name, values in zip(_COLUMNS, zip(*checked, strict=True), strict=True)}
    return columns, columns.pop("income")


def _check_row(where: str, row: list[str]) -> list[str | int]:
    if len(row) != len(_COLUMNS):
        raise ValueError(f"{where}: {len(row)} values, where {len(_COLUMNS)} are expected")
    if row[-1] not in _INCOMES:
        raise ValueError(f"{where}: income {row[-1]!r}, where '<=50K' or '>50K' is expected")
    named = zip(_COLUMNS, row, strict=True)
    return [_number(where, name, value) if name in _NUMBERS else value for name, value in named]


def _number(where: str, name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"{where}: {name} {value!r} is not a whole number") from None
