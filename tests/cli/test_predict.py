"""``llpgan predict`` to a folder: a file for each file or part of a store, in several processes, with restarts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from llpgan import load
from llpgan.cli import main
from llpgan.cli import predict as cli_predict
from llpgan.tables.store import open_store

PREDICT = ["predict", "model", "people"]
ONE_AND_TWO = ["1", pytest.param("2", marks=pytest.mark.slow)]  # processes, which take seconds to start
FILES = [f"part-0000{number}.parquet" for number in range(3)]


@pytest.fixture
def people(tmp_path, monkeypatch, rng):
    """Three files of people in folders of states, a store of them, and a model."""
    monkeypatch.chdir(tmp_path)
    for state in ("Iowa", "Ohio", "Utah"):
        folder = tmp_path / "people" / f"state={state}"
        folder.mkdir(parents=True)
        age = rng.normal(50, 10, size=40)
        table = pa.table({"id": [f"{state} {i}" for i in range(40)], "age": age, "zone": rng.integers(3, size=40)})
        pa.parquet.write_table(table.append_column("voted", pa.array(age > 50)), folder / "part-0.parquet")
    options = ["--bag", "[state, zone]", "--label", "voted", "--columns.drop", "id"]
    assert main.main(["store", "people", *options]) == 0
    assert main.main(["fit", "store", "--method", "MeanMap", "--report", "false"]) == 0
    return tmp_path


def read(folder):
    """The predictions in a folder, as any reader of Parquet finds them."""
    return pa.parquet.read_table(folder)


@pytest.mark.parametrize("n_jobs", ONE_AND_TWO)
def test_a_folder_has_the_predictions_of_one_file(n_jobs, people, capsys):
    assert main.main([*PREDICT, "--out", "one.parquet", "--keep", "id,state"]) == 0
    assert main.main([*PREDICT, "--out", "many", "--keep", "id,state", "--n_jobs", n_jobs]) == 0
    assert "saved many: 120 rows" in capsys.readouterr().err
    assert read("many").equals(pa.parquet.read_table("one.parquet"))
    assert sorted(path.name for path in Path("many").glob("*.parquet")) == FILES


def test_files_without_rows_are_left_out(people):
    path = people / "people" / "state=Ohio" / "part-0.parquet"
    empty = pa.parquet.read_table(path, partitioning=None).slice(0, 0)
    pa.parquet.write_table(empty, people / "people" / "state=Ohio" / "part-9.parquet")
    assert main.main([*PREDICT, "--out", "many"]) == 0
    assert len(read("many")) == 120


def test_what_was_done_before_an_error_is_not_done_again(people, capsys, monkeypatch):
    written, write = [], cli_predict._write_part

    def write_two(*arguments):
        if len(written) == 2:
            raise OSError("the machine is gone")
        written.append(arguments[-1].name)
        write(*arguments)

    monkeypatch.setattr(cli_predict, "_write_part", write_two)
    assert main.main([*PREDICT, "--out", "many"]) == 1
    assert "the machine is gone" in capsys.readouterr().err
    assert not Path("many").exists()
    monkeypatch.setattr(cli_predict, "_write_part", lambda *each: written.append(each[-1].name) or write(*each))
    assert main.main([*PREDICT, "--out", "many"]) == 0
    assert "many: 2 of 3 files are complete already" in capsys.readouterr().err
    assert written == FILES
    assert len(read("many")) == 120
    assert not list(people.glob(".llpgan-*"))


@pytest.mark.parametrize("change", ["options", "data", "model"])
def test_predictions_of_other_data_or_options_begin_anew(people, capsys, monkeypatch, change):
    write = cli_predict._write_part

    def write_first(*arguments):
        write(*arguments)
        raise OSError("the machine is gone")

    with monkeypatch.context() as patch:
        patch.setattr(cli_predict, "_write_part", write_first)
        assert main.main([*PREDICT, "--out", "many"]) == 1
    assert (people / ".llpgan-part-many" / "part-00000.parquet").exists()
    keep = ["--keep", "id"] if change == "options" else []
    if change == "data":
        os.utime("people/state=Utah/part-0.parquet", (1, 1))
    if change == "model":
        fit = ["fit", "store", "--method", "BagLogistic", "--method.n_resamples", "2", "--report", "false"]
        assert main.main([*fit, "--overwrite"]) == 0
    capsys.readouterr()
    assert main.main([*PREDICT, "--out", "many", *keep]) == 0
    assert "complete already" not in capsys.readouterr().err
    assert read("many").column_names == [*keep[1:], "prediction", "p_False", "p_True"]


def test_a_folder_is_replaced_only_if_it_has_predictions(people, capsys):
    assert main.main([*PREDICT, "--out", "many"]) == 0
    assert main.main([*PREDICT, "--out", "many"]) == 1
    assert "many exists" in capsys.readouterr().err
    assert main.main([*PREDICT, "--out", "many", "--keep", "id", "--overwrite"]) == 0
    assert "id" in read("many").column_names
    assert main.main([*PREDICT, "--out", "store", "--overwrite"]) == 1
    assert "store is not a folder with a _predictions.json" in capsys.readouterr().err


def test_a_store_is_predicted_with_the_bags_of_rows(people, monkeypatch):
    monkeypatch.setattr(cli_predict, "_ROWS_A_PART", 30)
    monkeypatch.setattr(cli_predict, "_ROWS_AT_ONCE", 7)
    assert main.main(["predict", "model", "store", "--out", "many"]) == 0
    found, bags = read("many"), open_store("store")
    assert len(list(Path("many").glob("*.parquet"))) > 2
    expected = load("model").predict_proba(bags)
    np.testing.assert_allclose(np.column_stack([found["p_False"], found["p_True"]]), expected, rtol=1e-12)
    ids = [bags.bag_ids[bag] for bag in np.asarray(bags.bag_index)]
    assert list(zip(found["bag 1"].to_pylist(), found["bag 2"].to_pylist(), strict=True)) == ids


REFUSED = {
    "a store to a file": (["store"], "store is a store: write its predictions to a folder"),
    "columns of a store": (
        ["store", "--out", "many", "--keep", "id"],
        "has no columns of its rows: leave out (--keep)",
    ),
    "jobs for a file": (["people", "--n_jobs", "2"], "predictions.csv is written by one process"),
    "no jobs": (["people", "--out", "many", "--n_jobs", "0"], "must not be 0"),
    "another ending": (
        ["people", "--out", "many.txt"],
        "written to a file that ends in .csv, .csv.gz, .parquet, or to",
    ),
}


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused_in_one_line(people, capsys, words, said):
    before = sorted(people.iterdir())
    capsys.readouterr()
    assert main.main(["predict", "model", *words]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert sorted(people.iterdir()) == before


@pytest.mark.parametrize("n_jobs", ONE_AND_TWO)
def test_a_damaged_row_names_its_file(n_jobs, people, capsys):
    table = pa.table({"id": ["a"], "age": [float("inf")], "zone": [1], "voted": [True]})
    pa.parquet.write_table(table, "people/state=Utah/part-1.parquet")
    assert main.main([*PREDICT, "--out", "many", "--n_jobs", n_jobs]) == 1
    assert "state=Utah/part-1.parquet: column 'age', row 0: inf is not a finite number" in capsys.readouterr().err
    assert not Path("many").exists()


@pytest.mark.slow
def test_a_killed_prediction_goes_on_where_it_was(people, capsys):
    table = pa.parquet.read_table("people/state=Ohio/part-0.parquet", partitioning=None)
    for place in range(300):
        pa.parquet.write_table(table, f"people/state=Ohio/part-{place}.parquet")
    command = [sys.executable, "-m", "llpgan", *PREDICT, "--out", "many"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    aside = people / ".llpgan-part-many"
    while not (aside / "part-00003.parquet").exists():
        assert process.poll() is None
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    n_done = len(list(aside.glob("part-*.parquet")))
    assert 3 < n_done < 302
    assert main.main([*PREDICT, "--out", "many"]) == 0
    assert f"many: {n_done} of 302 files are complete already" in capsys.readouterr().err
    assert len(read("many")) == 302 * 40


def test_columns_that_are_written_otherwise_than_in_the_training_are_noted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"rate": rng.uniform(0, 90, 200).round(1), "age": rng.integers(20, 80, 200)})
    frame["town"], frame["sex"] = np.arange(200) % 8, rng.choice(["f", "m"], 200)
    shares = pd.DataFrame({"town": range(8), "no": np.linspace(0.1, 0.8, 8)})
    shares.assign(yes=1 - shares["no"]).to_csv("towns.csv", index=False)
    frame.to_csv("plain.csv", index=False)
    frame.assign(rate=frame["rate"].astype(str) + " %").to_csv("percent.csv", index=False)
    frame.assign(age=None).to_csv("ageless.csv", index=False)
    frame.assign(age=frame["age"] * 12).to_csv("months.csv", index=False)
    frame.assign(sex=frame["sex"].replace({"f": "W"})).to_csv("renamed.csv", index=False)
    for name in ("plain", "percent"):
        words = ["--bag", "town", "--proportions", "towns.csv", "--method", "MeanMap", "--report", "false"]
        assert main.main(["fit", f"{name}.csv", *words, "--out", name]) == 0
        assert "in the training" not in capsys.readouterr().err
    for model, data, note in (
        ("plain", "plain", None),
        ("percent", "percent", None),
        ("plain", "percent", "column 'rate' has percentages, but had numbers"),
        ("percent", "plain", "column 'rate' has numbers, but had percentages"),
        ("plain", "ageless", "column 'age' has no value in any row"),
        ("plain", "months", "column 'age' is near"),
        ("plain", "renamed", "values are unknown from the training, such as 'W'; known are"),
    ):
        assert main.main(["predict", model, f"{data}.csv", "--overwrite"]) == 0
        said = capsys.readouterr().err
        assert ("note" not in said) if note is None else (note in said), (model, data, said)
    frame.assign(age="2001-01-31").to_csv("dates.csv", index=False)
    assert main.main(["predict", "plain", "dates.csv", "--overwrite"]) == 1
    assert capsys.readouterr().err.endswith("column 'age' holds date32[day], not numbers\n")
    shares.assign(yes=1 - shares["no"])[["town", "yes"]].to_csv("yes.csv", index=False)
    assert main.main(["evaluate", "plain", "plain.csv", "--bag", "town", "--proportions", "yes.csv"]) == 0
    assert "the others are called 'no'" in capsys.readouterr().err
