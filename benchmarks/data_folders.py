"""Where the data sets that are not in the package lie: in the folders of ``LLPGAN_DATA``, separated as in PATH."""

import os
from pathlib import Path


def folder_of(*names: str) -> Path:
    """The first folder that holds a file or folder of one of these names."""
    folders = [Path(folder) for folder in os.environ.get("LLPGAN_DATA", "").split(os.pathsep) if folder]
    found = next((folder for folder in folders if any((folder / name).exists() for name in names)), None)
    if found is None:
        where = ", ".join(map(str, folders)) or "nothing"
        raise FileNotFoundError(
            f"there is no {names[0]}: LLPGAN_DATA should name a folder that holds it, not {where}"
        )
    return found
