"""Rows of tables, arrays and images as streams of blocks; a table in memory is one block."""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from llpgan.bags.on_disk import StoredInstances
from llpgan.tables.columns import naming_source
from llpgan.tables.read import (
    CSV,
    TSV,
    CsvFile,
    Rows,
    RowStream,
    Text,
    id_type,
    read_table,
    refuse_repeated,
    source_name,
    unreadable,
    usual_text,
)
from llpgan.utils.arrays import Array
from llpgan.utils.messages import warn_user

Bytes = NDArray[np.uint8]
IMAGE_COLUMN, FOLDER_COLUMN = "image", "folder"
_GREY = ("1", "L", "LA")
_WIDE = ("I", "F")  # whole numbers of 16 and 32 bits, and floats: Pillow would cut them off at 255
_WIDE_CHANNELS = ";16"  # in how Pillow reads colours of 16 bits, of which it keeps the upper half alone
_SHORTER_SIDE = 64  # pixels at most, of images whose sizes differ
_ORIENTATION, _TURNED = 0x0112, (5, 6, 7, 8)  # in EXIF data: the image is stored on its side
_IN_COLOUR = 2.0  # the mean difference between two channels, from which an image is not a grey one saved in colour
_USUAL_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")
_RARE_ENDINGS = (
    ".jpe",
    ".jfif",
    ".jp2",
    ".ppm",
    ".pgm",
    ".pbm",
    ".avif",
    ".heic",
    ".heif",
    ".dcm",
    ".svg",
    ".ico",
)
_BEGINNINGS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*", b"RIFF")  # of images, whatever their name
_ONE_VIEW = "MPO"  # photos of a phone, of which further frames are previews


def open_folder(folder: Path) -> Rows:
    """All images below a folder in the order of their paths; the bag of each is the folder that it is in."""
    files = sorted(_walk(folder))
    paths = [path for path in files if is_image(path)]
    others = [path for path in files if not is_image(path) and _begins_like_image(path)]
    if others:
        warn_user(f"{folder}: left out {len(others)} images whose names do not say so, such as {others[0]}")
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


def _begins_like_image(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4).startswith(_BEGINNINGS)


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
        turned_grey, moving = [], []
        for row, (path, where) in enumerate(image_paths(rows, rows.image or self.column)):
            image = read_image(path, where)
            images[row] = self._pixels(image, path, where)
            if self.shape[0] == 1 and _is_in_colour(image):
                turned_grey.append(path)
            if image.info.get("n_frames", 1) > 1:
                moving.append(path)
        if moving:
            warn_user(f"{rows.name}: {len(moving)} images have several frames ({moving[0]}); the first is used")
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
        if "://" in str(path):
            raise ValueError(f"{where}: {path} is an address: download the image, and give the path of its file")
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
            n_frames = 1 if image.format == _ONE_VIEW else getattr(image, "n_frames", 1)
            image.load()
        if is_wide or image.mode.startswith(_WIDE):
            raise ValueError(f"its pixels ({image.mode}) are wider than a byte; save it with 8 bits per channel")
        shown = _put_on_white(_turn_upright(image))
        shown.info["n_frames"] = n_frames
        return shown
    except FileNotFoundError:
        why = ": write / between its parts, not a backslash" if "\\" in path.name else ""
        raise FileNotFoundError(f"{where}: there is no image {path}{why}") from None
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


_OTHER = {NpzFile: "a single array: rename it to .npy", np.ndarray: "an archive of arrays: rename it to .npz"}


def open_npy(path: Path) -> Rows:
    """The instances of a file with one array, memory-mapped."""
    return Rows(str(path), pa.table({}), _load_array(path, np.ndarray, mmap_mode="r"))


def open_npz(path: Path) -> Rows:
    """Instances are the array of that name, or the only one of two or more dimensions; the others are columns."""
    with _load_array(path, NpzFile) as archive:
        arrays = {name: _member(path, archive, name) for name in archive.files}
    wide = [name for name, array in arrays.items() if array.ndim > 1]
    if "instances" not in arrays and len(wide) != 1:
        raise ValueError(
            f"{path} has arrays {', '.join(arrays)}: call the one that holds the instances 'instances'"
        )
    instances = arrays.pop("instances" if "instances" in arrays else wide[0])
    if instances.ndim < 2:
        raise ValueError(f"{path}: the instances have shape {instances.shape}: (rows, features) would be right")
    for name, column in arrays.items():
        if column.shape != (len(instances),):
            raise ValueError(
                f"{path}: {name!r} has shape {column.shape}, but there are {len(instances)} instances"
            )
    with naming_source(str(path)):
        return Rows(str(path), read_table(arrays) if arrays else pa.table({}), instances)


