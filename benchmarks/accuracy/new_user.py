"""A folder of 400 small colour images in 25 bags: what a new user gets from ``llpgan fit``.

Three of scikit-learn's digits, 16 x 16, in a colour drawn for each image; a bag is a folder of 16, and a CSV has
its shares. ``fit`` runs as a user would run it, in a separate process, and is judged by 139 other images.
"""

import resource
import subprocess
import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sklearn.datasets import load_digits

from benchmarks.rows import RESULTS, Row, measure_rows
from llpgan import load

DIGITS, N_BAGS, BAG_SIZE, SEEDS = (0, 1, 2), 25, 16, (0, 1, 2)
METHODS = ("default", "BagLogistic", "DLLP", "LLPGAN")
Array = NDArray[Any]


def run() -> list[Row]:
    cells = product(METHODS, SEEDS)
    return measure_rows(RESULTS / "new_user.jsonl", ("method", "seed"), cells, measure)


def measure(method: str, seed: int) -> Row:
    images, labels = coloured_digits(np.random.default_rng(seed))
    n = N_BAGS * BAG_SIZE
    with TemporaryDirectory() as folder:
        shares = write_bags(Path(folder), images[:n], labels[:n])
        started = sum_child_cpu_seconds()
        command = [sys.executable, "-m", "llpgan", "fit", f"{folder}/photos", "--proportions", str(shares)]
        named = [] if method == "default" else ["--method", method]
        more = ["--out", f"{folder}/model", "--random_state", str(seed), "--report", "false"]
        subprocess.run([*command, *named, *more], check=True, capture_output=True)
        seconds = sum_child_cpu_seconds() - started
        model = load(f"{folder}/model")
    right = model.predict(images[n:]) == labels[n:].astype(str)
    return {
        "model": type(model).__name__,
        "accuracy": round(100 * float(right.mean()), 1),
        "test_images": len(right),
        "cpu_seconds": round(seconds, 1),
    }


def sum_child_cpu_seconds() -> float:
    """The CPU time of all processes that were started here and have ended: a busy machine does not lengthen it."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def coloured_digits(rng: np.random.Generator) -> tuple[Array, Array]:
    """Images as bytes ``(N, 3, 16, 16)`` and their digits, in a random order."""
    digits = load_digits()
    rows = rng.permutation(np.flatnonzero(np.isin(digits.target, DIGITS)))
    grey = digits.images[rows].repeat(2, axis=1).repeat(2, axis=2) / 16
    colours = rng.uniform(80, 255, (len(rows), 3))
    return (grey[:, None] * colours[:, :, None, None]).astype(np.uint8), digits.target[rows]


def write_bags(folder: Path, images: Array, labels: Array) -> Path:
    """``photos/BAG/IMAGE.png``, and the shares of each bag as CSV."""
    lines = ["folder," + ",".join(map(str, DIGITS))]
    for bag in range(N_BAGS):
        rows = slice(bag * BAG_SIZE, (bag + 1) * BAG_SIZE)
        place = folder / "photos" / f"bag{bag:02d}"
        place.mkdir(parents=True)
        for number, image in enumerate(images[rows]):
            Image.fromarray(image.transpose(1, 2, 0)).save(place / f"{number:02d}.png")
        lines.append(",".join([place.name, *(str((labels[rows] == digit).mean()) for digit in DIGITS)]))
    shares = folder / "shares.csv"
    shares.write_text("\n".join(lines) + "\n")
    return shares
