"""Rows of bags without proportions, and proportions without rows, are an error or left out."""

import numpy as np
import pytest

from llpgan import Bags, load
from llpgan.cli import main
from llpgan.ecological import shares_by
from llpgan.tables.store import store_tables

PEOPLE = """state,age,vote
Ohio,31,yes
Utah,bad,yes
Iowa,47,no
Guam,28,no
Ohio,52,no
Utah,61,no
Iowa,18,yes
"""
RESULTS = "state,no,yes\nIowa,0.2,0.8\nOhio,0.5,0.5\nMaine,0.5,0.5\n"
NOTE = (
    "left out: 3 rows of people.csv in 2 bags, such as 'Guam', without proportions and bag 'Maine' of results.csv "
    r"without rows \(unmatched\)"
)


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "results.csv").write_text(RESULTS)


def test_the_error_says_how_to_leave_such_rows_out():
    with pytest.raises(ValueError, match=r"bag 'Guam' \(and 1 more\) of .*: drop \(unmatched\)$|choose drop"):
        Bags.from_tables("people.csv", "results.csv", bag="state", label="vote")


def test_unmatched_rows_and_proportions_are_counted_and_left_out():
    with pytest.warns(UserWarning, match=NOTE):
        bags = Bags.from_tables("people.csv", "results.csv", bag="state", label="vote", unmatched="drop")
    kept = Bags.from_tables(
        {"state": ["Ohio", "Iowa", "Ohio", "Iowa"], "age": ["31", "47", "52", "18"]},
        {"state": ["Iowa", "Ohio"], "no": [0.2, 0.5], "yes": [0.8, 0.5]},
        bag="state",
    )
    assert bags.bag_ids == ("Iowa", "Ohio")
    np.testing.assert_array_equal(bags.instances, kept.instances)
    np.testing.assert_array_equal(bags.proportions, kept.proportions)


def test_a_store_leaves_out_the_same_rows():
    with pytest.warns(UserWarning, match=NOTE):
        stored = store_tables("people.csv", "store", "results.csv", bag="state", label="vote", unmatched="drop")
    assert stored.bag_ids == ("Iowa", "Ohio")
    assert stored.sizes.tolist() == [2, 2]


def test_every_command_reads_proportions_in_long_form(capsys, tmp_path):
    towns = ["state,side,share", "Iowa,no,0.2", "Iowa,yes,0.8", "Ohio,no,0.5", "Ohio,yes,0.49"]
    (tmp_path / "results.csv").write_text("\n".join(towns))
    (tmp_path / "people.csv").write_text(PEOPLE.replace("bad", "33"))
    words = ["people.csv", "--bag", "state", "--proportions", "results.csv", "--unmatched", "drop"]
    words += ["--long", "side,share", "--tolerance", "0.02"]
    assert main.main(["fit", *words, "--method", "MeanMap", "--columns.drop", "vote", "--report", "false"]) == 0
    commands = {"evaluate": [], "conformalize": ["--out", "s"], "shares": ["--by", "vote"], "monitor": []}
    for command, more in {**commands, "suggest": ["--budget", "1"]}.items():
        assert main.main([command, "model", *words, *more]) != 2, capsys.readouterr().err
        said = capsys.readouterr().err
        assert "left out: 3 rows" in said, command
        assert "sum to 0.99" not in said, command
    model = load("model")
    options = {"bag": "state", "proportions": "results.csv", "long": ["side", "share"], "unmatched": "drop"}
    with pytest.warns(UserWarning, match="left out"):
        assert shares_by(model, "people.csv", "vote", **options).sizes.sum() == 4


def test_messages_count_the_rows_of_the_file():
    people = PEOPLE.replace("Iowa,18", "Iowa,")
    with open("people.csv", "w") as file:  # noqa: PTH123
        file.write(people.replace("Ohio,52", "Ohio,oops"))
    options = {"bag": "state", "label": "vote", "unmatched": "drop"}
    with pytest.raises(ValueError, match="row 4: 'oops' is not a number"), pytest.warns(UserWarning, match="left"):
        Bags.from_tables("people.csv", "results.csv", **options)
    with pytest.raises(ValueError, match="row 4: 'oops' is not a number"), pytest.warns(UserWarning, match="left"):
        store_tables("people.csv", "store", "results.csv", **options)


def test_nothing_to_leave_out_says_nothing(recwarn):
    table = {"state": ["Ohio", "Iowa"], "age": [1.0, 2.0]}
    Bags.from_tables(table, "results.csv", bag="state", unmatched="drop", classes=["no", "yes"])
    assert ["Maine" in str(each.message) for each in recwarn] == [True]


def test_no_bag_in_common_is_an_error():
    with pytest.raises(ValueError, match=r"no bag of the table has a row in results.csv, such as 'Iowa'"):
        Bags.from_tables({"state": ["ohio"], "age": [1.0]}, "results.csv", bag="state", unmatched="drop")
    with pytest.raises(ValueError, match="unmatched must be 'error' or 'drop', got True"):
        Bags.from_tables("people.csv", "results.csv", bag="state", unmatched=True)


def test_fit_reports_on_the_rows_that_are_left(capsys):
    words = ["--bag", "state", "--proportions", "results.csv", "--label", "vote", "--by", "vote"]
    assert main.main(["fit", "people.csv", *words, "--method", "MeanMap"]) == 1
    assert "choose drop (--unmatched)" in capsys.readouterr().err
    assert main.main(["fit", "people.csv", *words, "--method", "MeanMap", "--unmatched", "drop"]) == 0
    said = capsys.readouterr().err
    assert "note: left out: 3 rows" in said
    assert "4 rows in 2 bags" in said


def test_every_command_with_bags_leaves_such_rows_out(capsys, tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE.replace("bad", "33"))
    fit = ["fit", "people.csv", "--bag", "state", "--proportions", "results.csv", "--label", "vote"]
    assert main.main([*fit, "--method", "MeanMap", "--report", "false", "--unmatched", "drop"]) == 0
    bags = ["people.csv", "--bag", "state", "--proportions", "results.csv"]
    commands = {
        "evaluate": ["--label", "vote", "--out", "e.json"],
        "monitor": ["--history", "history.jsonl"],
        "conformalize": ["--out", "with_sets"],
        "shares": ["--by", "vote"],
        "suggest": ["--budget", "4"],
    }
    for command, more in commands.items():
        capsys.readouterr()
        assert main.main([command, "model", *bags, *more]) == 1
        assert "choose drop (--unmatched)" in capsys.readouterr().err, command
        main.main([command, "model", *bags, *more, "--unmatched", "drop"])
        said = capsys.readouterr()
        assert "left out: 3 rows of people.csv" in said.err, command
        assert command != "evaluate" or "4 rows" in said.out
    suggested = (tmp_path / "to_label.csv").read_text().splitlines()[1:]
    assert sorted(int(line.split(",")[0]) for line in suggested) == [0, 2, 4, 6]  # rows of the file
    model = load("model")
    options = {"bag": "state", "proportions": "results.csv", "unmatched": "drop"}
    with pytest.warns(UserWarning, match="left out: 3 rows"):
        found = shares_by(model, "people.csv", "vote", **options)
    assert found.groups == ("no", "yes") and found.sizes.sum() == 4
