"""A store of Parquet files is made part by part: in several processes, and going on where it was ended."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from llpgan import Columns
from llpgan.cli import main
from llpgan.tables import sorting
from llpgan.tables.store import open_store, store_tables

ONE_AND_TWO = [1, pytest.param(2, marks=pytest.mark.slow)]  # processes, which take seconds to start
pytestmark = pytest.mark.filterwarnings("ignore:column", "ignore:left out", "ignore:.* are there already")


@pytest.fixture
def parts(files, people, monkeypatch):
    """Five thousand people in three files of row groups of 500, each of which is a part."""
    weights = np.random.default_rng(2).integers(4, size=len(people)) / 2
    people = people.append_column("times", pa.array(weights))
    people = people.append_column("town", people["city"].dictionary_encode())
    people = people.append_column(
        "day", pa.array([f"{1 + i % 28:02}.0{1 + i % 9}.2010" for i in range(len(people))])
    )
    for place in range(3):
        folder = Path("parts") / f"year={2000 + place}"
        folder.mkdir(parents=True)
        pa.parquet.write_table(people.slice(place * 2000, 2000), folder / "x.parquet", row_group_size=500)
    monkeypatch.setattr(sorting, "_CELLS_A_PART", 500 * (people.num_columns + 1))
    monkeypatch.setattr(sorting, "_BUFFER_BYTES", 40_000)
    monkeypatch.setattr(sorting, "_ROWS_A_PIECE", 1)
    return files


def content(folder):
    """The bytes of all files of a store."""
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def leftovers(folder="."):
    return sorted(path.name for path in Path(folder).iterdir() if path.name.startswith(".llpgan"))


def some_results(results):
    """Without some of the bags."""
    return results.slice(0, len(results) - 12)


FORMS = {
    "proportions": lambda results: {"proportions": results, "bag": "state"},
    "weights": lambda results: {"proportions": results, "bag": "state", "weight": "times"},
    "labels": lambda _: {"label": "owner", "bag": ["state", "year"]},
    "many labels": lambda _: {"label": "children", "bag": "state", "weight": "times"},
    "a part of the bags": lambda results: {
        "proportions": some_results(results),
        "bag": "state",
        "unmatched": "drop",
        "columns": Columns(categories="income", min_count=2),
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_parts_make_the_store_of_the_whole(form, parts, results, monkeypatch):
    options = FORMS[form](results)
    alone = store_tables("parts", "alone", **options)
    monkeypatch.setattr(sorting, "_CELLS_A_PART", 10**9)
    whole = store_tables("parts", "whole", **options)
    assert whole.bag_ids == alone.bag_ids
    assert whole.features == alone.features
    assert whole.encoder.left_out == alone.encoder.left_out
    np.testing.assert_array_equal(whole.sizes, alone.sizes)
    np.testing.assert_allclose(whole.proportions, alone.proportions, rtol=1e-12)
    np.testing.assert_allclose(alone.instances[:], whole.instances[:], rtol=1e-6, atol=1e-6)
    assert (whole.weights is None) == (alone.weights is None)
    assert whole.weights is None or np.array_equal(whole.weights, alone.weights)
    assert leftovers() == []


CONTENT = {}  # of stores that were made at once, by form


def content_at_once(form, results):
    if form not in CONTENT:
        CONTENT[form] = content(store_tables("parts", "alone", **FORMS[form](results)).instances.path.parent)
    return CONTENT[form]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_two_processes_make_the_same_store(form, parts, results):
    store_tables("parts", "two", n_jobs=2, **FORMS[form](results))
    assert content("two") == content_at_once(form, results)


def stop_at(function, n_calls, monkeypatch, calls):
    """Let a function of the module fail as if a key was pressed, after so many calls."""
    work = getattr(sorting, function)

    def count(*arguments):
        if len(calls) == n_calls:
            raise KeyboardInterrupt
        calls.append(function)
        return work(*arguments)

    monkeypatch.setattr(sorting, function, count)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("function", "n_calls"), [("summarize_part", 5), ("_sort_group", 2)])
def test_it_goes_on_with_the_parts_that_are_missing(form, function, n_calls, parts, results, monkeypatch):
    options = FORMS[form](results)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        stop_at(function, n_calls, patch, [])
        store_tables("parts", "store", **options)
    assert leftovers() == [".llpgan-part-store"]
    assert not Path("store").exists()
    calls, read = [], []
    for each in ("summarize_part", "_sort_group"):
        stop_at(each, 1000, monkeypatch, calls)
    with pytest.warns(UserWarning, match=r"\d+ of \d+ (parts|pieces)( of the store)? are there already"):
        store_tables("parts", "store", progress=read.append, **options)
    assert sum(read) == 2 * 5000
    assert calls.count("summarize_part") == (10 - 5 if function == "summarize_part" else 0)
    n_groups = len(sorting._group_parts([sorting.Part(None, 500)] * 10, *rows_at_once("store")))
    assert n_groups > 3
    assert calls.count("_sort_group") == (n_groups if function == "summarize_part" else n_groups - 2)
    assert content("store") == content_at_once(form, results)
    assert leftovers() == []


def rows_at_once(folder):
    bags = open_store(folder)
    return [sorting.rows_in_memory(bags.n_bags, bags.instances[:1].nbytes)]


def test_an_unfinished_store_of_other_inputs_is_refused(parts, results, monkeypatch, capsys):
    words = ["store", "parts", "--bag", "state", "--proportions", "results.parquet"]
    with monkeypatch.context() as patch:
        stop_at("_sort_group", 1, patch, [])
        assert main.main(words) == 130
    assert main.main([*words, "--columns.drop", "age"]) == 1
    message = "an unfinished store is there, made with other options: give the same to continue, or begin anew"
    assert f"{message} (--overwrite)\n" in capsys.readouterr().err
    os.utime("parts/year=2000/x.parquet", (1, 1))
    assert main.main(words) == 1
    assert "made with other data:" in capsys.readouterr().err
    swapped = results.set_column(1, "no", results["yes"]).set_column(2, "yes", results["no"])
    pa.parquet.write_table(swapped, "results.parquet")
    assert main.main(words) == 1
    assert "made with other data and shares of bags:" in capsys.readouterr().err
    assert main.main([*words, "--overwrite"]) == 0
    assert "already" not in capsys.readouterr().err
    store_tables("parts", "alone", swapped, bag="state")
    assert content("store") == content("alone")
    assert leftovers() == []


@pytest.mark.slow
def test_an_interruption_of_several_processes_is_said_in_one_line(parts, capsys, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sorting, "_report", interrupt)
    assert main.main(["store", "parts", "--bag", "state", "--label", "owner", "--n_jobs", "2"]) == 130
    assert capsys.readouterr().err == "llpgan store: interrupted\n"
    assert leftovers() == [".llpgan-part-store"]


def test_a_leak_is_found_in_parts(parts, people):
    states, is_owner = np.array(people["state"].to_pylist()), people["owner"].to_numpy(zero_copy_only=False)
    shares = [is_owner[states == state].mean() for state in np.unique(states)]
    leaking = {"state": np.unique(states).tolist(), "no": [1 - share for share in shares], "yes": shares}
    with pytest.raises(ValueError, match="column 'owner' looks like the label: it has the share of the class"):
        store_tables("parts", "store", leaking, bag="state")
    assert leftovers() == []


@pytest.mark.parametrize("n_jobs", ONE_AND_TWO)
def test_wrong_data_leave_nothing(n_jobs, parts, people, results):
    table = pa.parquet.read_table("parts/year=2002/x.parquet", partitioning=None)
    wrong = np.where(np.arange(1000) == 700, np.inf, table["age"].to_numpy())
    table = table.set_column(table.column_names.index("age"), "age", pa.array(wrong, from_pandas=False))
    pa.parquet.write_table(table, "parts/year=2002/x.parquet", row_group_size=500)
    with pytest.raises(ValueError, match=r"parts: column 'age', row 4700: inf is not a finite number"):
        store_tables("parts", "store", results, bag="state", n_jobs=n_jobs)
    assert leftovers() == []


def test_no_processes_are_refused(parts, results):
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        store_tables("parts", "store", results, bag="state", n_jobs=0)


def test_a_file_that_changes_while_it_is_read_is_noticed(parts, people, results, monkeypatch):
    sort_group = sorting._sort_group

    def change(*arguments):
        table = pa.parquet.read_table("parts/year=2002/x.parquet", partitioning=None)
        pa.parquet.write_table(table.slice(0, 999), "parts/year=2002/x.parquet", row_group_size=500)
        sort_group(*arguments)

    monkeypatch.setattr(sorting, "_sort_group", change)
    with pytest.raises(ValueError, match="parts has changed while it was read"):
        store_tables("parts", "store", results, bag="state")
    assert leftovers() == []


KILLED = """
import os, sys, warnings
from llpgan.tables import sorting
from llpgan.tables.store import store_tables
sorting._CELLS_A_PART, sorting._BUFFER_BYTES, sorting._ROWS_A_PIECE = int(sys.argv[1]), 40_000, 1
warnings.simplefilter("ignore")
store_tables("parts", "store", "results.parquet", bag="state", weight="times", n_jobs=int(sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("note", ["rows-00004.npy", "sorted-*"])
def test_a_killed_store_goes_on_and_is_the_same(note, n_jobs, parts, results):
    pa.parquet.write_table(results, "results.parquet")
    store_tables("parts", "alone", "results.parquet", bag="state", weight="times")
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(sorting._CELLS_A_PART), str(n_jobs)])
    notes = Path(".llpgan-part-store")
    while not list(notes.glob(note)):
        assert process.poll() is None
        time.sleep(0.0005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not Path("store").exists()
    with pytest.warns(UserWarning, match="of 10 parts are there already"):
        store_tables("parts", "store", "results.parquet", bag="state", weight="times", n_jobs=n_jobs)
    assert content("store") == content("alone")
    assert leftovers() == [], "nothing is left"
