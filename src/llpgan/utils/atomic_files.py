"""Files and folders that are either whole or not there: written aside, then renamed."""

import errno
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}

Names = Callable[[Path], Collection[str]]


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A place to write a file to, which takes its name only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = _aside(path)
    try:
        with _named_if_full(path):
            yield aside
            _flush(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path, ours: Names) -> Iterator[Path]:
    """A place to write a folder to, which takes its name, or replaces the folder of that name, when complete.

    Parameters
    ----------
    path : Path
        Of the folder.
    ours : Names
        Gives the names of the files in such a folder that may be replaced; all else in it stays there. What
        tells these names should come last: it is removed last.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = _aside(path)
    _remove(aside)
    aside.mkdir()
    try:
        with _named_if_full(path):
            yield aside
            for file in aside.iterdir():
                _flush(file)
        _replace_folder(aside, path, ours)
    finally:
        _remove(aside)
        recover_folder(path, ours)


def recover_folder(path: Path, ours: Names) -> None:
    """End a replacement that was broken off: with the new folder if it has its name already, else with the old."""
    old = _old(path)
    if not old.is_dir():
        return
    if path.exists():
        _remove_old(old, path, ours(old))
    else:
        old.rename(path)


def clear_halves(path: Path, *, only_writer: bool = False) -> None:
    """Remove what killed writers of this file or folder left of it; a writer that is alive keeps its half.

    Whether one is alive can be told of this machine only: where several may write the file, hold a lock. With
    ``only_writer``, the caller holds it, and nobody else is alive.
    """
    for half in path.parent.glob(".llpgan-*"):
        writer = re.fullmatch(rf"\.llpgan-(\d{{1,9}})-{re.escape(path.name)}", half.name)
        if writer is not None and (only_writer or not _is_alive(int(writer[1]))):
            _remove(half)


@contextmanager
def _named_if_full(path: Path) -> Iterator[None]:
    """A disk that is full, or a file that may not grow, is said with the name of the output."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise OSError(error.errno, f"{path} cannot be written: {os.strerror(error.errno)}") from error


def _aside(path: Path) -> Path:
    return path.with_name(f".llpgan-{os.getpid()}-{path.name}")  # with its ending, which tells writers the format


def _old(path: Path) -> Path:
    return path.with_name(f".llpgan-old-{path.name}")


def _replace_folder(new: Path, path: Path, ours: Names) -> None:
    """A kill at any line leaves what :func:`recover_folder` can complete."""
    if not path.exists():
        new.rename(path)
        return
    names, old = ours(path), _old(path)
    refuse_in_the_way(path, names, [file.name for file in new.iterdir()])
    path.rename(old)
    new.rename(path)
    _remove_old(old, path, names)


def refuse_in_the_way(folder: Path, ours: Collection[str], new: Collection[str]) -> None:
    """Refuse to write files whose names others in the folder have, which are not ours."""
    there = {file.name for file in folder.iterdir()}
    if clash := sorted((there & set(new)) - set(ours)):
        raise FileExistsError(
            f"{folder / clash[0]} is not a file as llpgan left it: it will not be replaced, name another output"
        )


def _remove_old(old: Path, new: Path, ours: Collection[str]) -> None:
    """Remove our files from the old folder, after what else it has is moved to the new one."""
    for file in old.iterdir():
        if file.name not in ours:
            refuse_in_the_way(new, (), [file.name])
            file.rename(new / file.name)
    for name in ours:
        (old / name).unlink(missing_ok=True)
    old.rmdir()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # elsewhere there is no harmless way to ask
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True


def _flush(file: Path) -> None:
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())
