"""An archive that leads elsewhere is refused, whatever else is in it."""

import tarfile

import pytest

from reproduction.datasets import load_cifar10
from tests.reproduction.datasets.written import archive_of, pack, write_cifar10

FOLDER, ARCHIVE = "cifar-10-batches-py", "cifar-10-python.tar.gz"


def entry(name, **attributes):
    info = tarfile.TarInfo(name)
    for key, value in attributes.items():
        setattr(info, key, value)
    return info


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (entry("../escaped"), "'../escaped' leads out of the archive"),
        (entry(f"{FOLDER}/../../escaped"), "leads out of the archive"),
        (entry("/tmp/escaped"), "'/tmp/escaped' leads out of the archive"),
        (entry("..\\escaped"), "leads out of the archive"),
        (entry(f"{FOLDER}/data_batch_1", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "is a link or a device"),
        (entry(f"{FOLDER}/data_batch_1", type=tarfile.LNKTYPE, linkname="../x"), "is a link or a device"),
        (entry(f"{FOLDER}/data_batch_1", type=tarfile.FIFOTYPE), "is a link or a device"),
        (entry(f"{FOLDER}/data_batch_1", type=tarfile.DIRTYPE), "is a folder, where a file is expected"),
    ],
)
def test_an_entry_that_is_unsafe_is_refused(tmp_path, info, message):
    data = tmp_path / "data"
    data.mkdir()
    archive_of(data / ARCHIVE, [(info, b"")])
    with pytest.raises(ValueError, match=rf"{ARCHIVE}: the entry .*{message}"):
        load_cifar10(data)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [ARCHIVE, "data"]


def test_an_entry_larger_than_any_official_file(tmp_path, monkeypatch):
    monkeypatch.setattr("reproduction.datasets.files._LARGEST", 10)
    archive_of(tmp_path / ARCHIVE, [(entry("large"), b"x" * 11)])
    with pytest.raises(ValueError, match="'large' has 11 bytes, more than any official file"):
        load_cifar10(tmp_path)


def test_an_archive_without_the_files(tmp_path):
    archive_of(tmp_path / ARCHIVE, [(entry("readme"), b"hello")])
    with pytest.raises(ValueError, match=f"there is no {FOLDER}/data_batch_1 and no .* in this archive"):
        load_cifar10(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_an_archive_that_is_cut_short(tmp_path, rng, share):
    write_cifar10(tmp_path / "x" / FOLDER, rng)
    path = pack(tmp_path / "x" / FOLDER, tmp_path / ARCHIVE)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=f"{ARCHIVE}: the archive is cut short or damaged"):
        load_cifar10(tmp_path)


def test_a_page_in_place_of_an_archive(tmp_path):
    (tmp_path / ARCHIVE).write_bytes(b"<html>not found</html>" * 100)
    with pytest.raises(ValueError, match="cut short or damaged"):
        load_cifar10(tmp_path)
