"""The tables of ``docs/which_method.md``: what other benchmarks have measured of each method, side by side."""

import json
import re
import statistics
from collections.abc import Callable

from benchmarks.accuracy.methods_since import METHODS as DEEP_METHODS
from benchmarks.accuracy.methods_since import relative_time
from benchmarks.rows import RESULTS, Row, format_table, write_whole
from llpgan.methods import METHODS, docs_page

FOR_TABLES = ("AutoLLP", "BagLogistic", "BagBoosting")
ORDER = (*FOR_TABLES, *(name for name in METHODS if name not in FOR_TABLES))
PAGE = RESULTS.parent / "docs" / "which_method.md"
TABLE = re.compile(r"(?<=<!-- table: python -m benchmarks which_method -->\n\n)(?:\|.*\n)+")
DEEP_TABLE = re.compile(r"(?<=<!-- deep methods: python -m benchmarks which_method -->\n\n)(?:\|.*\n)+")


def run() -> list[Row]:
    """Write the tables into the page, from the rows as they are."""
    rows, deep = summary(), deep_summary()
    page = replace_table(PAGE.read_text(encoding="utf-8"), rows)
    write_whole(PAGE, replace_table(page, deep, DEEP_TABLE))
    return rows


def replace_table(page: str, rows: list[Row], table: re.Pattern[str] = TABLE) -> str:
    """The page with one of its tables replaced."""
    written, count = table.subn(lambda _: format_table(rows), page)
    if count != 1:
        raise ValueError(f"{PAGE.name} must have one table below its comment, and has {count}")
    return written


def summary() -> list[Row]:
    """One row per method; what was not measured is empty."""
    election, adult, ways = read_rows("election"), read_rows("adult"), read_rows("adult_llp")
    digits = read_rows("classical_digits")
    columns: dict[str, Callable[[str], str]] = {
        "election": lambda name: percent(election, method=name),
        "seconds": lambda name: seconds(election, method=name),
        "Adult, bags of 64": lambda name: percent(adult, method=name),
        "Adult, 28 kinds of bags": lambda name: percent(over_kinds(ways, name)),
        "digits, odd or even, bags of 16": lambda name: percent(digits, method=name, bag_size=16),
    }
    measured = {name: {title: figure(name) for title, figure in columns.items()} for name in ORDER}
    return [{"method": page_link(name)} | figures for name, figures in measured.items() if any(figures.values())]


def deep_summary() -> list[Row]:
    """One row per deep method or combination of parts, on bags of several kinds, with its time beside DLLP's."""
    rows = read_rows("methods_since")
    problems = {
        "digits, bags of 16": "digits-16",
        "64": "digits-64",
        "64, unequal": "digits-unequal",
        "Fashion-MNIST, 128": "fashion-mnist-128",
        "Adult, 64": "adult",
        "Adult, by job": "adult-by-job",
    }
    return [
        {"method": link_method(name)}
        | {title: percent(rows, method=name, problem=problem) for title, problem in problems.items()}
        | {"time": relative_time(rows, [row for row in rows if row["method"] == name])}
        for name in DEEP_METHODS
    ]


def over_kinds(rows: list[Row], method: str) -> list[Row]:
    """One row per kind of bags, its mean: some kinds were measured more often than others."""
    kinds = sorted({row["dataset"] for row in rows if row["method"] == method})
    of_kind = (
        [row["accuracy"] for row in rows if row["method"] == method and row["dataset"] == kind] for kind in kinds
    )
    return [{"accuracy": statistics.mean(accuracies)} for accuracies in of_kind]


def page_link(method: str) -> str:
    """The method's name, linked to its page, which has the name of its module."""
    return f"[{method}](methods/{docs_page(method)}.md)"


def link_method(method: str) -> str:
    """The name of a method, or of a combination, whose first word is one."""
    first, comma, rest = method.partition(",")
    return (page_link(first) if first in METHODS else f"[{first}](methods/dsq.md)") + comma + rest


def read_rows(name: str) -> list[Row]:
    """The rows of a benchmark; ``linear``, the default kernel, is left out of the names of methods."""
    rows = [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    return [row | {"method": row["method"].removesuffix(" linear")} for row in rows if "accuracy" in row]


def percent(rows: list[Row], **cell: object) -> str:
    """The mean accuracy in per cent."""
    values = [100 * row["accuracy"] for row in rows if cell.items() <= row.items()]
    return f"{statistics.mean(values):.1f}" if values else ""


def seconds(rows: list[Row], **cell: object) -> str:
    """The median time of a fit."""
    values = [row["seconds"] for row in rows if cell.items() <= row.items()]
    return f"{statistics.median(values):.3g}" if values else ""
