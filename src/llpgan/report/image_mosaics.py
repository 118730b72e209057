"""Images side by side: real ones, and a generator's."""

import io
from base64 import b64encode
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from matplotlib.image import imsave
from numpy.typing import NDArray

from llpgan.bags import Bags
from llpgan.estimators.base import LLPClassifier
from llpgan.utils.arrays import Array

Pixels = NDArray[np.uint8]
_SIDE = 8  # images along each side of a mosaic
_LARGEST = 64  # pixels of an image's side; of larger ones every second, third, ... is shown


@runtime_checkable
class Generating(Protocol):
    """A model that makes instances of its own."""

    def sample(self, n: int, random_state: int | None = None) -> Array:
        """So many instances, in the range of the training instances."""


class Mosaics(NamedTuple):
    """Real and generated images, each in a square of 8 by 8: ``(height, width, 3)``."""

    real: Pixels
    generated: Pixels


def mosaics_of(model: LLPClassifier, bags: Bags) -> Mosaics | None:
    """Real and generated images; None where instances are no images, or the method makes none."""
    if bags.instances.ndim != 4 or not isinstance(model, Generating):
        return None
    rows = np.linspace(0, len(bags.instances) - 1, _SIDE**2).astype(np.int64)
    real = np.asarray(bags.instances[rows], dtype=np.float64)
    low, high = real.min(), real.max()
    return Mosaics(_mosaic(real, low, high), _mosaic(model.sample(_SIDE**2, random_state=0), low, high))


def png(pixels: Pixels) -> str:
    """A picture as an address that carries it."""
    file = io.BytesIO()
    imsave(file, pixels, format="png")
    return "data:image/png;base64," + b64encode(file.getvalue()).decode()


def _mosaic(images: Array, low: float, high: float) -> Pixels:
    """Images ``(64, channels, height, width)`` in one, a pixel of white between them."""
    step = -(-max(images.shape[2:]) // _LARGEST)
    light = (np.asarray(images, dtype=np.float64) - low) / ((high - low) or 1)
    bytes_ = (255 * np.clip(light, 0, 1)).round().astype(np.uint8)[:, :, ::step, ::step]
    return tiled(_as_colours(bytes_), _SIDE, fill=255)[:-1, :-1]


def tiled(images: Array, n_columns: int, fill: int = 0) -> Array:
    """Images side by side in one, with a line between them: ``(N, C, H, W)`` to ``(height, width, C)``."""
    padding = ((0, -len(images) % n_columns), (0, 0), (0, 1), (0, 1))
    padded = np.pad(images, padding, constant_values=fill)
    n, channels, height, width = padded.shape
    grid = padded.reshape(n // n_columns, n_columns, channels, height, width).transpose(0, 3, 1, 4, 2)
    return grid.reshape(n // n_columns * height, n_columns * width, channels)


def _as_colours(images: Pixels) -> Pixels:
    """Three channels as they are; of any other number the first, in grey."""
    return images if images.shape[1] == 3 else np.repeat(images[:, :1], 3, axis=1)
