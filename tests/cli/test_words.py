"""What commands say: where proportions came from, what was done, and names that cannot steer a terminal."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from PIL import Image

import llpgan
from llpgan.cli import main
from llpgan.cli.options import collect_options
from tests.cli.test_main import FIT, files, rows_of  # noqa: F401, a fixture

pytestmark = pytest.mark.slow  # many seconds together

BAGS = ["people.csv", "--bag", "state"]
REPORT = ["--report", "false"]


def shell(command, **how):
    return subprocess.run(command, shell=True, executable="/bin/bash", capture_output=True, text=True, **how)


@pytest.mark.usefixtures("files")
class TestOrigin:
    def test_of_proportions_and_counts_is_their_file(self, capsys):
        assert main.main(FIT) == 0
        assert "proportions: from results.csv\n" in capsys.readouterr().err
        assert "from results.csv" in Path("model/report.html").read_text()
        counts = {"state": [f"s{i}" for i in range(8)], "no": [1] * 8, "yes": range(8)}
        pa.csv.write_csv(pa.table(counts), "counts.csv")
        command = ["fit", *BAGS, "--counts", "counts.csv", "--label", "vote", *REPORT, "--out", "other"]
        assert main.main([*command, "--method", "MeanMap"]) == 0
        assert "proportions: from the counts of counts.csv\n" in capsys.readouterr().err

    def test_of_bounds_is_their_files(self, capsys):
        command = ["fit", *BAGS, "--lower", "results.csv", "--label", "vote", *REPORT, "--method.n_resamples", "0"]
        assert main.main([*command, "--method", "BagLogistic"]) == 0
        assert "proportions: within the bounds of results.csv\n" in capsys.readouterr().err

    def test_of_labels_is_their_column(self, capsys):
        assert main.main(["fit", *BAGS, "--label", "vote", "--method", "MeanMap"]) == 0
        said = "proportions: counted in column 'vote' of 200 rows"
        assert said in capsys.readouterr().err
        assert "counted in column &#39;vote&#39; of 200 rows" in Path("model/report.html").read_text()


@pytest.mark.usefixtures("files")
def test_fit_ends_with_the_method_its_bag_error_and_that_of_the_overall_shares(capsys):
    ends = []
    for report in ("true", "false"):
        assert main.main([*FIT, "--report", report, "--overwrite"]) == 0
        ends.append(capsys.readouterr().err.splitlines()[-3])
    assert re.match(r"MeanMap: bag error [\d.]+ % \(overall shares: [\d.]+ %\) on the training bags", ends[0])
    assert ends[0].rpartition(",")[0] == ends[1].rpartition(",")[0]


@pytest.mark.usefixtures("files")
def test_progress_comes_as_a_few_lines_where_there_is_no_terminal(capsys):
    assert main.main([*FIT[:-1], "DLLP", "--method.epochs", "20", *REPORT]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("DLLP: epoch")]
    assert 3 <= len(lines) <= 8
    assert "epoch 20 of 20" in lines[-1]
    assert llpgan.load("model").verbose is False


@pytest.mark.usefixtures("files")
def test_a_model_is_not_judged_by_a_column_that_it_learned_from(capsys):
    people = pa.csv.read_csv("people.csv")
    pa.csv.write_csv(people.append_column("opinion", [np.arange(200) % 7 > 2]), "people.csv")
    assert main.main([*FIT, *REPORT]) == 0
    assert main.main(["evaluate", "model", "people.csv", "--label", "opinion"]) == 1
    assert "learned from column 'opinion' and cannot be judged by it (--label)" in capsys.readouterr().err
    assert main.main(["evaluate", "model", "people.csv", "--label", "vote"]) == 0


@pytest.mark.usefixtures("files")
def test_labels_of_other_names_are_named(capsys):
    people = pa.csv.read_csv("people.csv")
    coded = [["T" if vote == "yes" else "F" for vote in people["vote"].to_pylist()]]
    pa.csv.write_csv(people.set_column(3, "vote", coded), "people.csv")
    assert main.main(FIT) == 0
    assert "(--label_names)" in capsys.readouterr().err
    assert main.main([*FIT, "--label_names", "no,yes", "--overwrite"]) == 0
    assert "does not judge by labels" not in capsys.readouterr().err
    assert main.main(["fit", *BAGS, "--label", "vote", "--label_names", "no,yes", "--out", "other"]) == 1
    assert "(--label_names)" in capsys.readouterr().err


@pytest.mark.parametrize("classes", ["no,yes", "[no, yes]", "yes,no"])
def test_names_of_classes_are_always_text(files, classes):  # noqa: F811
    assert main.main([*FIT, "--classes", classes, *REPORT]) == 0
    assert sorted(llpgan.load("model").classes_.tolist()) == ["no", "yes"]
    (files / "config.yaml").write_text(f"classes: [{classes.strip('[]')}]\n")
    assert main.main([*FIT, "--config", "config.yaml", *REPORT, "--out", "again"]) == 0
    assert sorted(llpgan.load("again").classes_.tolist()) == ["no", "yes"]


def test_a_setting_of_the_method_is_pointed_to(capsys):
    assert main.main(["fit", "people.csv", "--method", "LLPGAN", "--epochs", "5"]) == 2
    assert (
        "there is no option --epochs; as a setting of the method it is --method.epochs" in capsys.readouterr().err
    )
    assert main.main(["fit", "people.csv", "--epochs=5"]) == 2
    assert "--method DLLP --method.epochs" in capsys.readouterr().err
    assert main.main(["fit", "people.csv", "--method.epochs", "5"]) == 2
    assert "--method.epochs is a setting of a method: name it too" in capsys.readouterr().err


def test_the_help_on_fit_has_an_example_and_starts_with_what_is_needed(capsys):
    assert main.main(["fit", "--help"]) == 0
    said = capsys.readouterr().out
    assert "llpgan fit people.csv --bag state --proportions results.csv" in said
    assert said.index("  --bag") < said.index("  --proportions") < said.index("  --method")
    assert said.index("--config") < said.index("Other forms of proportions") < said.index("  --lower")
    assert "llpgan.methods" not in said
    assert "Optional" not in said


@pytest.mark.parametrize("command", main.COMMANDS)
def test_every_command_explains_all_of_its_options(command, capsys):
    assert main.main([command, "--help"]) == 0
    assert all(len(line) <= 200 for line in capsys.readouterr().out.splitlines())
    function = getattr(import_module(f"llpgan.cli.{main.COMMANDS[command][0]}"), command)
    assert [option.name for option in collect_options(function) if not option.about] == []


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("limit", ["-1", "0", "-0.5"])
def test_a_time_limit_that_nothing_can_keep_is_refused(capsys, limit):
    assert main.main(["compare", *FIT[1:8], "--methods", "MeanMap", "--time_limit", limit]) == 1
    assert "(--time_limit): give a number above 0" in capsys.readouterr().err


EVIL = "\x1b]0;owned\x07\x1b[2J"


def test_names_cannot_steer_the_terminal(files, capsys, monkeypatch):  # noqa: F811
    monkeypatch.setenv("COLUMNS", "200")
    people = pa.csv.read_csv("people.csv")
    names = [f"{name}{EVIL}" if name == "city" else name for name in people.column_names]
    votes = [[f"{EVIL}{vote}" for vote in people["vote"].to_pylist()]]
    evil = people.rename_columns(names).set_column(3, "vote", votes)
    pa.csv.write_csv(evil, "people.csv")
    command = ["fit", f"{EVIL}.csv", "--bag", "state", "--label", "vote", "--method", "MeanMap"]
    (files / f"{EVIL}.csv").write_bytes((files / "people.csv").read_bytes())
    for words in (
        [*command, "--out", f"m{EVIL}"],
        ["evaluate", f"m{EVIL}", "people.csv", "--label", "vote", "--bag", "state"],
        ["evaluate", f"m{EVIL}", "people.csv", "--label", "vote"],
        ["inspect", "people.csv", "--bag", "state", "--label", "vote", "--curve", "false"],
        ["fit", "people.csv", "--bag", f"{EVIL}"],
        ["fit", "people.csv", "--label", "vote", "--bag", "state", "--columns.drop", "nothing"],
        ["fit", "people.csv", f"--{EVIL}"],
        ["fit", "people.csv", "--method", EVIL],
        [EVIL],
    ):
        main.main(words)
        said = capsys.readouterr()
        assert said.out + said.err
        assert "\x1b" not in said.out + said.err
        assert "\x07" not in said.out + said.err
    assert main.main(["evaluate", f"m{EVIL}", "people.csv", "--label", "vote"]) == 0
    assert r"predicted \x1b]0;owned" in capsys.readouterr().out


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Dark and bright images in four folders, and a table that has their paths in another column."""
    rng = np.random.default_rng(0)
    rows = []
    for folder in range(4):
        for n in range(4):
            path, bright = tmp_path / "photos" / f"f{folder}" / f"{n}.png", n < folder
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(100, size=(8, 8), dtype=np.uint8) + 150 * bright).save(path)
            rows.append((f"photos/f{folder}/{n}.png", "yes" if bright else "no"))
    pa.csv.write_csv(
        pa.table({"file": [r[0] for r in rows], "truth": [r[1] for r in rows]}), tmp_path / "list.csv"
    )
    shares = {"folder": [f"f{i}" for i in range(4)], "no": [1 - i / 4 for i in range(4)]}
    pa.csv.write_csv(pa.table(shares | {"yes": [i / 4 for i in range(4)]}), tmp_path / "shares.csv")
    monkeypatch.chdir(tmp_path)
    method = ["--method", "DLLP", "--method.epochs", "1", "--method.classifier", "mnist_classifier"]
    assert main.main(["fit", "photos", "--proportions", "shares.csv", *method, *REPORT]) == 0
    return tmp_path


