"""Real files, where there are any: in the folders of ``LLPGAN_DATA``, or ``shared/data`` beside the repository."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[3] / "shared" / "data"
FOLDERS = [Path(folder) for folder in os.environ.get("LLPGAN_DATA", str(_BESIDE)).split(os.pathsep)]


def real(name):
    """The folder that holds this file or folder, or ``official/`` in it; the test is skipped if there is none."""
    for place in (place for folder in FOLDERS for place in (folder, folder / "official")):
        if (place / name).exists():
            return place
    pytest.skip(f"no {name} in {', '.join(map(str, FOLDERS))}; set LLPGAN_DATA to the folders of real data")
