"""Encoders: what kind each column is, and its numbers."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from llpgan.tables.columns import (
    READ,
    ColumnSummary,
    Kind,
    RowError,
    TextForm,
    as_numbers,
    as_text,
    find_text_form,
    naming_source,
    no_value,
    plain_values,
    value_type,
)
from llpgan.tables.read import Rows
from llpgan.utils.arrays import Array
from llpgan.utils.messages import did_you_mean, quote_text, warn_user

_MISSING, _OTHER = "(missing)", "(other)"
_SEVERAL, _FAR = 5, 5.0  # rows or values that are noted, and standard deviations from the training's mean
_SHARE_UNKNOWN = 0.01  # of the rows, with categories that the training never had


@dataclass(frozen=True)
class ColumnEncoder:
    """How one column is encoded."""

    name: str

    @property
    def is_read_as_text(self) -> bool:
        """Whether the values must be read as text, whatever they look like."""
        return False

    @classmethod
    @abstractmethod
    def from_summary(cls, summary: ColumnSummary, min_count: int, max_categories: int) -> Self:
        """What there is to learn from what is known of the training rows."""

    @property
    @abstractmethod
    def features(self) -> list[str]:
        """The names of the encoded columns."""

    @abstractmethod
    def write(self, column: pa.ChunkedArray, out: Array) -> None:
        """Encode a column into ``out``, (rows, features), which is all zeros before."""

    def note_other_values(self, rows: Rows, encoded: Array) -> None:
        """Warn of encoded values that are unlike those of the training."""


@dataclass(frozen=True)
class Number(ColumnEncoder):
    """A number: a missing one becomes the median; then mean 0 and standard deviation 1.

    Where enough rows of the training had none, a second column tells which.
    """

    median: float
    mean: float
    scale: float
    tells_missing: bool

    kind: ClassVar[Kind] = "number"

    @classmethod
    def from_summary(cls, summary: ColumnSummary, min_count: int, max_categories: int) -> Self:
        """Median, mean and standard deviation."""
        n_missing, median, mean, scale = summary.describe_numbers()
        return cls(summary.name, median, mean, scale if scale > 1e-9 * abs(mean) else 1.0, n_missing >= min_count)

    @property
    def features(self) -> list[str]:
        """The number, and whether it is missing."""
        return [self.name, f"{self.name}={_MISSING}"] if self.tells_missing else [self.name]

    def write(self, column: pa.ChunkedArray, out: Array) -> None:
        """The number in units of the training's standard deviation."""
        numbers = np.array(READ[self.kind](self.name, column))
        blank = np.isnan(numbers)
        numbers[blank] = self.median
        out[:, 0] = (numbers - self.mean) / self.scale
        if self.tells_missing:
            out[:, 1] = blank

    def note_other_values(self, rows: Rows, encoded: Array) -> None:
        """Warn if all rows are far from those of the training, as numbers in another unit are."""
        if self.kind == "number" and len(encoded) >= _SEVERAL and np.abs(encoded[:, 0]).min() > _FAR:
            here = self.mean + self.scale * float(np.median(encoded[:, 0]))
            warn_user(
                f"{rows.name}: column {self.name!r} is near {here:.4g}, but had mean {self.mean:.4g} and standard "
                f"deviation {self.scale:.4g} in the training: is it in the same unit?"
            )


@dataclass(frozen=True)
class Date(Number):
    """A date, a moment or a time of the day, in days."""

    kind: ClassVar[Kind] = "date"


