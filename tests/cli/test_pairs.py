"""``llpgan pairs``: from a report of counts to a saved model that predicts rows of a file."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from llpgan import MarginalLogistic, load
from llpgan.cli import main
from llpgan.tables import MarginalTables
from tests.cli.test_main import rows_of

PAIRS = ["pairs", "report.csv", "--C", "1", "--n_rows", "2000"]


@pytest.fixture(autouse=True)
def people(tmp_path, monkeypatch):
    """Six hundred visitors; who clicks follows from code and job together. Two codes differ by a zero."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"code": rng.choice(["07", "7"], 600), "job": rng.choice(["clerk", "nurse"], 600)})
    rows["year"] = rng.choice([1999, 2000], 600)
    clicked = np.where((rows["code"] == "07") & (rows["job"] == "nurse"), "click", "none")
    rows.assign(clicked=clicked).to_csv("people.csv", index=False)
    MarginalTables.from_rows(rows, clicked).to_frame().to_csv("report.csv", index=False)
    return rows.assign(clicked=clicked)


@pytest.mark.parametrize("rows", [[], ["--rows", "people.csv"]], ids=["tables alone", "with rows"])
def test_a_report_becomes_a_model_that_predicts_rows_of_a_file(rows, people, capsys):
    assert main.main([*PAIRS, *rows]) == 0
    assert "report.csv: tables of 3 pairs of 3 columns, about 600 rows, 2 classes" in capsys.readouterr().err
    assert main.main(["predict", "model", "people.csv"]) == 0
    assert rows_of("predictions.csv")["prediction"] == people["clicked"].tolist()
    assert main.main(["evaluate", "model", "people.csv", "--label", "clicked"]) == 0
    assert "accuracy" in capsys.readouterr().out


def test_the_card_describes_what_the_model_learned_from():
    main.main([*PAIRS, "--sd", "3", "--threshold", "2"])
    card = Path("model/model_card.md").read_text()
    for said in ("tables of 3 pairs", "report.csv", "standard deviation 3", "below 2", "columns code, job, year"):
        assert said in card
    assert "bags" not in card


def test_the_command_gives_the_model_of_the_library(people):
    main.main(PAIRS)
    tables = MarginalTables.from_counts("report.csv")
    model = MarginalLogistic(C=1.0, n_rows=2000, random_state=0).fit_tables(tables)
    np.testing.assert_array_equal(load("model").predict_proba(people), model.predict_proba(people))


WRONG = {
    "a file that is not there": (["pairs", "nothing.csv"], "there is no file nothing.csv"),
    "no report": (["pairs", "people.csv"], "people.csv has no column 'column_1'"),
    "negative noise": ([*PAIRS, "--sd", "-1"], "sd must be a number that is not negative"),
    "rows without a column": ([*PAIRS, "--rows", "report.csv"], "report.csv has no column 'code'"),
    "a class that is no column": ([*PAIRS, "--classes", "click,never"], "no column 'never'"),
    "an output that is an input": ([*PAIRS, "--out", "."], "name another output"),
}


@pytest.mark.parametrize(("words", "said"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_named_and_leaves_nothing(words, said, capsys):
    before = sorted(Path().iterdir())
    assert main.main(words) == 1
    assert said in capsys.readouterr().err
    assert sorted(Path().iterdir()) == before


def test_what_else_takes_a_model_or_a_method_says_that_it_cannot(capsys):
    main.main(PAIRS)
    assert main.main(["export", "onnx", "model"]) == 1
    assert "a MarginalLogistic cannot be exported" in capsys.readouterr().err
    assert (
        main.main(["fit", "people.csv", "--bag", "job", "--label", "clicked", "--method", "MarginalLogistic"]) == 2
    )
    assert "learns from tables of pairs of columns, not from bags: see llpgan pairs" in capsys.readouterr().err
