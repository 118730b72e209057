"""Files and folders that are either whole or not there: written aside, then renamed."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def refuse_existing(path: Path, overwrite: bool, mark: str | None = None) -> None:
    """Refuse an output that exists; ask before work begins, so that none is lost.

    With ``overwrite`` a folder may be replaced only if it holds the file ``mark``: it is one of ours, or empty.
    """
    _refuse_unwritable(path)
    if not path.exists():
        return
    if mark is None and path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file")
    if not overwrite:
        raise FileExistsError(f"{path} exists: name another output, or allow it to be replaced (overwrite)")
    if mark is not None and not (path.is_dir() and ((path / mark).exists() or not any(path.iterdir()))):
        raise FileExistsError(
            f"{path} is not a folder with a {mark}: it will not be replaced, name another output"
        )


def _refuse_unwritable(path: Path) -> None:
    """Refuse a place where nothing can be written: under a file, or in a folder of others."""
    nearest = next((folder for folder in path.absolute().parents if folder.exists()), path)
    if not nearest.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {nearest} is a file, not a folder")
    if not os.access(nearest, os.W_OK):
        raise PermissionError(f"{path} cannot be written: nothing may be written to the folder {nearest}")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A place to write a file to, which takes its name only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{os.getpid()}.{path.name}")  # with its ending, which tells writers the format
    try:
        yield aside
        _flush(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def clear_halves(path: Path) -> None:
    """Remove what killed writers of this file left of it; a writer that is alive keeps its half.

    Whether one is alive can be told of this machine only: where several may write the file, hold a lock.
    """
    for half in path.parent.glob(".*"):
        writer = re.fullmatch(rf"\.(\d{{1,9}})\.{re.escape(path.name)}", half.name)
        if writer is not None and not _is_alive(int(writer[1])):
            half.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A place to write a folder to, which takes its name, or replaces the folder of that name, when complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield aside
        for file in aside.iterdir():
            _flush(file)
        aside.chmod(0o777 & ~_umask())
        _replace_folder(aside, path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _replace_folder(new: Path, path: Path) -> None:
    if not path.exists():
        new.rename(path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
    path.rename(old / path.name)
    try:
        new.rename(path)
    except OSError:
        (old / path.name).rename(path)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


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


def _umask() -> int:
    """Python can read it only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
