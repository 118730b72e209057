"""Images in folders and in columns of paths."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from llpgan.tables.read import Rows

Bytes = NDArray[np.uint8]
IMAGE_COLUMN, FOLDER_COLUMN = "image", "folder"
_GREY = ("1", "L", "LA")
_WIDE = ("I", "F")  # whole numbers of 16 and 32 bits, and floats: Pillow would cut them off at 255
_WIDE_CHANNELS = ";16"  # in how Pillow reads colours of 16 bits, of which it keeps the upper half alone
_SHORTER_SIDE = 64  # pixels at most, of images whose sizes differ
_ORIENTATION, _TURNED = 0x0112, (5, 6, 7, 8)  # in EXIF data: the image is stored on its side
_IN_COLOUR = 2.0  # the mean difference between two channels, from which an image is not a grey one saved in colour
_USUAL_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")
_RARE_ENDINGS = (".jpe", ".jfif", ".jp2", ".ppm", ".pgm", ".pbm", ".avif", ".heic", ".heif", ".dcm")


def open_folder(folder: Path) -> Rows:
    """All images below a folder in the order of their paths; the bag of each is the folder that it is in."""
    paths = sorted(path for path in _walk(folder) if is_image(path))
    if not paths:
        raise ValueError(f"{folder} holds no image: files that end in {', '.join(_USUAL_ENDINGS)} would be")
    relative = [path.relative_to(folder) for path in paths]
    for path in relative:
        if "\\udc" in ascii(path.as_posix()):
            raise ValueError(f"{folder}: the name {path.as_posix()!a} is not text in UTF-8: rename it")
    columns = {IMAGE_COLUMN: map(Path.as_posix, relative), FOLDER_COLUMN: (p.parent.as_posix() for p in relative)}
    table = pa.table({name: pa.array(list(values), pa.string()) for name, values in columns.items()})
    return Rows(str(folder), table, folder=folder, image=IMAGE_COLUMN)


def _walk(folder: Path) -> Iterator[Path]:
    """The files below a folder; an entry that cannot be read is refused, where pathlib would leave it out."""

    def refuse(error: OSError) -> None:
        raise ValueError(f"{error.filename} cannot be read: {error.strerror}; move it, or allow it to be read")

    for parent, _, names in os.walk(folder, onerror=refuse):
        for path in (Path(parent, name) for name in names):
            if path.is_symlink() and not path.exists():
                raise ValueError(
                    f"{path} is a link to {path.readlink()}, which does not exist: remove it or mend it"
                )
            if path.is_file():
                yield path


def is_image(path: Path) -> bool:
    """Whether a path is that of an image file, by its ending.

    Formats that Pillow may not read count too: such a file is named when it is opened, not left out.
    """
    return path.suffix.lower() in _USUAL_ENDINGS + _RARE_ENDINGS


def open_image(path: Path) -> Rows:
    """A single image, as the one row of its folder."""
    columns = {IMAGE_COLUMN: [path.name], FOLDER_COLUMN: [path.absolute().parent.name]}
    return Rows(str(path), pa.table(columns), folder=path.parent, image=IMAGE_COLUMN)


@dataclass(frozen=True)
class ImageEncoder:
    """Image files become bytes (channels, height, width), all of one size.

    Attributes
    ----------
    column : str
        With the path of each image.
    shape : tuple of int
        Channels (one for grey, three for colour), height and width.
    resize : bool, default=False
        Whether images of another size are brought to this one; else they are refused.
    differing : tuple of int, default=None
        The shortest and the longest side of the images, if their sizes differ and none was given.
    """

    column: str
    shape: tuple[int, int, int]
    resize: bool = False
    differing: tuple[int, int] | None = None

    @classmethod
    def learn(cls, rows: Rows, column: str, size: tuple[int, int] | None = None) -> ImageEncoder:
        """In grey if the first image is; of the size (height, width) that is given, or that all images have.

        If sizes differ, images are brought to the median height and width, of which the shorter is at most 64.
        """
        first = read_image(*next(image_paths(rows, column)))
        channels = 1 if first.mode in _GREY else 3
        if size is not None:
            return cls(column, (channels, *size), resize=True)
        sizes = {(first.height, first.width), *_image_sizes(rows, column)}
        if len(sizes) == 1:
            return cls(column, (channels, first.height, first.width))
        middle = np.median([*_image_sizes(rows, column)], axis=0)
        height, width = (max(1, round(side * min(1, _SHORTER_SIDE / middle.min()))) for side in middle.tolist())
        sides = [side for pair in sizes for side in pair]
        return cls(column, (channels, height, width), resize=True, differing=(min(sides), max(sides)))

    @property
    def features(self) -> None:
        """Pixels have no names."""

    @property
    def positions(self) -> dict[str, list[int]]:
        """None: a pixel is no column of the user's."""
        return {}

    @property
    def notes(self) -> list[str]:
        """What images became."""
        channels, height, width = self.shape
        colour = "grey" if channels == 1 else "in colour"
        if self.differing is None:
            return [f"images are {width} x {height} pixels, {colour}"]
        least, most = self.differing
        return [
            f"image sizes differ, {least} to {most} pixels a side: resized to {width} x {height}, {colour} "
            "(image_size sets another size)"
        ]

    @property
    def text_columns(self) -> list[str]:
        """The column of paths."""
        return [self.column]

    def encode(self, rows: Rows) -> Bytes:
        """(N, channels, height, width)."""
        if rows.array is not None:
            return self._check_images(rows.array, rows.name)
        images = np.empty((len(rows), *self.shape), dtype=np.uint8)
        turned_grey = []
        for row, (path, where) in enumerate(image_paths(rows, rows.image or self.column)):
            image = read_image(path, where)
            images[row] = self._pixels(image, path, where)
            if self.shape[0] == 1 and _is_in_colour(image):
                turned_grey.append(path)
        if turned_grey:
            warnings.warn(
                f"{rows.name}: {len(turned_grey)} of {len(rows)} images are in colour ({turned_grey[0]} is the "
                "first) and become grey, because the first image of the training is grey; if colour matters, save "
                "that one in colour too",
                stacklevel=2,
            )
        return images

    def _check_images(self, array: Bytes, name: str) -> Bytes:
        """Images that are bytes already are not encoded at all."""
        if array.shape[1:] != self.shape or array.dtype != np.uint8:
            raise ValueError(
                f"{name} holds {array.dtype} of shape {array.shape}, but the model was trained on images: their "
                f"files, or bytes (uint8) of shape {('rows', *self.shape)}, would be right"
            )
        return array

    def _pixels(self, image: Image.Image, path: Path, where: str) -> Bytes:
        channels, height, width = self.shape
        if image.size != (width, height) and not self.resize:
            raise ValueError(
                f"{where}: {path} is {image.width} x {image.height} pixels, but the others are {width} x "
                f"{height}: bring all to one size (image_size), or those to predict to that of the others (resize)"
            )
        image = image.convert("L" if channels == 1 else "RGB")
        pixels = np.asarray(image if image.size == (width, height) else image.resize((width, height)))
        return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)


