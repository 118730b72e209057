"""
Photographs in bags, with a pretrained network
==============================================

Two photographs are cut into tiles, and tiles of both are put into envelopes. You know how many tiles of each
photograph are in each envelope, but not which. A network that was trained on a million other photographs turns
each tile into 1,280 numbers; a linear model of these learns from the envelopes to tell the photographs apart.

This needs ``pip install 'llpgan[images]'``.
"""

# %%
# The photographs come with scikit-learn: a Chinese temple, and a flower. Tiles are 64 x 64 pixels.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images

from llpgan import BagLogistic, Bags, Embedding

photos = dict(zip(["temple", "flower"], load_sample_images().images, strict=True))
tiles, names = [], []
for name, photo in photos.items():
    for top in range(0, photo.shape[0] - 63, 32):
        for left in range(0, photo.shape[1] - 63, 32):
            tiles.append(photo[top : top + 64, left : left + 64].transpose(2, 0, 1))
            names.append(name)
tiles, names = np.array(tiles), np.array(names)
print(
    f"{len(tiles)} tiles: {sum(names == 'temple')} of the temple, {sum(names == 'flower')} of the flower"
)

# %%
# A random half of the tiles goes into envelopes of 16. The other half is kept apart to see how well it worked.
order = np.random.default_rng(0).permutation(len(tiles))
train, test = order[: len(order) // 32 * 16], order[len(order) // 32 * 16 :]
envelope = np.arange(len(train)) // 16

# %%
# The features are computed once. With ``cache=None`` they are not kept on disk.
embedding = Embedding("efficientnet_lite0", size=(64, 64), cache=None).fit()
X = embedding.transform(tiles)
X.shape

# %%
# From here on this is any table with 1,280 columns. Only the shares of the envelopes are used to train.
bags = Bags.from_labels(X[train], names[train], groups=envelope)
model = BagLogistic(standardize=False, n_resamples=20, random_state=0).fit_bags(bags)
right = model.predict(X[test]) == names[test]
print(f"{right.mean():.1%} of the other tiles are recognized")

# %%
# The tiles that the model is least sure of show little by which a person could tell, either.
probabilities = model.predict_proba(X[test])
least = np.argsort(probabilities.max(axis=1))[:8]
figure, axes = plt.subplots(1, 8, figsize=(10, 1.8))
for axis, row in zip(axes, least, strict=True):
    axis.imshow(tiles[test[row]].transpose(1, 2, 0))
    axis.set_title(
        f"{model.classes_[probabilities[row].argmax()]}\n{probabilities[row].max():.0%}",
        fontsize=9,
    )
    axis.axis("off")
figure.tight_layout()
