"""Pickles of byte arrays, read without running anything that they name.

A pickle is a program: it can call whatever its reader lets it find. The reader here finds a few stand-ins, which
make bytes and arrays of bytes, and nothing else; not even numpy's own code for pickled arrays is called.
"""

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from llpgan.data.datasets.split import Images


def read_pickle(where: str, content: bytes) -> dict[str, Any]:
    """The dict in a pickle of Python 2 or 3, with keys as text; byte arrays are arrays, byte strings are bytes.

    >>> read_pickle("batch", pickle.dumps({b"labels": [3, 7]}, protocol=2))
    {'labels': [3, 7]}
    >>> read_pickle("batch", pickle.dumps({b"labels": print}, protocol=2))
    Traceback (most recent call last):
    ValueError: batch: not a pickle of byte arrays: it asks for __builtin__.print, which nothing in it may call
    """
    try:
        found = _ArrayUnpickler(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:  # a damaged pickle can raise anything
        raise ValueError(f"{where}: not a pickle of byte arrays: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{where}: holds a {type(found).__name__}, where a dict is expected")
    return {text(key): value.array if isinstance(value, _Array) else value for key, value in found.items()}


class _Array:
    """Stands for an array of numpy, which a pickle makes empty and then fills."""

    array: Images = np.empty(0, np.uint8)

    def __init__(self, *_: object) -> None:
        pass

    def __setstate__(self, state: tuple[int, tuple[int, ...], "_Dtype", bool, bytes]) -> None:
        _, shape, dtype, by_columns, content = state
        if dtype.code not in ("u1", b"u1"):
            raise ValueError(f"an array of type {dtype.code!r}, where bytes ('u1') are expected")
        self.array = np.frombuffer(content, np.uint8).reshape(shape, order="F" if by_columns else "C")


class _Dtype:
    """Stands for numpy's dtype; a byte has no byte order, so only its code counts."""

    code: str | bytes = ""

    def __init__(self, code: str | bytes, *_: object) -> None:
        self.code = code

    def __setstate__(self, state: object) -> None:
        pass


def _encode(text: str, encoding: str) -> bytes:
    """How Python 3 writes byte strings in pickles of protocol 2; no other codec is looked up."""
    if encoding != "latin1":
        raise ValueError(f"a byte string in {encoding!r}, where 'latin1' is expected")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    """How it writes an empty byte string."""
    return b""


_ADMITTED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encode,
    ("__builtin__", "bytes"): _no_bytes,
}


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which nothing in it may call")
        return _ADMITTED[module, name]


def text(value: Any) -> str:
    """Text, also of a byte string, as all text is in a pickle of Python 2."""
    return value.decode("latin1") if isinstance(value, bytes) else str(value)