def rows_of_array(array: Any) -> Rows:
    """Make rows from an array, whose columns have no names.

    Parameters
    ----------
    array : ndarray or StoredInstances
        The instances.

    Returns
    -------
    Rows
        The rows.
    """
    return Rows("the array", pa.table({}), array)


@dataclass(frozen=True)
class ArrayEncoder:
    """Arrays are instances as they are; all must have the shape of the training's."""

    shape: tuple[int, ...]

    @classmethod
    def learn(cls, rows: Rows) -> ArrayEncoder:
        """From the training instances."""
        assert rows.array is not None
        return cls(rows.array.shape[1:])

    @property
    def features(self) -> None:
        """Columns of arrays have no names."""

    @property
    def positions(self) -> dict[str, list[int]]:
        """Each column of a 2-D array by its number."""
        return {f"column {i}": [i] for i in range(self.shape[0])} if len(self.shape) == 1 else {}

    @property
    def notes(self) -> list[str]:
        """None."""
        return []

    @property
    def text_columns(self) -> list[str]:
        """None."""
        return []

    def encode(self, rows: Rows) -> Array:
        """The array itself."""
        if rows.array is None or rows.array.shape[1:] != self.shape:
            found = "a table" if rows.array is None else f"instances of shape {rows.array.shape[1:]}"
            raise ValueError(
                f"{rows.name} holds {found}, but the model was trained on arrays of shape {self.shape}"
            )
        return rows.array


def _load_array(path: Path, kind: type, **how: Any) -> Any:
    """Never with pickled objects, which could run code."""
    try:
        loaded = np.load(path, allow_pickle=False, **how)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        why = str(error).split(". ")[0]  # without numpy's advice to load pickled objects all the same
        raise ValueError(f"{path} is not a file of arrays that can be read: {why}") from error
    if not isinstance(loaded, kind):
        raise ValueError(f"{path} is {_OTHER[kind]}")
    return loaded


def _member(path: Path, archive: Any, name: str) -> Array:
    try:
        return np.asarray(archive[name])
    except MemoryError as error:
        raise MemoryError(
            f"{path}: the array {name!r} does not fit into memory ({error}); saved as .npy, it is read in parts"
        ) from None
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise ValueError(f"{path}: the array {name!r} cannot be read: {error}") from error


_ARRAYS = {".npy": open_npy, ".npz": open_npz}


