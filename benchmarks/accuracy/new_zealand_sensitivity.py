"""How strongly places behaved as those who live there, in the 139 districts of New Zealand of 2002 and 2008.

For each pair of groups and outcome, the correlation that explains the error of the estimated difference; and how
many intervals with the default aggregation bias hold the truth. Rows go to
``results/new_zealand_sensitivity.jsonl``, their table to ``results/new_zealand_sensitivity.md``; districts that
are there already are not run again.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.new_zealand import CHOSEN_ON, LARGE, Table, districts, inside, wrong_cells
from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan.ecological import GroupShares, shares_from_counts
from llpgan.ecological.cells import AGGREGATION_BIAS


def run() -> list[Row]:
    cells = [(str(year), name) for year in CHOSEN_ON for name in districts(year)]
    path = RESULTS / "new_zealand_sensitivity.jsonl"
    rows = measure_rows(path, ("election", "district"), cells, measure)
    write_whole(RESULTS / "new_zealand_sensitivity.md", page(rows))
    return summary(rows)


def measure(election: str, district: str) -> Row:
    """The error, the intervals that hold the truth, and the correlations that explain errors of differences."""
    counts, truth = districts(int(election))[district]
    shares = shares_from_counts(counts, aggregation_bias=AGGREGATION_BIAS)
    sizes = counts.groups.sum(axis=0)[:, None]
    large = sizes[:, 0] > LARGE * sizes.sum()
    return {
        "error": round(wrong_cells(sizes * shares.shares, truth), 4),
        "cells": int(large.sum() * truth.shape[1]),
        "held": int(inside(shares, truth / sizes)[large].sum()),
        "correlations": find_correlations(shares, truth, np.flatnonzero(large)),
    }


def find_correlations(shares: GroupShares, truth: Table, groups: NDArray[np.int64]) -> list[float]:
    """For each pair of groups and outcome, the correlation that explains the error of the difference."""
    true_shares = truth / truth.sum(axis=1, keepdims=True)
    found = []
    for one, other in combinations(groups.tolist(), 2):
        for c, outcome in enumerate(shares.outcomes):
            apart = shares.sensitivity(shares.groups[one], shares.groups[other], outcome)
            assert apart is not None
            error = abs(apart.difference - (true_shares[one, c] - true_shares[other, c]))
            found.append(round(float(error / np.hypot(error, apart.reach)), 3) if error > 0 else 0.0)
    return found


def summary(rows: list[Row]) -> list[Row]:
    """One row for each election, and one for both."""
    parts = [(str(year), [row for row in rows if row["election"] == str(year)]) for year in CHOSEN_ON]
    found = []
    for name, part in [*parts, ("both", rows)]:
        correlations = [r for row in part for r in row["correlations"]]
        found.append(
            {
                "election": name,
                "districts": len(part),
                "error (%)": f"{np.mean([row['error'] for row in part]):.2f}",
                "held (%)": f"{100 * sum(row['held'] for row in part) / sum(row['cells'] for row in part):.1f}",
                "differences": len(correlations),
                "correlation, median": f"{np.median(correlations):.2f}",
                "correlation, 95 % below": f"{np.quantile(correlations, 0.95):.2f}",
            }
        )
    return found


def page(rows: list[Row]) -> str:
    """The table with its explanation."""
    about = (
        "Districts of New Zealand in 2002 and 2008, each estimated by itself; made from "
        "`new_zealand_sensitivity.jsonl`. Held: 95 % intervals of cells of groups above 5 % that hold the truth, "
        "with the default aggregation bias of 0.3. Correlation: for each pair of groups above 5 % and outcome, "
        "the correlation between what polling places do and who votes there that explains the error of the "
        "difference (`GroupShares.sensitivity`). These two elections chose the method's settings."
    )
    return as_markdown("How strong confounding is where the truth is known", about, summary(rows))
