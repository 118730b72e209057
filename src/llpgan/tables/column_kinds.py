"""What each column of a table becomes: a user says so, or its values tell."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields

import pyarrow as pa

from llpgan.tables import column_values
from llpgan.tables.column_encoders import ENCODERS, ColumnEncoder
from llpgan.tables.column_summary import ColumnSummary, Kind, no_value, unknown_type
from llpgan.utils.suggestions import did_you_mean

_RANGE = re.compile(
    r"^\s*([<>≤≥~]=?\s*\d[\d.]*|\d[\d.]*\s*(\+|plus|((or|and)\s+)?(more|over|older|above|less|fewer|under|below)"
    r"|(-|–|to)\s*\d[\d.]*))\s*$",
    re.IGNORECASE,
)
_FEW = 20  # below so many rows, every value of any column may be different
_ID_NAME = re.compile(r"(^|[_\W])(id|ids|uuid|guid|index|key|nr|number)$|^unnamed", re.IGNORECASE)


@dataclass(frozen=True)
class Columns:
    """The columns that are features, and their kinds.

    A column that is not named is a feature, and its kind is inferred from its values.

    Parameters
    ----------
    only : str or sequence of str, default=None
        The columns to learn from. None means all columns but those of bags and labels.
    drop : str or sequence of str, default=()
        The columns to leave out.
    numbers : str or sequence of str, default=()
        The columns that are numbers. Missing values become the median, with a second column that marks them.
    categories : str or sequence of str, default=()
        The columns whose values are categories, even if they look like numbers.
    dates : str or sequence of str, default=()
        The columns that are dates or times. They become numbers of days.
    min_count : int, default=10
        Categories with fewer rows than this are merged into "other". Missing numbers are marked only if there are
        at least this many.
    max_categories : int, default=32
        The maximum number of categories of a column. The rarest ones beyond it are merged into "other".

    See Also
    --------
    Bags.from_tables : Takes ``columns``.

    Examples
    --------
    >>> from llpgan import Columns
    >>> Columns(drop=["name"], categories=["district"]).kinds()
    {'district': 'category'}
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
            self._check_names(option.name)
        for name in ("min_count", "max_categories"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {number!r}")
        if twice := [name for name in self._typed() if self._typed().count(name) > 1]:
            raise ValueError(
                f"column {twice[0]!r} is given two kinds: numbers, categories and dates exclude each other"
            )
        if both := set(self.drop) & {*self._typed(), *(self.only or ())}:
            raise ValueError(f"column {min(both)!r} is both asked for and left out (drop)")

    def _check_names(self, option: str) -> None:
        """One name becomes a tuple of one."""
        given = getattr(self, option)
        if isinstance(given, str):
            object.__setattr__(self, option, (given,))
        elif given is None and option == "only":
            return
        elif not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
            raise TypeError(f"{option} must be the name of a column, or a list of names, got {given!r}")

    def kinds(self) -> dict[str, Kind]:
        """Return the kind of each column whose kind is given.

        Returns
        -------
        dict
            From the name of a column to "number", "category" or "date".
        """
        return {
            **dict.fromkeys(self.numbers, "number"),
            **dict.fromkeys(self.categories, "category"),
            **dict.fromkeys(self.dates, "date"),
        }

    def chosen(self, available: Sequence[str], reserved: Sequence[str]) -> list[str]:
        """Return the columns to learn from.

        Parameters
        ----------
        available : sequence of str
            The columns of the table.
        reserved : sequence of str
            The columns of bags and labels, which are never features.

        Returns
        -------
        list of str
            The columns to learn from, in the order of the table.

        Raises
        ------
        ValueError
            If a named column does not exist or is reserved.
        """
        for name in (*(self.only or ()), *self.drop, *self._typed()):
            if name not in available:
                raise ValueError(f"no column {name!r}{did_you_mean(name, available)}")
        for name in (*(self.only or ()), *self._typed()):
            if name in reserved:
                raise ValueError(f"column {name!r} is the bag or the label, which cannot be a feature")
        wanted = available if self.only is None else {*self.only, *self._typed()}
        return [name for name in available if name in wanted and name not in {*self.drop, *reserved}]

    def _typed(self) -> tuple[str, ...]:
        return (*self.numbers, *self.categories, *self.dates)


class LeftOut(Exception):  # noqa: N818, it is no error
    """A column that tells nothing, and why."""


def chosen_encoder(summary: ColumnSummary, columns: Columns) -> ColumnEncoder:
    """How to encode a column; raises :class:`LeftOut` where there is nothing to learn from it."""
    if pa.types.is_nested(summary.type):
        raise unknown_type(summary)
    if summary.n_missing == summary.n_rows:
        raise no_value(summary.name)
    kind = summary.kind
    if kind is None:
        _leave_out_if_constant(summary)
        kind = _kind_seen(summary, columns.max_categories)
    return ENCODERS[kind].of(summary, columns.min_count, columns.max_categories)


def _kind_seen(summary: ColumnSummary, most: int) -> Kind:
    if column_values.is_text(summary):
        return _kind_of_text(summary, most)
    if column_values.is_time(summary):
        return "date"
    if not column_values.is_number(summary):
        raise unknown_type(summary)
    if pa.types.is_integer(summary.type):
        _leave_out_if_running_number(summary)
    return "number"


def _kind_of_text(summary: ColumnSummary, most: int) -> Kind:
    numbers, there = summary.n_number_texts(), summary.n_rows - summary.n_nulls
    if numbers == there:
        return "number"
    if numbers > there / 2 and not (has_open_ends(summary) and summary.n_different() <= most):
        _refuse_few_texts(summary, f"{numbers} of the {there} values")
    if there >= _FEW and summary.n_different() > there / 2:
        raise LeftOut("nearly every row has a text of its own, as names and ids do")
    return "category"


def has_open_ends(summary: ColumnSummary) -> bool:
    """Whether a column of text holds nothing but numbers and ranges of them, such as 0, 1, 2 and 3+."""
    if not column_values.is_text(summary) or not 0 < summary.n_number_texts() < summary.n_rows - summary.n_nulls:
        return False
    return all(column_values.is_number_text(text) or _RANGE.match(text) for text, _ in summary.texts().counts)


def _refuse_few_texts(summary: ColumnSummary, numbers: str) -> None:
    try:
        summary.refuse_texts()
    except ValueError as error:
        raise ValueError(
            f"{error}, as {numbers} of this column are: correct it, or name the column among the categories"
        ) from None


def _leave_out_if_constant(summary: ColumnSummary) -> None:
    if not summary.n_missing and summary.has_one_value():
        raise LeftOut(f"all rows have the same value, {summary.first!r}")


def _leave_out_if_running_number(summary: ColumnSummary) -> None:
    if summary.n_nulls or summary.n_rows < _FEW:
        return
    low, high = summary.limits()
    dense = high - low < 2 * summary.n_rows
    if (dense or _ID_NAME.search(summary.name)) and summary.all_different():
        raise LeftOut("every row has a number of its own, as ids do")
