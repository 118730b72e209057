"""Images of a generator inside a row: as text, and back."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.utils.arrays import Array

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


def spread(images: Array) -> float:
    """The mean distance between two of the images, as a part of the largest there can be: 0 if all are the same.

    >>> spread(np.array([[[[0, 0]]], [[[255, 255]]]], dtype=np.uint8))
    1.0
    """
    rows = images.reshape(len(images), -1) / 255
    distances = np.sqrt(np.mean((rows[:, None] - rows[None]) ** 2, axis=2))
    return float(distances[np.triu_indices(len(rows), 1)].mean())
