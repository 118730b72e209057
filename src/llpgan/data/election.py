"""The election of 2016: respondents of a survey, and the official results of the states."""

from __future__ import annotations

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
    """A real problem of learning from label proportions, with the hidden truth.

    Attributes
    ----------
    bags : Bags
        The voters by state, with the *official* proportions of the classes in the state.
    people : pyarrow.Table
        The voters, with their state and demography but without their vote.
    votes : ndarray of shape (n_samples,)
        The reported vote of each voter, "other" or "trump", for evaluation only.
    """

    bags: Bags
    people: pa.Table
    votes: NDArray[np.str_]


def load_election() -> Election:
    """Load the presidential election of 2016: 44,932 voters of a survey, and the official results of 51 states.

    The voters come from the Cooperative Congressional Election Study. The official results are another source.

    Returns
    -------
    Election
        The bags, the table of voters, and their votes.

    Examples
    --------
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
