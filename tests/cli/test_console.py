"""Names from users' data are shown as they are, also those that a terminal's styles are written in."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from llpgan.cli import main

CLASSES = ["[/b]", "[red]", ":cat:"]
BAGS = ["people.csv", "--bag", "state", "--proportions", "results.csv", "--label", "vote"]


@pytest.fixture
def odd_names(tmp_path, monkeypatch):
    """Three classes with names that mean something to rich, in twelve random bags."""
    rng = np.random.default_rng(0)
    state, vote = np.repeat(np.arange(12), 20), rng.integers(3, size=240)
    people = {"state": [f"s{i}" for i in state], "age": rng.normal(vote, 0.3), "vote": np.array(CLASSES)[vote]}
    pa.csv.write_csv(pa.table(people), tmp_path / "people.csv")
    shares = np.array([np.bincount(vote[state == i], minlength=3) / 20 for i in range(12)])
    results = {"state": [f"s{i}" for i in range(12)]} | {name: shares[:, k] for k, name in enumerate(CLASSES)}
    pa.csv.write_csv(pa.table(results), tmp_path / "results.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.usefixtures("odd_names")
def test_classes_are_shown_by_their_names(capsys):
    assert main.main(["fit", *BAGS, "--method", "MeanMap", "--report", "false", "--out", "[model]"]) == 0
    said = capsys.readouterr().err
    assert "3 classes ([/b], [red], :cat:)" in said
    assert "saved [model]" in said
    assert main.main(["evaluate", "[model]", *BAGS]) == 0
    said = capsys.readouterr().out
    for name in CLASSES:
        assert f"predicted {name}" in said
        assert f"│ {name} " in said
        assert f"recall of {name}, from bags alone" in said
    assert "Without labels." in said
    assert main.main(["inspect", *BAGS, "--curve", "false"]) == 0
    said = capsys.readouterr().out
    assert all(f"class {name}" in said for name in CLASSES)
