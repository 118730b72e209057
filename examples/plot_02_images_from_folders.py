"""
Images from folders
===================

Each folder is a bag, and a table gives the class shares of each folder. Nobody has labelled a single image.
"""

# %%
# To have something to read, write handwritten digits into folders: zeros and ones, 40 images per folder.
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

pixels, digits = load_digits(n_class=2, return_X_y=True)
images = (pixels.reshape(-1, 8, 8) * 255 / 16).astype(np.uint8)
rng = np.random.default_rng(0)
photos = Path(tempfile.mkdtemp()) / "photos"
shares: dict[str, list] = {"folder": [], "zero": [], "one": []}
for number in range(8):
    share = 0.1 + 0.1 * number  # of ones
    chosen = np.concatenate(
        [rng.choice(np.flatnonzero(digits == k), n) for k, n in ((0, 40), (1, 40))]
    )
    chosen = np.concatenate(
        [chosen[: 40 - round(40 * share)], chosen[40 : 40 + round(40 * share)]]
    )
    folder = photos / f"clinic_{number}"
    folder.mkdir(parents=True)
    for i, image in enumerate(images[chosen]):
        Image.fromarray(image).save(folder / f"{i:03}.png")
    shares["folder"].append(folder.name)
    shares["one"].append(float(digits[chosen].mean()))
    shares["zero"].append(1 - shares["one"][-1])

# %%
# From here on it is as with your own images: a folder of folders, and a table with a column ``folder``.
from llpgan import Bags, DLLP

bags = Bags.from_tables(photos, shares)
bags

# %%
# The network is chosen by the shape of the images.
model = DLLP(epochs=15, random_state=0).fit_bags(bags)

# %%
# Predict single files.
new = photos / "clinic_0" / "000.png"
dict(
    zip(
        model.classes_.tolist(),
        model.predict_proba(new)[0].round(3).tolist(),
        strict=True,
    )
)

# %%
# The images of one folder, with the predicted class.
import matplotlib.pyplot as plt

some = sorted((photos / "clinic_4").glob("*.png"))[::4]
figure, axes = plt.subplots(1, len(some), figsize=(8, 1.3))
for ax, path in zip(axes, some, strict=True):
    ax.imshow(Image.open(path), cmap="gray")
    ax.set_title(model.predict(path)[0], fontsize=9)
    ax.set_axis_off()