@dataclass(frozen=True)
class Category(ColumnEncoder):
    """A text of which each value gets a column; rare values share one, and so do missing ones.

    A value that the training never saw counts as a rare one; where there were none, it has all zeros.
    """

    known: tuple[str, ...]
    has_other: bool
    tells_missing: bool

    @classmethod
    def from_summary(cls, summary: ColumnSummary, min_count: int, max_categories: int) -> Self:
        """The values that are frequent enough, in alphabetical order."""
        by_count = sorted(summary.texts.items(), key=lambda pair: (-pair[1], pair[0]))
        frequent = [value for value, count in by_count if count >= min_count][:max_categories]
        if not frequent:  # a small table: its most frequent values
            frequent = [value for value, _ in by_count][:max_categories]
        has_other = len(frequent) < len(by_count)
        return cls(summary.name, tuple(sorted(frequent)), has_other, summary.n_missing >= min_count)

    @property
    def is_read_as_text(self) -> bool:
        """Yes: a code such as 007 is no number."""
        return True

    @property
    def features(self) -> list[str]:
        """One for each known value; then those of rare and of missing ones."""
        others = [value for value, there in ((_OTHER, self.has_other), (_MISSING, self.tells_missing)) if there]
        return [f"{self.name}={value}" for value in (*self.known, *others)]

    def write(self, column: pa.ChunkedArray, out: Array) -> None:
        """A one in the column of each row's value."""
        codes = as_text(self.name, column).combine_chunks()
        codes = codes if pa.types.is_dictionary(codes.type) else codes.dictionary_encode()
        place = {value: position for position, value in enumerate(self.known)}
        other = len(self.known) if self.has_other else -1
        of_missing = len(self.features) - 1 if self.tells_missing else -1
        positions = np.array([place.get(value, other) for value in codes.dictionary.to_pylist()] + [of_missing])
        row_positions = positions[np.asarray(codes.indices.fill_null(len(positions) - 1))]
        rows = np.flatnonzero(row_positions >= 0)
        out[rows, row_positions[rows]] = 1

    def note_other_values(self, rows: Rows, encoded: Array) -> None:
        """Warn of values that the training never had or, if it had rare ones, if no row has a frequent value."""
        unknown = ~encoded[:, : len(self.known)].any(axis=1)
        least = max(_SEVERAL, len(encoded)) if self.has_other else 1 + _SHARE_UNKNOWN * len(encoded)
        if unknown.sum() < least:
            return
        texts = as_text(self.name, rows.table[self.name].filter(pa.array(unknown))).drop_null()
        if len(texts) >= least:
            what = "are rare in the training or unknown" if self.has_other else "are unknown from the training"
            warn_user(
                f"{rows.name}: column {self.name!r}: {len(texts):,} of {len(encoded):,} values {what}, such as "
                f"{quote_text(texts[0].as_py())}; known are {', '.join(map(repr, self.known[:_SEVERAL]))}"
                f"{' and more' if len(self.known) > _SEVERAL else ''}"
            )


ENCODERS: dict[Kind, type[ColumnEncoder]] = {"number": Number, "date": Date, "category": Category}


