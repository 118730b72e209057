"""Real files, where there are any: in the folders of ``LLPGAN_DATA``, separated as in PATH."""

import os
from pathlib import Path

import pytest

FOLDERS = [Path(folder) for folder in os.environ.get("LLPGAN_DATA", "").split(os.pathsep) if folder]


def real(name):
    """The folder that holds this file or folder, or ``official/`` in it; the test is skipped if there is none."""
    for place in (place for folder in FOLDERS for place in (folder, folder / "official")):
        if (place / name).exists():
            return place
    where = ", ".join(map(str, FOLDERS)) or "LLPGAN_DATA, which is not set"
    pytest.skip(f"no {name} in {where}: it should name the folders of real data")
