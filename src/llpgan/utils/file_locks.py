"""One writer at a time: a lock beside an output, which the system lets go of when its holder dies."""

import errno
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NO_LOCKS = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK}
_TRIES = 100  # to make a folder that others remove
_held: set[tuple[str, int]] = set()  # by the lock's file and the thread


@contextmanager
def only_writer(path: Path) -> Iterator[bool]:
    """Be the only one who writes to this path, or say that somebody else does; the folder above it is made.

    A thread that holds the lock already may ask again, and is given False: it is not the outermost to hold it.
    """
    lock = Path(os.path.realpath(path.parent), f".llpgan-lock-{path.name}")
    key = str(lock), threading.get_ident()
    if key in _held:
        yield False
        return
    with _made_folder(path.parent):
        file = _locked(lock)
        if file is None:
            raise BlockingIOError(
                f"{path} is being written by another process: wait until that has ended, or name another output"
            )
        _held.add(key)
        try:
            yield True
        finally:
            _held.remove(key)
            lock.unlink(missing_ok=True)  # before it is let go: who opened it meanwhile sees that it is gone
            os.close(file)


@contextmanager
def _made_folder(folder: Path) -> Iterator[None]:
    """A folder to write to; if nothing was written, the folders that were made for it are removed again."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    _make(folder)
    try:
        yield
    finally:
        with suppress(OSError):  # of the first that is not empty
            for each in made:
                each.rmdir()


def _locked(path: Path) -> int | None:
    """The open file of a lock that is now ours; None if it is another's."""
    while True:
        _make(path.parent)  # another may just have removed it
        try:
            file = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:
            continue
        if not _takes(file, path):
            os.close(file)
            return None
        if _is_at(file, path):
            return file
        os.close(file)  # its holder has removed it since it was opened: a later one has another file


def _make(folder: Path) -> None:
    """Make a folder and those above it, though others make and remove them at the same time."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError, FileExistsError):  # one of them was just removed
            return folder.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)  # what is in the way now is so for good


def _is_at(file: int, path: Path) -> bool:
    """Whether an open file is the one that stands at a path now."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _takes(file: int, path: Path) -> bool:
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
            raise
        warnings.warn(
            f"{path.parent} has no locks: make sure that no other process writes the same output", stacklevel=5
        )
    return True
