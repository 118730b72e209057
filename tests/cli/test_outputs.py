"""Commands that would lose or double something say so, and leave all files as they were."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from llpgan import Bags, MeanMap, save
from llpgan.cli import main
from llpgan.data.datasets import RESULTS

TABLES = ["--bag", "state", "--proportions", "results.csv"]
FIT = ["fit", "people.csv", *TABLES, "--method", "MeanMap", "--report", "false"]
COMPARE = ["compare", "people.csv", *TABLES, "--methods", "[MeanMap]", "--cv", "2", "--report", "false"]
PREDICT = ["predict", "model", "people.csv", "--out", "predictions.csv"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Tables of people and results, a model, and other ways to the table of people."""
    rng = np.random.default_rng(0)
    state, age = rng.integers(8, size=200), rng.normal(size=200)
    pa.csv.write_csv(pa.table({"state": [f"s{i}" for i in state], "age": age}), tmp_path / "people.csv")
    share = rng.random(8)
    results = {"state": [f"s{i}" for i in range(8)], "no": 1 - share, "yes": share}
    pa.csv.write_csv(pa.table(results), tmp_path / "results.csv")
    monkeypatch.chdir(tmp_path)
    save(MeanMap().fit_bags(Bags.from_tables("people.csv", "results.csv", bag="state")), "model")
    Path("people.json").hardlink_to("people.csv")
    Path("folder").mkdir()
    Path("link.csv").symlink_to("people.csv")
    Path("options.yaml").write_text("overwrite: true\n")
    return tmp_path


def all_files(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


EVALUATE = ["evaluate", "model", "people.csv", *TABLES]
ONTO_INPUTS = [
    ["predict", "model", "people.csv", "--out", "people.csv"],
    ["predict", "model", "people.csv", "--out", "folder/../people.csv"],
    ["predict", "model", "people.csv", "--out", "link.csv"],
    ["predict", "model", "link.csv", "--out", "people.csv"],
    [*EVALUATE, "--out", "people.csv"],
    [*EVALUATE, "--out", "people.json"],
    [*EVALUATE, "--out", "results.csv"],
    [*EVALUATE, "--out", "model/model.json"],
    [*EVALUATE, "--out", "model/weights.safetensors"],
    [*EVALUATE, "--config", "options.yaml", "--out", "options.yaml"],
    ["inspect", "people.csv", *TABLES, "--curve", "false", "--out", "results.csv"],
    ["inspect", "people.csv", *TABLES, "--curve", "false", "--out", "link.csv"],
    ["export", "onnx", "model", "--out", "model/model.json"],
    ["export", "onnx", "model", "--out", "folder/../model/weights.safetensors"],
]


@pytest.mark.parametrize("command", ONTO_INPUTS, ids=" ".join)
def test_no_command_writes_onto_an_input(command, files, capsys):
    before = all_files(files)
    assert main.main([*command, "--overwrite"]) == 1
    assert "is an input, or in one" in capsys.readouterr().err
    assert all_files(files) == before


def test_no_command_replaces_a_folder_with_an_input_in_it(files, capsys):
    Path("model/people.csv").write_bytes(Path("people.csv").read_bytes())
    assert main.main(["store", "people.csv", *TABLES]) == 0
    Path("store/results.csv").write_bytes(Path("results.csv").read_bytes())
    before = all_files(files)
    capsys.readouterr()
    inside = ["--bag", "state", "--proportions", "store/results.csv", "--to", "store", "--overwrite"]
    for command in (["fit", "model/people.csv", *TABLES, "--overwrite"], ["store", "people.csv", *inside]):
        assert main.main(command) == 1
        assert "is in the output" in capsys.readouterr().err
    assert all_files(files) == before


def test_overwrite_leaves_what_others_put_into_the_folder(files):
    Path("model/notes.txt").write_text("mine")
    Path("model/data").mkdir()
    Path("model/data/people.csv").write_text("mine")
    assert main.main([*FIT, "--overwrite"]) == 0
    assert main.main([*PREDICT]) == 0
    assert Path("model/notes.txt").read_text() == Path("model/data/people.csv").read_text() == "mine"
    assert main.main(["store", "people.csv", *TABLES]) == 0
    Path("store/notes.txt").write_text("mine")
    assert main.main(["store", "people.csv", *TABLES, "--overwrite"]) == 0
    assert Path("store/notes.txt").read_text() == "mine"


def test_a_folder_with_a_model_of_another_program_is_not_replaced(files, capsys):
    Path("other").mkdir()
    Path("other/model.json").write_text('{"layers": []}')
    assert main.main([*FIT, "--out", "other", "--overwrite"]) == 1
    assert "other/model.json is not a file as llpgan left it" in capsys.readouterr().err
    assert Path("other/model.json").read_text() == '{"layers": []}'


def test_the_demo_keeps_files_of_its_users(files, capsys):
    Path("demo").mkdir()
    Path("demo", RESULTS.name).write_text("mine")
    assert main.main(["demo"]) == 1
    assert f"demo/{RESULTS.name} exists" in capsys.readouterr().err
    assert [path.name for path in Path("demo").iterdir()] == [RESULTS.name]
    assert Path("demo", RESULTS.name).read_text() == "mine"


@pytest.mark.parametrize("name", ["comparison.md", "comparison.svg", "comparison.png"])
def test_a_comparison_keeps_files_that_it_has_not_written(name, files, capsys):
    Path("comparison").mkdir()
    Path("comparison", name).write_text("# Comparison\n\nmine\n")
    for more in ([], ["--overwrite"]):
        assert main.main([*COMPARE, *more]) == 1
        assert f"comparison/{name} was not written by llpgan compare" in capsys.readouterr().err
    assert Path("comparison", name).read_text() == "# Comparison\n\nmine\n"
    assert [path.name for path in Path("comparison").iterdir()] == [name]


def test_a_comparison_replaces_its_own_files(files):
    assert main.main(COMPARE) == 0
    names = sorted(path.name for path in Path("comparison").iterdir())
    assert names == ["comparison.md", "comparison.png", "comparison.svg", "model", "rows.jsonl"]
    before = Path("comparison/rows.jsonl").read_bytes()
    Path("comparison/rows.jsonl").write_bytes(before[:-1])  # as an editor leaves it
    assert main.main([*COMPARE, "--overwrite"]) == 0
    assert Path("comparison/rows.jsonl").read_bytes() == before[:-1]


KILLED = """
import os, signal, sys
from pathlib import Path
from llpgan.cli import main

rename = Path.rename
def kill(path, target):
    if path.name.startswith(f".llpgan-{os.getpid()}"):
        os.kill(os.getpid(), signal.SIGKILL)  # the old model is away, and the new one not there yet
    return rename(path, target)

Path.rename = kill
main.main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("again", [FIT, [*FIT, "--overwrite"]], ids=["refused", "replaced"])
def test_what_a_kill_between_the_renames_leaves_is_recovered_by_the_same_command(files, again, capsys):
    before = all_files(files / "model")
    done = subprocess.run([sys.executable, "-c", KILLED, *FIT, "--overwrite"], capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert not Path("model").exists()
    assert main.main(again) == (0 if "--overwrite" in again else 1)
    assert [path.name for path in files.iterdir() if path.name.startswith(".")] == []
    if again is FIT:
        assert "model exists" in capsys.readouterr().err
        assert all_files(files / "model") == before
    assert main.main(PREDICT) == 0


def at_once(command, n):
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "llpgan", *command], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        for _ in range(n)
    ]
    said = [process.communicate()[1].decode() for process in started]
    return [process.returncode for process in started], said


@pytest.mark.slow
@pytest.mark.parametrize("command", [PREDICT, [*FIT, "--out", "new"], COMPARE], ids=["predict", "fit", "compare"])
def test_of_several_at_once_one_wins_and_the_others_say_so(command, files):
    ends, said = at_once(command, int(os.environ.get("LLPGAN_AT_ONCE", 2)))
    assert sorted(ends) == [0, *[1] * (len(ends) - 1)]
    for end, text in zip(ends, said, strict=True):
        assert ("is being written by another process" in text or " exists: name" in text) == (end == 1)
    assert list(files.rglob(".llpgan-*")) == []
    if command is COMPARE:
        assert len(Path("comparison/rows.jsonl").read_text().splitlines()) == 4
    if command is PREDICT:
        assert len(Path("predictions.csv").read_text().splitlines()) == 201


FULL = [["fit", "--help"], [*EVALUATE], ["inspect", "people.csv", *TABLES, "--curve", "false"]]


@contextmanager
def full_output():
    """Let the output be a device without space."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no full device")
    with open("/dev/full", "w") as device, redirect_stdout(device):  # noqa: PTH123, a device
        yield device


