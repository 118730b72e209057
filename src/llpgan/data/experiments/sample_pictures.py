"""Images of a generator inside a row: as text, and back."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
N_SAMPLES = 36


def as_text(images: Array, like: Array) -> dict[str, Any]:
    """Images as bytes, 0 to 255 for the range of those that they are like, in base 64, with their shape.

    >>> as_text(np.array([[[[0.5, 1.0]]]]), like=np.array([0.0, 1.0]))
    {'shape': [1, 1, 1, 2], 'bytes': 'gP8='}
    """
    low, high = (0.0, 255.0) if like.dtype == np.uint8 else (float(like.min()), float(like.max()))
    scaled = (images.astype(np.float64) - low) / ((high - low) or 1.0)
    pixels = np.round(255 * scaled.clip(0, 1)).astype(np.uint8)
    return {"shape": list(images.shape), "bytes": base64.b64encode(pixels.tobytes()).decode()}


def as_images(text: dict[str, Any]) -> NDArray[np.uint8]:
    """What :func:`as_text` was given, as bytes.

    >>> as_images({"shape": [1, 1, 1, 2], "bytes": "gP8="})
    array([[[[128, 255]]]], dtype=uint8)
    """
    return np.frombuffer(base64.b64decode(text["bytes"]), np.uint8).reshape(text["shape"])


def tiled(images: Array, n_columns: int = 6) -> Array:
    """Images beside each other in one, with a line between: ``(N, C, H, W)`` to ``(height, width, C)``."""
    padded = np.pad(images, ((0, -len(images) % n_columns), (0, 0), (0, 1), (0, 1)))
    n, channels, height, width = padded.shape
    grid = padded.reshape(n // n_columns, n_columns, channels, height, width).transpose(0, 3, 1, 4, 2)
    return grid.reshape(n // n_columns * height, n_columns * width, channels)


def spread(images: Array) -> float:
    """The mean distance between two of the images, as a part of the largest there can be: 0 if all are the same.

    >>> spread(np.array([[[[0, 0]]], [[[255, 255]]]], dtype=np.uint8))
    1.0
    """
    rows = images.reshape(len(images), -1) / 255
    distances = np.sqrt(np.mean((rows[:, None] - rows[None]) ** 2, axis=2))
    return float(distances[np.triu_indices(len(rows), 1)].mean())
