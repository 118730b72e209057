import errno
import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from llpgan.utils.files import lock_for_writing

HOLDER = """
import sys
from pathlib import Path
from llpgan.utils.files import lock_for_writing

with lock_for_writing(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_is_refused_until_the_holder_ends_or_dies(tmp_path):
    path = tmp_path / "out.csv"
    for end in ("close", "kill"):
        command = [sys.executable, "-c", HOLDER, str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            holder.stdout.readline()
            refused = pytest.raises(BlockingIOError, match=r"out\.csv is being written by another process")
            with refused, lock_for_writing(path):
                pytest.fail("two writers at once")
            with lock_for_writing(tmp_path / "other.csv"):
                pass
            holder.stdin.close() if end == "close" else holder.kill()
        with lock_for_writing(path) as outermost:
            assert outermost
    assert list(tmp_path.iterdir()) == []


def test_who_holds_a_lock_may_ask_again_but_another_thread_may_not(tmp_path):
    refused = []

    def ask():
        try:
            with lock_for_writing(tmp_path / "out.csv"):
                pass
        except BlockingIOError:
            refused.append(True)

    with lock_for_writing(tmp_path / "out.csv"):
        with lock_for_writing(tmp_path / ".." / tmp_path.name / "out.csv") as outermost:
            assert not outermost
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert refused == [True]
    ask()
    assert refused == [True]


def test_folders_that_were_made_for_nothing_are_removed_again(tmp_path):
    with lock_for_writing(tmp_path / "a" / "b" / "out.csv"):
        pass
    assert list(tmp_path.iterdir()) == []
    with lock_for_writing(tmp_path / "a" / "b" / "out.csv"):
        (tmp_path / "a" / "b" / "out.csv").touch()
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["out.csv"]


COUNTER = """
import sys, time
from pathlib import Path
from llpgan.utils.files import lock_for_writing

path = Path(sys.argv[1], "new", "count")
for _ in range(int(sys.argv[2])):
    while True:
        try:
            with lock_for_writing(path):
                n = int(path.read_text()) if path.exists() else 0
                path.write_text(str(n + 1))
                break
        except BlockingIOError:
            time.sleep(0.0005)
"""


def test_there_is_never_more_than_one_writer_though_locks_come_and_go(tmp_path):
    command = [sys.executable, "-c", COUNTER, str(tmp_path), "100"]
    for counter in [subprocess.Popen(command) for _ in range(4)]:
        assert counter.wait() == 0
    assert (tmp_path / "new" / "count").read_text() == "400"


def test_a_folder_that_another_removes_meanwhile_is_made_again(tmp_path, monkeypatch):
    removals = iter([True, True])
    make = Path.mkdir

    def mkdir(path, *arguments, **options):
        if path.name == "b" and next(removals, False):
            raise FileNotFoundError(errno.ENOENT, "removed by another", str(path))
        return make(path, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with lock_for_writing(tmp_path / "a" / "b" / "out.csv") as outermost:
        assert outermost
    assert next(removals, None) is None


def test_a_lock_that_another_removes_meanwhile_is_taken_again(tmp_path, monkeypatch):
    path, opened, open_file = tmp_path / "out.csv", [], os.open

    def opens(lock, *arguments):
        opened.append(open_file(lock, *arguments))
        if len(opened) == 1:
            Path(lock).unlink()
        return opened[-1]

    monkeypatch.setattr(os, "open", opens)
    with lock_for_writing(path):
        assert len(opened) == 2


@pytest.mark.parametrize("in_the_way", ["a file", "a link to nothing"])
def test_a_folder_that_cannot_be_made_is_an_error(tmp_path, in_the_way):
    folder = tmp_path / "folder"
    folder.touch() if in_the_way == "a file" else folder.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OSError, match="folder"), lock_for_writing(folder / "out.csv"):
        pass


def test_a_file_system_without_locks_is_warned_of(tmp_path, monkeypatch):
    def fail(file, how):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", fail)
    told = pytest.warns(UserWarning, match="has no locks: make sure that no other process writes")
    with told, lock_for_writing(tmp_path / "out.csv"):
        pass