def open_rows(source: Any, text: Text = (), ids: Text = ()) -> Rows:
    """Open the rows of any source, in memory.

    Parameters
    ----------
    source : table or path
        A table (file, folder of Parquet files, frame, dict of columns), an ``.npz`` or ``.npy`` file, a folder of
        images, or one image.
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
        if is_store(path):
            raise ValueError(f"{path} is a store of bags; give the file or folder that it was made from")
        return (
            open_folder(path)
            if not list_parquet_files(path)
            else Rows(str(path), read_table(path), folder=path.parent)
        )
    if path is not None and path.is_file() and is_image(path):
        return open_image(path)
    if path is not None and path.is_file() and path.suffix in _ARRAYS:
        return _ARRAYS[path.suffix](path)
    folder = Path() if path is None else path.parent
    return Rows(source_name(source), read_table(source, text, ids), folder=folder)


def is_store(path: Any) -> bool:
    """Return whether a path is that of a store.

    Parameters
    ----------
    path : object
        Anything that a user may pass.

    Returns
    -------
    bool
        Whether it is the path of a store.
    """
    return isinstance(path, str | Path) and (Path(path) / STORE).is_file()


PARQUET, STORE = ".parquet", "store.json"
_BAGS_OF_STORE, _ROWS_OF_STORE = "bags.parquet", "instances.npy"
_NO_VALUE, _ROWS_AT_ONCE = "__HIVE_DEFAULT_PARTITION__", 2**17
_READING = {"buffer_size": 2**20, "pre_buffer": False}  # a bit of each column; else whole row groups, all kept


def open_stream(source: Any, text: Text = (), ids: Text = ()) -> RowStream:
    """Open the rows of any source, to be read part by part.

    Parameters
    ----------
    source : table or path
        A Parquet file or a folder of Parquet files, a CSV file, or anything else that :func:`open_rows` takes.
    text : collection of str, default=()
        The columns of a CSV file that are read as text, even if they look like numbers.
    ids : collection of str, default=()
        The columns of a CSV file that hold ids, see :func:`read_table`.

    Returns
    -------
    RowStream
        The rows.

    Examples
    --------
    >>> stream = open_stream({"age": [31, 47, 28]})
    >>> [(rows.first_row, rows.column("age").to_pylist()) for rows in stream.rows(2)]
    [(0, [31, 47]), (2, [28])]
    """
    path = Path(source) if isinstance(source, str | Path) else None
    if path is not None and (files := list_parquet_files(path)):
        return _stream_parquet(path, files)
    if path is not None and path.is_file() and path.name.lower().endswith((*CSV, *TSV)):
        with unreadable(str(path)):
            file = CsvFile.open(path, text, ids)
            types, with_commas = file.find_types()
        schema = pa.schema(types.items())
        return _stream_tables(str(path), schema, lambda _: file.read_blocks(types, with_commas), path.parent)
    return stream_rows(open_rows(source, text, ids))


def read_whole(rows: Rows) -> RowStream:
    """Rows that are in memory, in one part."""
    shape = None if rows.array is None else rows.array.shape[1:]
    return RowStream(rows.name, rows.table.schema, lambda _: iter([rows]), shape, rows.image, is_whole=True)


def stream_rows(rows: Rows) -> RowStream:
    """Rows that are in memory, or an array that is in a file."""
    if rows.array is not None and rows.array.ndim == 0:
        return RowStream(rows.name, rows.table.schema, lambda _: iter([rows]), shape=())
    if rows.array is not None:
        array: Any = rows.array
        if isinstance(array, np.memmap) and array.filename is not None and array.flags.c_contiguous:
            array = StoredInstances(array.filename)  # read and not mapped: pages that were seen stay in memory
        return _stream_array(rows, array)

    def parts(n_rows: int) -> Iterator[Rows]:
        for start in range(0, len(rows), n_rows):
            yield replace(rows, table=rows.table.slice(start, n_rows), first_row=start)

    return RowStream(rows.name, rows.table.schema, parts, image=rows.image)


def _stream_array(rows: Rows, array: Any) -> RowStream:
    def parts(n_rows: int) -> Iterator[Rows]:
        for start in range(0, len(array), n_rows):
            table = rows.table.slice(start, n_rows)
            yield replace(rows, table=table, array=array[start : start + n_rows], first_row=start)

    return RowStream(rows.name, rows.table.schema, parts, shape=array.shape[1:])


def _stream_tables(
    name: str, schema: pa.Schema, tables: Callable[[int], Iterable[pa.Table]], folder: Path, start: int = 0
) -> RowStream:
    refuse_repeated(name, schema.names)

    def parts(n_rows: int) -> Iterator[Rows]:
        first_row = start
        with unreadable(name):
            for table in split_evenly(tables(n_rows), n_rows):
                yield Rows(name, usual_text(table), folder=folder, first_row=first_row)
                first_row += len(table)
        if first_row == start:
            raise ValueError(f"{name} is empty: it has columns {schema.names}, but no rows")

    return RowStream(name, schema, parts)


def split_evenly(tables: Iterable[pa.Table], n_rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of so many, but for the last.

    >>> [len(part) for part in split_evenly([pa.table({"x": range(n)}) for n in (1, 4, 2)], 3)]
    [3, 3, 1]
    """
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= n_rows:
            whole = pa.concat_tables(waiting)
            last = len(whole) // n_rows * n_rows
            yield from (whole.slice(start, n_rows) for start in range(0, last, n_rows))
            waiting = [whole.slice(last)] if last < len(whole) else []
    if sum(map(len, waiting)):
        yield pa.concat_tables(waiting)


def _stream_parquet(path: Path, files: list[Path]) -> RowStream:
    schema, values = _open_parquet(path, files)
    tables = partial(_read_parquet, _whole_files(files), schema, values)
    return _stream_tables(str(path), _add_values(schema, values), tables, path.parent)


def split_by_file(path: str | Path) -> Iterator[RowStream]:
    """The rows of each file of a folder of Parquet files that has any, with the columns and types of all files."""
    folder = Path(path)
    files = list_parquet_files(folder)
    schema, values = _open_parquet(folder, files)
    for place, file in enumerate(files):
        if pa.parquet.read_metadata(file).num_rows:
            of_file = {name: of_files[place : place + 1] for name, of_files in values.items()}
            tables = partial(_read_parquet, _whole_files([file]), schema, of_file)
            yield _stream_tables(str(file), _add_values(schema, of_file), tables, folder.parent)


def split_by_rows(path: Path, n_cells: int) -> list[tuple[RowStream, int]]:
    """The rows of Parquet files in parts of about so many cells, and the number of rows of each.

    A part is some row groups that follow each other, of one file or of several. Of anything else there are none.
    """
    whole = path.absolute()  # processes may have another folder
    files = list_parquet_files(whole)
    if not files:
        return []
    schema, values = _open_parquet(whole, files)
    with_values = _add_values(schema, values)
    parts: list[tuple[RowStream, int]] = []
    row_groups: dict[int, list[int]] = {}  # by the place of their file
    n_rows = start = 0

    def close() -> None:
        pieces = [_Piece(files[place], place, of_file) for place, of_file in row_groups.items()]
        tables = partial(_read_parquet, pieces, schema, values)
        parts.append((_stream_tables(str(path), with_values, tables, whole.parent, start), n_rows))

    for place, file in enumerate(files):
        metadata = pa.parquet.read_metadata(file)
        for group in range(metadata.num_row_groups):
            row_groups.setdefault(place, []).append(group)
            n_rows += metadata.row_group(group).num_rows
            if n_rows * len(with_values) >= n_cells:
                close()
                row_groups, start, n_rows = {}, start + n_rows, 0
    if n_rows:
        close()
    return parts


