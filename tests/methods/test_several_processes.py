"""Methods without a network in several processes train the same model as in one, or end with a clear message."""

import os
import signal
import time
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from llpgan import AutoLLP, BagBoosting, BagLogistic, Bags, LaplacianMeanMap, MeanMap
from llpgan.methods import auto_llp, boosting
from llpgan.methods.refinement import Refinement
from llpgan.tables.store import open_store, store_bags
from llpgan.utils.workers import divide_bags
from tests.deep.test_distributed import script_of, torchrun

FEW_TREES = {"max_rounds": 8, "n_models": 3, "random_state": 0}
METHODS = {
    "BagLogistic": BagLogistic(n_resamples=5, random_state=0),
    "BagLogistic, refined": BagLogistic(n_resamples=5, refine=True, random_state=0),
    "BagLogistic, refined by 1.5": BagLogistic(n_resamples=5, refine=Refinement(rounds=3), random_state=0),
    "BagLogistic, steps": BagLogistic(n_resamples=2, n_steps=3, random_state=0),
    "BagLogistic, components": BagLogistic(n_resamples=2, n_components=2, random_state=0),
    "MeanMap": MeanMap(),
    "LaplacianMeanMap": LaplacianMeanMap(similarity="nearest"),
    "BagBoosting": BagBoosting(**FEW_TREES, bag_shift="covariate"),
    "BagBoosting, label shift": BagBoosting(**FEW_TREES, bag_shift="label"),
    "BagBoosting in blocks": BagBoosting(**FEW_TREES, bag_shift="covariate"),
    "BagBoosting in blocks, label shift": BagBoosting(**FEW_TREES, bag_shift="label"),
    "AutoLLP": AutoLLP(time_limit=None, random_state=0),
}
TRAINING = """
    import sys
    import numpy as np
    from llpgan.methods import linear
    from llpgan.tables.store import open_store
    from llpgan.utils.workers import is_first_process
    from tests.methods.test_several_processes import BAGS, CASES, trained
    for data, name in CASES:
        linear._MOST_KEPT = 0 if data == "stored" else 2**28  # as if the store were large
        bags = open_store(f"{sys.argv[1]}/store") if data == "stored" else BAGS[data]()
        found = trained(name, bags).predict_encoded(bags.instances)
        np.save(f"{sys.argv[1]}/{data}, {name}, {int(is_first_process())}.npy", found)
"""


def trained(name, bags):
    """A method, trained; "in blocks" means that fewer rows than there are choose splits."""
    with pytest.MonkeyPatch.context() as patch:
        if "in blocks" in name:
            patch.setattr(boosting, "_ROWS_A_BLOCK", 300)
            patch.setattr(boosting, "ROWS_FOR_SPLITS", 1999)
        patch.setattr(auto_llp, "BagBoosting", partial(BagBoosting, **FEW_TREES))
        patch.setattr(auto_llp, "BagLogistic", partial(BagLogistic, n_resamples=5))
        return clone(METHODS[name]).fit_bags(bags)


