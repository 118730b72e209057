"""Shares of groups in the election of 2016: from results of 51 states to the vote of each group of 44,932 people.

Rows go to ``results/election_groups.jsonl``, their table to ``results/election_groups.md``; rows that are there
already are not run again. The votes of single people judge and choose nothing.
"""

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan import BagLogistic, Bags, Columns
from llpgan.data import datasets
from llpgan.ecological.counts import clipped_rates
from llpgan.ecological.model_shares import estimate_row_shares, group_rows
from llpgan.tables import open_rows

POLITICS = ("ideology", "party_id")
FEATURES = {"all": (), "demography": POLITICS}
RESULTS_OF_STATES = ("official", "respondents")
GROUPS = (
    "race",
    "college",
    "race,college",
    "female",
    "age",
    "family_income",
    "born_again",
    "religion_importance",
    "church_attendance",
    "prayer_frequency",
    "ideology",
    "party_id",
)
_LARGE, _YEARS = 0.02, 15  # of all people: the groups that are judged; ages are taken together


def run() -> list[Row]:
    cells = product(FEATURES, RESULTS_OF_STATES, GROUPS)
    path = RESULTS / "election_groups.jsonl"
    rows = measure_rows(path, ("features", "results", "by"), cells, measure)
    write_whole(RESULTS / "election_groups.md", page(rows))
    return summary(rows)


def measure(features: str, results: str, by: str) -> Row:
    """Mean errors of the share of Trump's voters over groups, and how many intervals hold the truth."""
    bags, probabilities, people, voted = predict_people(features, results)
    index, groups = group_rows(open_rows(people), by.split(","))
    shares = estimate_row_shares(bags, probabilities, index, groups)
    sizes, place = shares.sizes, shares.outcomes.index("trump")
    truth, unmatched = (np.bincount(index, values) / sizes for values in (voted, probabilities[:, place]))
    large = sizes > _LARGE * sizes.sum()
    assert shares.intervals is not None
    low, high = (ends[:, place] for ends in shares.intervals)

    def error(found: NDArray[Any]) -> float:
        return float(np.abs(found - truth)[large].mean())

    return {
        "groups": int(large.sum()),
        "error": error(shares.shares[:, place]),
        "unmatched": error(unmatched),
        "goodman": error(clipped_rates(shares.goodman)[:, place]),
        "held": int(((low <= truth) & (truth <= high))[large].sum()),
        "width": float((high - low)[large].mean()),
    }


@cache
def predict_people(features: str, results: str) -> tuple[Bags, NDArray[Any], pa.Table, NDArray[Any]]:
    """Bags, predictions, people with coarse ages, and who voted for Trump."""
    known = datasets.load_election()
    columns, people = Columns(drop=list(FEATURES[features])), known.people
    if results == "official":
        bags = Bags.from_tables(people, datasets.RESULTS, bag=datasets.BAG, columns=columns)
    else:
        labelled = people.append_column("vote", pa.array(known.votes))
        bags = Bags.from_tables(labelled, bag=datasets.BAG, label="vote", columns=columns)
    ages = (people["age"].to_numpy() // _YEARS * _YEARS).astype(np.int64)
    coarse = people.set_column(people.column_names.index("age"), "age", pa.array(ages))
    probabilities = BagLogistic(random_state=0).fit_bags(bags).predict_proba(bags)
    return bags, probabilities, coarse, known.votes == "trump"


def summary(rows: list[Row]) -> list[Row]:
    """One row for all groupings of each setting, and one for each grouping."""
    found = []
    for features, results in product(FEATURES, RESULTS_OF_STATES):
        part = [row for row in rows if (row["features"], row["results"]) == (features, results)]
        found += [_summarize(features, results, "all of these", part)] if part else []
        found += [_summarize(features, results, row["by"], [row]) for row in part]
    return found


def _summarize(features: str, results: str, by: str, rows: Sequence[Row]) -> Row:
    groups = [row["groups"] for row in rows]

    def mean(figure: str) -> str:
        return f"{np.average([row[figure] for row in rows], weights=groups):.3f}"

    return {
        "features": features,
        "results": results,
        "by": by,
        "groups": sum(groups),
        "error": mean("error"),
        "error of predictions": mean("unmatched"),
        "error of Goodman": mean("goodman"),
        "intervals that hold the truth (%)": f"{100 * sum(row['held'] for row in rows) / sum(groups):.0f}",
        "mean width": mean("width"),
    }


def page(rows: list[Row]) -> str:
    """The table with its explanation."""
    about = (
        "The share of Trump's voters in each group of at least 2 % of the people, from the results of 51 states; "
        "made from `election_groups.jsonl`. Error: mean of |estimate − share of the group's respondents|, after "
        "predictions of `BagLogistic` were matched to each state's result; beside it that of the predictions as "
        "they are, and of Goodman's regression (clipped). Results: the official ones, which are of all voters and "
        "not of the respondents, of whom fewer voted for Trump; or those of the respondents. With official "
        "results, the difference between the two is a part of every error, and intervals do not include it. "
        "Features: all, or all but ideology and party; groups by these are then groups of which the model knows "
        "nothing.\n\n"
        "The prior scale is that of `new_zealand_settings.md`, the aggregation bias was 0.2; with the default, "
        "which is 0.3 now, intervals are slightly wider. Not all of the method was chosen without these "
        "data: to move the shares of groups to where the bags would have them was tried here and was worse, so "
        "intervals include that distance instead."
    )
    return as_markdown("Shares of groups in the election of 2016", about, summary(rows))
