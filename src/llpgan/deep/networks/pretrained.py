"""A pretrained network with a new head, of which bags train the head, the last layers or everything."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from llpgan.deep.networks.parts import Classifier
from llpgan.tables.backbones import ImagePreprocessing, load_backbone


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
