"""The presidential election of 2016: the official results of 51 states, and 44,932 voters of a survey."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from llpgan.bags import Bags

FOLDER = Path(__file__).parent / "election2016"
PEOPLE, RESULTS = FOLDER / "respondents.csv.gz", FOLDER / "state_results.csv"
BAG, LABEL = "state", "voted_trump"


class Election(NamedTuple):
    """A real problem of label proportions: what is known, and the hidden truth.

    Attributes:
        bags: the voters by state, with the *official* share of each class in the state.
        people: the table of voters, with their state and demography but without their vote.
        votes: how each of them said to have voted, "other" or "trump": for evaluation alone.
    """

    bags: Bags
    people: pa.Table
    votes: NDArray[np.str_]


def load_election() -> Election:
    """The 2016 Cooperative Congressional Election Study, and each state's official result: another source.

    >>> election = load_election()
    >>> election.bags
    Bags(44932 instances of shape (25,), 51 bags of 71 to 4136, 2 classes)
    >>> election.votes[:3].tolist()
    ['trump', 'trump', 'other']
    """
    table = pa.csv.read_csv(PEOPLE)
    bags = Bags.from_tables(PEOPLE, RESULTS, bag=BAG, label=LABEL)
    votes = bags.classes[table[LABEL].to_numpy()]
    return Election(bags, table.drop_columns([LABEL]), votes)