def image_paths(rows: Rows, column: str) -> Iterator[tuple[Path, str]]:
    """The path of each row's image, and its position."""
    if column not in rows.table.column_names:
        there = ", ".join(map(repr, rows.table.column_names)) or "no columns"
        raise ValueError(
            f"{rows.name} has no column {column!r}; there are {there}: name the one with paths of images (image)"
        )
    for row, path in enumerate(rows.column(column)):
        where = f"{rows.name}, row {row}"
        if path.as_py() is None:
            raise ValueError(f"{where}: no path in column {column!r}")
        yield rows.folder / str(path.as_py()), where


def _image_sizes(rows: Rows, column: str) -> Iterator[tuple[int, int]]:
    """Height and width of the images from their headers; unreadable files are reported when they are read."""
    for path, _ in image_paths(rows, column):
        with suppress(OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            if path.is_file():  # to open a pipe would wait for a writer
                with Image.open(path) as image:
                    yield (image.width, image.height) if _is_turned(image) else (image.height, image.width)


def _is_turned(image: Image.Image) -> bool:
    try:
        return image.getexif().get(_ORIENTATION, 1) in _TURNED
    except Exception:  # as in _upright
        return False


def read_image(path: Path, where: str) -> Image.Image:
    """The image as it is shown, read as a whole, so that a file that is cut off is found here."""
    if path.exists() and not path.is_file():  # to open a pipe would wait for a writer
        raise ValueError(f"{where}: {path} is not an image that can be read: it is a folder, a pipe or a device")
    try:
        with Image.open(path) as image:
            is_wide = _WIDE_CHANNELS in str(getattr(image, "tile", ""))
            image.load()
        if is_wide or image.mode.startswith(_WIDE):
            raise ValueError(f"its pixels ({image.mode}) are wider than a byte; save it with 8 bits per channel")
        return _put_on_white(_turn_upright(image))
    except FileNotFoundError:
        raise FileNotFoundError(f"{where}: there is no image {path}") from None
    except UnidentifiedImageError as error:
        raise ValueError(
            f"{where}: {path} is not an image that can be read: its format is unknown here, or it is damaged; "
            f"save it as PNG or JPEG"
        ) from error
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ValueError(f"{where}: {path} is not an image that can be read: {error}") from error


def _turn_upright(image: Image.Image) -> Image.Image:
    """The image turned as its EXIF data say: a camera stores a photo as the sensor lay."""
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # damaged EXIF data raise many kinds of errors, and the pixels may be fine
        return image


def _put_on_white(image: Image.Image) -> Image.Image:
    """The image as a page shows it: what is transparent is white. Else its shape could be in no channel."""
    if not image.has_transparency_data:
        return image
    layers = image.convert("RGBA")
    page = Image.new("RGBA", layers.size, "white")
    shown = Image.alpha_composite(page, layers)
    return shown.convert("L" if image.mode in _GREY else "RGB")


def _is_in_colour(image: Image.Image) -> bool:
    """Whether channels differ by more than a grey image's do that was saved in colour."""
    if image.mode in _GREY:
        return False
    red, green, blue = np.asarray(image.convert("RGB"), dtype=np.float32).transpose(2, 0, 1)
    return bool(max(np.abs(red - green).mean(), np.abs(green - blue).mean()) > _IN_COLOUR)
