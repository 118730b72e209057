"""Eight counties in one file, with known cells: each as a stratum, and all as if they were one district.

Simulated counties differ in what makes precincts behave as they do; real ones are sets of eight states of
Robinson's counties of 1930. Rows go to ``results/several_counties.jsonl``, their table to
``results/several_counties.md``; cases that are there already are not run again. ``LLPGAN_DATA`` must name a folder
that holds ``elections/``.
"""

import warnings
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.new_zealand import Table, inside, wrong_cells
from benchmarks.accuracy.robinson import read_counties
from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan.ecological import GroupCounts, shares_from_counts
from llpgan.ecological.cells import softmax

CASES = {
    "alike": "groups behave alike everywhere, up to chance",
    "counties differ": "each county has separate log odds, standard deviation 0.4",
    "composition": "all groups of a county vote more for the first outcome, the larger its first group",
    "contextual": "a group votes more for its own first choice, the larger its share of the precinct",
    "neighbours": "all groups of a precinct vote rather like the majority there",
    "turnout": "turnout differs between groups, counties and precincts, standard deviation 0.5 each",
    "states of 1930": "eight of Robinson's states: literacy of those born abroad and of natives",
}
REAL = "states of 1930"
SEEDS = range(10)
N_COUNTIES, N_GROUPS, N_OUTCOMES = 8, 3, 3
PRECINCTS = (212, 104)  # 104 are few enough for one district, so that only a comparison of halves can warn
ENOUGH = 8 / 9  # of the intervals of a file
WAYS = {"strata": None, "pooled": None, "narrow": 0.3}  # and their aggregation bias


def run() -> list[Row]:
    path = RESULTS / "several_counties.jsonl"
    cells: list[tuple[str, int | None, int]]
    cells = [(*cell, seed) for cell in product(CASES, PRECINCTS) if cell[0] != REAL for seed in SEEDS]
    cells += [(REAL, None, seed) for seed in SEEDS]
    rows = measure_rows(path, ("case", "precincts", "seed"), cells, measure)
    write_whole(RESULTS / "several_counties.md", page(rows))
    return summary(rows)


def measure(case: str, precincts: int | None, seed: int) -> Row:
    """The error and the intervals that hold the truth, with counties as strata and without."""
    rng = np.random.default_rng(seed)
    cells, county = draw_states(rng) if precincts is None else simulate(case, precincts, rng)
    truth = cells.sum(axis=0)
    row: Row = {"cells": truth.size}
    for name, bias in WAYS.items():
        strata = county.tolist() if name == "strata" else None
        counts = GroupCounts(cells.sum(axis=2), cells.sum(axis=1), strata=strata)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            shares = shares_from_counts(counts, aggregation_bias=bias)
        sizes = truth.sum(axis=1, keepdims=True)
        row[name] = {
            "error": round(wrong_cells(sizes * shares.shares, truth), 4),
            "held": int(inside(shares, truth / sizes).sum()),
            "warned": bool(caught),
        }
    return row


def simulate(case: str, n: int, rng: np.random.Generator) -> tuple[Table, NDArray[np.int64]]:
    """Draw the cells of the precincts of eight counties; the third outcome is not to vote."""
    county = np.arange(n) % N_COUNTIES
    centres = rng.dirichlet(np.full(N_GROUPS, 4.0), N_COUNTIES)
    shares = np.stack([rng.dirichlet(0.3 + 3.0 * centre) for centre in centres[county]])
    sizes = rng.lognormal(6.5, 0.6, n).astype(int) + 50
    groups = np.stack([rng.multinomial(size, share) for size, share in zip(sizes, shares, strict=True)])
    choices = rng.normal(0.0, 1.2, (N_GROUPS, N_OUTCOMES))
    logits = np.tile(choices, (n, 1, 1))
    logits += rng.normal(0.0, 0.2, (n, 1, N_OUTCOMES))
    if case == "counties differ":
        logits += rng.normal(0.0, 0.4, (N_COUNTIES, N_GROUPS, N_OUTCOMES))[county]
    elif case == "composition":
        logits[:, :, 0] += 3.0 * (centres[county, 0] - centres[:, 0].mean())[:, None]
    elif case == "contextual":
        first = np.arange(N_GROUPS), choices.argmax(axis=1)
        logits[:, *first] += 1.0 * (shares - shares.mean(axis=0))
    elif case == "neighbours":
        logits += 0.5 * ((shares - shares.mean(axis=0)) @ choices)[:, None, :]
    elif case == "turnout":
        apart = rng.normal(0.0, 0.5, (N_COUNTIES, N_GROUPS))[county] + rng.normal(0.0, 0.5, (n, 1))
        logits[:, :, 2] += apart
    return rng.multinomial(groups, softmax(logits)).astype(np.float64), county


def draw_states(rng: np.random.Generator) -> tuple[Table, NDArray[np.int64]]:
    """The cells of the counties of eight random states; each county counts the same."""
    cells, state = read_counties()
    chosen = np.isin(state, rng.choice(np.unique(state), N_COUNTIES, replace=False))
    return cells[chosen], state[chosen]


def summary(rows: list[Row]) -> list[Row]:
    """One row for each case and number of precincts."""
    found = []
    for case, precincts in dict.fromkeys((row["case"], row["precincts"]) for row in rows):
        part = [row for row in rows if (row["case"], row["precincts"]) == (case, precincts)]
        error = {way: f"{np.mean([row[way]['error'] for row in part]):.2f}" for way in ("strata", "pooled")}
        cells = sum(row["cells"] for row in part)
        held = {way: f"{100 * sum(row[way]['held'] for row in part) / cells:.0f}" for way in WAYS}
        enough = {way: [row[way]["held"] >= ENOUGH * row["cells"] for row in part] for way in WAYS}
        warned = [row["pooled"]["warned"] for row in part]
        found.append(
            {
                "case": case,
                "precincts": precincts or "counties of 1930",
                "files": len(part),
                "strata: error (%)": error["strata"],
                "held (%)": held["strata"],
                "files with 8 of 9": sum(enough["strata"]),
                "pooled: error (%)": error["pooled"],
                "pooled: held (%)": held["pooled"],
                "warned": sum(warned),
                "8 of 9 or warned": sum(map(max, warned, enough["pooled"])),
                "held if not widened (%)": held["narrow"],
            }
        )
    return found


def page(rows: list[Row]) -> str:
    """The table with its explanation."""
    cases = "\n".join(f"- {name}: {about}." for name, about in CASES.items())
    about = (
        f"Precincts in {N_COUNTIES} counties, {N_GROUPS} groups and {N_OUTCOMES} outcomes, the last of which is "
        f"not to vote; {len(SEEDS)} files of each kind, made from `several_counties.jsonl`. Error: people in the "
        f"wrong cell, in per cent. Held: 95 % intervals that hold the truth, in per cent. Counties are strata; "
        f"pooled: all precincts without strata, with the intervals that are given; *not widened*: with "
        f"`aggregation_bias=0.3`.\n\n{cases}"
    )
    return as_markdown("Eight counties in one file", about, summary(rows))
