"""What a command or a function writes: never onto an input, never by two at once, and only over what was ours.

All of it is settled before work begins, so that none is lost.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llpgan.utils.atomic_files import clear_halves, recover_folder, refuse_in_the_way, whole_file, whole_folder
from llpgan.utils.checked_json import sealed_content
from llpgan.utils.file_locks import only_writer


@dataclass(frozen=True)
class FolderKind:
    """A folder of ours: what is in it, and the sealed file by which it is told from others.

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
        told = content.get("pages", self.pages)
        pages = [name for name in told if Path(str(name)).name == name] if isinstance(told, list | tuple) else []
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
    _refuse_unwritable(path)
    with only_writer(path):
        _refuse_file(path, overwrite)
        refuse_input(path, inputs)
        clear_halves(path, only_writer=True)
        with whole_file(path) as aside:
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
def claimed_folder(
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
    _refuse_unwritable(path)
    path = _named(path)
    with only_writer(path) as outermost:
        if outermost:
            clear_halves(path, only_writer=True)
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
    """A place to write a folder to, which takes its name when it is complete; see :func:`claimed_folder`."""
    claim = claimed_folder(path, kind, overwrite=overwrite, inputs=inputs)
    with claim, whole_folder(_named(path), kind.ours) as aside:
        yield aside


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


def _named(folder: Path) -> Path:
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
