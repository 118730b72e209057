"""
Votes of single people from 51 election results
===============================================

The official results of 51 states say how many people voted for whom. A survey has 44,932 voters with their
state, age, religion and so on. From these two tables a model learns how single people voted.
"""

# %%
# There is one bag per state. ``votes`` is what people said. The model does not see it; it is used only at the end.
from llpgan import BagLogistic
from llpgan.data.datasets import load_election

election = load_election()
election.bags

# %%
# The model fits the mean prediction of each state to the result of the state.
model = BagLogistic(n_resamples=5, random_state=0).fit_bags(election.bags)

# %%
# The bag error needs no votes: it compares predicted with given shares. States far from the line differ from the
# others in something that no column shows.
from llpgan.report import ProportionDisplay

display = ProportionDisplay.from_estimator(model, election.bags, class_name="trump")

# %%
# The votes show how good the predictions for single people are. The commonest class would be right for 58.3 % of
# them.
from llpgan.evaluation import label_scores

scores = label_scores(
    election.votes, model.predict_proba(election.bags), model.classes_
)
print(f"accuracy {scores.accuracy}\nAUC      {scores.auc}")

# %%
# Probabilities can be trusted if predictions made with 80 % are right in 80 % of cases.
from llpgan.report import ReliabilityDisplay

display = ReliabilityDisplay.from_estimator(model, election.bags, election.votes)

# %%
# In which direction does a column move the predictions? ``model.report("report.html", election.bags)`` writes a
# page with all of this and more.
import matplotlib.pyplot as plt

from llpgan.evaluation import partial_dependence

positions = (
    election.bags.encoder.positions
)  # of each column of the table among those of the instances
columns = {name: positions[name] for name in ("age", "church_attendance")}
figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
for ax, effect in zip(
    axes, partial_dependence(model, election.bags, columns).values(), strict=True
):
    ax.plot(effect.values, effect.predicted[:, 1], "o-")
    ax.set(xlabel=effect.column, ylabel="mean predicted share of trump")
