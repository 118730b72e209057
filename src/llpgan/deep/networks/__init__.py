"""Networks: classifiers, which return logits and features, and generators, which turn noise into instances.

Each network is made by a function of the shape of an instance, and :func:`default_pair` selects one by that shape.
Any module of your own with the same inputs and outputs can be used instead.

>>> import torch
>>> classifier = mnist_classifier((1, 28, 28), n_classes=10)
>>> logits, features = classifier(torch.zeros(5, 1, 28, 28))
>>> logits.shape, features.shape
(torch.Size([5, 10]), torch.Size([5, 1024]))
"""

from llpgan.deep.networks.defaults import MakeClassifier, MakeGenerator, Pair, default_pair, paper_pair
from llpgan.deep.networks.dense import mlp_classifier, mlp_generator
from llpgan.deep.networks.paper import (
    cifar_classifier,
    cifar_generator,
    ladder_cifar_classifier,
    ladder_mnist_classifier,
    mnist_classifier,
    mnist_generator,
    nin_classifier,
    normalized_cifar_classifier,
    published_cifar_classifier,
)
from llpgan.deep.networks.parts import (
    ACTIVATIONS,
    Classifier,
    Output,
    check_classifier,
    check_generator,
    he_weights,
    keeps_own_weights,
    settle_weights,
    signal_spread,
)
from llpgan.deep.networks.photo import learn_patches, photo_classifier, photo_generator, pretrained_classifier
from llpgan.utils.old_names import getattr_of_old_names

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
    "keeps_own_weights",
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
    "pretrained_classifier",
    "published_cifar_classifier",
    "settle_weights",
    "signal_spread",
]

__getattr__ = getattr_of_old_names(
    "llpgan.deep.networks",
    {
        "settle": "llpgan.deep.networks:settle_weights",
        "settles": "llpgan.deep.networks:keeps_own_weights",
        "signal": "llpgan.deep.networks:signal_spread",
    },
)
