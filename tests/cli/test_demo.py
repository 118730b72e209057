import re

import pytest

import llpgan
from llpgan.cli import main


@pytest.mark.slow
def test_the_demo_leaves_a_model_a_report_and_the_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main.main(["demo", "--epochs", "1"]) == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80
    assert re.search(r"AutoLLP, from 51 results +│ 80\.\d % +│ 0\.88", said)
    assert re.search(r"logistic regression, from 44,932 votes │ 87\.1 % +│ 0\.934", said)
    assert "of 360 new images are recognized correctly" in said
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        "digits.png",
        "model",
        "respondents.csv.gz",
        "state_results.csv",
    }
    page = (tmp_path / "demo" / "model" / "report.html").read_text()
    assert "Against the labels" in page
    model = llpgan.load("demo/model")
    assert model.predict("demo/respondents.csv.gz").shape == (44932,)
    assert main.main(["demo", "--epochs", "1"]) == 1
    assert "exists" in capsys.readouterr().err
