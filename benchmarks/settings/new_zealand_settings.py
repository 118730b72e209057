"""The two settings of ecological inference on the elections of 2002 and 2008, by which they were chosen.

Rows go to ``results/new_zealand_settings.jsonl``, their table to ``results/new_zealand_settings.md``; what is
there already is not run again. ``LLPGAN_DATA`` must name a folder that holds ``elections/``.
"""

import math
from dataclasses import replace
from itertools import product

import numpy as np

from benchmarks.accuracy.new_zealand import CHOSEN_ON, LARGE, districts, inside, wrong_cells
from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan.ecological import shares_from_counts

PRIOR_SCALES = (1.0, 1.5, 2.0, 3.0, math.inf)
BIASES = (0.0, 0.1, 0.2, 0.3)


def run() -> list[Row]:
    path = RESULTS / "new_zealand_settings.jsonl"
    cells = [(str(scale), year) for scale, year in product(PRIOR_SCALES, CHOSEN_ON)]
    rows = measure_rows(path, ("prior_scale", "election"), cells, measure)
    write_whole(RESULTS / "new_zealand_settings.md", page(rows))
    return summary(rows)


def measure(prior_scale: str, election: int) -> Row:
    """The mean error, and the share of intervals that hold the truth for each scale of the bias."""
    errors, held = [], {bias: np.zeros(0, dtype=bool) for bias in BIASES}
    for counts, truth in districts(election).values():
        sizes = counts.groups.sum(axis=0)[:, None]
        shares, with_bias = (
            shares_from_counts(counts, prior_scale=float(prior_scale), aggregation_bias=bias)
            for bias in (0.0, 1.0)
        )
        assert shares.covariance is not None and with_bias.covariance is not None
        of_bias = with_bias.covariance - shares.covariance  # grows with the square of the bias
        for bias in BIASES:
            wider = replace(shares, covariance=shares.covariance + bias**2 * of_bias)
            found = inside(wider, truth / sizes)[sizes[:, 0] > LARGE * sizes.sum()]
            held[bias] = np.append(held[bias], found)
        errors.append(wrong_cells(sizes * shares.shares, truth))
    return {
        "error": float(np.mean(errors)),
        "held": {str(bias): float(found.mean()) for bias, found in held.items()},
    }


def summary(rows: list[Row]) -> list[Row]:
    """One row for each scale of the prior and election."""
    return [
        {"prior scale": row["prior_scale"], "election": row["election"], "error (%)": f"{row['error']:.2f}"}
        | {f"held, bias {bias}": f"{100 * share:.1f}" for bias, share in row["held"].items()}
        for row in rows
    ]


def page(rows: list[Row]) -> str:
    """The table with its explanation."""
    about = (
        "Means over the districts of two elections of New Zealand whose cells are known; made from "
        "`new_zealand_settings.jsonl`. Error: ballots in the wrong cell. Held: how many 95 % intervals of cells "
        "of groups above 5 % hold the truth, in per cent, by the scale of the aggregation bias. The defaults are "
        "1.5 and 0.3. These elections chose them, so see `new_zealand.md` for elections that did not."
    )
    return as_markdown("Settings of ecological inference", about, summary(rows))
