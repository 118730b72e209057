"""Networks: classifiers, which return logits and features, and generators, which turn noise into instances.

Each network is made by a function of the shape of an instance, and :func:`default_pair` selects one by that shape.
Any module of your own with the same inputs and outputs can be used instead.

>>> import torch
>>> classifier = mnist_classifier((1, 28, 28), n_classes=10)
>>> logits, features = classifier(torch.zeros(5, 1, 28, 28))
>>> logits.shape, features.shape
(torch.Size([5, 10]), torch.Size([5, 1024]))
"""

from llpgan.training.networks.baseline_networks import (
    ladder_cifar_classifier,
    ladder_mnist_classifier,
    nin_classifier,
)
from llpgan.training.networks.default_networks import MakeClassifier, MakeGenerator, Pair, default_pair, paper_pair
from llpgan.training.networks.dense_networks import mlp_classifier, mlp_generator
from llpgan.training.networks.first_weights import he_weights, settle, settles, signal
from llpgan.training.networks.network_checks import check_classifier, check_generator
from llpgan.training.networks.network_parts import ACTIVATIONS, Classifier, Output
from llpgan.training.networks.paper_networks import (
    cifar_classifier,
    cifar_generator,
    mnist_classifier,
    mnist_generator,
    normalized_cifar_classifier,
    published_cifar_classifier,
)
from llpgan.training.networks.photo_networks import learn_patches, photo_classifier, photo_generator

__all__ = [
    "ACTIVATIONS",
    "Classifier",
    "MakeClassifier",
    "MakeGenerator",
    "Output",
    "Pair",
    "check_classifier",
    "check_generator",
    "cifar_classifier",
    "cifar_generator",
    "default_pair",
    "he_weights",
    "ladder_cifar_classifier",
    "ladder_mnist_classifier",
    "learn_patches",
    "mlp_classifier",
    "mlp_generator",
    "mnist_classifier",
    "mnist_generator",
    "nin_classifier",
    "normalized_cifar_classifier",
    "paper_pair",
    "photo_classifier",
    "photo_generator",
    "published_cifar_classifier",
    "settle",
    "settles",
    "signal",
]