def ragged_bags(n_classes=2, n_rows=5000):
    """Bags of very different sizes, whose rows stand in any order and have weights."""
    rng = np.random.default_rng(0)
    sizes = np.concatenate([[n_rows // 2], np.full(n_rows // 200, 100)])
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows = rng.normal(size=(len(groups), 4)) + rng.normal(size=(len(sizes), 4))[groups]
    scores = rows @ rng.normal(size=(4, n_classes)) + rng.gumbel(size=(len(groups), n_classes))
    weights = rng.integers(1, 4, len(groups)).astype(float)
    return Bags.from_labels(rows, scores.argmax(axis=1), groups, weights=weights)


BAGS = {"two classes": ragged_bags, "three classes": lambda: ragged_bags(n_classes=3)}
CASES = [
    *(("stored", name) for name in METHODS),
    *(("two classes", name) for name in ("BagLogistic", "MeanMap", "BagBoosting", "BagBoosting, label shift")),
    *(
        ("three classes", name)
        for name in ("BagLogistic, refined", "MeanMap", "BagBoosting in blocks, label shift")
    ),
]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "sizes", [[1] * 7, [5000, *[1] * 9], [1] * 9 + [5000], [3000] * 20, [1, 9, 1, 9, 1, 9, 1, 9]]
)
def test_each_worker_has_whole_bags_and_about_as_many_rows(sizes, count):
    sizes = np.array(sizes)
    bounds = divide_bags(sizes, count)
    assert bounds[0] == 0 and bounds[-1] == len(sizes) and len(bounds) == count + 1
    assert (np.diff(bounds) > 0).all()
    most = max(np.add.reduceat(sizes, bounds[:-1]))
    assert most <= sizes.sum() / count + sizes.max() + 4096


def test_more_processes_than_bags_are_refused():
    with pytest.raises(ValueError, match="2 bags cannot be divided among 3 processes: start at most 2"):
        divide_bags(np.array([5, 5]), 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What two processes have saved."""
    folder = tmp_path_factory.mktemp("two processes")
    store_bags(ragged_bags(), folder / "store")
    process = torchrun(script_of(TRAINING, folder), folder)
    _, printed = process.communicate(timeout=300)
    assert process.returncode == 0, printed
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("data", "name"), CASES)
def test_two_processes_predict_as_one(data, name, folder):
    bags = open_store(folder / "store") if data == "stored" else BAGS[data]()
    alone = trained(name, bags).predict_encoded(bags.instances)
    first, second = (np.load(folder / f"{data}, {name}, {is_first}.npy") for is_first in (1, 0))
    assert np.array_equal(first, second)
    assert np.abs(first - alone).max() < 1e-6


@pytest.fixture
def tables(tmp_path):
    """Options of ``llpgan fit`` for some bags."""
    bags = ragged_bags()
    rows = np.column_stack([bags.instances, bags.bag_index]).tolist()
    lines = ["a,b,c,d,bag", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    shares = [f"{bag},{no},{yes}" for bag, (no, yes) in zip(bags.bag_ids, bags.proportions, strict=True)]
    (tmp_path / "shares.csv").write_text("\n".join(["bag,no,yes", *shares]))
    return [
        tmp_path / "rows.csv",
        "--proportions",
        tmp_path / "shares.csv",
        "--bag",
        "bag",
        "--out",
        tmp_path / "m",
    ]


@pytest.mark.slow
def test_fit_saves_one_model(tables, tmp_path):
    process = torchrun("-m", "llpgan", "fit", *tables, "--method", "MeanMap")
    _, printed = process.communicate(timeout=120)
    assert process.returncode == 0, printed
    assert printed.count("saved ") == 1
    assert (tmp_path / "m" / "report.html").exists()


@pytest.mark.slow
def test_a_method_for_one_process_is_refused_in_one_line(tables, tmp_path):
    process = torchrun("-m", "llpgan", "fit", *tables, "--method", "InvCal")
    _, printed = process.communicate(timeout=120)
    assert process.returncode != 0
    (line,) = [line for line in printed.splitlines() if "llpgan fit: error" in line]
    assert "InvCal trains in one process, but 2 were started" in line
    assert not (tmp_path / "m").exists()


LONG = """
    import os, sys
    from pathlib import Path
    from llpgan import BagLogistic
    from tests.methods.test_several_processes import ragged_bags
    bags = ragged_bags()
    Path(sys.argv[1], f"pid{os.environ['RANK']}").write_text(str(os.getpid()))
    try:
        while True:
            BagLogistic(random_state=0).fit_bags(bags)
    except ConnectionError as error:
        Path(sys.argv[1], "message").write_text(str(error))
        raise
"""


@pytest.mark.slow
def test_a_killed_worker_ends_the_run_within_a_minute(tmp_path):
    process = torchrun(script_of(LONG, tmp_path), tmp_path)
    while not (tmp_path / "pid1").exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    time.sleep(3)
    killed, started = (tmp_path / "pid1").read_text(), time.monotonic()
    os.kill(int(killed), signal.SIGKILL)
    _, printed = process.communicate(timeout=60)
    assert time.monotonic() - started < 60
    assert process.returncode != 0
    assert f"pid: {killed}" in printed  # torchrun names the process and its machine
    if (tmp_path / "message").exists():  # unless torchrun ended the other before
        assert "process 0 of 2 lost process 1" in (tmp_path / "message").read_text()
