"""A table of results, for the terminal, as Markdown and as CSV."""

import csv
import io
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.table import Table as TerminalTable


@dataclass(frozen=True)
class Table:
    """Words in rows and columns, and what they are."""

    title: str
    about: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def for_terminal(self) -> TerminalTable:
        """To print with rich; in a narrow terminal words go to a second line, and none is cut off.

        What the first column says again, it says once.
        """
        table = TerminalTable(title=self.title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for place, name in enumerate(self.columns):
            words = " ".join([name, *(row[place] for row in self.rows)]).split()
            table.add_column(name, min_width=max(map(len, words)), overflow="fold")
        said = ""
        for first, *others in self.rows:
            table.add_row("" if first == said else first, *others)
            said = first or said
        return table

    def as_markdown(self) -> str:
        """A page with the table.

        >>> print(Table("Errors", "In %.", ["method", "error"], [["DLLP", "1.2"]]).as_markdown())
        # Errors
        <BLANKLINE>
        In %.
        <BLANKLINE>
        | method | error |
        |---|---|
        | DLLP | 1.2 |
        <BLANKLINE>
        """
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        body = ("|---" * len(line) + "|" if line[0] == "---" else f"| {' | '.join(line)} |" for line in lines)
        return f"# {self.title}\n\n{self.about}\n\n" + "\n".join(body) + "\n"

    def as_csv(self) -> str:
        """With the columns' names in the first line."""
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows([self.columns, *self.rows])
        return file.getvalue()


def mean_and_spread(values: Sequence[float], digits: int = 2) -> str:
    """Mean, and the standard deviation in brackets where there is one.

    >>> mean_and_spread([1.0, 2.0]), mean_and_spread([3.0]), mean_and_spread([])
    ('1.50 (0.71)', '3.00', '')
    """
    if not values:
        return ""
    mean = f"{statistics.fmean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ({statistics.stdev(values):.{digits}f})"
