"""Files: written whole or not at all, locked against other processes, and never over an input."""

from __future__ import annotations

import errno
import os
import re
import shutil
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from llpgan.utils.json_files import digest_of_file, sealed_content, write_sealed

_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
_unfinished: dict[Path, Callable[[], None]] = {}  # what is left to clean up, by the file or folder

Names = Callable[[Path], Collection[str]]


@contextmanager
def _clean_up(path: Path, action: Callable[[], None]) -> Iterator[None]:
    """Call ``action`` in the end; if a signal ends that too, :func:`finish_clean_up` does."""
    _unfinished[path] = action
    try:
        yield
    finally:
        action()
        _unfinished.pop(path, None)


def finish_clean_up() -> None:
    """Clean up what a signal has interrupted; the command line calls it before it ends."""
    for path, action in reversed(_unfinished.copy().items()):
        with suppress(OSError):
            action()
        _unfinished.pop(path, None)


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """A place to write a file to, which takes its name only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = _hidden_path(path, os.getpid())
    with _clean_up(aside, lambda: aside.unlink(missing_ok=True)):
        with name_if_full(path):
            yield aside
            _flush(aside)
        aside.replace(path)


@contextmanager
def replace_folder(path: Path, ours: Names) -> Iterator[Path]:
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
    aside = _hidden_path(path, os.getpid())

    def clean_up() -> None:
        _remove(aside)
        recover_folder(path, ours)

    with _clean_up(aside, clean_up):
        _remove(aside)
        aside.mkdir()
        with name_if_full(path):
            yield aside
            for file in aside.iterdir():
                _flush(file)
        _replace_folder(aside, path, ours)


def recover_folder(path: Path, ours: Names) -> None:
    """End a replacement that was broken off: with the new folder if it has its name already, else with the old."""
    old = _hidden_path(path, "old")
    if not old.is_dir():
        return
    if path.exists():
        _remove_old(old, path, ours(old))
    else:
        old.rename(path)


def remove_leftovers(path: Path, *, only_writer: bool = False) -> None:
    """Remove what killed writers of this file or folder left of it; a writer that is alive keeps its half.

    Whether one is alive is known for this machine only: where several may write the file, hold a lock. With
    ``only_writer``, the caller holds it, and nobody else is alive.
    """
    for half in path.parent.glob(".llpgan-*"):
        writer = re.fullmatch(rf"\.llpgan-(\d{{1,9}})-{re.escape(path.name)}", half.name)
        if writer is not None and (only_writer or not _is_alive(int(writer[1]))):
            _remove(half)


@contextmanager
def name_if_full(path: Path) -> Iterator[None]:
    """A disk that is full, or a file that may not grow, is said with the name of the output."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise OSError(error.errno, f"{path} cannot be written: {os.strerror(error.errno)}") from error


def _hidden_path(path: Path, what: object) -> Path:
    """The place of a hidden file or folder next to an output, with its ending, which tells the format."""
    return path.with_name(f".llpgan-{what}-{path.name}")


def _replace_folder(new: Path, path: Path, ours: Names) -> None:
    """A kill at any line leaves what :func:`recover_folder` can complete."""
    if not path.exists():
        new.rename(path)
        return
    names, old = ours(path), _hidden_path(path, "old")
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


_NO_LOCKS = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK}
_TRIES = 100  # to make a folder that others remove
_held: set[tuple[str, int]] = set()  # by the lock's file and the thread


@contextmanager
def lock_for_writing(path: Path) -> Iterator[bool]:
    """Be the only one who writes to this path, or say that somebody else does; the folder above it is made.

    A thread that holds the lock already may ask again, and is given False: it is not the outermost to hold it.
    """
    _refuse_unwritable(path)
    path_of_lock = Path(os.path.realpath(path.parent), f".llpgan-lock-{path.name}")
    key = str(path_of_lock), threading.get_ident()
    if key in _held:
        yield False
        return
    lock = _Lock(path_of_lock)
    with _clean_up(path_of_lock, lock.release):
        _make(path.parent)
        if not lock.take():
            raise BlockingIOError(
                f"{path} is being written by another process: wait until that has ended, or name another output"
            )
        _held.add(key)
        try:
            yield True
        finally:
            _held.discard(key)