_RANGES = "is read as categories, since some of its values are ranges, such as 3+"
_MANY_NUMBERS, _FEW_VALUES = 4, 5  # a column of numbers that are hard to read, or of codes
_FEW = 20  # below so many rows, every value of any column may be different
_LOOKS_LIKE: dict[TextForm, str] = {
    "dates, year first": "its values look like dates: name it among the dates (dates), or leave it out (drop)",
    "dates, unclear": (
        "its values look like dates, of which the order of day and month is unclear: write them as 2010-12-05, or "
        "leave the column out (drop)"
    ),
    "dates, unread": (
        "its values, such as {first!r}, look like dates with names of months, in several forms, or of days that "
        "do not exist: write them as 2010-12-05, or leave the column out (drop)"
    ),
    "amounts": "its values look like numbers with a unit, such as {first!r}: write plain numbers",
}
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
        for option in ("only", "drop", "numbers", "categories", "dates"):
            given = getattr(self, option)
            if isinstance(given, str):
                object.__setattr__(self, option, (given,))
            elif given is None and option == "only":
                continue
            elif not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
                raise TypeError(f"{option} must be the name of a column, or a list of names, got {given!r}")
        for name in ("min_count", "max_categories"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {number!r}")
        with_kind = [*self.numbers, *self.categories, *self.dates]
        if twice := [name for name in with_kind if with_kind.count(name) > 1]:
            raise ValueError(
                f"column {twice[0]!r} is given two kinds: numbers, categories and dates exclude each other"
            )
        if both := set(self.drop) & {*with_kind, *(self.only or ())}:
            raise ValueError(f"column {min(both)!r} is both asked for and left out (drop)")

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

    def choose(self, available: Sequence[str], reserved: Sequence[str]) -> list[str]:
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
        named = [*(self.only or ()), *self.kinds()]
        for name in (*(self.only or ()), *self.drop, *self.kinds()):
            if name not in available:
                raise ValueError(f"no column {name!r}{did_you_mean(name, available)}")
        for name in named:
            if name in reserved:
                raise ValueError(f"column {name!r} is the bag, the label or the weight, which cannot be a feature")
        wanted = available if self.only is None else named
        return [name for name in available if name in wanted and name not in {*self.drop, *reserved}]


class LeftOut(Exception):  # noqa: N818, it is no error
    """An uninformative column, and why it is."""


class Choice(NamedTuple):
    """The encoder of a column, and what a user should know of how it is read, if that is not obvious."""

    encoder: ColumnEncoder
    note: str


def choose_encoder(summary: ColumnSummary, columns: Columns) -> Choice:
    """Choose how to encode a column; raises :class:`LeftOut` if there is nothing to learn from it."""
    if summary.n_missing == summary.n_rows:
        raise no_value(summary.name)
    kind, note = summary.kind, ""
    if kind == "number" and "%" in str(summary.first):
        note = f"is read as numbers, {summary.first} as a share"
    if kind is None:
        if not summary.n_missing and summary.has_one_value():
            raise LeftOut(f"all rows have the same value, {summary.first!r}")
        if summary.holds == "text":
            kind, note = _infer_kind_of_text(summary, columns.max_categories)
        elif summary.holds == "time":
            kind = "date"
        else:
            kind = "number"
            close = summary.high - summary.low < 2 * summary.n_rows or _ID_NAME.search(summary.name)
            may_be_id = pa.types.is_integer(summary.type) and summary.n_rows >= _FEW and not summary.n_missing
            if may_be_id and close and len(np.unique(summary.sample)) == len(summary.sample):
                raise LeftOut("every row has a different number, as ids do")
            if pa.types.is_integer(summary.type) and _look_like_dates(summary.sample):
                date = int(summary.sample[0])
                note = f"is read as numbers, though {date} looks like a date: write dates as 2010-12-05"
            if (code := _missing_code(summary.sample)) is not None:
                note = (
                    f"has the value {code:g} in some rows, far from all others: if it means that nothing is "
                    "known, leave these cells empty"
                )
    return Choice(ENCODERS[kind].from_summary(summary, columns.min_count, columns.max_categories), note)


def _look_like_dates(numbers: Array) -> bool:
    """Whether whole numbers are all like 20101205.

    >>> _look_like_dates(np.array([20101205, 19991231])), _look_like_dates(np.array([20101205, 20101300]))
    (True, False)
    """
    years, months, days = numbers // 10_000, numbers // 100 % 100, numbers % 100
    in_limits = (years >= 1800) & (years < 2200) & (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)
    return len(numbers) > 1 and bool(in_limits.all())


def _missing_code(numbers: Array) -> float | None:
    """A code such as 99 or −999 that is further from the other numbers than these are from each other, if any.

    >>> ages = np.arange(18.0, 81)
    >>> _missing_code(np.append(ages, [-999, -999])), _missing_code(np.append(ages, [99, 99]))
    (-999.0, None)
    """
    for code in (numbers.min(), numbers.max()) if len(numbers) else ():
        if not re.fullmatch(r"-?99+", f"{code:.15g}"):
            continue
        others = numbers[numbers != code]
        is_repeated = 1 < len(numbers) - len(others) < len(numbers)
        if is_repeated and np.abs(others - code).min() > others.max() - others.min() > 0:
            return float(code)
    return None


def _infer_kind_of_text(summary: ColumnSummary, most: int) -> tuple[Kind, str]:
    """Find what a column of text is, and what to note of how it is read."""
    texts, numbers, there = list(summary.texts), summary.n_number_texts, summary.n_rows - summary.n_missing
    change = "; name it among the categories if that is wrong (categories)"
    if numbers == there:
        unusual = next((text for text in texts if re.search(r"[^\d.eE+\-\s]|\d\s+\d", text)), None)
        if unusual is None:
            return "number", ""
        number = as_numbers(summary.name, pa.chunked_array([[unusual]]))[0]
        return "number", f"is read as numbers, {unusual} as {number:.10g}{change}"
    form = find_text_form(texts)
    if form in ("dates, day first", "dates, slashed"):
        summary.read_dates()
        order = " with the day first" if form == "dates, day first" else ""
        return "date", f"is read as dates{order}, such as {texts[0]}{change}"
    n_different = len(texts) + summary.n_forgotten + bool(summary.n_missing)
    if numbers > there / 2 and not (form == "ranges" and n_different <= most):
        row, text = summary.not_a_number or (0, "")
        raise ValueError(
            f"column {summary.name!r}, row {row}: {quote_text(text)} is not a number, as {numbers} of the {there} "
            "values of this column are: correct it, or name the column among the categories (categories)"
        )
    why = _LOOKS_LIKE.get(form, "").format(first=texts[0])
    if there >= _FEW and n_different > there / 2:
        raise LeftOut(why or "nearly every row has a different text, as names and ids do")
    if form == "ranges":
        return "category", _RANGES
    if not why and numbers >= there / _MANY_NUMBERS and n_different > _FEW_VALUES:
        text = "" if summary.not_a_number is None else summary.not_a_number[1]
        why = f"{numbers} of its {there} values are numbers, but {quote_text(text)} is not"
    return "category", f"is used as categories, though {why}" if why else ""


MISSING = ""  # the value of a row that has none


@dataclass(frozen=True)
class ValueEncoder:
    """The position of each row's value among the known values of each column.

    Attributes
    ----------
    values : dict
        From each column to the tuple of its values, as texts.

    Examples
    --------
    >>> from llpgan.tables import open_rows
    >>> ValueEncoder({"sex": ("f", "m")}).encode(open_rows({"sex": ["m", "f", "x"]}))
    array([[ 1],
           [ 0],
           [-1]])
    """

    values: dict[str, tuple[str, ...]]

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.values)

    @property
    def positions(self) -> dict[str, list[int]]:
        """Each column stands for itself."""
        return {name: [place] for place, name in enumerate(self.values)}

    @property
    def notes(self) -> list[str]:
        """No column is left out."""
        return []

    @property
    def text_columns(self) -> list[str]:
        """Columns with a value such as 01 or 1e3, which would be another one if it were read as a number."""
        return [name for name, known in self.values.items() if not all(map(_is_plain, known))]

    def encode(self, rows: Rows) -> NDArray[np.int64]:
        """Encode rows.

        Parameters
        ----------
        rows : Rows
            The rows, which have the columns.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            The positions, and −1 for a value that is not known.
        """
        found = np.full((len(rows), len(self.values)), -1, dtype=np.int64)
        for place, (name, known) in enumerate(self.values.items()):
            texts, index = np.unique(value_texts(rows, name), return_inverse=True)
            position = {value: i for i, value in enumerate(known)}
            found[:, place] = np.array([position.get(text, -1) for text in texts.tolist()], dtype=np.int64)[index]
        return found


