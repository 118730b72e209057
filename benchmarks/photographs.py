"""Photographs: the error of the last epoch on CIFAR-10, SVHN and CIFAR-100, on the official test images.

Two kinds of settings are kept apart: the defaults of the library, and the paper's layers without augmentation,
with batch normalization and Muon. ``python -m benchmarks photographs`` runs what has no row yet, and
``python -m benchmarks.photographs cifar10-16 svhn-16`` a part of it, in the order given. A run that is killed
goes on from its last epoch if ``LLPGAN_CHECKPOINTS`` names a folder. Rows go to ``results/photographs.jsonl``,
their table to ``results/photographs.md``.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.rows import RESULTS, Row, as_markdown, folder_of, made_with, write_aside
from llpgan import DLLP, LLPGAN
from llpgan.bags import Bags
from llpgan.data.digits import Split
from llpgan.deep.networks import normalized_cifar_classifier
from llpgan.methods.deep import DeepClassifier
from reproduction.datasets import load_cifar10, load_cifar100, load_svhn

PAPER: dict[str, Any] = {
    "classifier": normalized_cifar_classifier,
    "optimizer": "muon",
    "learning_rate": 0.05,
    "warm_up": 0.1,
    "decay_from": 0.1,
    "average": 0.995,
    "coarse_until": 0.75,
    "augment": None,
}
NO_FLIPS: dict[str, Any] = {"augment": "shifts"}  # digits do not look alike in a mirror
LOADERS: dict[str, tuple[Callable[..., Split], str]] = {
    "cifar10": (load_cifar10, "cifar-10-batches-py"),
    "svhn": (load_svhn, "svhn"),
    "cifar100": (load_cifar100, "cifar-100-python"),
}


@dataclass(frozen=True)
class Run:
    """One training."""

    data: str
    bag_size: int
    epochs: int
    method: type[DeepClassifier] = DLLP
    settings: dict[str, Any] = field(default_factory=dict)
    network: str = "default"
    train_rows: int | None = None
    draw: int = 0


RUNS = {
    "cifar10-16": Run("cifar10", 16, 10),
    "cifar10-64": Run("cifar10", 64, 10),
    "cifar10-128": Run("cifar10", 128, 10),
    "cifar10-labels": Run("cifar10", 1, 8),
    "cifar10-16-paper": Run("cifar10", 16, 10, settings={**PAPER, "bags_per_step": 16}, network="paper"),
    "cifar10-16-gan": Run("cifar10", 16, 10, LLPGAN),
    "svhn-16": Run("svhn", 16, 10, settings=NO_FLIPS, train_rows=12_000),
    "svhn-labels": Run("svhn", 1, 10, settings=NO_FLIPS, train_rows=12_000),
    "cifar100-16": Run("cifar100", 16, 16, train_rows=10_000),
    "cifar100-labels": Run("cifar100", 1, 16, train_rows=10_000),
}
ABOUT = """Error on the official test images after the last epoch, in per cent, for a random split of the
training images into bags. "default" is `photo_classifier` with all settings at their defaults but for the
number of epochs (for SVHN shifts without flips). "paper" has the nine layers of the paper with batch
normalization and Muon, without augmentation. Measured by `python -m benchmarks photographs`, on one thread."""


def measured(name: str, run: Run) -> Row:
    load, folder = LOADERS[run.data]
    split = load(folder_of(folder))
    rng = np.random.default_rng(run.draw)
    rows = rng.permutation(len(split.labels))[: run.train_rows]
    images, labels = split.instances[rows], split.labels[rows]
    bags = Bags.from_labels(images, labels, groups=np.arange(len(rows)) // run.bag_size)
    place = os.environ.get("LLPGAN_CHECKPOINTS")
    checkpoint = None if place is None else Path(place, f"{name}.checkpoint")
    model = run.method(epochs=run.epochs, random_state=run.draw, checkpoint=checkpoint, **run.settings)
    started = time.process_time()
    model.fit_bags(bags, monitor=lambda _: {"cpu_seconds": time.process_time() - started})
    predicted = model.predict_proba(split.test_instances)
    return {
        "run": name,
        "data": run.data,
        "train_images": len(rows),
        "bag_size": run.bag_size,
        "method": run.method.__name__,
        "network": run.network,
        "epochs": run.epochs,
        "draw": run.draw,
        "error": round(100 * float((model.classes_[predicted.argmax(1)] != split.test_labels).mean()), 2),
        "log_loss": round(float(log_loss(split.test_labels, predicted, labels=model.classes_)), 4),
        "cpu_minutes": round(model.history_[-1]["cpu_seconds"] / 60, 1),
        "settings": {name: getattr(value, "__name__", value) for name, value in run.settings.items()},
        "history": [dict(row) for row in model.history_],
        **made_with(),
    }


def run(names: Sequence[str] = ()) -> list[Row]:
    path = RESULTS / "photographs.jsonl"
    for name in names or RUNS:
        rows = _rows(path)
        if name not in {row["run"] for row in rows}:
            row = measured(name, RUNS[name])
            write_aside(path, "".join(json.dumps(each) + "\n" for each in [*_rows(path), row]))
    rows = _rows(path)
    write_aside(RESULTS / "photographs.md", as_markdown("Photographs", ABOUT, [_shown(row) for row in rows]))
    return rows


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _shown(row: Row) -> Row:
    names = ("data", "train_images", "bag_size", "method", "network", "epochs", "error", "log_loss", "cpu_minutes")
    return {name.replace("_", " "): row[name] for name in names}


if __name__ == "__main__":
    run(sys.argv[1:])
