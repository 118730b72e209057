"""Networks for photographs: whitened patches and groups of convolutions, with a generator; pretrained ones."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from llpgan.deep.networks.paper import cifar_generator
from llpgan.deep.networks.parts import (
    Activation,
    Classifier,
    Output,
    Shape,
    StepNorm,
    gelu,
    image_shape,
    leaky_relu,
)
from llpgan.tables.backbones import ImagePreprocessing, load_backbone

_LEAST_VARIANCE = 5e-4  # relative to the mean variance: directions below are noise, and are not amplified
_LOGIT_SCALE = 1 / 9
_STATISTICS_MOMENTUM = 0.5
_STRIDE_FROM = 48  # pixels a side from which patches do not overlap
_GROUP_FROM = 96  # pixels a side from which there is one more group, and another at each doubling


class Whitening(nn.Module):
    """Convolution with small fixed filters whose outputs are uncorrelated on the training images.

    Filters are the eigenvectors of the covariance of image patches, divided by the square root of their
    eigenvalues, and the negatives of these. Only the bias is trained.

    Parameters
    ----------
    channels : int
        Channels of the images.
    size : int, default=2
        Height and width of a patch.
    stride : int, default=1
        Distance between neighbouring patches.
    """

    def __init__(self, channels: int, size: int = 2, stride: int = 1) -> None:
        super().__init__()
        self.filters = nn.Conv2d(channels, 2 * channels * size * size, size, stride)
        self.filters.weight.requires_grad_(False)

    def forward(self, images: Tensor) -> Tensor:
        """``(N, C, H, W)`` to whitened patches ``(N, 2 C size², H', W')``."""
        whitened: Tensor = self.filters(images)
        return whitened

    @torch.no_grad()
    def learn(self, images: Tensor) -> None:
        """Set the filters for images like these, of which a thousand are enough."""
        size, stride = self.filters.kernel_size, self.filters.stride
        patches = F.unfold(images, size, stride=stride).transpose(1, 2).flatten(0, 1).double()
        mean = patches.mean(0)
        variances, directions = torch.linalg.eigh((patches - mean).T @ (patches - mean) / len(patches))
        least = _LEAST_VARIANCE * variances.mean() + torch.finfo(torch.float32).tiny
        rows = (directions / (variances.clamp(min=0) + least).sqrt()).T
        filters, bias = torch.cat([rows, -rows]), torch.cat([-rows @ mean, rows @ mean])
        self.filters.weight.copy_(filters.view_as(self.filters.weight))
        assert self.filters.bias is not None
        self.filters.bias.copy_(bias)


def learn_patches(network: nn.Module, images: Tensor) -> None:
    """Set the filters of a network's :class:`Whitening` layers for images in the range that the network takes.

    Parameters
    ----------
    network : torch.nn.Module
        The network, which is changed in place. One without such a layer stays as it is.
    images : Tensor of shape (n_samples, channels, height, width)
        Some of the training images.
    """
    for layer in network.modules():
        if isinstance(layer, Whitening):
            layer.learn(images)


class PhotoClassifier(Classifier):
    """A classifier of images that can average what it says of an image and of its mirror image.

    Parameters
    ----------
    body : torch.nn.Module
        The network from images to features.
    head : torch.nn.Module
        The network from features to logits.

    Attributes
    ----------
    mirrors : bool
        Whether predictions are the mean over an image and its mirror image. Estimators set it if training
        mirrors images.
    """

    def __init__(self, body: nn.Module, head: nn.Module) -> None:
        super().__init__(body, head)
        self.mirrors = False

    def forward(self, instances: Tensor) -> Output:
        """Compute the logits and features of a batch of images.

        Parameters
        ----------
        instances : Tensor of shape (n_samples, channels, height, width)
            The images.

        Returns
        -------
        Output
            The logits of the classes, and the features that feature matching compares.
        """
        seen = super().forward(instances)
        if self.training or not self.mirrors:
            return seen
        mirrored = super().forward(instances.flip(3))
        return Output((seen.logits + mirrored.logits) / 2, (seen.features + mirrored.features) / 2)


def photo_classifier(shape: Shape, n_classes: int, activation: Activation = gelu) -> PhotoClassifier:
    """Make the default classifier for photographs: colour images of 24 pixels a side or more.

    It has a whitening layer and three groups of two convolutions with 64, 256 and 256 filters. Each group halves
    height and width and normalizes over the batch. Images of 48 pixels a side or more are seen in patches that do
    not overlap, and from 96 pixels a side there are more groups.

    Parameters
    ----------
    shape : tuple of int
        The shape of an image: channels, height and width.
    n_classes : int
        The number of classes.
    activation : callable, default=gelu
        A function that makes an activation.

    Returns
    -------
    Classifier
        The network.

    References
    ----------
    .. [1] K. Jordan, "94 % on CIFAR-10 in 3.29 seconds on a single GPU", arXiv:2404.00498, 2024.
    """
    channels, height, width = image_shape(shape)
    side = min(height, width)
    whitening = Whitening(channels, stride=2 if side >= _STRIDE_FROM else 1)
    widths = [whitening.filters.out_channels, *[64] * (1 + (side // _GROUP_FROM).bit_length()), 256, 256]
    groups = [_group(*pair, activation) for pair in pairwise(widths)]
    body = nn.Sequential(whitening, activation(), *groups, nn.AdaptiveMaxPool2d(1), nn.Flatten())
    return PhotoClassifier(body, nn.Sequential(nn.Linear(256, n_classes, bias=False), _Times(_LOGIT_SCALE)))


def photo_generator(shape: Shape, noise_size: int, activation: Activation = leaky_relu) -> nn.Module:
    """Make the default generator for photographs: that of the paper with half as many filters.

    Parameters
    ----------
    shape : tuple of int
        The shape of an image: channels, height and width.
    noise_size : int
        The number of dimensions of the noise.
    activation : callable, default=leaky_relu
        A function that makes an activation.

    Returns
    -------
    torch.nn.Module
        The network.
    """
    return cifar_generator(shape, noise_size, activation, filters=256)


class _Times(nn.Module):
    """Multiply by a number."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, values: Tensor) -> Tensor:
        return values * self.factor


