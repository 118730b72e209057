"""``llpgan compare``: from two files to a table, a picture and the chosen model."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import llpgan
from llpgan import Bags
from llpgan.cli import main
from llpgan.evaluation.compare import default_candidates, read_rows
from tests.cli.test_main import files  # noqa: F401, a fixture

COMPARE = ["compare", "people.csv", "--bag", "state", "--proportions", "results.csv", "--label", "vote"]


@pytest.mark.slow
@pytest.mark.usefixtures("files")
def test_from_files_to_the_chosen_model(tmp_path, capsys):
    command = [*COMPARE, "--methods", "[MeanMap, LaplacianMeanMap]", "--cv", "3"]
    assert main.main(command) == 0
    said = capsys.readouterr()
    assert "chosen" in said.out
    assert "fold 3 of 3, MeanMap" in said.err
    names = sorted(path.name for path in (tmp_path / "comparison").iterdir())
    assert names == ["comparison.md", "comparison.png", "comparison.svg", "model", "rows.jsonl"]
    assert type(llpgan.load("comparison/model")).__name__ in ("MeanMap", "LaplacianMeanMap")
    assert (tmp_path / "comparison" / "model" / "report.html").exists()
    assert main.main(command) == 1
    assert "model exists" in capsys.readouterr().err
    rows = read_rows(tmp_path / "comparison" / "rows.jsonl")
    assert main.main([*command, "--overwrite"]) == 0
    assert read_rows(tmp_path / "comparison" / "rows.jsonl") == rows


@pytest.mark.usefixtures("files")
def test_a_comparison_that_judges_no_method_leaves_nothing_behind(tmp_path, capsys):
    before = sorted(path.name for path in tmp_path.iterdir())
    command = [*COMPARE, "--methods", "MeanMap", "--cv", "2", "--report", "false"]
    assert main.main([*command, "--time_limit", "1e-6", "--html", "page.html"]) == 1
    assert "no method could be judged" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == before

    assert main.main(command) == 0
    rows = (tmp_path / "comparison" / "rows.jsonl").read_bytes()
    command = [*COMPARE, "--methods", "LaplacianMeanMap", "--cv", "2", "--report", "false", "--overwrite"]
    assert main.main([*command, "--time_limit", "1e-6"]) == 1
    assert (tmp_path / "comparison" / "rows.jsonl").read_bytes() == rows


@pytest.mark.usefixtures("files")
def test_settings_are_given_as_class_and_arguments(tmp_path):
    (tmp_path / "config.yaml").write_text(
        "methods:\n"
        "- class_path: InvCal\n"
        "  init_args: {kernel: rbf}\n"
        "- class_path: DLLP\n"
        "  init_args: {epochs: 2}\n"
    )
    options = ["--config", "config.yaml", "--cv", "2", "--report", "false", "--inside"]
    assert main.main([*COMPARE[:2], *options, *COMPARE[2:]]) == 0
    rows = read_rows(tmp_path / "comparison" / "rows.jsonl")
    assert {row["method"] for row in rows} == {"overall shares", "InvCal(kernel='rbf')", "DLLP(epochs=2)"}


@pytest.mark.usefixtures("files")
def test_the_length_of_a_comparison_is_said_before_it_starts(capsys):
    rng = np.random.default_rng(0)
    state, age = np.arange(2000) // 100, rng.normal(size=2000)
    vote = np.where(age + rng.normal(size=2000) > state / 10 - 1, "yes", "no")
    pa.csv.write_csv(pa.table({"state": state, "age": age, "vote": vote}), "many.csv")
    command = ["compare", "many.csv", "--bag", "state", "--label", "vote", "--methods", "MeanMap,InvCal"]
    assert main.main([*command, "--cv", "2", "--report", "false"]) == 0
    said = capsys.readouterr().err
    assert "Comparing 2 methods on 2 folds; this takes about " in said
    assert said.index("this takes about") < said.index("fold 1 of 2")
    assert "saved comparison/model, comparison/comparison.md, comparison/comparison.svg" in said


def test_the_default_leaves_out_what_takes_minutes():
    table = Bags.from_labels(np.zeros((4, 1)), [0, 1, 0, 1], [0, 0, 1, 1])
    images = Bags.from_labels(np.zeros((4, 1, 8, 8)), [0, 1, 0, 1], [0, 0, 1, 1])
    assert "AutoLLP" in default_candidates(table)
    assert "DLLP" not in default_candidates(table)
    assert "DLLP" in default_candidates(images)
