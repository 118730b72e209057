"""First weights, norms and dropout of the paper's network for colour images, by held-out bags.

See :mod:`benchmarks.settings.by_bags`: 10,000 images to learn from and 2,500 to judge by, of CIFAR-10 and of SVHN
(9,600 and 2,400), bags of 16. Images have half their height and width, as in first epochs with ``coarse_until``.
Each candidate differs from the default network in one thing.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from benchmarks.rows import Row, find_data_folder
from benchmarks.settings.by_bags import Array, Data, compare_settings
from llpgan import DLLP
from llpgan.data.datasets import Split
from llpgan.deep.batches import as_tensor
from llpgan.deep.networks import Classifier, cifar_classifier, settle_weights
from llpgan.deep.networks.parts import Activation, Shape
from reproduction.datasets import load_cifar10, load_svhn

N_ROWS, EPOCHS, BAG_SIZE, DRAW = 12_500, 10, 16, 100
_PUBLISHED = np.array([0.2, 0.5, 0.5])
Change = Callable[[Classifier], object]


def _make_network(dropout: float, change: Change | None = None) -> Callable[[Shape, int, Activation], nn.Module]:
    """A function that makes the network with a part of the published dropout, changed."""

    def make(shape: Shape, n_classes: int, activation: Activation) -> nn.Module:
        first, second, third = (dropout * _PUBLISHED).tolist()
        network = cifar_classifier(shape, n_classes, activation, dropout=(first, second, third))
        if change is not None:
            change(network)
        return network

    return make


def _keep_weights(network: Classifier) -> None:
    network.settles = False


def _default_weights(network: Classifier) -> None:
    network.settles = False
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.reset_parameters()


def _add_norms(make_norm: Callable[[int], nn.Module], network: Classifier) -> None:
    """A norm after each convolution."""
    for block in network.body.children():
        if isinstance(block, nn.Sequential) and isinstance(block[0], nn.Conv2d):
            block.insert(1, make_norm(block[0].out_channels))


def _weight_normed(instances: Array, network: Classifier) -> None:
    """Settled on instances here: a layer whose weight is a function of others cannot be settled later."""
    network.settles = False
    settle_weights(network, as_tensor(instances[:256]).float() / 127.5 - 1)
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            weight_norm(layer)


def _candidates(instances: Array) -> dict[str, DLLP]:
    networks = {
        "settled weights, no dropout (default)": _make_network(0.0),
        "three tenths of the published dropout": _make_network(0.3),
        "the published dropout": _make_network(1.0),
        "He's weights, not settled": _make_network(0.0, _keep_weights),
        "PyTorch's weights": _make_network(0.0, _default_weights),
        "settled, weight norm": _make_network(0.0, partial(_weight_normed, instances)),
        "batch norm": _make_network(0.0, partial(_add_norms, nn.BatchNorm2d)),
        "group norm": _make_network(0.0, partial(_add_norms, partial(nn.GroupNorm, 8))),
    }
    learner = partial(DLLP, epochs=EPOCHS, decay_from=1.0)
    faster = learner(classifier=_make_network(0.0), learning_rate=1e-3)
    return {name: learner(classifier=made) for name, made in networks.items()} | {"rate 0.001": faster}


def _part(load: Callable[[str], Split], name: str, draw: int) -> tuple[Array, Array]:
    images = load(str(find_data_folder(name)))
    rows = np.random.default_rng(draw).permutation(len(images.labels))[:N_ROWS]
    return _halve_images(images.instances[rows]), images.labels[rows]


def _halve_images(images: Array) -> Array:
    """Images with half their height and width: the mean of each four pixels."""
    n, channels, height, width = images.shape
    fours = images.reshape(n, channels, height // 2, 2, width // 2, 2)
    return fours.mean(axis=(3, 5)).round().astype(images.dtype)


def compared_on(title: str, load: Callable[[str], Split], name: str, results: str) -> list[Row]:
    data = Data(title, partial(_part, load, name))
    return compare_settings(results, data, _candidates(data.rows(DRAW)[0]), bag_sizes=(BAG_SIZE,), draws=(DRAW,))


def run() -> list[Row]:
    title = f"{N_ROWS:,} images of CIFAR-10 at half size"
    return compared_on(title, load_cifar10, "cifar-10-batches-py", "first_weights")


def run_svhn() -> list[Row]:
    return compared_on("12,000 images of SVHN at half size", load_svhn, "svhn", "first_weights_svhn")
