"""
Noisy proportions
=================

Reports are often published with noise, for privacy or because they come from samples. If the size of the noise is
known, pass it on: the model then fits the proportions only as closely as they can be trusted.
"""

# %%
# Two classes in 80 bags of 20 rows. The reported shares have normal noise with a standard deviation of 0.2. Some
# are negative or above one, and they need not sum to one.
import numpy as np

from llpgan import BagLogistic, Bags
from llpgan.evaluation import label_scores

DEVIATION = 0.2


def drawn(rng):
    """Rows, their classes, the bag of each, and the noisy shares of each bag."""
    bag = np.repeat(np.arange(80), 20)
    X = rng.normal(size=(1600, 4)) + rng.normal(size=(80, 4))[bag]
    labels = (rng.random(1600) < 1 / (1 + np.exp(-X.sum(axis=1)))).astype(int)
    exact = Bags.from_labels(X, labels, bag).proportions
    return X, labels, bag, exact, exact + rng.normal(scale=DEVIATION, size=exact.shape)


X, labels, bag, exact, noisy = drawn(np.random.default_rng(0))
print(noisy[:4].round(2))

# %%
# Without the size of the noise, shares have to be made valid first: clipped to [0, 1] and normalized.


def three_ways(X, bag, exact, noisy):
    """Bags with exact shares, with noisy ones as they are, and with the size of their noise."""
    clipped = np.clip(noisy, 0.01, 0.99)
    return {
        "exact shares": Bags.from_arrays(X, bag, exact),
        "noisy, clipped": Bags.from_arrays(
            X, bag, clipped / clipped.sum(axis=1, keepdims=True)
        ),
        "noisy, size known": Bags.from_arrays(X, bag, noisy, proportions_sd=DEVIATION),
    }


# %%
# The log loss of single predictions; the lower, the better. Each dot is a draw of the data and the noise.
import matplotlib.pyplot as plt

losses = {}
for seed in range(6):
    X, labels, bag, exact, noisy = drawn(np.random.default_rng(seed))
    for name, bags in three_ways(X, bag, exact, noisy).items():
        model = BagLogistic(n_resamples=3, random_state=0).fit_bags(bags)
        loss = label_scores(labels, model.predict_proba(X), [0, 1]).log_loss.value
        losses.setdefault(name, []).append(loss)

figure, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
for place, values in enumerate(losses.values()):
    ax.plot(values, [place] * len(values), "o", alpha=0.6)
    ax.plot(np.mean(values), place, "k|", markersize=20)
ax.set(
    yticks=range(3),
    yticklabels=losses,
    xlabel="log loss of single predictions (bars: means)",
)
ax.invert_yaxis()
