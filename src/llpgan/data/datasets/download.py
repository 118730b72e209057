"""Official files from their own sites: resumed where a connection broke off, and checked before they count."""

import hashlib
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from llpgan.data.datasets.dataset_files import StrPath
from llpgan.data.datasets.official_files import SOURCES, Source

Progress = Callable[[str, int, int | None], None]
_BLOCK = 2**18
_SILENCE = 30  # seconds without a byte, after which a connection counts as broken
_PAST_THE_END = 416


def download(name: str, to: StrPath, *, progress: Progress | None = None) -> Path:
    """Download the official files of a data set.

    Files that are there are checked and kept. An interrupted download is continued.

    Parameters
    ----------
    name : str
        The name of the data set, such as "mnist".
    to : str or Path
        The folder in which a folder ``name`` is made.
    progress : callable, default=None
        A function that is called with the name of a file, the number of bytes received so far, and the total
        number or None if it is unknown.

    Returns
    -------
    Path
        The folder of the files, to pass to the function that loads them.

    Raises
    ------
    ValueError
        If there is no such data set, or a file has another checksum than the official one.
    ConnectionError
        If the connection breaks off; the next call continues there.
    """
    if name not in SOURCES:
        raise ValueError(f"no data set {name!r} to download; there are {', '.join(SOURCES)}")
    folder = Path(to, name)
    folder.mkdir(parents=True, exist_ok=True)
    for source in SOURCES[name]:
        fetch(source, folder, progress or _silent)
    return folder


def fetch(source: Source, folder: Path, progress: Progress) -> Path:
    """Fetch one file, by way of ``<name>.part``; it gets its own name when it is whole and its checksum right."""
    path, part = folder / source.name, folder / f"{source.name}.part"
    if path.exists():
        if not _is_right(path, source):
            raise ValueError(
                f"{path}: there is a file with another {_kind(source)} than the official one; move it away"
            )
        return path
    _transfer_all(source, part, progress)
    if not _is_right(part, source):
        part.unlink()
        raise ValueError(f"{source.url}: the file's {_kind(source)} is not {source.checksum}; it was thrown away")
    return part.rename(path)


def _transfer_all(source: Source, part: Path, progress: Progress) -> None:
    """Go on after a broken connection as long as each one brings something."""
    while True:
        before = _size(part)
        try:
            if _transfer(source, part, progress):
                return
            problem = "the connection broke off"
        except (OSError, HTTPException) as error:
            problem = str(error) or type(error).__name__
        if _size(part) <= before:
            raise ConnectionError(f"{source.url}: {problem} after {before} bytes; the next call continues there")


def _transfer(source: Source, part: Path, progress: Progress) -> bool:
    """Append what is missing, or begin anew if the server cannot resume; whether all that it announced came."""
    request = Request(source.url, headers={"Range": f"bytes={_size(part)}-"} if _size(part) else {})
    try:
        response: HTTPResponse = urlopen(request, timeout=_SILENCE)
    except HTTPError as error:
        if error.code == _PAST_THE_END and _size(part):  # nothing is missing; the checksum decides
            return True
        raise
    with response, part.open("ab" if _resumes(response, _size(part)) else "wb") as file:
        length = response.headers["Content-Length"]
        total = None if length is None else file.tell() + int(length)
        while block := response.read(_BLOCK):
            file.write(block)
            progress(source.name, file.tell(), total)
        return total is None or file.tell() == total


def _resumes(response: HTTPResponse, size: int) -> bool:
    return response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {size}-")


def _is_right(path: Path, source: Source) -> bool:
    with path.open("rb") as file:
        return hashlib.file_digest(file, _kind(source)).hexdigest() == source.checksum.split(":")[1]


def _kind(source: Source) -> str:
    return source.checksum.split(":")[0]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _silent(name: str, done: int, total: int | None) -> None:
    pass