def value_texts(rows: Rows, name: str) -> NDArray[np.str_]:
    """A categorical column as texts; a missing value is an empty one, and fractional numbers are refused."""
    column = plain_values(rows.column(name))
    if pa.types.is_floating(column.type):
        whole = pc.equal(column, pc.floor(column))
        if not pc.all(whole, min_count=0).as_py():
            raise ValueError(f"{rows.name}: column {name!r} holds fractional numbers: put them into bins first")
        column = pc.if_else(pc.is_nan(column), None, column).cast(pa.int64())
    return np.asarray(pc.fill_null(column.cast(pa.string()), MISSING).to_numpy(), dtype=str)


def _is_plain(value: str) -> bool:
    """Whether a value is the same text if it is read as a number and written again, or is none.

    >>> [_is_plain(value) for value in ("7", "07", "1e3", "nurse", "")]
    [True, False, False, True, True]
    """
    try:
        return str(int(float(value))) == value
    except (ValueError, OverflowError):
        return True


_MOST_NAMED = 5  # columns that a message names
_ROWS_AT_ONCE = 2**14  # so that the rows being written stay in the processor's cache


@dataclass(frozen=True)
class TableEncoder:
    """The encoder of tables: standardized numbers, one column per category, and dates as days.

    Attributes
    ----------
    columns : tuple of ColumnEncoder
        The encoder of each column.
    left_out : mapping
        The columns that are left out, with the reason.
    categories_noted : tuple of str
        The columns that are read as categories because some of their values are ranges.
    readings : mapping
        The columns whose values are not written as numbers or dates usually are, with what they are read as.

    Examples
    --------
    >>> from llpgan.tables import open_rows
    >>> people = {"age": [20, 60, None], "city": ["Rome", "Oslo", "Rome"], "note": ["-", "-", "-"]}
    >>> encoder = TableEncoder.learn(open_rows(people).table, Columns(min_count=1))
    >>> encoder.features
    ('age', 'age=(missing)', 'city=Oslo', 'city=Rome')
    >>> encoder.left_out
    {'note': "all rows have the same value, '-'"}
    >>> encoder.encode(open_rows({"city": ["Oslo", "Bonn"], "age": [40, 20]})).round(2)
    array([[ 0.  ,  0.  ,  1.  ,  0.  ],
           [-1.22,  0.  ,  0.  ,  0.  ]], dtype=float32)
    """

    columns: tuple[ColumnEncoder, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    categories_noted: tuple[str, ...] = ()
    readings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def learn(cls, table: pa.Table, columns: Columns | None = None, reserved: Sequence[str] = ()) -> Self:
        """Learn an encoder from the training rows.

        Parameters
        ----------
        table : pyarrow.Table
            The training rows.
        columns : Columns, default=None
            Which columns are features, and of what kind. None means that it is inferred from their values.
        reserved : sequence of str, default=()
            The columns of bags and labels, which are never features.

        Returns
        -------
        TableEncoder
            The encoder.
        """
        columns = columns or Columns()
        names = columns.choose(table.column_names, reserved)
        kinds = columns.kinds()
        return cls.from_summaries(
            [ColumnSummary.from_column(name, table[name], kinds.get(name)) for name in names], columns
        )

    @classmethod
    def from_summaries(
        cls, summaries: Iterable[ColumnSummary], columns: Columns, texts: Sequence[ColumnEncoder] = ()
    ) -> Self:
        """Make an encoder from summaries of the columns.

        Parameters
        ----------
        summaries : iterable of ColumnSummary
            The summaries of the columns to learn from.
        columns : Columns
            The kinds of the columns, and the limits on categories.
        texts : sequence of ColumnEncoder, default=()
            The encoders of columns of texts, which come last.

        Returns
        -------
        TableEncoder
            The encoder.

        Raises
        ------
        ValueError
            If no column is left to learn from.
        """
        encoders: list[ColumnEncoder] = []
        left_out, noted, readings = {}, [], {}
        for column in summaries:
            try:
                encoder, note = choose_encoder(column, columns)
            except LeftOut as reason:
                left_out[column.name] = str(reason)
                continue
            encoders.append(encoder)
            if note == _RANGES:
                noted.append(column.name)
            elif note:
                readings[column.name] = note
        encoders += texts
        if not encoders:
            why = "; ".join(f"{name!r} is left out, {reason}" for name, reason in left_out.items())
            raise ValueError(f"no column is left to learn from: {why or 'all are of bags or labels'}")
        return cls(tuple(encoders), left_out, tuple(noted), readings)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return tuple(name for column in self.columns for name in column.features)

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        """The positions of the encoded columns of each column of the table."""
        stops = np.cumsum([len(column.features) for column in self.columns]).tolist()
        starts = [0, *stops[:-1]]
        return {each.name: list(range(*ends)) for each, *ends in zip(self.columns, starts, stops, strict=True)}

    @property
    def notes(self) -> list[str]:
        """Messages about columns that are left out, and about columns whose kind is not obvious."""
        return [
            *(f"column {name!r} is left out: {reason}" for name, reason in self.left_out.items()),
            *(f"column {name!r} {_RANGES}" for name in self.categories_noted),
            *(f"column {name!r} {reading}" for name, reading in self.readings.items()),
        ]

    @property
    def text_columns(self) -> list[str]:
        """The columns that must be read as text, whatever they look like."""
        return [column.name for column in self.columns if column.is_read_as_text]

    def encode(self, rows: Rows) -> NDArray[np.float32]:
        """Encode rows.

        Parameters
        ----------
        rows : Rows
            The rows. Their columns may be in any order.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The instances, one per row.

        Raises
        ------
        ValueError
            If a column of the training rows is missing, or a value cannot be encoded.
        """
        there = rows.table.column_names
        if rows.array is not None:
            names = ", ".join(repr(column.name) for column in self.columns[:_MOST_NAMED])
            raise ValueError(
                f"{rows.name} has columns without names, but the model was trained on a table with columns {names}"
                f"{' and more' if len(self.columns) > _MOST_NAMED else ''}: give a frame, a dict of columns or a "
                f"file with these; instances that are encoded already go to predict_encoded"
            )
        if absent := [column.name for column in self.columns if column.name not in there]:
            raise ValueError(
                f"{rows.name} has no column {', '.join(map(repr, absent))}, which the model was trained on"
                f"{did_you_mean(absent[0], there)}"
            )
        self._note_other_forms(rows)
        instances = np.zeros((len(rows), len(self.features)), dtype=np.float32)
        places = [slice(found[0], found[-1] + 1) for found in self.positions.values()]
        done = 0
        for part in rows.parts(_ROWS_AT_ONCE):
            with naming_source(rows.name):
                for column, place in zip(self.columns, places, strict=True):
                    try:
                        column.write(part[column.name], instances[done : done + len(part), place])
                    except RowError as error:
                        raise error.at(rows.number(done + error.row)) from None
            done += len(part)
        if rows.keep:  # else they are rows of the training, and gone
            for column, place in zip(self.columns, places, strict=True):
                column.note_other_values(rows, instances[:, place])
        return instances

    def _note_other_forms(self, rows: Rows) -> None:
        """Note columns of numbers without any, and percentages where the training had other numbers."""
        for name in (column.name for column in self.columns if isinstance(column, Number)):
            values = rows.table[name]
            if len(values) > 1 and values.null_count == len(values):
                warn_user(
                    f"{rows.name}: column {name!r} has no value in any row: each counts as the training's median"
                )
                continue
            is_text = value_type(values) == "text"
            has_percent = is_text and pc.any(pc.match_substring(plain_values(values), "%")).as_py()
            if bool(has_percent) != ("%" in self.readings.get(name, "")):
                here, there = ("percentages", "numbers") if has_percent else ("numbers", "percentages")
                warn_user(
                    f"{rows.name}: column {name!r} has {here}, but had {there} in the training: 37 % is 0.37"
                )