def count_parquet_rows(path: Path) -> int | None:
    """How many rows a Parquet file or a folder of them has; None for anything else."""
    files = list_parquet_files(path)
    return sum(pa.parquet.read_metadata(file).num_rows for file in files) if files else None


def read_parquet_folder(path: Path) -> pa.Table | None:
    """All rows of a folder of Parquet files; None if there are no such files in it."""
    files = list_parquet_files(path)
    if not files:
        return None
    schema, values = _open_parquet(path, files)
    with unreadable(str(path)):
        tables = _read_parquet(_whole_files(files), schema, values, _ROWS_AT_ONCE)
        return pa.concat_tables([_add_values(schema, values).empty_table(), *tables])


def _open_parquet(path: Path, files: list[Path]) -> tuple[pa.Schema, dict[str, pa.Array]]:
    """The columns of files that are one table, and those that folders name, with a value for each file."""
    schemas = []
    for file in files:
        with unreadable(str(file)):
            schemas.append(pa.parquet.read_schema(file))
    for file, schema in zip(files, schemas, strict=True):
        if lacking := set(schemas[0].names) ^ set(schema.names):
            raise ValueError(f"{file} and {files[0]} do not both have a column {min(lacking)!r}")
    try:
        schema = pa.unify_schemas(schemas, promote_options="permissive").remove_metadata()
    except pa.ArrowException as error:
        raise ValueError(f"{path}: its files hold different types: {error}") from None
    return schema, _values_of_folders(path, files, schema.names)


def _add_values(schema: pa.Schema, values: dict[str, pa.Array]) -> pa.Schema:
    return pa.schema([*schema, *((name, of_files.type) for name, of_files in values.items())])


class _Piece(NamedTuple):
    """Rows of a file: its place among the files of a table, and the row groups; None means all."""

    file: Path
    place: int
    row_groups: list[int] | None = None


def _whole_files(files: Sequence[Path]) -> list[_Piece]:
    return [_Piece(file, place) for place, file in enumerate(files)]


def _read_parquet(
    pieces: list[_Piece], schema: pa.Schema, values: dict[str, pa.Array], n_rows: int
) -> Iterator[pa.Table]:
    """The rows in tables of at most so many."""
    for file, place, row_groups in pieces:
        with pa.parquet.ParquetFile(file, **_READING) as opened:
            for batch in opened.iter_batches(n_rows, row_groups=row_groups, columns=schema.names):
                table = pa.Table.from_batches([batch]).select(schema.names).cast(schema)
                for name, of_files in values.items():
                    table = table.append_column(name, pa.repeat(of_files[place], len(table)))
                yield table


def _values_of_folders(path: Path, files: list[Path], names: list[str]) -> dict[str, pa.Array]:
    """Columns, with a value for each file, that folders such as ``state=Ohio`` name, as Spark writes them."""
    rows = []
    for file in files:
        parts = [folder.split("=", 1) for folder in file.relative_to(path).parts[:-1]] if file != path else []
        rows.append({unquote(name): None if value == _NO_VALUE else unquote(value) for name, value in parts})
        if list(rows[-1]) != list(rows[0]):
            raise ValueError(f"{file} and {files[0]} are in folders of different columns")
        if twice := rows[-1].keys() & set(names):
            raise ValueError(f"{file} has a column {min(twice)!r}, which its folder says too: remove one of them")
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {
        name: pa.array(texts, pa.string()).cast(id_type(text for text in texts if text is not None))
        for name, texts in columns.items()
    }


def list_parquet_files(path: Path) -> list[Path]:
    """The files of a table: one file, or those in a folder and in its folders such as ``state=Ohio``."""
    if not path.is_dir():
        return [path] if path.name.lower().endswith(PARQUET) and path.is_file() else []
    if {_BAGS_OF_STORE, _ROWS_OF_STORE} <= {each.name for each in path.iterdir()}:
        why = (
            f"is a store, not a table: see llpgan fit {path}"
            if is_store(path)
            else f"is not whole: it has no {STORE}"
        )
        raise ValueError(f"{path} {why}")
    visible = [each for each in path.iterdir() if not each.name.startswith(".")]
    files = [each for each in visible if each.name.lower().endswith(PARQUET) and each.is_file()]
    folders = [each for each in visible if "=" in each.name and each.is_dir()]
    return sorted([*files, *(file for folder in folders for file in list_parquet_files(folder))])
