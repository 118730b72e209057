"""Files straight from an archive: nothing is written, and an archive that would write elsewhere is refused."""

import tarfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

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
