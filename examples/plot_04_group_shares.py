"""
How did each group vote?
========================

The share of each class in groups that nobody counted, from two kinds of data: counts of precincts, and rows of
people with a model.
"""

# %%
# From counts
# -----------
# One row per precinct: how many people of each group live there, and how many votes each candidate got. These
# counts are drawn from known rates, so that the estimates can be compared with the truth.
import numpy as np

from llpgan.ecological import GroupCounts, shares_from_counts

rng = np.random.default_rng(0)
rates = {"young": 0.70, "old": 0.35}  # the share of each group that votes for Lee
young, old = rng.integers(50, 800, size=(2, 60))
lee = rng.binomial(young, rates["young"]) + rng.binomial(old, rates["old"])
table = {
    "precinct": [f"P{i:02}" for i in range(60)],
    "young": young,
    "old": old,
    "lee": lee,
    "park": young + old - lee,
}
counts = GroupCounts.from_table(
    table, unit="precinct", groups=["young", "old"], outcomes=["lee", "park"]
)
shares = shares_from_counts(counts)
shares

# %%
from llpgan.report import GroupSharesDisplay

display = GroupSharesDisplay.from_shares(shares, classes=["lee"])
for rate in rates.values():
    display.ax_.axvline(rate, color="gray", linestyle=":")  # the truth

# %%
# From rows and a model
# ---------------------
# The election of 2016: the vote of people with and without a college degree, from the results of states alone.
from llpgan import BagLogistic
from llpgan.data.datasets import load_election
from llpgan.ecological import shares_by

election = load_election()
model = BagLogistic(n_resamples=5, random_state=0).fit_bags(election.bags)
college = np.where(election.people["college"].to_numpy() == 1, "college", "no college")
by_degree = shares_by(model, election.bags, college)
by_degree

# %%
# What people of the survey said. Intervals are about these people, weighted so that each state has its official
# result.
said = election.votes == "trump"
for group in ("college", "no college"):
    print(f"{group}: {said[college == group].mean():.3f}")
