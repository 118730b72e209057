import os
import subprocess
import sys

import pytest

from llpgan.files import clear_halves, refuse_existing, whole_file, whole_folder

DEAD = 999_999_999  # no process has this number


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_its_name_when_it_is_complete(tmp_path):
    with whole_file(tmp_path / "new" / "out.csv") as aside:
        aside.write_text("a,b\n")
        assert aside.suffix == ".csv"
        assert not (tmp_path / "new" / "out.csv").exists()
    assert (tmp_path / "new" / "out.csv").read_text() == "a,b\n"
    assert names(tmp_path / "new") == ["out.csv"]


def test_a_file_that_fails_leaves_the_old_one(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(RuntimeError), whole_file(tmp_path / "out.csv") as aside:
        aside.write_text("half of the n")
        raise RuntimeError
    assert names(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


WRITER = """
import sys
from pathlib import Path
from llpgan.files import whole_file

with whole_file(Path(sys.argv[1])) as aside:
    aside.write_text("half of the n")
    print("written", flush=True)
    sys.stdin.read()
"""


def test_of_a_killed_writer_nothing_is_left_but_a_living_one_goes_on(tmp_path):
    path = tmp_path / "out.csv"
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        clear_halves(path)
        assert names(tmp_path) == [f".{writer.pid}.out.csv"]
        writer.kill()
    clear_halves(path)
    assert names(tmp_path) == []


def test_only_halves_of_the_named_file_are_cleared(tmp_path):
    others = [f".{DEAD}.other.csv", f".{DEAD}.my.out.csv", ".old.out.csv", f".{os.getpid()}.out.csv", "out.csv"]
    for name in [*others, f".{DEAD}.out.csv"]:
        (tmp_path / name).touch()
    clear_halves(tmp_path / "out.csv")
    assert names(tmp_path) == sorted(others)
    clear_halves(tmp_path / "nowhere" / "out.csv")


def test_a_folder_replaces_another_as_a_whole(tmp_path):
    for text in ("old", "new"):
        with whole_folder(tmp_path / "model") as aside:
            (aside / text).write_text(text)
    assert names(tmp_path) == ["model"]
    assert names(tmp_path / "model") == ["new"]


def test_a_folder_that_fails_leaves_the_old_one(tmp_path):
    with whole_folder(tmp_path / "model") as aside:
        (aside / "old").write_text("old")
    with pytest.raises(RuntimeError), whole_folder(tmp_path / "model") as aside:
        (aside / "new").write_text("new")
        raise RuntimeError
    assert names(tmp_path) == ["model"]
    assert names(tmp_path / "model") == ["old"]


def test_an_output_that_exists_is_refused(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(FileExistsError, match=r"out\.csv exists: name another output, or .*overwrite"):
        refuse_existing(tmp_path / "out.csv", overwrite=False)
    refuse_existing(tmp_path / "out.csv", overwrite=True)
    refuse_existing(tmp_path / "new.csv", overwrite=False)
    refuse_existing(tmp_path / "new" / "folder" / "new.csv", overwrite=False)


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_output_that_cannot_be_written_is_refused(tmp_path, monkeypatch, overwrite):
    (tmp_path / "out.csv").write_text("old")
    for name in ("out.csv/model", "out.csv/new/model"):
        with pytest.raises(NotADirectoryError, match=r"cannot be written: .*out\.csv is a file, not a folder"):
            refuse_existing(tmp_path / name, overwrite, mark="model.json")
    with pytest.raises(IsADirectoryError, match="is a folder: name a file"):
        refuse_existing(tmp_path, overwrite)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(PermissionError, match="nothing may be written to the folder"):
        refuse_existing(tmp_path / "new.csv", overwrite)


def test_only_a_folder_of_ours_is_ever_replaced(tmp_path):
    (tmp_path / "letters").mkdir()
    refuse_existing(tmp_path / "letters", overwrite=True, mark="model.json")
    (tmp_path / "letters" / "to_mother.txt").write_text("Dear mother")
    with pytest.raises(FileExistsError, match=r"not a folder with a model\.json: it will not be replaced"):
        refuse_existing(tmp_path / "letters", overwrite=True, mark="model.json")
    with pytest.raises(IsADirectoryError, match="is a folder: name a file"):
        refuse_existing(tmp_path / "letters", overwrite=True)
