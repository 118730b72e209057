"""Robinson's counties of 1930, where one regression for all has the wrong sign: states as strata, or a covariate.

The counties give the share of white residents who were born abroad and the share who are illiterate; the share of
those who are both is known too. There are no population counts, so each county counts the same. Rows go to
``results/robinson.jsonl``, their table to ``results/robinson.md``. ``LLPGAN_DATA`` must name a folder that holds
``elections/``.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import RESULTS, Row, as_markdown, find_data_folder, measure_rows, write_whole
from llpgan.ecological import GroupCounts, shares_from_counts

WAYS = ("one estimate for all counties", "states as strata", "the state's share born abroad as covariate")
TRUTH = "truth"
PEOPLE = 1000.0  # of each county


def run() -> list[Row]:
    rows = measure_rows(RESULTS / "robinson.jsonl", ("way",), [(way,) for way in (TRUTH, *WAYS)], measure)
    write_whole(RESULTS / "robinson.md", page(rows))
    return summary(rows)


def measure(way: str) -> Row:
    """The shares of those who are illiterate, among those born abroad and among natives."""
    table = read_table()
    abroad, illiterate, state = table["X"], table["Y"], table["state"]
    if way == TRUTH:
        true = [np.average(table[name], weights=weight) for name, weight in (("W1", abroad), ("W2", 1 - abroad))]
        return {"shares": true, "difference": true[0] - true[1]}
    of_state = {code: float(abroad[state == code].mean()) for code in np.unique(state)}
    counts = GroupCounts(
        PEOPLE * np.column_stack([abroad, 1 - abroad]),
        PEOPLE * np.column_stack([illiterate, 1 - illiterate]),
        ["abroad", "native"],
        ["illiterate", "literate"],
        strata=state.astype(int).tolist() if way == WAYS[1] else None,
        covariates=np.array([of_state[code] for code in state]) if way == WAYS[2] else None,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        shares = shares_from_counts(counts)
    found = [shares.share(group, "illiterate") for group in ("abroad", "native")]
    apart = shares.difference("abroad", "native")["illiterate"]
    sensitivity = shares.sensitivity("abroad", "native", "illiterate")
    assert sensitivity is not None
    return {
        "shares": [one.value for one in found],
        "intervals": [[one.low, one.high] for one in found],
        "difference": apart.value,
        "difference_interval": [apart.low, apart.high],
        "goodman": shares.goodman[:, 0].tolist(),
        "warned": bool(caught),
        "critical_correlation": sensitivity.critical_correlation,
    }


def read_table() -> NDArray[Any]:
    """The columns of the counties, by name."""
    return np.genfromtxt(
        find_data_folder("elections") / "elections" / "foreign_born_literacy_1930.csv", delimiter=",", names=True
    )


def read_counties() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The cells of each county, of shape (n_counties, 2, 2), and its state."""
    table = read_table()
    groups = PEOPLE * np.column_stack([table["X"], 1 - table["X"]])
    illiterate = np.column_stack([table["W1"], table["W2"]])
    return groups[:, :, None] * np.stack([illiterate, 1 - illiterate], axis=2), table["state"].astype(np.int64)


def summary(rows: list[Row]) -> list[Row]:
    """One row for the truth, and one for each way."""
    found = []
    for row in rows:
        texts = [f"{share:.4f}" for share in row["shares"]]
        if "intervals" in row:
            texts = [
                f"{text} ({low:.4f} to {high:.4f})"
                for text, (low, high) in zip(texts, row["intervals"], strict=True)
            ]
        found.append(
            {
                "": row["way"],
                "illiterate, born abroad": texts[0],
                "illiterate, natives": texts[1],
                "difference": f"{row['difference']:+.4f}",
                "warning": "" if row.get("warned") is None else "yes" if row["warned"] else "no",
            }
        )
    return found


def page(rows: list[Row]) -> str:
    """The table with its explanation."""
    goodman = next(row["goodman"] for row in rows if "goodman" in row)
    about = (
        "Made from `robinson.jsonl`. Shares with 95 % intervals; each of 1,976 counties counts the same. "
        f"Goodman's regression over all counties has {goodman[0]:.4f} and {goodman[1]:.4f}: the wrong sign."
    )
    return as_markdown("Robinson's counties of 1930", about, summary(rows))
