"""Downloads from a server on this machine: resumed, checked, and named only when whole."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from reproduction.datasets.files import SOURCES, Source

from reproduction.datasets import IMAGE_DATASETS, download

CONTENT = np.random.default_rng(0).bytes(1_000_000)
SHA = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


class Server(ThreadingHTTPServer):
    """Serves CONTENT; may break off after some bytes, ignore ranges, or leave the length unsaid."""

    break_after: int | None = None
    takes_ranges = True
    says_length = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.ranges: list[str | None] = []

    def source(self, checksum=SHA):
        return Source(f"http://127.0.0.1:{self.server_port}/data.bin", checksum)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        asked = self.headers["Range"]
        self.server.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.server.takes_ranges else 0
        if self.path != "/data.bin":
            return self.send_error(404)
        if start >= len(CONTENT):
            return self.send_error(416)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        if self.server.says_length:
            self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start:][: self.server.break_after])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def offer(monkeypatch):
    return lambda source: monkeypatch.setitem(SOURCES, "made-up", (source,))


def test_a_file_arrives_whole_under_its_name(tmp_path, server, offer):
    offer(server.source())
    seen = []
    folder = download("made-up", tmp_path, progress=lambda *row: seen.append(row))
    assert folder == tmp_path / "made-up"
    assert [path.name for path in folder.iterdir()] == ["data.bin"]
    assert (folder / "data.bin").read_bytes() == CONTENT
    assert seen[-1] == ("data.bin", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_what_is_there_is_not_fetched_again(tmp_path, server, offer):
    offer(server.source())
    download("made-up", tmp_path)
    download("made-up", tmp_path)
    assert server.ranges == [None]


def test_a_broken_connection_is_continued(tmp_path, server, offer):
    offer(server.source())
    server.break_after = 400_000
    assert (download("made-up", tmp_path) / "data.bin").read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=400000-", "bytes=800000-"]


def test_a_part_from_an_earlier_call_is_continued(tmp_path, server, offer):
    offer(server.source())
    (tmp_path / "made-up").mkdir()
    (tmp_path / "made-up" / "data.bin.part").write_bytes(CONTENT[:700_000])
    assert (download("made-up", tmp_path) / "data.bin").read_bytes() == CONTENT
    assert server.ranges == ["bytes=700000-"]


def test_a_part_that_is_whole_needs_only_its_checksum(tmp_path, server, offer):
    offer(server.source())
    (tmp_path / "made-up").mkdir()
    (tmp_path / "made-up" / "data.bin.part").write_bytes(CONTENT)
    assert (download("made-up", tmp_path) / "data.bin").read_bytes() == CONTENT


def test_a_server_without_ranges_begins_anew(tmp_path, server, offer):
    offer(server.source())
    server.takes_ranges = False
    (tmp_path / "made-up").mkdir()
    (tmp_path / "made-up" / "data.bin.part").write_bytes(b"something else")
    assert (download("made-up", tmp_path) / "data.bin").read_bytes() == CONTENT


def test_a_length_that_is_not_said(tmp_path, server, offer):
    offer(server.source())
    server.says_length = False
    assert (download("made-up", tmp_path) / "data.bin").read_bytes() == CONTENT


def test_a_connection_that_brings_nothing_is_given_up(tmp_path, server, offer):
    offer(server.source())
    server.break_after = 0
    with pytest.raises(ConnectionError, match=r"data\.bin: the connection broke off after 0 bytes; the next call"):
        download("made-up", tmp_path)
    assert not (tmp_path / "made-up" / "data.bin").exists()


def test_a_wrong_checksum_is_refused_and_nothing_kept(tmp_path, server, offer):
    offer(server.source("md5:" + 32 * "0"))
    with pytest.raises(ValueError, match=r"data\.bin: the file's md5 is not md5:0+; it was thrown away"):
        download("made-up", tmp_path)
    assert list((tmp_path / "made-up").iterdir()) == []


def test_a_file_of_the_users_is_not_overwritten(tmp_path, server, offer):
    offer(server.source())
    (tmp_path / "made-up").mkdir()
    (tmp_path / "made-up" / "data.bin").write_bytes(b"mine")
    with pytest.raises(ValueError, match=r"data\.bin: there is a file with another sha256 .*; move it away"):
        download("made-up", tmp_path)
    assert (tmp_path / "made-up" / "data.bin").read_bytes() == b"mine"


def test_a_file_that_is_not_there(tmp_path, server, offer):
    offer(Source(f"http://127.0.0.1:{server.server_port}/other.bin", SHA))
    with pytest.raises(ConnectionError, match=r"other\.bin: HTTP Error 404: Not Found"):
        download("made-up", tmp_path)


def test_a_data_set_that_is_not_there(tmp_path):
    with pytest.raises(
        ValueError, match="no data set 'minst' to download; there are mnist, fashion-mnist, cifar10"
    ):
        download("minst", tmp_path)


def test_every_reader_has_its_sources_with_checksums():
    assert {*IMAGE_DATASETS, "adult"} == set(SOURCES)
    for source in (source for sources in SOURCES.values() for source in sources):
        kind, digits = source.checksum.split(":")
        assert len(digits) == 2 * hashlib.new(kind).digest_size
        assert source.name and source.url.startswith("http")
