"""``llpgan fit --cluster``: the same workers as Ray tasks."""

import sys
import time
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from llpgan import Bags, load
from llpgan.cli import main
from llpgan.cli.predict import predict
from llpgan.evaluation import compare
from llpgan.tables import sorting
from llpgan.tables.store import open_store, store_bags, store_tables
from llpgan.utils.workers import run_on_cluster

FIT = ["fit", "store", "--method", "BagLogistic", "--method.n_resamples", "3", "--report", "false"]


@pytest.fixture
def bags(tmp_path, monkeypatch, rng):
    """Twenty bags in a store of the working folder."""
    monkeypatch.chdir(tmp_path)
    groups = np.repeat(np.arange(20), 10)
    rows = rng.normal(size=(200, 2)) + groups[:, None] % 2
    bags = Bags.from_labels(rows, (rows.sum(axis=1) > 1).astype(int), groups)
    store_bags(bags, "store")
    return bags


def test_without_ray_one_line_says_what_to_install(bags, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main.main([*FIT, "--cluster", "auto"]) == 1
    printed = capsys.readouterr().err
    assert printed == "llpgan fit: error: --cluster needs Ray: pip install 'llpgan[ray]'\n"


def test_workers_need_a_cluster(bags, capsys):
    assert main.main([*FIT, "--workers", "2"]) == 1
    assert "(--workers), but no cluster to start them on (--cluster)" in capsys.readouterr().err


ALONE = {
    "predict": (["model", "store", "--out", "predictions"], ", with --n_jobs 2"),
    "compare": (["store", "--methods", "MeanMap,InvCal"], ", with --n_jobs 2"),
    "evaluate": (["model", "rows.csv"], ""),
    "shares": (["model", "rows.csv", "--by", "a"], ""),
    "store": (["rows.csv", "--bag", "b", "--label", "c", "--to", "made"], ", with --n_jobs 2"),
    "demo": ([], ""),
}


@pytest.mark.parametrize(("command", "words", "advice"), [(name, *case) for name, case in ALONE.items()])
def test_only_trainings_divide_their_work(command, words, advice, bags, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("WORLD_SIZE", "2")
    before = sorted(tmp_path.iterdir())
    monkeypatch.setenv("RANK", "0")
    assert main.main([command, *words]) == 1
    printed = capsys.readouterr().err
    assert printed == (
        f"llpgan {command}: error: llpgan {command} runs in one process, but 2 were started, each of which would "
        f"do all of the work: start it without torchrun{advice}\n"
    )
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(SystemExit):
        main.main([command, *words])
    assert capsys.readouterr().err == ""
    assert sorted(tmp_path.iterdir()) == before


@pytest.fixture(scope="module")
def cluster():
    """A cluster of this machine."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_memory_monitor_refresh_ms", "0")  # it ends workers if others fill the machine
        ray.init(num_cpus=2, include_dashboard=False)
    yield ray
    ray.shutdown()


@pytest.mark.slow
def test_two_ray_workers_train_the_model_of_one_process(bags, cluster):
    assert main.main([*FIT, "--out", "alone"]) == 0
    assert main.main([*FIT, "--out", "together", "--cluster", "auto", "--workers", "2"]) == 0
    alone, together = (load(name).predict_proba(bags) for name in ("alone", "together"))
    assert np.abs(together - alone).max() < 1e-6


@pytest.mark.slow
def test_what_a_ray_worker_refuses_is_said_in_one_line(bags, cluster, capsys):
    assert main.main(["fit", "store", "--method", "InvCal", "--cluster", "auto", "--workers", "2"]) == 1
    assert "InvCal trains in one process, but 2 were started" in capsys.readouterr().err
    assert main.main([*FIT, "--cluster", "auto", "--workers", "3"]) == 1
    assert "the cluster has 2 CPUs: give from 1 to 2 workers, not 3 (--workers)" in capsys.readouterr().err


@pytest.mark.slow
def test_a_lost_ray_worker_ends_the_run_and_is_named(cluster):
    def fail_in_the_second():
        import os
        import time

        if os.environ["RANK"] == "1":
            os._exit(1)
        time.sleep(300)

    started = time.monotonic()
    with pytest.raises(RuntimeError, match=r"worker 1 of 2 was lost \(.*\): start the same command again"):
        run_on_cluster(fail_in_the_second, {}, "auto", 2)
    assert time.monotonic() - started < 60


@pytest.mark.slow
def test_a_comparison_spreads_its_trials_over_the_cluster(bags, cluster):
    from ray.util.joblib import register_ray

    register_ray()
    with joblib.parallel_backend("ray"):
        found = compare(bags, ["MeanMap", "InvCal"], cv=2, n_jobs=2)
    assert_same(found, compare(bags, ["MeanMap", "InvCal"], cv=2))


@pytest.mark.slow
def test_the_cluster_writes_predictions(bags, cluster):
    from ray.util.joblib import register_ray

    register_ray()
    assert main.main([*FIT, "--out", "model"]) == 0
    with joblib.parallel_backend("ray"):
        assert predict("model", "store", out="predictions", n_jobs=2) == len(bags.instances)
    found = pa.parquet.read_table("predictions")
    np.testing.assert_allclose(found["p_1"], load("model").predict_proba(open_store("store"))[:, 1], rtol=1e-12)


@pytest.mark.slow
def test_a_comparison_spreads_its_trials_over_dask(bags):
    dask = pytest.importorskip("distributed")
    with dask.Client(n_workers=2, threads_per_worker=1, dashboard_address=None), joblib.parallel_backend("dask"):
        found = compare(bags, ["MeanMap", "InvCal"], cv=2, n_jobs=2)
    assert_same(found, compare(bags, ["MeanMap", "InvCal"], cv=2))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_cluster_reads_the_parts_of_a_store(backend, bags, request, monkeypatch):
    folder = Path("rows")
    folder.mkdir()
    for place in range(4):
        some = slice(place * 50, place * 50 + 50)
        table = {"a": bags.instances[some, 0], "bag": np.asarray(bags.bag_index)[some], "yes": np.arange(50) % 2}
        pa.parquet.write_table(pa.table(table), folder / f"{place}.parquet")
    monkeypatch.setattr(sorting, "_CELLS_A_PART", 3 * 50)
    store_tables("rows", "alone", bag="bag", label="yes")
    with ExitStack() as stack:
        if backend == "ray":
            request.getfixturevalue("cluster")
            import_module("ray.util.joblib").register_ray()
        else:
            dask = pytest.importorskip("distributed")
            stack.enter_context(dask.Client(n_workers=2, threads_per_worker=1, dashboard_address=None))
        with joblib.parallel_backend(backend):
            store_tables("rows", "together", bag="bag", label="yes", n_jobs=2)
    alone, together = (
        {path.name: path.read_bytes() for path in Path(name).iterdir()} for name in ("alone", "together")
    )
    assert together == alone


def assert_same(found, alone):
    assert [result.score for result in found.results] == [result.score for result in alone.results]