class _Lock:
    """A file that one process at a time holds, and that is gone when nobody does.

    So are the folders that were made for it, if nothing else is written to them.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.file = path, -1
        self.made = [folder for folder in path.parents if not folder.exists()]

    def take(self) -> bool:
        """Take the lock, unless another process holds it."""
        for _ in range(_TRIES):
            _make(self.path.parent)  # another may just have removed it
            try:
                self.file = os.open(self.path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except FileNotFoundError:
                continue
            if not _takes(self.file, self.path):
                return False
            if _is_at(self.file, self.path):
                return True
            self._close()  # its holder has removed it since it was opened: a later one has another file
        raise FileNotFoundError(f"nothing can be written to the folder {self.path.parent}: name another output")

    def release(self) -> None:
        """Let go of the lock, and remove its file unless another process has taken it."""
        self._close()
        with suppress(FileNotFoundError):
            self.file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # take() has said that there are no locks
                if _takes(self.file, self.path) and _is_at(self.file, self.path):
                    self.path.unlink()
            self._close()
        with suppress(OSError):  # of the first folder that is not empty
            for folder in self.made:
                folder.rmdir()

    def _close(self) -> None:
        if self.file >= 0:
            file, self.file = self.file, -1
            os.close(file)


def _make(folder: Path) -> None:
    """Make a folder and those above it, though others make and remove them at the same time."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError, FileExistsError):  # one of them was just removed
            return folder.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)  # what is in the way now is so for good


def _is_at(file: int, path: Path) -> bool:
    """Whether an open file is the one at a path now."""
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


@dataclass(frozen=True)
class FolderKind:
    """A folder of ours: what is in it, and the sealed file that identifies it.

    Attributes
    ----------
    mark : str
        The sealed file, which is in every such folder.
    files : tuple of str
        The others that are in every one.
    pages : tuple of str, default=()
        Those that may be in one; which are, the sealed file tells as ``pages``.
    """

    mark: str
    files: tuple[str, ...]
    pages: tuple[str, ...] = ()

    def ours(self, folder: Path) -> tuple[str, ...]:
        """The names of the files that were written with the folder, the mark last; none, if it is no such."""
        content = sealed_content(folder / self.mark)
        if content is None:
            return ()
        names = content.get("pages", self.pages)
        pages = [name for name in names if Path(str(name)).name == name] if isinstance(names, list | tuple) else []
        return (*pages, *self.files, self.mark)

    def refuse_other(self, folder: Path) -> None:
        """Refuse to replace a folder that is neither of this kind nor empty, or a file in it that is not ours."""
        is_such = folder.is_dir() and ((folder / self.mark).is_file() or not any(folder.iterdir()))
        if not is_such:
            raise FileExistsError(
                f"{folder} is not a folder with a {self.mark}: it will not be replaced, name another output"
            )
        refuse_in_the_way(folder, self.ours(folder), (self.mark, *self.files, *self.pages))


@contextmanager
def output_file(path: Path, *, overwrite: bool = False, inputs: Iterable[Any] = ()) -> Iterator[Path]:
    """A place to write a file to, which takes its name when it is complete; the name is ours from the beginning.

    Parameters
    ----------
    path : Path
        Of the file, which must not exist.
    overwrite : bool, default=False
        Replace it.
    inputs : Iterable, default=()
        Paths that are read meanwhile; whatever is not the path of something is left aside.
    """
    with lock_for_writing(path):
        _refuse_file(path, overwrite)
        refuse_input(path, inputs)
        remove_leftovers(path, only_writer=True)
        with replace_file(path) as aside:
            yield aside
            _refuse_file(path, overwrite)


@contextmanager
def output_if_named(
    path: str | None, *, overwrite: bool = False, inputs: Iterable[Any] = ()
) -> Iterator[Path | None]:
    """The same for a file that not everybody wants: None, if it has no name."""
    if path is None:
        yield None
        return
    with output_file(Path(path), overwrite=overwrite, inputs=inputs) as aside:
        yield aside