def check_that_it_is_full(exit_code, errors):
    assert exit_code == 1
    *notes, said = errors.splitlines()
    assert said == "llpgan: error: the output cannot be written: No space left on device"
    assert all(line.startswith("note: ") for line in notes)


@pytest.mark.parametrize("words", FULL, ids=lambda words: " ".join(words[:2]))
def test_output_to_a_full_device_is_one_line(words, files, capsys):
    with full_output():
        exit_code = main.main(words)
    check_that_it_is_full(exit_code, capsys.readouterr().err)


def test_a_process_with_a_full_output_ends_with_one_line():
    command = [sys.executable, "-m", "llpgan", "--help"]
    with full_output() as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    check_that_it_is_full(done.returncode, done.stderr)


@pytest.mark.parametrize("words", [[*FIT, "--out", "other"], PREDICT], ids=lambda words: words[0])
def test_commands_that_print_nothing_need_no_output(words, files):
    with full_output():
        assert main.main(words) == 0


@pytest.mark.parametrize("words", [EVALUATE, ["inspect", "people.csv", *TABLES, "--curve", "false"]])
@pytest.mark.parametrize(("option", "path", "ending"), [("out", "x.csv", "json"), ("html", "x.txt", "html")])
def test_figures_are_written_to_files_of_their_format(words, option, path, ending, files, capsys):
    assert main.main([*words, f"--{option}", path]) == 1
    assert f"error: {path}: the file of (--{option}) must end in .{ending}\n" in capsys.readouterr().err
    assert not Path(path).exists()
