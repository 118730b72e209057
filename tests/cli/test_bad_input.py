"""Input that cannot be meant ends in one line that names the option, the file or the column."""

import pytest

from llpgan.cli import main

BAGS = ["--bag", "town", "--proportions", "towns.csv"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(
        "age,w,town\n" + "".join(f"{20 + i}.5,{1 + i % 2},t{i % 4}\n" for i in range(24))
    )
    (tmp_path / "towns.csv").write_text("town,no,yes\nt0,0.2,0.8\nt1,0.5,0.5\nt2,0.9,0.1\nt3,0.4,0.6\n")
    (tmp_path / "header.csv").write_text("age,w,town\n")
    (tmp_path / "list.yaml").write_text("- town\n- 3\n" * 200)


FIT = ["fit", "people.csv", *BAGS, "--method", "MeanMap"]
BAD = {
    "a seed below 0": (
        [*FIT, "--random_state", "-1"],
        "--random_state must be a whole number from 0 to 4294967295",
    ),
    "a seed too large": (["inspect", "people.csv", *BAGS, "--random_state", str(2**40)], "--random_state must be"),
    "no time": (["fit", "people.csv", *BAGS, "--time_limit", "-5"], "--time_limit is a number of seconds above 0"),
    "time for a method": ([*FIT, "--time_limit", "60"], "leave it out, or see --method.time_limit"),
    "a weight as feature": (
        [*FIT, "--weight", "w", "--columns.only", "w"],
        "people.csv: column 'w' is the bag, the label or the weight, which cannot be a feature",
    ),
    "a bag as class": (
        [*FIT, "--long", "town,no"],
        "column 'town' is given as bag and as class or share (--long)",
    ),
    "an empty output": ([*FIT, "--out", ""], "--out is an empty text: a path would be right"),
    "an empty folder": (["store", "people.csv", *BAGS, "--to", " "], "--to is an empty text"),
    "a coverage of 0": (["predict", "none", "none.csv", "--coverage", "0"], "--coverage must be a number between"),
    "a coverage of 90": (
        ["evaluate", "none", "none.csv", "--coverage", "90"],
        "--coverage must be a number between",
    ),
    "a threshold of 2": (
        ["predict", "none", "none.csv", "--threshold", "no=2"],
        "threshold of 'no' must be between",
    ),
    "two thresholds": (
        ["predict", "no", "no.csv", "--threshold", "a=0.2,a=0.3"],
        "names a class twice (--threshold)",
    ),
    "no folds": (["compare", "people.csv", *BAGS, "--cv", "1"], "--cv must be a number of folds from 2 on, got 1"),
    "a page in the model": (
        ["compare", "people.csv", *BAGS, "--out", "c", "--html", "./c/model/report.html"],
        "./c/model/report.html is in the folder of the model, c/model (--html): name another place",
    ),
    "a checkpoint in the model": (
        [*FIT[:-1], "DLLP", "--method.checkpoint", "m/c.pt", "--out", "m"],
        "m/c.pt is in the folder of the model, m (--method.checkpoint): name another place",
    ),
    "logs in the model": (
        [*FIT[:-1], "DLLP", "--method.tensorboard", "m", "--out", "m"],
        "m is in the folder of the model, m (--method.tensorboard)",
    ),
    "a checkpoint in a file": (
        [*FIT[:-1], "DLLP", "--method.checkpoint", "people.csv/c.pt"],
        "people.csv/c.pt cannot be written",
    ),
    "no data": (["fit", "", *BAGS], "data is an empty text: a path would be right"),
    "no table": (["fit", "people.csv", "--proportions", ""], "--proportions is an empty text: a path would"),
    "no epochs": (["demo", "--epochs", "0"], "--epochs must be a number from 1 on, got 0"),
    "no workers": ([*FIT, "--cluster", "auto", "--workers", "0"], "--workers must be a number from 1 on, got 0"),
    "no cluster": ([*FIT, "--cluster", "127.0.0.1:1"], "no Ray cluster answers at 127.0.0.1:1 (--cluster)"),
    "no options": (
        [*FIT, "--config", "list.yaml"],
        "--config: list.yaml holds no options: lines such as bag: state",
    ),
    "another choice": ([*FIT, "--unmatched", "Drop"], "--unmatched: Expected one of 'error', 'drop'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_ends_in_one_line(name, capsys, tmp_path):
    before = sorted(tmp_path.iterdir())
    words, said = BAD[name]
    assert main.main(words) in (1, 2)
    text = capsys.readouterr().err
    assert said in text
    assert len(text.splitlines()) == 1
    assert len(text) < 400
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.filterwarnings("ignore")
def test_a_model_is_judged_by_one_kind_of_shares(capsys):
    assert main.main([*FIT, "--report", "false"]) == 0
    assert main.main(["evaluate", "model", "people.csv", *BAGS, "--counts", "towns.csv"]) == 1
    assert "give either proportions or counts, and not both" in capsys.readouterr().err
    assert main.main(["predict", "model", "header.csv"]) == 1
    assert "header.csv is empty: it has columns ['age', 'w', 'town'], but no rows" in capsys.readouterr().err
