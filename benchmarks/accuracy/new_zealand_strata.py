"""Shares over several districts of New Zealand: each district as a stratum, and all their polling places as one.

In each of the four elections, 40 random sets of 1, 2, 4, 8, 16 and 35 districts and the set of all are drawn.
Groups are the parties that all districts of a set count, outcomes the parties of candidates in at least 80 % of
them; the rest is ``other``. Each district is fitted once for each choice of groups and outcomes, and sets add up
these fits, as `shares_from_counts` does with districts as strata. Some sets of two, four and eight districts are
estimated without strata too. The rule of adding up strata was selected on 2002 and 2008. Rows go to
``results/new_zealand_strata.jsonl``, their table to ``results/new_zealand_strata.md``; sets that are there already
are not run again.
"""

import re
import time
import warnings
from collections.abc import Sequence
from functools import cache

import numpy as np

from benchmarks.accuracy.new_zealand import CHOSEN_ON, CONFIRMED_ON, LARGE, Table, districts, inside, wrong_cells
from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan.ecological.cells import AGGREGATION_BIAS, CellFit, fit_margins
from llpgan.ecological.counts import GroupCounts
from llpgan.ecological.shares import GroupShares, assemble_shares, shares_from_counts

SIZES = (1, 2, 4, 8, 16, 35)
N_SETS, N_POOLED = 40, 3
POOLED_SIZES = (2, 4, 8)
ALL = 0  # the size that stands for all districts
COMMON = 0.8  # of the districts of a set must have a candidate of the party

Names = tuple[str, ...]


def run() -> list[Row]:
    years = (*CHOSEN_ON, *CONFIRMED_ON)
    cells = [(str(year), n, number) for year in years for n in SIZES for number in range(N_SETS)]
    cells += [(str(year), ALL, 0) for year in years]
    path = RESULTS / "new_zealand_strata.jsonl"
    rows = measure_rows(path, ("election", "districts", "set"), cells, measure)
    write_whole(RESULTS / "new_zealand_strata.md", page(rows))
    return summary(rows)


def measure(election: str, n: int, number: int) -> Row:
    """The error and the number of intervals that hold the truth, of one set of districts."""
    year = int(election)
    names = draw_districts(year, n, number)
    groups, outcomes = common_names(year, names)
    fits, truth = zip(*(fit_district(year, name, groups, outcomes) for name in names), strict=True)
    total = np.sum(truth, axis=0)
    nothing = np.full_like(total, np.nan)
    shares = assemble_shares(
        groups,
        outcomes,
        np.sum([fit.unit_cells.sum(axis=0) for fit in fits], axis=0),
        [fit.covariance for fit in fits],
        AGGREGATION_BIAS,
        (np.zeros_like(total), np.tile(total.sum(axis=1, keepdims=True), total.shape[1])),
        nothing,
    )
    row = {"strata": score_shares(shares, total)}
    if n in POOLED_SIZES and number < N_POOLED:
        started = time.perf_counter()
        parts = [merge_cells(year, name, groups, outcomes) for name in names]
        counts = GroupCounts(np.vstack([part[0] for part in parts]), np.vstack([part[1] for part in parts]))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pooled = shares_from_counts(counts)
        narrow = shares_from_counts(counts, aggregation_bias=AGGREGATION_BIAS)
        row["pooled"] = score_shares(pooled, total) | {
            "warned": bool(caught),
            "held_without_widening": score_shares(narrow, total)["held"],
            "divergence": pooled.divergence,
            "seconds": round(time.perf_counter() - started, 2),
        }
    return row


def score_shares(shares: GroupShares, truth: Table) -> Row:
    sizes = truth.sum(axis=1, keepdims=True)
    large = sizes[:, 0] > LARGE * sizes.sum()
    held = inside(shares, truth / sizes)[large]
    assert shares.intervals is not None
    width = (shares.intervals[1] - shares.intervals[0])[large]
    return {
        "error": round(wrong_cells(sizes * shares.shares, truth), 4),
        "cells": held.size,
        "held": int(held.sum()),
        "width": round(float(width.mean()), 4),
    }