@pytest.mark.slow
def test_a_model_of_a_folder_takes_tables_single_images_and_other_sizes(photos, capsys):
    assert main.main(["evaluate", "model", "list.csv", "--label", "truth"]) == 1
    assert "name the one with paths of images (--image)" in capsys.readouterr().err
    assert main.main(["evaluate", "model", "list.csv", "--label", "truth", "--image", "file"]) == 0
    assert main.main(["predict", "model", "list.csv", "--image", "file"]) == 0
    assert len(rows_of("predictions.csv")["prediction"]) == 16
    assert main.main(["predict", "model", "photos/f1/0.png", "--out", "one.csv"]) == 0
    assert rows_of("one.csv")["image"] == ["0.png"]
    Image.fromarray(np.zeros((9, 5), dtype=np.uint8)).save("other.png")
    capsys.readouterr()
    assert main.main(["predict", "model", "other.png", "--out", "two.csv"]) == 1
    assert "(--resize)" in capsys.readouterr().err
    assert main.main(["predict", "model", "other.png", "--out", "two.csv", "--resize"]) == 0


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_crash(tmp_path):
    for words in ("--help", "fit --help", "--version"):
        done = shell(f"{sys.executable} -m llpgan {words} | true; echo ${{PIPESTATUS[0]}}", cwd=tmp_path)
        assert done.stderr == ""
        assert done.stdout.strip() in ("0", "141")


@pytest.mark.slow
def test_an_ascii_terminal_shows_what_it_can(files):  # noqa: F811
    people = pa.csv.read_csv("people.csv")
    votes = [["ja, λ" if vote == "yes" else "nein" for vote in people["vote"].to_pylist()]]
    pa.csv.write_csv(people.set_column(3, "vote", votes), files / "people.csv")
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    fit = f"{sys.executable} -m llpgan fit people.csv --bag state --label vote --method MeanMap --report false"
    done = shell(fit, cwd=files, env=environment)
    assert done.returncode == 0, done.stderr
    assert r"ja, \u03bb" in done.stderr
    done = shell(f"{sys.executable} -m llpgan evaluate model people.csv --label vote", cwd=files, env=environment)
    assert done.returncode == 0, done.stderr
    assert shell(f"{sys.executable} -m llpgan fit --method.help LLPGAN", env=environment).returncode == 0