@contextmanager
def claim_folder(
    path: Path, kind: FolderKind, *, overwrite: bool = False, inputs: Iterable[Any] = ()
) -> Iterator[None]:
    """Keep the name of a folder that is written later, by :func:`output_folder`, for this thread.

    Parameters
    ----------
    path : Path
        Of the folder, which must not exist.
    kind : FolderKind
        What it is to be.
    overwrite : bool, default=False
        Replace it, if it is of this kind; files in it that are not ours stay there.
    inputs : Iterable, default=()
        Paths that are read meanwhile; whatever is not the path of something is left aside.
    """
    path = _name_output(path)
    if not path.name:
        raise ValueError(f"{path} is the root of all folders: name a folder in it")
    with lock_for_writing(path) as outermost:
        if outermost:
            remove_leftovers(path, only_writer=True)
            recover_folder(path, kind.ours)
        if os.path.lexists(path):
            _refuse_existing(path, overwrite)
            kind.refuse_other(path)
        refuse_input(path, inputs)
        yield


@contextmanager
def output_folder(
    path: Path, kind: FolderKind, *, overwrite: bool = False, inputs: Iterable[Any] = ()
) -> Iterator[Path]:
    """A place to write a folder to, which takes its name when it is complete; see :func:`claim_folder`."""
    claim = claim_folder(path, kind, overwrite=overwrite, inputs=inputs)
    with claim, replace_folder(_name_output(path), kind.ours) as aside:
        yield aside


@contextmanager
def output_folder_in_parts(
    path: Path,
    kind: FolderKind,
    content: Mapping[str, Any],
    *,
    overwrite: bool = False,
    inputs: Iterable[Any] = (),
) -> Iterator[Path]:
    """The same for a folder whose files are written one by one, each complete or absent.

    What is there when this ends early stays, and is found by the next call with the same content.

    Parameters
    ----------
    path : Path
        Of the folder, which must not exist.
    kind : FolderKind
        What it is to be.
    content : Mapping
        What its sealed file holds; ``pages`` are the names of the files.
    overwrite : bool, default=False
        Replace it, if it is of this kind; files in it that are not ours stay there.
    inputs : Iterable, default=()
        Paths that are read meanwhile; whatever is not the path of something is left aside.
    """
    with claim_folder(path, kind, overwrite=overwrite, inputs=inputs):
        path = _name_output(path)
        aside = _hidden_path(path, "part")
        there = sealed_content(aside / kind.mark)
        if there is None or _differing(there, content):
            _begin_anew(aside, kind.mark, content, path)
        try:
            with name_if_full(path):
                yield aside
        finally:
            for half in aside.glob(".llpgan-*"):
                _remove(half)
            if not any((aside / each).exists() for each in content["pages"]):
                _remove(aside)
        _replace_folder(aside, path, kind.ours)


_NOTES = "notes.json"


@contextmanager
def output_folder_with_notes(
    path: Path,
    kind: FolderKind,
    content: Mapping[str, Any],
    *,
    overwrite: bool = False,
    inputs: Iterable[Any] = (),
) -> Iterator[tuple[Path, Path]]:
    """The same for a folder that is long in the making, and a folder for notes on what is done already.

    Both stay when this ends early, unless the data are wrong, and the next call with the same content finds them.

    Parameters
    ----------
    path : Path
        Of the folder, which must not exist.
    kind : FolderKind
        What it is to be.
    content : Mapping
        What it is made from. An unfinished folder of other content is refused.
    overwrite : bool, default=False
        Replace it, if it is of this kind, and an unfinished one of other content.
    inputs : Iterable, default=()
        Paths that are read meanwhile; whatever is not the path of something is left aside.
    """
    with claim_folder(path, kind, overwrite=overwrite, inputs=inputs):
        path = _name_output(path)
        notes = _hidden_path(path, "part")
        there = sealed_content(notes / _NOTES)
        others = [] if there is None else _differing(there, content)
        if others and not overwrite:
            raise FileExistsError(
                f"an unfinished {path} is there, made with other {' and '.join(others)}: give the same to "
                f"continue, or begin anew (overwrite)"
            )
        if there is None or others:
            _begin_anew(notes, _NOTES, content, path)
        digest = digest_of_file(notes / _NOTES)  # processes that were left over from other content find nothing
        folder = notes / digest[:16]
        folder.mkdir(exist_ok=True)
        for half in notes.rglob(".llpgan-*"):
            _remove(half)
        try:
            with name_if_full(path):
                yield folder, notes
                for file in folder.iterdir():
                    _flush(file)
        except (ValueError, TypeError) as error:
            if not isinstance(error.__cause__, OSError):
                _remove(notes)
            raise
        _replace_folder(folder, path, kind.ours)
        _remove(notes)


