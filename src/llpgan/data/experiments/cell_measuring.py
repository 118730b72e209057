"""From a cell to its row: train, test after each epoch, and note what it took and on what it ran."""

import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from llpgan.bags import Bags
from llpgan.data.experiments.cells import Cell
from llpgan.data.experiments.experiment_bags import bags_of
from llpgan.data.experiments.experiment_data import Data
from llpgan.data.experiments.experiment_methods import estimator
from llpgan.data.experiments.sample_pictures import N_SAMPLES, as_text
from llpgan.estimators.base import LLPClassifier

Row = dict[str, Any]
Tick = Callable[[], None]
_PACKAGES = ("llpgan", "torch", "lightning-fabric", "numpy", "scipy", "scikit-learn")


def measure(cell: Cell, data: Data, checkpoint: Path, tick: Tick) -> Row:
    """A cell's row, from the data that it asks for. ``tick`` is called after each epoch."""
    bags = bags_of(cell, data)
    model = estimator(cell, checkpoint)
    started = time.perf_counter()
    history = _history(_fitted(model, bags, data, cell.snapshots, tick))
    errors = [row["error"] for row in history] or [error_of(model, data)]
    samples = {str(int(epoch["epoch"])): epoch.pop("samples") for epoch in history if "samples" in epoch}
    if samples:
        samples["real"] = as_text(data.test_instances[:N_SAMPLES], like=data.test_instances)
    return {
        "id": cell.id,
        "cell": cell.content,
        "error": errors[-1],
        "history": history,
        "seconds": sum(row["seconds"] for row in history) or time.perf_counter() - started,
        "train_rows": len(bags.instances),
        "test_rows": len(data.test_labels),
        "bags": bags.n_bags,
        "settings": _settings(model),
        "versions": {name: version(name) for name in _PACKAGES},
        "machine": machine(),
        **({"samples": samples} if samples else {}),
    }


def error_of(model: LLPClassifier, data: Data) -> float:
    """The percentage of test instances whose class is missed."""
    return 100 * float(np.mean(model.predict(data.test_instances) != data.test_labels))


def machine() -> Row:
    """What may matter to times and to last digits; neither names nor paths."""
    import torch

    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def _fitted(model: LLPClassifier, bags: Bags, data: Data, snapshots: Sequence[int], tick: Tick) -> LLPClassifier:
    from llpgan.estimators.deep import DeepClassifier

    if not isinstance(model, DeepClassifier):
        return model.fit_bags(bags)

    def after_epoch(model: Any) -> dict[str, Any]:
        tick()
        row: dict[str, Any] = {"error": error_of(model, data)}
        if snapshots:
            row["samples"] = as_text(model.sample(N_SAMPLES, random_state=0), like=data.test_instances)
        return row

    model.fit_bags(bags, monitor=after_epoch)
    for epoch in model.history_:
        if epoch["epoch"] not in snapshots:
            epoch.pop("samples", None)
    return model


def _history(model: LLPClassifier) -> list[dict[str, Any]]:
    return [dict(row) for row in getattr(model, "history_", [])]


def _settings(model: LLPClassifier) -> dict[str, str]:
    """All settings, chosen or not, but for the checkpoint's place and functions' addresses."""
    given = model.get_params(deep=False)
    given.pop("checkpoint", None)
    return {name: getattr(value, "__name__", repr(value)) for name, value in given.items()}
