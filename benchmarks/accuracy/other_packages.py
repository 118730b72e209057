"""Minimum information compared with PyEI's multinomial-Dirichlet model, on two districts of each election.

The districts of each election of New Zealand at the median and the third quartile of polling places; parties are
those that all districts of the election count. ``PYEI_PYTHON`` must name a Python in which PyEI is installed, and
``LLPGAN_DATA`` a folder that holds ``elections/``. Rows go to ``results/other_packages.jsonl``, their table to
``results/other_packages.md``; districts that are there already are not run again.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.accuracy import pyei_fit
from benchmarks.accuracy.new_zealand import CHOSEN_ON, CONFIRMED_ON, LARGE, OTHERS, Table, districts, wrong_cells
from benchmarks.accuracy.new_zealand_strata import common_names, merge_cells
from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan.ecological import GroupCounts, shares_from_counts

QUANTILES = (0.5, 0.75)  # of the districts, by their number of polling places
NAMES = {"minimum_information": "`shares_from_counts`", "pyei": "PyEI, multinomial-Dirichlet"}
NAMES |= {"cross_entropy": "cross-entropy", "goodman": "Goodman's regression", "independence": "independence"}


def run() -> list[Row]:
    years = (*CHOSEN_ON, *CONFIRMED_ON)
    cells = [(str(year), district_at(year, quantile)) for quantile in QUANTILES for year in years]
    rows = measure_rows(RESULTS / "other_packages.jsonl", ("election", "district"), cells, measure)
    write_whole(RESULTS / "other_packages.md", page(rows))
    return summary(rows)


def district_at(year: int, quantile: float) -> str:
    """The district at a quantile of the numbers of units."""
    order = sorted(districts(year), key=lambda name: (districts(year)[name].counts.n_units, name))
    return order[int(quantile * len(order))]


def measure(election: str, district: str) -> Row:
    """The error of each method, its seconds of processor time, and how many of its intervals hold the truth."""
    year = int(election)
    groups, outcomes, truth = merge_cells(year, district, *common_names(year, sorted(districts(year))))
    counts, sizes = GroupCounts(groups, outcomes).occupied, truth.sum(axis=1, keepdims=True)
    large = sizes[:, 0] > LARGE * sizes.sum()
    row: Row = {"units": counts.n_units, "groups": truth.shape[0], "outcomes": truth.shape[1]}
    row["cells"] = int(large.sum() * truth.shape[1])

    def judge(shares: Table, seconds: float, intervals: tuple[Table, Table] | None) -> Row:
        found: Row = {"error": round(wrong_cells(sizes * shares, truth), 4), "seconds": round(seconds, 3)}
        if intervals is not None:
            low, high = intervals
            found["held"] = int(((low <= truth / sizes) & (truth / sizes <= high))[large].sum())
            found["width"] = round(float((high - low)[large].mean()), 4)
        return found

    started = time.process_time()
    shares = shares_from_counts(counts)
    row["minimum_information"] = judge(shares.shares, time.process_time() - started, shares.intervals)
    found = fit_pyei(counts)
    row["pyei"] = judge(
        np.array(found["shares"]), found["seconds"], (np.array(found["low"]), np.array(found["high"]))
    )
    for name, method in OTHERS.items():
        started = time.process_time()
        rates = method(counts)
        row[name] = judge(rates, time.process_time() - started, None)
    return row


def fit_pyei(counts: GroupCounts) -> Row:
    """The posterior means and intervals of PyEI, in a separate process."""
    python = os.environ.get("PYEI_PYTHON")
    if python is None:
        raise RuntimeError("PYEI_PYTHON should name a Python in which PyEI is installed")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        margins, shares = Path(folder) / "margins.npz", Path(folder) / "shares.json"
        np.savez(margins, groups=counts.groups, outcomes=counts.outcomes)
        command = [python, "-P", pyei_fit.__file__, str(margins), str(shares)]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        found: Row = json.loads(shares.read_text(encoding="utf-8"))
    return found


def summary(rows: list[Row]) -> list[Row]:
    """One row for each method."""
    found = []
    cells = sum(row["cells"] for row in rows)
    for method, name in NAMES.items():
        part = [row[method] for row in rows]
        has_intervals = "held" in part[0]
        found.append(
            {
                "method": name,
                "error (%)": f"{np.mean([one['error'] for one in part]):.2f}",
                "by district (%)": ", ".join(f"{one['error']:.1f}" for one in part),
                "cells": cells,
                "held (%)": f"{100 * sum(one['held'] for one in part) / cells:.0f}" if has_intervals else "",
                "width": f"{np.mean([one['width'] for one in part]):.3f}" if has_intervals else "",
                "seconds per district": f"{np.mean([one['seconds'] for one in part]):.2f}",
            }
        )
    return found


def page(rows: list[Row]) -> str:
    """The table with its explanation."""
    names = ", ".join(f"{row['district']} ({row['election']}, {row['units']} places)" for row in rows)
    about = (
        "Districts of each election of New Zealand at the median and, as far as measured, the third quartile of "
        "polling places, with the parties that all districts of the election count; made from "
        "`other_packages.jsonl`. Error: ballots "
        "in the wrong cell. Held and width: 95 % intervals of cells of groups above 5 % that hold the truth, and "
        f"their mean width. Seconds: processor time of one core. PyEI 1.1.4 has {pyei_fit.CHAINS} chains of "
        f"{pyei_fit.TUNE} and {pyei_fit.DRAWS} steps (its defaults are 4 of 1,500 and 1,000) and otherwise its "
        f"defaults.\n\n{names}."
    )
    return as_markdown("Minimum information and PyEI", about, summary(rows))
