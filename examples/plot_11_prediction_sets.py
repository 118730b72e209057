"""
Sets of classes that contain the right one
==========================================

A model that learned from proportions predicts sets of digits that contain the right one in 90 % of all cases. The
thresholds come from other bags: no label of an image is used.
"""

# %%
# Digits in bags of eight
# -----------------------
# A third of the images for training, a third to find the thresholds, and a third to look at.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from llpgan import Bags, BagLogistic

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
parts = np.array_split(order, 3)
train, held_out = (
    Bags.from_labels(X[rows], y[rows], groups=np.arange(len(rows)) // 8)
    for rows in parts[:2]
)
new, truth = X[parts[2]], y[parts[2]]

model = BagLogistic(n_resamples=20, random_state=0).fit_bags(train)
print(f"accuracy {model.score(new, truth):.3f}")

# %%
# Thresholds from held-out bags
# -----------------------------
# ``conformalize`` estimates the coverage of sets at each threshold from the proportions of the held-out bags.
model.conformalize(held_out)
sets = model.predict_set(new, coverage=0.95)
covered = sets[np.arange(len(new)), np.searchsorted(model.classes_, truth)]
print(
    f"coverage {covered.mean():.3f} with {sets.sum(axis=1).mean():.2f} digits per set"
)

# %%
# Hard images get larger sets.
hardest = np.argsort(-sets.sum(axis=1), kind="stable")[:4]
easy = np.flatnonzero(sets.sum(axis=1) == 1)[:4]
figure, axes = plt.subplots(2, 4, figsize=(8, 4.6), layout="constrained")
for ax, row in zip(axes.ravel(), [*easy, *hardest], strict=True):
    ax.imshow(new[row].reshape(8, 8), cmap="gray_r")
    ax.set(
        xticks=[],
        yticks=[],
        title=f"{{{', '.join(map(str, model.classes_[sets[row]]))}}}",
    )

# %%
# The estimated coverage, and what it costs
# -----------------------------------------
# The coverage that the bags show at each threshold, with the lower bound that decides.
found = model.sets_
size = [
    (1 - model.predict_proba(new) <= t).sum(axis=1).clip(1).mean()
    for t in found.thresholds
]
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(size, found.coverages[:, 0], label="estimate")
ax.plot(size, found.bounds()[:, 0], "--", label="lower bound")
ax.axhline(0.95, color="gray", linewidth=1)
ax.set(xlabel="digits per set", ylabel="coverage", xlim=(1, 6), ylim=(0.7, 1.01))
ax.legend()
