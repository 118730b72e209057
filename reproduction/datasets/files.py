"""Official files: their names, archives and downloads."""

import gzip
import hashlib
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast
from urllib.error import HTTPError
from urllib.request import Request, urlopen

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
def open_decompressed(path: Path) -> Iterator[BinaryIO]:
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


@dataclass(frozen=True)
class Source:
    """A file to download: its address, and its checksum as ``algorithm:hexadecimal digits``."""

    url: str
    checksum: str

    @property
    def name(self) -> str:
        """The file's name, the end of its address."""
        return self.url.rsplit("/", 1)[-1]


def _sources(site: str, checksums: dict[str, str]) -> tuple[Source, ...]:
    return tuple(Source(site + name, checksum) for name, checksum in checksums.items())


SOURCES: dict[str, tuple[Source, ...]] = {
    "mnist": _sources(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        {
            "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
            "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
            "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
        },
    ),
    "fashion-mnist": _sources(
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        {
            "train-images-idx3-ubyte.gz": "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "train-labels-idx1-ubyte.gz": "md5:25c81989df183df01b3e8a0aad5dffbe",
            "t10k-images-idx3-ubyte.gz": "md5:bef4ecab320f06d8554ea6380940ec79",
            "t10k-labels-idx1-ubyte.gz": "md5:bb300cfdad3c16e7a12a480ee83cd310",
        },
    ),
    "cifar10": _sources(
        "https://www.cs.toronto.edu/~kriz/",
        {"cifar-10-python.tar.gz": "md5:c58f30108f718f92721af3b95e74349a"},
    ),
    "cifar100": _sources(
        "https://www.cs.toronto.edu/~kriz/",
        {"cifar-100-python.tar.gz": "md5:eb9058c3a382ffc7106e4002c42a8d85"},
    ),
    "svhn": _sources(
        "http://ufldl.stanford.edu/housenumbers/",
        {
            "train_32x32.mat": "md5:e26dedcc434d2e4c54c9b2d4a06d8373",
            "test_32x32.mat": "md5:eb5a983be6a315427106f1b164d9cef3",
        },
    ),
    "adult": _sources(
        "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/",
        {
            "adult.data": "sha256:5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            "adult.test": "sha256:a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        },
    ),
}


_LARGEST = 2**28  # bytes; the largest official file has 155 million


def read_members(path: Path, folder: str, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The named files of one folder in a ``.tar.gz``, in the archive's order: the name and the content of each."""
    wanted = {PurePosixPath(folder, name): name for name in names}
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                _refuse_unsafe(path, member)
                name = wanted.pop(PurePosixPath(member.name), None)
                if name is not None:
                    yield name, _content(path, archive, member)
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise ValueError(f"{path}: the archive is cut short or damaged ({error}); fetch it again") from error
    if wanted:
        raise ValueError(f"{path}: there is no {' and no '.join(map(str, wanted))} in this archive")


def _refuse_unsafe(path: Path, member: tarfile.TarInfo) -> None:
    inside = PurePosixPath(member.name)
    if inside.is_absolute() or ".." in inside.parts or "\\" in member.name:
        raise ValueError(
            f"{path}: the entry {member.name!r} leads out of the archive; an official one has none such"
        )
    if not (member.isfile() or member.isdir()):
        raise ValueError(f"{path}: the entry {member.name!r} is a link or a device, where files are expected")
    if member.size > _LARGEST:
        raise ValueError(f"{path}: the entry {member.name!r} has {member.size} bytes, more than any official file")


def _content(path: Path, archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    if file is None:
        raise ValueError(f"{path}: the entry {member.name!r} is a folder, where a file is expected")
    return file.read()


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
