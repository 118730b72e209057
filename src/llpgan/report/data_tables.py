"""Tables of a page: shown, sorted and searched in a browser, and downloaded as CSV."""

import csv
import io
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

MOST_ROWS = 2000  # that a page shows; the CSV has all


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    head : str
        Its name.
    values : sequence
        The value of each row, as the CSV has it.
    form : callable, default=str
        From a value to what the page shows.
    is_number : bool, default=True
        Whether it is sorted as numbers, and stands to the right.
    is_shown : bool, default=True
        Whether the page has it; the CSV always does.
    """

    head: str
    values: Sequence[Any]
    form: Callable[[Any], str] = str
    is_number: bool = True
    is_shown: bool = True


@dataclass(frozen=True)
class Cell:
    """What a page shows of one value, and what it is sorted by; nothing where it is sorted by what is shown."""

    text: str
    key: str
    is_number: bool


@dataclass(frozen=True)
class DataTable:
    """A table.

    Attributes
    ----------
    name : str
        Of the CSV file, without its ending.
    about : str
        What is in it: the table's caption.
    columns : tuple of Column
        All of the same length.
    """

    name: str
    about: str
    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.columns[0].values)

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns that a page shows."""
        return tuple(column for column in self.columns if column.is_shown)

    def rows(self) -> Iterator[list[Cell]]:
        """What a page shows: the first rows."""
        for row in range(min(len(self), MOST_ROWS)):
            yield [_cell(column, column.values[row]) for column in self.shown]

    def csv(self) -> str:
        r"""All rows and columns as CSV.

        Returns
        -------
        str

        Examples
        --------
        >>> DataTable("bags", "", (Column("bag", ["a, b"]), Column("error", [0.5]))).csv()
        'bag,error\r\n"a, b",0.5\r\n'
        """
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow([column.head for column in self.columns])
        writer.writerows(zip(*(column.values for column in self.columns), strict=True))
        return file.getvalue()

    @property
    def address(self) -> str:
        """An address that carries the CSV, so that a link can download it without a request or a script.

        It begins with the mark by which spreadsheets know UTF-8.
        """
        return "data:text/csv;charset=utf-8;base64," + b64encode(self.csv().encode("utf-8-sig")).decode()


def _cell(column: Column, value: Any) -> Cell:
    key = f"{value:.6g}" if column.is_number and isinstance(value, int | float) else ""
    return Cell("" if value is None else column.form(value), key, column.is_number)
