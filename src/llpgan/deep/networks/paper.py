"""The networks of the paper, and those of its baselines."""

from __future__ import annotations

from torch import Tensor, nn

from llpgan.deep.networks.parts import (
    Activation,
    Classifier,
    Dropout,
    GlobalMean,
    Output,
    Shape,
    halve,
    he_weights,
    image_shape,
    leaky_relu,
)


def mnist_classifier(shape: Shape, n_classes: int, activation: Activation = leaky_relu) -> Classifier:
    """Make the classifier of the paper for MNIST: three convolutions and a dense layer of 1024 units.

    Parameters
    ----------
    shape : tuple of int
        The shape of an image: channels, height and width.
    n_classes : int
        The number of classes.
    activation : callable, default=leaky_relu
        A function that makes an activation.

    Returns
    -------
    Classifier
        The network.
    """
    channels, height, width = image_shape(shape)
    body = nn.Sequential(
        nn.Conv2d(channels, 32, 5, stride=2, padding=2),
        activation(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1),
        activation(),
        nn.Conv2d(64, 32, 1),
        activation(),
        nn.Flatten(),
        nn.Linear(32 * halve(height, 2) * halve(width, 2), 1024),
        activation(),
    )
    return Classifier(body, nn.Linear(1024, n_classes))


def mnist_generator(shape: Shape, noise_size: int, activation: Activation = leaky_relu) -> nn.Module:
    """Make the generator of the paper for MNIST: three dense layers with batch normalization, and tanh.

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
    channels, height, width = image_shape(shape)
    pixels = channels * height * width
    return nn.Sequential(
        nn.Linear(noise_size, 500),
        nn.BatchNorm1d(500),
        activation(),
        nn.Linear(500, 500),
        nn.BatchNorm1d(500),
        activation(),
        nn.Linear(500, pixels),
        nn.BatchNorm1d(pixels),
        nn.Tanh(),
        nn.Unflatten(1, (channels, height, width)),
    )


def cifar_classifier(
    shape: Shape,
    n_classes: int,
    activation: Activation = leaky_relu,
    dropout: tuple[float, float, float] = (0.0, 0.0, 0.0),
    batch_norm: bool = False,
) -> Classifier:
    """Make the classifier of the paper for CIFAR-10, SVHN and CIFAR-100, without its dropout.

    It has nine convolutions and a global mean. Its first weights are scaled on the training instances. With the
    dropout of the paper (:func:`published_cifar_classifier`) the signal of bags is lost in noise.

    Parameters
    ----------
    shape : tuple of int
        The shape of an image: channels, height and width.
    n_classes : int
        The number of classes.
    activation : callable, default=leaky_relu
        A function that makes an activation.
    dropout : tuple of float, default=(0.0, 0.0, 0.0)
        The dropout rates of the input, after the third and after the sixth convolution.
    batch_norm : bool, default=False
        Whether each convolution is followed by batch normalization.

    Returns
    -------
    Classifier
        The network.
    """
    channels, _, _ = image_shape(shape)
    first, second, third = dropout

    def convolution(inputs: int, outputs: int, size: int = 3, stride: int = 1) -> nn.Module:
        layer = nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=not batch_norm)
        return nn.Sequential(layer, *([nn.BatchNorm2d(outputs)] if batch_norm else []), activation())

    body = nn.Sequential(
        Dropout(first),
        convolution(channels, 64),
        convolution(64, 64),
        convolution(64, 64, stride=2),
        Dropout(second),
        convolution(64, 128),
        convolution(128, 128),
        convolution(128, 128, stride=2),
        Dropout(third),
        convolution(128, 256),
        convolution(256, 128, size=1),
        convolution(128, 64, size=1),
        GlobalMean(),
    )
    return Classifier(body, nn.Linear(64, n_classes), settles=True)


def published_cifar_classifier(shape: Shape, n_classes: int, activation: Activation = leaky_relu) -> Classifier:
    """Make the classifier of the paper for CIFAR-10, SVHN and CIFAR-100, with as much dropout as in the paper.

    Parameters
    ----------
    shape : tuple of int
        The shape of an image: channels, height and width.
    n_classes : int
        The number of classes.
    activation : callable, default=leaky_relu
        A function that makes an activation.

    Returns
    -------
    Classifier
        The network.
    """
    return cifar_classifier(shape, n_classes, activation, dropout=(0.2, 0.5, 0.5))


def normalized_cifar_classifier(shape: Shape, n_classes: int, activation: Activation = leaky_relu) -> Classifier:
    """Make the classifier of the paper for CIFAR-10, SVHN and CIFAR-100 with batch normalization, without dropout.

    Parameters
    ----------
    shape : tuple of int
        The shape of an image: channels, height and width.
    n_classes : int
        The number of classes.
    activation : callable, default=leaky_relu
        A function that makes an activation.

    Returns
    -------
    Classifier
        The network.
    """
    return cifar_classifier(shape, n_classes, activation, batch_norm=True)


def cifar_generator(
    shape: Shape, noise_size: int, activation: Activation = leaky_relu, filters: int = 512
) -> nn.Module:
    """Make the generator of the paper for CIFAR-10, SVHN and CIFAR-100.

    It has a dense layer and three transposed convolutions, each of which doubles the height and width.

    Parameters
    ----------
    shape : tuple of int
        The shape of an image: channels, height and width.
    noise_size : int
        The number of dimensions of the noise.
    activation : callable, default=leaky_relu
        A function that makes an activation.
    filters : int, default=512
        The number of channels of the first images; each doubling has half as many.

    Returns
    -------
    torch.nn.Module
        The network.
    """
    channels, height, width = image_shape(shape)
    top, left = halve(height, 3), halve(width, 3)

    def doubling(inputs: int, outputs: int) -> nn.Module:
        return nn.ConvTranspose2d(inputs, outputs, 5, stride=2, padding=2, output_padding=1)

    network = nn.Sequential(
        nn.Linear(noise_size, top * left * filters),
        nn.BatchNorm1d(top * left * filters),
        activation(),
        nn.Unflatten(1, (filters, top, left)),
        nn.Sequential(doubling(filters, filters // 2), nn.BatchNorm2d(filters // 2), activation()),
        nn.Sequential(doubling(filters // 2, filters // 4), nn.BatchNorm2d(filters // 4), activation()),
        doubling(filters // 4, channels),
        nn.Tanh(),
        Crop(height, width),
    )
    he_weights(network)
    return network


class Crop(nn.Module):
    """The upper left part of images, for sides that are not a multiple of eight."""

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self.height = height
        self.width = width

    def forward(self, images: Tensor) -> Tensor:
        """``(N, C, H, W)`` to ``(N, C, height, width)``."""
        return images[:, :, : self.height, : self.width]


def ladder_mnist_classifier(shape: Shape, n_classes: int, activation: Activation = nn.ReLU) -> Classifier:
    """Make the convolutional network of the ladder network for MNIST.

    Parameters
    ----------
    shape : tuple of int
        The shape of an image: channels, height and width.
    n_classes : int
        The number of classes.
    activation : callable, default=ReLU
        A function that makes an activation.

    Returns
    -------
    Classifier
        The network.

    References
    ----------
    .. [1] A. Rasmus, H. Valpola, M. Honkala, M. Berglund and T. Raiko, "Semi-supervised learning with ladder
       networks", Advances in Neural Information Processing Systems 28, 2015.
    """
    channels, _, _ = image_shape(shape)
    body = nn.Sequential(
        nn.Conv2d(channels, 32, 5, padding=2),
        activation(),
        _pool(32),
        _convolution(32, 64, 3, activation),
        _convolution(64, 64, 3, activation),
        _pool(64),
        _convolution(64, 128, 3, activation),
        _convolution(128, n_classes, 1, activation),
        GlobalMean(),
        nn.BatchNorm1d(n_classes),
    )
    head = nn.Sequential(nn.Linear(n_classes, n_classes), nn.BatchNorm1d(n_classes))
    return Classifier(body, head, settles=True)


def ladder_cifar_classifier(shape: Shape, n_classes: int, activation: Activation = leaky_relu) -> Classifier:
    """Make the convolutional network of the ladder network for CIFAR-10 (ConvPool-CNN-C with batch normalization).

    Its last layers, a convolution to K maps and their mean, are in the head.

    Parameters
    ----------
    shape : tuple of int
        The shape of an image: channels, height and width.
    n_classes : int
        The number of classes.
    activation : callable, default=leaky_relu
        A function that makes an activation.

    Returns
    -------
    Classifier
        The network.

    References
    ----------
    .. [1] A. Rasmus, H. Valpola, M. Honkala, M. Berglund and T. Raiko, "Semi-supervised learning with ladder
       networks", Advances in Neural Information Processing Systems 28, 2015.
    """
    channels, _, _ = image_shape(shape)
    body = nn.Sequential(
        _convolution(channels, 96, 3, activation),
        _convolution(96, 96, 3, activation),
        _convolution(96, 96, 3, activation),
        _pool(96),
        _convolution(96, 192, 3, activation),
        _convolution(192, 192, 3, activation),
        _convolution(192, 192, 3, activation),
        _pool(192),
        _convolution(192, 192, 3, activation),
        _convolution(192, 192, 1, activation),
    )
    head = nn.Sequential(_convolution(192, n_classes, 1, activation), GlobalMean(), nn.BatchNorm1d(n_classes))
    return PooledClassifier(body, head, settles=True)


def nin_classifier(shape: Shape, n_classes: int, activation: Activation = nn.ReLU) -> Classifier:
    """Make a network in network, the supervised baseline for SVHN and CIFAR-100.

    Parameters
    ----------
    shape : tuple of int
        The shape of an image: channels, height and width.
    n_classes : int
        The number of classes.
    activation : callable, default=ReLU
        A function that makes an activation.

    Returns
    -------
    Classifier
        The network.

    References
    ----------
    .. [1] M. Lin, Q. Chen and S. Yan, "Network in network", International Conference on Learning Representations,
       2014.
    """
    channels, _, _ = image_shape(shape)

    def block(inputs: int, widths: tuple[int, int], size: int) -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(inputs, 192, size, padding=size // 2),
            activation(),
            nn.Conv2d(192, widths[0], 1),
            activation(),
            nn.Conv2d(widths[0], widths[1], 1),
            activation(),
        )

    body = nn.Sequential(
        block(channels, (160, 96), 5),
        nn.MaxPool2d(3, stride=2, padding=1),
        nn.Dropout(0.5),
        block(96, (192, 192), 5),
        nn.AvgPool2d(3, stride=2, padding=1),
        nn.Dropout(0.5),
        nn.Conv2d(192, 192, 3, padding=1),
        activation(),
        nn.Conv2d(192, 192, 1),
        activation(),
    )
    return PooledClassifier(body, nn.Sequential(nn.Conv2d(192, n_classes, 1), GlobalMean()), settles=True)


class PooledClassifier(Classifier):
    """A classifier whose head reads whole maps; its features are the maps' means."""

    def forward(self, instances: Tensor) -> Output:
        """Logits from the maps, and the maps' means."""
        maps = self.body(instances)
        return Output(self.head(maps), maps.mean(dim=(2, 3)))


def _convolution(inputs: int, outputs: int, size: int, activation: Activation) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, padding=size // 2), nn.BatchNorm2d(outputs), activation()
    )


def _pool(channels: int) -> nn.Module:
    return nn.Sequential(nn.MaxPool2d(2, stride=2), nn.BatchNorm2d(channels))
