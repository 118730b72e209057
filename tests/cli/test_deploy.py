"""llpgan conformalize, predict --coverage, monitor and suggest."""

import csv

import numpy as np
import pytest

import llpgan
from llpgan.cli import main
from llpgan.evaluation import read_history

pytestmark = pytest.mark.slow  # some seconds together


def write_tables(name, seed, noise=1.0, n=3200):
    """People in random boxes of 16, and how each box voted; the vote follows from the age, but for noise."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 10, n).round(1)
    vote = np.where(age - 50 + 10 * noise * rng.normal(size=n) > 0, "yes", "no")
    with open(f"{name}.csv", "w", newline="") as file:  # noqa: PTH123
        writer = csv.writer(file)
        writer.writerow(["id", "box", "age"])
        writer.writerows([i, f"b{i // 16:03}", age[i]] for i in range(n))
    with open(f"{name}_boxes.csv", "w", newline="") as file:  # noqa: PTH123
        writer = csv.writer(file)
        writer.writerow(["box", "no", "yes"])
        shares = (vote.reshape(-1, 16) == "yes").mean(axis=1)
        writer.writerows([f"b{i:03}", 1 - share, share] for i, share in enumerate(shares))
    return vote


def options(name):
    return [f"{name}.csv", "--bag", "box", "--proportions", f"{name}_boxes.csv"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("deploy")


@pytest.fixture(autouse=True)
def model(folder, monkeypatch):
    monkeypatch.chdir(folder)
    if not (folder / "model").exists():
        for seed, name in enumerate(["train", "held_out", "then", "now"]):
            write_tables(name, seed)
        fit = ["fit", *options("train"), "--columns.drop", "id", "--method", "MeanMap"]
        assert main.main([*fit, "--out", "model"]) == 0
        conformalize = ["conformalize", "model", *options("held_out"), "--recalibrate", "temperature"]
        assert main.main([*conformalize, "--out", "with_sets"]) == 0


def test_predictions_have_a_column_of_sets(capsys):
    votes = write_tables("new", 9)
    assert main.main(["predict", "with_sets", "new.csv", "--coverage", "0.9", "--overwrite", "true"]) == 0
    with open("predictions.csv", newline="") as file:  # noqa: PTH123
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["prediction", "set", "p_no", "p_yes"]
    assert {row["set"] for row in rows} == {"no", "yes", "no|yes"}
    covered = np.mean([vote in row["set"].split("|") for vote, row in zip(votes, rows, strict=True)])
    assert 0.88 < covered < 0.97
    assert (
        llpgan.load("with_sets").predict_set("new.csv").sum(axis=1) == [row["set"].count("|") + 1 for row in rows]
    ).all()
    assert main.main(["predict", "model", "new.csv", "--coverage", "0.9", "--out", "none.csv"]) == 1
    assert "has no prediction sets: call conformalize(bags), or run llpgan conformalize" in capsys.readouterr().err


def test_a_conformalized_model_keeps_its_report_and_has_a_page_on_its_sets(folder, capsys):
    assert (folder / "with_sets/report.html").read_text() == (folder / "model/report.html").read_text()
    assert (folder / "with_sets/model_card.md").read_text() == (folder / "model/model_card.md").read_text()
    page = (folder / "with_sets/prediction_sets.html").read_text()
    assert "Coverage of 90 % sets" in page
    assert "Calibration error, by bags" in page
    assert main.main(["evaluate", "with_sets", *options("now"), "--html", "now.html"]) == 0
    page = (folder / "now.html").read_text()
    assert "Coverage on these bags" in page
    assert "Calibration error, by bags" in page
    capsys.readouterr()


def test_evaluate_estimates_coverage_and_calibration(capsys):
    assert main.main(["evaluate", "with_sets", *options("now"), "--coverage", "0.9"]) == 0
    said = capsys.readouterr().out
    for figure in ("coverage of sets, from bags alone", "classes per set", "calibration error, from bags alone"):
        assert figure in said


def test_training_bags_are_refused(capsys):
    assert main.main(["conformalize", "model", *options("train"), "--out", "wrong"]) == 1
    assert "200 of these 200 bags are among those that the model was trained on" in capsys.readouterr().err
    assert main.main(["conformalize", "model", *options("held_out")]) == 1
    assert "model would be replaced: name a folder (--out), or allow it (--overwrite)" in capsys.readouterr().err


def test_monitor_keeps_a_history_and_its_exit_status_is_the_verdict(folder, capsys):
    monitor = ["monitor", "with_sets", "--history", "course.jsonl"]
    assert main.main([*monitor, *options("then")]) == 0
    assert "are the reference" in capsys.readouterr().out
    assert main.main([*monitor, *options("now")]) == 0
    assert capsys.readouterr().out.startswith("Quiet.")
    write_tables("worse", 5, noise=5.0)
    assert main.main([*monitor, *options("worse"), "--html", "course.html"]) == 4
    assert "The accuracy fell from 7" in capsys.readouterr().out
    assert len((folder / "course.jsonl").read_text().splitlines()) == 3
    page = (folder / "course.html").read_text()
    assert "<b>Alarm.</b>" in page
    assert "coverage of prediction sets" in page


def test_suggested_rows_are_written(folder, capsys):
    suggest = ["suggest", "model", *options("train"), "--budget", "7", "--keep", "id"]
    assert main.main([*suggest, "--out", "rows.csv"]) == 0
    with (folder / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "id", "p_no", "p_yes"]
    assert [row["row"] for row in rows] == [row["id"] for row in rows]
    assert len({row["row"] for row in rows}) == 7
    assert main.main([*suggest, "--out", "rows.txt"]) == 1
    assert "must end in .csv" in capsys.readouterr().err
    assert main.main(["suggest", "model", "train.csv", "--bag", "box"]) == 1
    assert "name a table of them (--proportions) or (--counts)" in capsys.readouterr().err
    (folder / "voted.csv").write_text(
        "id,box,age,vote\n"
        + "".join(f"{i},b{i // 16:03},{40 + i % 20},{'no' if i % 3 else ''}\n" for i in range(3200))
    )
    known = ["suggest", "model", "voted.csv", *options("train")[1:], "--label", "vote", "--out", "more.csv"]
    assert main.main(known) == 0
    with (folder / "more.csv").open(newline="") as file:
        assert {int(row["row"]) % 3 for row in csv.DictReader(file)} == {0}


BAD_INPUTS = {
    "predict with_sets now.csv --out p.csv --coverage 90": "--coverage must be a number between 0 and 1",
    "suggest model {now} --budget 0": "--budget must be a number of rows from 1 on, got 0",
    "suggest model {now} --budget -1": "--budget must be a number of rows from 1 on, got -1",
    "suggest model {now} --keep age --out now.csv --overwrite true": "now.csv is an input",
    "suggest model {own} --keep row": "column 'row' cannot be copied: the file has one of that name (--keep)",
    "suggest model {now} --budget 3201": "--budget must be a number of rows from 1 to 3,200, got 3201",
    "suggest model {now} --keep name": "now.csv has no column 'name'",
    "suggest model {now} --weight people": "now.csv has no column 'people'",
    "suggest model {now} --label vote": "now.csv has no column 'vote'",
    "monitor model {now} --history .": "name a file of JSON lines (--history)",
    "monitor model {now} --history a.html --html a.html": "(--history) (--html): name a file for each output",
    "monitor model {now} --history now.csv": "now.csv is an input",
    "monitor model {now} --history /dev/full": "/dev/full is no file: name a file of JSON lines (--history)",
    "monitor model {now} --history now.csv/h.jsonl": "now.csv/h.jsonl cannot be written: ",
    "monitor model {now} --history now.csv/h.jsonl --coverage 1": "--coverage must be a number between 0 and 1",
    "monitor other {now} --history levels.jsonl": "is of another model, which predicts otherwise",
    "monitor model {now} --html page.txt": "page.txt: the page is written to a file that ends in .html (--html)",
    "monitor with_sets {now} --history levels.jsonl --coverage 0.8": "give the same level (--coverage)",
    "conformalize model {sorted}": "a prediction set needs bags that were drawn at random",
    "conformalize model {held_out} --worst_case true --by_class true": "one of (--worst_case) and (--by_class)",
    "conformalize model {held_out} --out with_sets": "with_sets exists",
}


@pytest.mark.parametrize("command", BAD_INPUTS)
def test_bad_input_ends_in_one_line_that_names_the_option(folder, capsys, command):
    if not (folder / "levels.jsonl").exists():
        assert main.main(["monitor", "with_sets", *options("then"), "--history", "levels.jsonl"]) == 0
        fit = ["fit", *options("then"), "--columns.drop", "id", "--method", "MeanMap", "--report", "false"]
        assert main.main([*fit, "--out", "other"]) == 0
        ages = np.sort([row.split(",")[2] for row in (folder / "now.csv").read_text().split()[1:]])
        rows = "".join(f"{i},b{i // 16:03},{age}\n" for i, age in enumerate(ages))
        (folder / "sorted.csv").write_text("id,box,age\n" + rows)
        (folder / "sorted_boxes.csv").write_text((folder / "now_boxes.csv").read_text())
        (folder / "own.csv").write_text((folder / "now.csv").read_text().replace("id,", "row,", 1))
        (folder / "own_boxes.csv").write_text((folder / "now_boxes.csv").read_text())
    words = [options(word[1:-1]) if word.startswith("{") else [word] for word in command.split()]
    given = [word for part in words for word in part]
    if given[0] == "conformalize" and "--out" not in given:
        given += ["--out", "unwritten"]
    capsys.readouterr()
    assert main.main(given) == 1
    said = capsys.readouterr().err
    assert BAD_INPUTS[command] in said
    assert said.count("\n") == 1
    assert not (folder / "unwritten").exists()


def test_commands_count_rows_by_the_weight_of_the_training(folder, capsys):
    rng = np.random.default_rng(0)
    for name in ("train", "then"):
        lines = (folder / f"{name}.csv").read_text().splitlines()
        times = rng.integers(0, 4, len(lines) - 1)
        times[::16] = 1
        of_row = list(zip(lines[1:], times.tolist(), strict=True))
        weighted = [f"{lines[0]},people", *(f"{line},{n}" for line, n in of_row)]
        repeated = [lines[0], *(line for line, n in of_row for _ in range(n))]
        for ending, rows in (("weighted", weighted), ("repeated", repeated)):
            (folder / f"{name}_{ending}.csv").write_text("\n".join(rows) + "\n")
            (folder / f"{name}_{ending}_boxes.csv").write_text((folder / f"{name}_boxes.csv").read_text())
    fit = ["fit", "--columns.drop", "id", "--method", "MeanMap", "--report", "false"]
    assert main.main([*fit, *options("train_weighted"), "--weight", "people", "--out", "weighted"]) == 0
    assert main.main([*fit, *options("train_repeated"), "--out", "repeated"]) == 0
    looks = []
    for form in ("weighted", "repeated"):
        assert main.main(["monitor", form, *options(f"then_{form}"), "--history", f"{form}.jsonl"]) == 0
        (look,) = read_history(folder / f"{form}.jsonl")
        figures = {**look.classes, **look.columns}
        del figures["age"]  # in units of rows, each of which counts once
        looks.append({name: figure.value for name, figure in figures.items()})
        assert main.main(["suggest", form, *options(f"then_{form}"), "--budget", "1", "--out", f"{form}.csv"]) == 0
    assert looks[0] == pytest.approx(looks[1])
    first = [list(csv.DictReader((folder / f"{form}.csv").open())) for form in ("weighted", "repeated")]
    assert [float(row["p_no"]) for row in first[0]] == pytest.approx([float(row["p_no"]) for row in first[1]])
    said = capsys.readouterr().err
    assert said.count("note: rows count as column 'people' says, as in training") == 2
    given = ["weighted", *options("then"), "--history", "unweighted.jsonl"]
    assert main.main(["monitor", *given]) == 0
    assert "weights from column 'people', which then.csv does not have" in capsys.readouterr().err
    command = ["conformalize", "weighted", *options("then_weighted"), "--out", "none"]
    assert main.main(command) == 1
    assert "rows without weights, or larger sets for any bags (--worst_case)" in capsys.readouterr().err
    assert main.main([*command, "--worst_case", "true"]) == 0