def draw_districts(year: int, n: int, number: int) -> Names:
    names = sorted(districts(year))
    if n == ALL:
        return tuple(names)
    return tuple(sorted(np.random.default_rng([year, n, number]).choice(names, n, replace=False).tolist()))


def party(name: object) -> str:
    """The party of a candidate, or a party itself."""
    return re.sub(r".*\((.*)\)$", r"\1", str(name))


def common_names(year: int, names: Sequence[str]) -> tuple[Names, Names]:
    """The groups that all districts have, and the outcomes that most have, with ``other`` last."""
    sides = [
        [{party(name) for name in getattr(districts(year)[district].counts, side)} for district in names]
        for side in ("group_names", "outcome_names")
    ]
    found = []
    for side, least in zip(sides, (1.0, COMMON), strict=True):
        every = sorted(set().union(*side) - {"other"})
        found.append((*(name for name in every if np.mean([name in part for part in side]) >= least), "other"))
    return found[0], found[1]


@cache
def merge_cells(year: int, district: str, groups: Names, outcomes: Names) -> tuple[Table, Table, Table]:
    """The margins and the true cells of a district, with these groups and outcomes alone."""
    counts, truth = districts(year)[district]
    sides = []
    for given, wanted in ((counts.group_names, groups), (counts.outcome_names, outcomes)):
        names = [party(name) for name in given or ()]
        place = [wanted.index(name if name in wanted else "other") for name in names]
        sides.append(np.eye(len(wanted))[place])
    return counts.groups @ sides[0], counts.outcomes @ sides[1], sides[0].T @ truth @ sides[1]


@cache
def fit_district(year: int, district: str, groups: Names, outcomes: Names) -> tuple[CellFit, Table]:
    members, results, truth = merge_cells(year, district, groups, outcomes)
    return fit_margins(members, results), truth


def summary(rows: list[Row]) -> list[Row]:
    """One row for each number of districts."""
    found = []
    for n in (*SIZES, ALL):
        part = [row for row in rows if row["districts"] == n]
        if not part:
            continue
        pooled = [row["pooled"] for row in part if "pooled" in row]
        row: Row = {"districts": n or "all", "sets": len(part)}
        for name, years in (("2002, 2008", CHOSEN_ON), ("2011, 2014", CONFIRMED_ON)):
            of_years = [row["strata"] for row in part if int(row["election"]) in years]
            row |= {
                f"error (%), {name}": mean([one["error"] for one in of_years]),
                f"held (%), {name}": coverage(of_years),
            }
        row["held (%), all"] = coverage([row["strata"] for row in part])
        row["width"] = f"{np.mean([row['strata']['width'] for row in part]):.3f}"
        row["pooled: error (%)"] = mean([one["error"] for one in pooled]) if pooled else ""
        row["held (%)"] = coverage(pooled) if pooled else ""
        row["warned (%)"] = f"{100 * np.mean([one['warned'] for one in pooled]):.0f}" if pooled else ""
        quiet = [one for one in pooled if not one["warned"]]
        row["held without a warning (%)"] = coverage(quiet) if quiet else ""
        row["held if not widened (%)"] = coverage(pooled, "held_without_widening") if pooled else ""
        found.append(row)
    return found


def mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.2f}" if len(values) else ""


def coverage(rows: Sequence[Row], held: str = "held") -> str:
    return f"{100 * sum(row[held] for row in rows) / sum(row['cells'] for row in rows):.1f}" if rows else ""


def page(rows: list[Row]) -> str:
    """The table with its explanation."""
    about = (
        "Random sets of districts of New Zealand, 40 of each size in each of four elections, and all "
        "districts together; made from `new_zealand_strata.jsonl`. Error: ballots in the wrong cell of the set's "
        "total, in per cent. Held: how many 95 % intervals of cells of groups above 5 % hold the truth. Width: "
        "the mean width of these intervals. Districts are strata, except in the columns from *pooled* on: there "
        "all polling places are given without strata (three sets of each size and election), which gives a "
        "warning and wide intervals if the library notices.\n\n"
        "The rule by which strata are added up and the limits of the warning were selected on 2002 and 2008."
    )
    return as_markdown("Shares over several districts", about, summary(rows))
