"""The networks of the paper's supervised baselines: the ladder network's for MNIST and CIFAR-10, and NIN.

Convolutions use 'same' padding, so that any image size of 8 x 8 or more will do.
"""

from torch import Tensor, nn

from llpgan.training.networks.network_parts import (
    Activation,
    Classifier,
    GlobalMean,
    Output,
    Shape,
    image_shape,
    leaky_relu,
)


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
