"""Finding a data set's files, and reading them plain or compressed."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO, cast

StrPath = str | PathLike[str]
_GZIP_MAGIC = b"\x1f\x8b"


def first_file(what: str, folders: Sequence[Path], names: Sequence[str]) -> Path:
    """The first file of one of these names in one of these folders; if there is none, an error that lists both."""
    for path in (folder / name for folder in folders for name in names):
        if path.is_file():
            return path
    raise not_found(what, folders, names)


def not_found(what: str, folders: Sequence[Path], names: Sequence[str]) -> FileNotFoundError:
    """What to raise where a data set is not: the folders looked in, and the names that would have been right."""
    places = " and ".join(str(folder) for folder in folders)
    return FileNotFoundError(f"no {what} in {places}: there should be {' or '.join(names)}")


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file's bytes, unpacked if it is gzip by its content (whatever its name); damage is told in words."""
    with path.open("rb") as raw:
        packed = raw.read(2) == _GZIP_MAGIC
        raw.seek(0)
        if not packed:
            yield raw
            return
        try:
            with gzip.open(raw) as file:
                yield cast(BinaryIO, file)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{path}: the gzip file is cut short or damaged ({error}); fetch it again") from error
