"""The rows of any source: a file by its ending, a folder of images, a frame."""

from pathlib import Path
from typing import Any

from llpgan.tables.array_sources import open_npy, open_npz
from llpgan.tables.image_sources import is_image, open_folder, open_image
from llpgan.tables.rows import Rows
from llpgan.tables.table_readers import Text, name_of, read_table

_ARRAYS = {".npy": open_npy, ".npz": open_npz}


def open_rows(source: Any, text: Text = (), ids: Text = ()) -> Rows:
    """Open the rows of any source, in memory.

    Parameters
    ----------
    source : table or path
        A table (file, frame, dict of columns), an ``.npz`` or ``.npy`` file, a folder of images, or one image.
    text : collection of str, default=()
        The columns of a CSV file that are read as text, even if they look like numbers.
    ids : collection of str, default=()
        The columns of a CSV file that hold ids, see :func:`read_table`.

    Returns
    -------
    Rows
        The rows.

    Examples
    --------
    >>> open_rows({"age": [31, 47]}).column("age").to_pylist()
    [31, 47]
    """
    if isinstance(source, Rows):
        return source
    path = Path(source) if isinstance(source, str | Path) else None
    if path is not None and path.is_dir():
        from llpgan.tables.store.store_folder import is_store

        if is_store(path):
            raise ValueError(f"{path} is a store of bags; give the file or folder that it was made from")
        return open_folder(path)
    if path is not None and path.is_file() and is_image(path):
        return open_image(path)
    if path is not None and path.is_file() and path.suffix in _ARRAYS:
        return _ARRAYS[path.suffix](path)
    folder = Path() if path is None else path.parent
    return Rows(name_of(source), read_table(source, text, ids), folder=folder)
