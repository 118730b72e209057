"""What evaluate shows stands beside the name of the class that it is of."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import llpgan
from llpgan import Bags
from llpgan.cli import main
from llpgan.cli.evaluate import Evaluation
from llpgan.evaluation import judge_without_labels
from tests.cli.test_main import FIT, files, rows_of  # noqa: F401, a fixture

CLASSES = np.array(["left", "middle", "right"])
RECALL = np.array([0.95, 0.7, 0.4])


@pytest.mark.usefixtures("files")
def test_true_classes_are_rows_of_the_confusion_and_predicted_ones_columns(capsys):
    main.main([*FIT, "--report", "false"])
    main.main(["predict", "model", "people.csv"])
    people = pa.csv.read_csv("people.csv")
    predicted, place = np.array(rows_of("predictions.csv")["prediction"]), people.column_names.index("vote")
    votes = np.where(np.arange(200) % 20 == 0, "no", predicted)  # mistakes in one direction alone
    pa.csv.write_csv(people.set_column(place, "vote", pa.array(votes)), "people.csv")
    capsys.readouterr()
    assert main.main(["evaluate", "model", "people.csv", "--label", "vote"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("│ no", "│ yes"))]
    by_class, shown = (
        [[cell.strip() for cell in line.split("│")[1:-1]] for line in part] for part in (lines[:2], lines[2:])
    )
    wrong = np.sum((votes == "no") & (predicted == "yes"))
    assert wrong > 0
    assert shown == [
        ["no", str(np.sum(predicted == "no")), str(wrong)],
        ["yes", "0", str(np.sum(votes == "yes"))],
    ]
    assert [row[0] for row in by_class] == ["no", "yes"]
    assert by_class[0][1:] == [
        str(np.sum(votes == "no")),
        f"{100 * (1 - wrong / np.sum(votes == 'no')):.1f} %",
        "100 %",
    ]


def test_each_class_has_its_own_recall(rng):
    truth = rng.integers(3, size=6000)
    right = rng.random(6000) < RECALL[truth]
    probabilities = np.eye(3)[np.where(right, truth, (truth + 1) % 3)]
    bags = Bags.from_labels(np.zeros((6000, 1)), CLASSES[truth], np.arange(6000) // 10)
    figures = Evaluation(None, judge_without_labels(bags, probabilities), CLASSES.tolist()).figures()
    found = [figures[f"recall of {name}, from bags alone"].value for name in CLASSES]
    np.testing.assert_allclose(found, RECALL, atol=0.1)


@pytest.mark.usefixtures("files")
def test_the_bag_error_of_the_overall_shares_is_shown_with_that_of_the_model(capsys):
    main.main([*FIT, "--report", "false"])
    capsys.readouterr()
    by_bags = ["--bag", "state", "--proportions", "results.csv"]
    assert main.main(["evaluate", "model", "people.csv", *by_bags, "--out", "figures.json"]) == 0
    assert "bag error of the overall shares" in capsys.readouterr().out
    figures = json.loads(Path("figures.json").read_text())
    errors = [figures[f"bag error {of}"]["value"] for of in ("(total variation)", "of the overall shares")]
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.usefixtures("files")
def test_a_rare_class_is_predicted_from_its_threshold_on(capsys):
    main.main([*FIT, "--report", "false"])
    capsys.readouterr()
    assert main.main(["evaluate", "model", "people.csv", "--label", "vote", "--threshold", "no=0.999"]) == 0
    assert "note" not in capsys.readouterr().err
    people = pa.csv.read_csv("people.csv")
    swapped = ["no" if vote == "yes" else "yes" for vote in people["vote"].to_pylist()]
    pa.csv.write_csv(people.drop(["vote"]).append_column("vote", pa.array(swapped)), "swapped.csv")
    assert main.main(["evaluate", "model", "swapped.csv", "--label", "vote"]) == 0
    assert (
        f"probability on, such as its share: --threshold yes={swapped.count('yes') / 200:.2g}"
        in capsys.readouterr().err
    )
    figures = {}
    for threshold in ("0.5", "yes=0.02"):
        options = ["--out", f"{threshold}.json", "--threshold", threshold]
        assert main.main(["evaluate", "model", "people.csv", "--label", "vote", *options]) == 0
        said = capsys.readouterr()
        assert f"saved {threshold}.json" in said.err
        assert f"with the threshold {threshold}" in said.out
        assert "accuracy of the commonest class" in said.out
        figures[threshold] = json.loads(Path(f"{threshold}.json").read_text())
    recalls = [found["classes"][1]["recall"] for found in figures.values()]
    assert recalls[0] < recalls[1]
    aucs = [found["AUC"]["value"] for found in figures.values()]
    assert aucs[0] == aucs[1]
    assert main.main(["predict", "model", "people.csv", "--threshold", "yes=0.02"]) == 0
    rows = rows_of("predictions.csv")
    expected = ["yes" if p >= 0.02 else "no" for p in rows["p_yes"]]
    assert rows["prediction"] == expected
    model = llpgan.load("model")
    assert model.predict("people.csv", threshold={"yes": 0.02}).tolist() == expected
    for bad, message in (
        ("maybe=0.3", "there is no class 'maybe' (--threshold)"),
        ("2", "must be between 0 and 1"),
    ):
        assert main.main(["predict", "model", "people.csv", "--threshold", bad, "--overwrite"]) == 1
        assert message in capsys.readouterr().err