def _group(inputs: int, outputs: int, activation: Activation) -> nn.Module:
    return nn.Sequential(
        _identity_convolution(inputs, outputs),
        nn.MaxPool2d(2),
        _norm(outputs),
        activation(),
        _identity_convolution(outputs, outputs),
        _norm(outputs),
        activation(),
    )


def _identity_convolution(inputs: int, outputs: int) -> nn.Conv2d:
    """A convolution whose first filters pass on what comes in."""
    layer = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    with torch.no_grad():
        nn.init.dirac_(layer.weight[: min(inputs, outputs)])
    return layer


def _norm(channels: int) -> StepNorm:
    """Batch normalization with a trained shift; the scale is left to the convolution that follows."""
    layer = StepNorm(channels, momentum=_STATISTICS_MOMENTUM)
    layer.weight.requires_grad_(False)
    return layer


class PretrainedBody(nn.Module):
    """Images from -1 to 1, as the input of a pretrained network, and its features.

    Batch normalization keeps the statistics of the pretraining.

    Parameters
    ----------
    network : torch.nn.Module
        The network without its head.
    preprocess : ImagePreprocessing
        The size, mean and standard deviation of its input.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, network: nn.Module, preprocess: ImagePreprocessing) -> None:
        super().__init__()
        self.network = network.eval()
        self.size = preprocess.size
        self.register_buffer("mean", torch.tensor(preprocess.mean).view(3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(preprocess.std).view(3, 1, 1), persistent=False)

    def train(self, mode: bool = True) -> PretrainedBody:
        """Nothing changes: dropout stays off, and statistics stay as they are."""
        return self

    def forward(self, images: Tensor) -> Tensor:
        """Compute the features of images of any size; grey ones are repeated in three channels."""
        if images.shape[1:] != (3, *self.size):
            images = images.expand(-1, 3, -1, -1)
            images = F.interpolate(images, self.size, mode="bicubic", align_corners=False, antialias=True)
        found: Tensor = self.network(((images + 1) / 2 - self.mean) / self.std)
        return found.flatten(1)


def pretrained_classifier(
    backbone: Any,
    n_classes: int,
    *,
    n_trained: int | None = 0,
    lr_factor: float = 0.1,
    size: tuple[int, int] | None = None,
) -> Classifier:
    """A pretrained network with a new linear head, to be the ``classifier`` of a deep method for images.

    If only the head is trained, features (``Bags.from_tables(..., features=...)``) do the same in less time.

    Parameters
    ----------
    backbone : str or torch.nn.Module
        The network, see :class:`llpgan.Embedding`.
    n_classes : int
        The number of classes.
    n_trained : int or None, default=0
        How many of its last layers are trained, besides the head. None trains all of them.
    lr_factor : float, default=0.1
        The learning rate of the pretrained layers, as a share of that of the head (with ``optimizer="adam"``).
    size : tuple of int, default=None
        The height and width that images are resized to. None means as the network's configuration says.

    Returns
    -------
    Classifier
        The network. Give it as ``classifier=`` together with ``optimizer="adam"``.

    Examples
    --------
    >>> body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 8, 3), nn.AdaptiveAvgPool2d(1))
    >>> classifier = pretrained_classifier(body, n_classes=2, n_trained=1, size=(16, 16))
    >>> [name for name, weights in classifier.named_parameters() if weights.requires_grad]
    ['body.network.2.weight', 'body.network.2.bias', 'head.weight', 'head.bias']
    """
    found = load_backbone(backbone, size=size, device="cpu", precision="32-true")
    if found.module is None or not isinstance(found.preprocess, ImagePreprocessing):
        raise ValueError(f"{found.name} is no torch module for images, so it cannot be trained")
    layers = [layer for layer in found.module.modules() if next(layer.parameters(recurse=False), None) is not None]
    frozen = layers if n_trained == 0 else [] if n_trained is None else layers[:-n_trained]
    for layer in layers:
        for weights in layer.parameters(recurse=False):
            weights.requires_grad_(layer not in frozen)
            weights.lr_factor = lr_factor  # type: ignore[attr-defined]
    body = PretrainedBody(found.module, found.preprocess)
    with torch.inference_mode():
        n_features = body(torch.zeros(1, 3, *body.size)).shape[1]
    return Classifier(body, nn.Linear(n_features, n_classes))