def _differing(there: Mapping[str, Any], content: Mapping[str, Any]) -> list[str]:
    """The names of what an unfinished folder was made from, where it is not the same."""
    return [name for name in content if there.get(name) != content[name]]


def _begin_anew(folder: Path, mark: str, content: Mapping[str, Any], output: Path) -> None:
    """Make the folder for the parts of an output, which holds nothing but what the output is made from."""
    _remove(folder)
    folder.mkdir(parents=True)
    with name_if_full(output):
        write_sealed(folder / mark, content, 1)
        _flush(folder / mark)


def refuse_input(output: Path, inputs: Iterable[Any]) -> None:
    """Refuse an output that would replace an input, or a part of one; by whatever path either is called."""
    real = Path(os.path.realpath(output))
    for given in inputs:
        if not isinstance(given, str | Path) or not os.path.lexists(given):
            continue
        there = Path(os.path.realpath(given))
        is_same = there == real or (real.exists() and there.exists() and real.samefile(there))
        if is_same or (there.is_dir() and real.exists() and real.is_relative_to(there)):
            raise ValueError(
                f"{output} is an input, or in one ({given}), and would be replaced: name another output"
            )
        if there.is_relative_to(real):
            raise ValueError(f"the input {given} is in the output {output}: name another output, or move it")


def check_endings(**outputs: tuple[str | None, str]) -> None:
    """Refuse an output whose file, if it is named, has another ending than that of its format."""
    for option, (path, ending) in outputs.items():
        if path is not None and Path(path).suffix.lower() != ending:
            raise ValueError(f"{path}: the file of ({option}) must end in {ending}")


def refuse_same_outputs(outputs: Mapping[str, Any]) -> None:
    """Refuse two outputs that are one file by whatever path: the second would replace the first.

    >>> refuse_same_outputs({"out": "s.csv", "html": "./s.csv"})
    Traceback (most recent call last):
        ...
    ValueError: s.csv and ./s.csv are the same file (out) (html): name a file for each output
    """
    named = {option: path for option, path in outputs.items() if isinstance(path, str | Path)}
    for (one, first), (other, second) in combinations(named.items(), 2):
        here, there = Path(first), Path(second)
        is_same = os.path.realpath(here) == os.path.realpath(there)
        if is_same or (here.exists() and there.exists() and here.samefile(there)):
            raise ValueError(
                f"{first} and {second} are the same file ({one}) ({other}): name a file for each output"
            )


def refuse_within(path: Any, folder: Path, option: str) -> None:
    """Refuse a file or folder in a folder that is written whole at the end, and that must not exist until then."""
    if not isinstance(path, str | Path):
        return
    _refuse_unwritable(Path(path))
    if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise ValueError(f"{path} is in the folder of the model, {folder} ({option}): name another place")


def check_path(given: Any, name: str) -> Path:
    """Refuse what is no path, or an empty one, which would be the current folder."""
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"{name} must be the path of a folder, got {given!r}")
    if not os.fspath(given):
        raise ValueError(f"{name} is an empty text: the path of a folder would be right")
    return Path(given)


def _name_output(folder: Path) -> Path:
    """The folder by its own name: where a link leads to, or what "." is called."""
    is_name = folder.name not in ("", "..") and not folder.is_symlink()
    return folder if is_name else Path(os.path.realpath(folder))


def _refuse_file(path: Path, overwrite: bool) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file")
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} is not a regular file: it will not be replaced, name another output")
    if os.path.lexists(path):
        _refuse_existing(path, overwrite)


def _refuse_existing(path: Path, overwrite: bool) -> None:
    if not overwrite:
        raise FileExistsError(f"{path} exists: name another output, or allow it to be replaced (overwrite)")


def _refuse_unwritable(path: Path) -> None:
    """Refuse a place where nothing can be written: under a file, or in a folder of others."""
    nearest = next((folder for folder in path.absolute().parents if folder.exists()), path)
    if not nearest.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {nearest} is a file, not a folder")
    if not os.access(nearest, os.W_OK):
        raise PermissionError(f"{path} cannot be written: nothing may be written to the folder {nearest}")
