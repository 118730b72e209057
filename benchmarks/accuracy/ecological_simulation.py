"""Ecological inference on simulated units: how places differ, and whether that goes with who lives there.

Rows go to ``results/ecological_simulation.jsonl``, their table to ``results/ecological_simulation.md``; rows that
are there already are not run again.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.new_zealand import OTHERS, District, inside, wrong_cells
from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan.ecological import GroupCounts, shares_from_counts
from llpgan.ecological.cells import softmax

SHIFTS, LEANS, SEEDS = (0.2, 0.5, 1.0), (0.0, 0.25, 0.5, 1.0), range(10)
N_UNITS, N_GROUPS, N_OUTCOMES = 60, 4, 4


def run() -> list[Row]:
    path = RESULTS / "ecological_simulation.jsonl"
    rows = measure_rows(path, ("shift", "lean", "seed"), product(SHIFTS, LEANS, SEEDS), measure)
    write_whole(RESULTS / "ecological_simulation.md", page(rows))
    return summary(rows)


def measure(shift: float, lean: float, seed: int) -> Row:
    counts, truth = simulate(shift, lean, np.random.default_rng(seed))
    shares, sizes = shares_from_counts(counts), counts.groups.sum(axis=0)[:, None]
    tables = {"minimum_information": shares.shares} | {name: method(counts) for name, method in OTHERS.items()}
    return {
        "error": {name: wrong_cells(sizes * rates, truth) for name, rates in tables.items()},
        "held": float(inside(shares, truth / sizes).mean()),
    }


def simulate(shift: float, lean: float, rng: np.random.Generator) -> District:
    """Units of about 400 people, with outcomes drawn for each person.

    The logits of all groups of a unit are shifted by chance, with a standard deviation of ``shift``, and towards
    the logits of those who live there, by ``lean`` times the difference of the unit's mean logits from the mean.
    """
    shares = rng.dirichlet(np.full(N_GROUPS, 2.0), N_UNITS)
    sizes = rng.lognormal(6.0, 0.8, N_UNITS).astype(int) + 20
    groups = np.array([rng.multinomial(n, share) for n, share in zip(sizes, shares, strict=True)])
    logits = rng.normal(0.0, 1.5, (N_GROUPS, N_OUTCOMES))
    around = lean * (shares - shares.mean(axis=0)) @ logits
    shifts = around + rng.normal(0.0, shift, (N_UNITS, N_OUTCOMES))
    rates: NDArray[np.float64] = softmax(logits[None] + shifts[:, None, :])
    cells = rng.multinomial(groups, rates).astype(np.float64)
    return District(GroupCounts(cells.sum(axis=2), cells.sum(axis=1)), cells.sum(axis=0))


def summary(rows: list[Row]) -> list[Row]:
    """One row for each pair of settings."""
    found = []
    for shift, lean in product(SHIFTS, LEANS):
        part = [row for row in rows if (row["shift"], row["lean"]) == (shift, lean)]
        errors = {name: f"{np.mean([row['error'][name] for row in part]):.1f}" for name in part[0]["error"]}
        held = f"{100 * np.mean([row['held'] for row in part]):.0f}"
        found.append({"shift": shift, "lean": lean} | errors | {"intervals that hold the truth (%)": held})
    return found


def page(rows: list[Row]) -> str:
    """The table with its explanation."""
    about = (
        "People in the wrong cell, in per cent, mean over ten draws of 60 units with four groups and four "
        "outcomes; made from `ecological_simulation.jsonl`. Shift: the standard deviation by which the logits of "
        "all groups of a unit differ from those of other units by chance. Lean: how far they move towards the "
        "logits of those who live in the unit. Margins can hardly tell one from the other. Where units differ by "
        "chance alone (lean 0), minimum information makes groups too much alike, and the cross-entropy is better. "
        "Where they lean towards those who live there, the cross-entropy makes groups too different. On real "
        "units whose cells are known (`new_zealand.md`), minimum information errs less, as it does here where "
        "units lean."
    )
    return as_markdown("Ecological inference on simulated units", about, summary(rows))
