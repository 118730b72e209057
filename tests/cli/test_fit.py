"""``llpgan fit``: what it says, and bags that it keeps out."""

import re

import numpy as np
import pytest

from llpgan import load
from llpgan.cli import main
from llpgan.cli.fit import split_rows

FIT = ["fit", "people.csv", "--bag", "town", "--proportions", "towns.csv", "--label", "vote"]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch, rng):
    """Two hundred people of twenty towns, whose vote follows from their age."""
    monkeypatch.chdir(tmp_path)
    towns = np.repeat(np.arange(20), 10)
    ages = rng.uniform(20, 80, 200) + 20 * (towns % 2)
    votes = np.where(ages > 55, "yes", "no")
    lines = [f"{age:.2f},t{town},{vote}" for age, town, vote in zip(ages, towns, votes, strict=True)]
    (tmp_path / "people.csv").write_text("age,town,vote\n" + "\n".join(lines) + "\n")
    shares = [(votes[towns == town] == "yes").mean() for town in range(20)]
    lines = [f"t{town},{1 - share},{share}" for town, share in enumerate(shares)]
    (tmp_path / "towns.csv").write_text("town,no,yes\n" + "\n".join(lines) + "\n")


def test_it_says_which_method_it_takes_and_how_well_it_matches_the_bags(quick_parts, capsys):
    assert main.main(FIT) == 0
    said = capsys.readouterr().err
    assert "Using AutoLLP: the default for tables" in said
    assert re.search(r"AutoLLP: bag error [\d.]+ % \(overall shares: [\d.]+ %\) on the training bags", said)
    assert "open model/report.html in a browser; llpgan predict model NEW_ROWS" in said


def test_bags_that_are_held_out_are_reported_on(capsys, tmp_path):
    assert main.main([*FIT, "--hold_out", "0.2", "--method", "MeanMap"]) == 0
    assert "on 4 held-out bags" in capsys.readouterr().err
    page = (tmp_path / "model" / "report.html").read_text()
    assert "On held-out bags" in page
    assert "on the class shares of 16 bags" in page


def test_the_same_seed_holds_out_the_same_bags():
    for out in ("one", "other"):
        main.main(
            [
                *FIT,
                "--hold_out",
                "0.3",
                "--method",
                "MeanMap",
                "--random_state",
                "5",
                "--out",
                out,
                "--report",
                "false",
            ]
        )
    one, other = (load(out).predict_proba("people.csv") for out in ("one", "other"))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("share", ["1", "-0.1", "2.5"])
def test_a_share_that_is_none_is_refused_before_training(share, capsys, tmp_path):
    assert main.main([*FIT, "--hold_out", share]) == 1
    assert "hold_out is a share of the bags, between 0 and 1" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_a_single_bag_cannot_be_held_out(bags):
    with pytest.raises(ValueError, match="--hold_out keeps bags out of training, and there is only one"):
        split_rows(bags.take_bags([0]), 0.2, random_state=0)


@pytest.mark.filterwarnings("default")
def test_a_model_that_learned_nothing_says_so_at_the_top_of_its_report(capsys, tmp_path, rng):
    """Columns that have nothing to do with the votes."""
    text = (tmp_path / "people.csv").read_text().splitlines()
    rows = [f"{noise:.3f},{line.split(',', 1)[1]}" for noise, line in zip(rng.random(200), text[1:], strict=True)]
    (tmp_path / "people.csv").write_text("\n".join([text[0], *rows]) + "\n")
    assert main.main([*FIT, "--method", "BagLogistic", "--method.C", "0.01"]) == 0
    assert "note: BagLogistic" in capsys.readouterr().err
    assert "Do not rely on this model" in (tmp_path / "model" / "report.html").read_text()


def test_counts_within_the_classes_that_are_given_are_learned_and_judged(capsys, tmp_path):
    lines = [f"t{town},{5 + town % 3},{3 + town % 2},{2 if town % 4 == 0 else ''}" for town in range(20)]
    (tmp_path / "votes.csv").write_text("town,no,yes,nobody\n" + "\n".join(lines) + "\n")
    given = ["--bag", "town", "--counts", "votes.csv"]
    fit = [
        "fit",
        "people.csv",
        *given,
        "--columns.drop",
        "vote",
        "--method",
        "BagLogistic",
        "--method.n_resamples",
        "0",
    ]
    assert main.main(fit) == 1
    assert "nan of class 'nobody' is not a count; if this class was not counted" in capsys.readouterr().err
    assert main.main([*fit, "--within", "--report", "false"]) == 0
    assert "within the classes that are given" in capsys.readouterr().err
    assert main.main(["evaluate", "model", "people.csv", *given, "--within"]) == 0
    assert "some shares of these bags are unknown" in " ".join(capsys.readouterr().out.split())
