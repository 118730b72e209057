"""predict and evaluate read a file as the model's training did, and say what a model cannot read."""

import numpy as np
import pytest

import llpgan
from llpgan import MeanMap, save
from llpgan.cli import main
from tests.cli.test_main import FIT, files, rows_of  # noqa: F401, a fixture


@pytest.fixture
def model_of_arrays(tmp_path, blobs, monkeypatch):
    instances, labels, groups = blobs
    save(MeanMap().fit(instances, labels, groups=groups), tmp_path / "model")
    np.savez(tmp_path / "new.npz", instances=instances, label=labels)
    (tmp_path / "new.csv").write_text("x,y,label\n0,1,0\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("model_of_arrays")
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_model_of_arrays_refuses_a_table_with_a_message(command, capsys):
    options = ["--label", "label"] if command == "evaluate" else []
    assert main.main([command, "model", "new.npz", *options]) == 0
    assert main.main([command, "model", "new.csv", "--overwrite", *options]) == 1
    assert "new.csv is no array, but the model was trained on one" in capsys.readouterr().err


@pytest.mark.usefixtures("model_of_arrays")
@pytest.mark.parametrize("shape", [(), (5,), (5, 7), (5, 3, 1)])
def test_an_array_of_another_shape_is_refused_with_its_file(shape, capsys):
    np.save("other.npy", np.zeros(shape))
    assert main.main(["predict", "model", "other.npy"]) == 1
    said = capsys.readouterr().err
    assert f"other.npy holds an array of shape {shape}, but the model was trained on" in said


def test_codes_that_look_like_numbers_stay_text(files):  # noqa: F811
    table = (files / "people.csv").read_text().replace('"Rome"', "007").replace('"Oslo"', "7")
    (files / "people.csv").write_text(table)
    assert main.main([*FIT, "--columns.categories", "[city]", "--report", "false"]) == 0
    assert main.main(["predict", "model", "people.csv"]) == 0
    assert main.main(["evaluate", "model", "people.csv", "--label", "vote", "--out", "scores.json"]) == 0
    assert llpgan.load("model").encoder_.text_columns == ["city"]
    assert len(rows_of("predictions.csv")["prediction"]) == 200
