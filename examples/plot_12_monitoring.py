"""
Is the model still good?
========================

A model is in use, and nobody has labels. New bags with their proportions show when it becomes worse.
"""

# %%
# A model and its reference
# -------------------------
import tempfile
from pathlib import Path

import numpy as np

from llpgan import Bags, BagLogistic
from llpgan.evaluation import monitor
from llpgan.report import MonitorDisplay

rng = np.random.default_rng(0)


def draw(noise, shift=0.0):
    """200 random bags of 16 rows, in which the class depends on two of three columns."""
    X = rng.normal(loc=[0, 0, shift], size=(3200, 3))
    y = (X[:, 0] + X[:, 1] + noise * rng.normal(size=3200) > 0).astype(int)
    return Bags.from_labels(X, y, groups=np.arange(3200) // 16)


model = BagLogistic(n_resamples=0, random_state=0).fit_bags(draw(noise=1))
model.conformalize(draw(noise=1))
history = Path(tempfile.mkdtemp()) / "history.jsonl"
print(monitor(model, draw(noise=1), history=history))  # the first look is the reference

# %%
# Quiet weeks
# -----------
# Each look spends a part of the error level, so that you may look as often as you like.
for _ in range(5):
    report = monitor(model, draw(noise=1), history=history)
print(report)

# %%
# A column moves
# --------------
# The data change, but the accuracy does not fall: that is drift.
report = monitor(model, draw(noise=1, shift=0.5), history=history)
print(report)

# %%
# The accuracy falls
# ------------------
for noise in (1.5, 2, 4):
    report = monitor(model, draw(noise=noise), history=history)
print(report)
MonitorDisplay.from_report(report)
