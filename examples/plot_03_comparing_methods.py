"""
Comparing methods without labels
================================

Hold out some bags, learn from the others, and compare the mean prediction of each held-out bag with its shares.
This distinguishes methods without a single label.
"""

# %%
# Breast cancer data of scikit-learn in random bags of eight, of which only the class shares are kept.
from sklearn.datasets import load_breast_cancer

from llpgan import Bags
from llpgan.data.bagging import random_bags

data = load_breast_cancer()
bag_of_row = random_bags(len(data.data), bag_size=8, seed=0)
names = data.target_names
bags = Bags.from_labels(data.data, names[data.target], bag_of_row)

# %%
# Each method learns from two thirds of the bags and is scored on the others, three times.
from llpgan import BagLogistic
from llpgan.evaluation.compare import compare

methods = ["MeanMap", "InvCal", "AlternatingMeanMap", BagLogistic(n_resamples=5)]
found = compare(bags, methods, cv=3, random_state=0)
found

# %%
# The bars are standard errors of the difference to the best method, bag by bag.
from llpgan.report import ComparisonDisplay

display = ComparisonDisplay.from_comparison(found)

# %%
# How often is the selected method right for single rows? These bags are random, so bags that it has not seen
# tell that, too. Train it on half of the bags and judge it by the others.
from llpgan.evaluation import judge_without_labels

half = bags.n_bags // 2
model = found.refit(bags.take_bags(range(half)))
unseen = bags.take_bags(range(half, bags.n_bags))
judge_without_labels(unseen, model.predict_proba(unseen))

# %%
# Here there are labels, so the estimate can be checked.
rows = bag_of_row >= half
print(
    f"accuracy by labels: {model.score(data.data[rows], names[data.target][rows]):.3f}"
)
