"""What each column of a table becomes: a user says so, or its values tell."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields

import pyarrow as pa
import pyarrow.compute as pc

from llpgan.sources import values
from llpgan.sources.encoders import Category, ColumnEncoder, Date, Number

_FEW = 20  # below so many rows, every value of any column may be different
_ID_NAME = re.compile(r"(^|[_\W])(id|ids|uuid|guid|index|key|nr|number)$|^unnamed", re.IGNORECASE)


@dataclass(frozen=True)
class Columns:
    """Which columns are features and of what kind, by name; what is not said is seen from the values.

    Args:
        only: the columns to learn from; None for all but those of bags and labels.
        drop: columns to leave out.
        numbers: columns that are numbers. Missing ones become the median, with a column that tells of them.
        categories: columns of which each value is a class of its own, also where the values are numbers.
        dates: columns that are dates or times, which become days.
        min_count: categories with fewer rows than this are taken together as "other"; and missing values that
            are fewer get no column that tells of them.
        max_categories: the most categories that a column may have; the rarest beyond are taken as "other".

    >>> Columns(drop=["name"], categories=["district"]).kinds()
    {'district': <class 'llpgan.sources.encoders.Category'>}
    """

    only: str | Sequence[str] | None = None
    drop: str | Sequence[str] = ()
    numbers: str | Sequence[str] = ()
    categories: str | Sequence[str] = ()
    dates: str | Sequence[str] = ()
    min_count: int = 10
    max_categories: int = 32

    def __post_init__(self) -> None:
        for option in fields(self)[:5]:
            if isinstance(getattr(self, option.name), str):
                object.__setattr__(self, option.name, (getattr(self, option.name),))
        if twice := [name for name in self._typed() if self._typed().count(name) > 1]:
            raise ValueError(
                f"column {twice[0]!r} is given two kinds: numbers, categories and dates exclude each other"
            )
        if both := set(self.drop) & {*self._typed(), *(self.only or ())}:
            raise ValueError(f"column {min(both)!r} is both asked for and left out (drop)")

    def kinds(self) -> dict[str, type[ColumnEncoder]]:
        """The kind of each column that the user has typed."""
        named = ((self.numbers, Number), (self.categories, Category), (self.dates, Date))
        return {name: kind for names, kind in named for name in names}

    def chosen(self, available: Sequence[str], reserved: Sequence[str]) -> list[str]:
        """Of the columns that there are, those to learn from, but none of the bags' or labels'."""
        for name in (*(self.only or ()), *self.drop, *self._typed()):
            if name not in available:
                raise ValueError(f"no column {name!r}; there are {', '.join(map(repr, available))}")
        for name in (*(self.only or ()), *self._typed()):
            if name in reserved:
                raise ValueError(f"column {name!r} is the bag or the label, which is no feature to learn from")
        wanted = available if self.only is None else {*self.only, *self._typed()}
        return [name for name in available if name in wanted and name not in {*self.drop, *reserved}]

    def _typed(self) -> tuple[str, ...]:
        return (*self.numbers, *self.categories, *self.dates)


class LeftOut(Exception):  # noqa: N818, it is no error
    """A column that tells nothing, and why."""


def learned(name: str, column: pa.ChunkedArray, columns: Columns) -> ColumnEncoder:
    """How to encode a column, from its values; raises :class:`LeftOut` where there is nothing to learn from it."""
    if pa.types.is_nested(column.type):
        raise _unknown_type(name, column)
    if values.n_missing(column) == len(column):
        raise ValueError(f"column {name!r} has no value in any row: correct it, or leave it out (drop)")
    kind = columns.kinds().get(name)
    if kind is None:
        _leave_out_if_constant(column)
        kind = _kind_seen(name, column)
    return kind.learned(name, column, columns.min_count, columns.max_categories)


def _kind_seen(name: str, column: pa.ChunkedArray) -> type[ColumnEncoder]:
    if values.is_text(column):
        return _kind_of_text(name, column)
    if values.is_time(column):
        return Date
    if not values.is_number(column):
        raise _unknown_type(name, column)
    if pa.types.is_integer(column.type):
        _leave_out_if_running_number(name, column)
    return Number


def _unknown_type(name: str, column: pa.ChunkedArray) -> ValueError:
    return ValueError(f"column {name!r} holds {column.type}: one number, text or date a row would be right")


def _kind_of_text(name: str, column: pa.ChunkedArray) -> type[ColumnEncoder]:
    numbers, there = values.count_numbers(column), len(column) - column.null_count
    if numbers == there:
        return Number
    if numbers > there / 2:
        _refuse_few_texts(name, column, f"{numbers} of the {there} values")
    if there >= _FEW and len(column.unique()) > there / 2:
        raise LeftOut("nearly every row has a text of its own, as names and ids do")
    return Category


def _refuse_few_texts(name: str, column: pa.ChunkedArray, numbers: str) -> None:
    try:
        values.as_numbers(name, column)
    except ValueError as error:
        raise ValueError(
            f"{error}, as {numbers} of this column are: correct it, or name the column among the categories"
        ) from None


def _leave_out_if_constant(column: pa.ChunkedArray) -> None:
    if not values.n_missing(column) and not values.has_more_values_than(column, 1):
        raise LeftOut(f"all rows have the same value, {column[0].as_py()!r}")


def _leave_out_if_running_number(name: str, column: pa.ChunkedArray) -> None:
    if column.null_count or len(column) < _FEW:
        return
    limits = pc.min_max(column).as_py()
    dense = limits["max"] - limits["min"] < 2 * len(column)
    if (dense or _ID_NAME.search(name)) and len(column.unique()) == len(column):
        raise LeftOut("every row has a number of its own, as ids do")
