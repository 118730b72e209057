"""Time from the shell to the prompt: of ``llpgan --help``, and of a ``fit`` with BagLogistic on the election.

Each over that of ``python -c "import sklearn.linear_model"``, in turns. If ``LLPGAN_BEFORE`` names the ``src``
folder of another checkout, the same commands are measured with that code too.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial

from benchmarks.rows import Row
from benchmarks.speed.measure import ratio_row, time_in_turns
from llpgan.data.datasets import BAG, LABEL, PEOPLE, RESULTS

ROUNDS = 5
REFERENCE = "import sklearn.linear_model"


def run() -> list[Row]:
    """One row for each command and version of the code."""
    with tempfile.TemporaryDirectory() as folder:
        works: dict[str, Callable[[], object]] = {REFERENCE: partial(python, "-c", REFERENCE)}
        for when, source in versions().items():
            works[f"llpgan --help{when}"] = partial(python, "-m", "llpgan", "--help", source=source)
            works[f"llpgan fit, BagLogistic on the election{when}"] = partial(fit, f"{folder}/model", source)
        seconds = time_in_turns(works, ROUNDS)
    reference = seconds.pop(REFERENCE)
    return [ratio_row(f"{what} / {REFERENCE}", found, reference) for what, found in seconds.items()]


def versions() -> dict[str, str | None]:
    """Where the code is imported from, by what its rows say of it."""
    before = os.environ.get("LLPGAN_BEFORE")
    return {"": None} if before is None else {"": None, ", before": before}


def python(*words: str, source: str | None = None) -> None:
    path = {} if source is None else {"PYTHONPATH": source}
    subprocess.run([sys.executable, *words], check=True, capture_output=True, env=os.environ | path)


def fit(out: str, source: str | None) -> None:
    shutil.rmtree(out, ignore_errors=True)
    tables = [str(PEOPLE), "--bag", BAG, "--proportions", str(RESULTS), "--label", LABEL]
    python("-m", "llpgan", "fit", *tables, "--out", out, source=source)
