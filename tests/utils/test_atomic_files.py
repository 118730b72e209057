import os
import subprocess
import sys
from pathlib import Path

import pytest

from llpgan.utils.files import recover_folder, remove_leftovers, replace_file, replace_folder

DEAD = 999_999_999  # no process has this number


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_its_name_when_it_is_complete(tmp_path):
    with replace_file(tmp_path / "new" / "out.csv") as aside:
        aside.write_text("a,b\n")
        assert aside.suffix == ".csv"
        assert not (tmp_path / "new" / "out.csv").exists()
    assert (tmp_path / "new" / "out.csv").read_text() == "a,b\n"
    assert names(tmp_path / "new") == ["out.csv"]


def test_a_file_that_fails_leaves_the_old_one(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(RuntimeError), replace_file(tmp_path / "out.csv") as aside:
        aside.write_text("half of the n")
        raise RuntimeError
    assert names(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


WRITER = """
import sys
from pathlib import Path
from llpgan.utils.files import replace_file

with replace_file(Path(sys.argv[1])) as aside:
    aside.write_text("half of the n")
    print("written", flush=True)
    sys.stdin.read()
"""


def test_of_a_killed_writer_nothing_is_left_but_a_living_one_goes_on(tmp_path):
    path = tmp_path / "out.csv"
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        remove_leftovers(path)
        assert names(tmp_path) == [f".llpgan-{writer.pid}-out.csv"]
        writer.kill()
    remove_leftovers(path)
    assert names(tmp_path) == []


def test_only_halves_of_the_named_file_are_cleared(tmp_path):
    dead, alive = f".llpgan-{DEAD}-", f".llpgan-{os.getpid()}-"
    others = [f"{dead}other.csv", f"{dead}my-out.csv", ".llpgan-old-out.csv", ".2016.out.csv", "out.csv"]
    for name in [*others, f"{alive}out.csv", f"{dead}out.csv"]:
        (tmp_path / name).touch()
    remove_leftovers(tmp_path / "out.csv")
    assert names(tmp_path) == sorted([*others, f"{alive}out.csv"])
    remove_leftovers(tmp_path / "out.csv", only_writer=True)  # then nobody else is alive
    assert names(tmp_path) == sorted(others)
    remove_leftovers(tmp_path / "nowhere" / "out.csv")


def ours(folder):
    """Files a, b and mark, if the mark is there."""
    return ("a", "b", "mark") if (folder / "mark").exists() else ()


def write(folder, text):
    with replace_folder(folder, ours) as aside:
        for name in ("a", "mark"):
            (aside / name).write_text(text)


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_folder_replaces_another_as_a_whole(tmp_path):
    write(tmp_path / "model", "old")
    (tmp_path / "model" / "b").write_text("old")
    write(tmp_path / "model", "new")
    assert names(tmp_path) == ["model"]
    assert contents(tmp_path / "model") == {"a": "new", "mark": "new"}


def test_what_else_is_in_a_folder_stays_there(tmp_path):
    write(tmp_path / "model", "old")
    (tmp_path / "model" / "notes.txt").write_text("mine")
    (tmp_path / "model" / "data").mkdir()
    (tmp_path / "model" / "data" / "people.csv").write_text("mine")
    write(tmp_path / "model", "new")
    assert names(tmp_path / "model") == ["a", "data", "mark", "notes.txt"]
    assert (tmp_path / "model" / "a").read_text() == "new"
    assert (tmp_path / "model" / "data" / "people.csv").read_text() == "mine"


def test_a_file_in_the_way_that_is_not_ours_is_not_replaced(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a").write_text("mine")
    with pytest.raises(FileExistsError, match="a is not a file as llpgan left it"):
        write(tmp_path / "model", "new")
    assert names(tmp_path) == ["model"]
    assert contents(tmp_path / "model") == {"a": "mine"}


def test_a_folder_that_fails_leaves_the_old_one(tmp_path):
    write(tmp_path / "model", "old")
    with pytest.raises(RuntimeError), replace_folder(tmp_path / "model", ours) as aside:
        (aside / "a").write_text("new")
        raise RuntimeError
    assert names(tmp_path) == ["model"]
    assert contents(tmp_path / "model") == {"a": "old", "mark": "old"}


KILLED = """
import os, signal, sys
from pathlib import Path
from llpgan.utils.files import replace_folder

def ours(folder):
    return ("a", "b", "mark") if (folder / "mark").exists() else ()

n_left = int(sys.argv[2])

def counted(method):
    def call(*args, **kwargs):
        global n_left
        if n_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        n_left -= 1
        return method(*args, **kwargs)
    return call

for name in ("mkdir", "rename", "unlink", "rmdir", "write_text"):
    setattr(Path, name, counted(getattr(Path, name)))
with replace_folder(Path(sys.argv[1]), ours) as aside:
    (aside / "a").write_text("new")
    (aside / "mark").write_text("new")
"""


def test_killed_at_any_step_the_old_or_the_new_folder_is_whole_again(tmp_path):
    """Every call that changes something on disk is, once, the one before which the process is killed."""
    model, found = tmp_path / "model", []
    for n_steps in range(30):
        write(model, "old")
        (model / "b").write_text("old")
        (model / "notes.txt").write_text("mine")
        done = subprocess.run([sys.executable, "-c", KILLED, str(model), str(n_steps)])
        remove_leftovers(model, only_writer=True)
        recover_folder(model, ours)
        assert names(tmp_path) == ["model"], n_steps
        old = {"a": "old", "b": "old", "mark": "old", "notes.txt": "mine"}
        new = {"a": "new", "mark": "new", "notes.txt": "mine"}
        assert contents(model) in (old, new), n_steps
        found.append(contents(model) == new)
        if done.returncode == 0:
            break
        assert done.returncode == -9
    assert found == sorted(found)
    assert 5 < sum(not each for each in found) < len(found) - 4


def test_a_replacement_that_is_interrupted_ends_with_the_old_folder(tmp_path, monkeypatch):
    write(tmp_path / "model", "old")
    rename = Path.rename

    def interrupted(path, target):
        if path.name.startswith(f".llpgan-{os.getpid()}"):
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "model", "new")
    assert names(tmp_path) == ["model"]
    assert contents(tmp_path / "model") == {"a": "old", "mark": "old"}
