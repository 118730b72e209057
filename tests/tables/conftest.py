import pytest


@pytest.fixture
def write(tmp_path):
    """Put text or bytes into a file of a folder of its own."""

    def put(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put
