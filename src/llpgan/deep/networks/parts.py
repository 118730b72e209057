"""Dense networks, and what all networks share: activations, first weights, and checks of a user's network."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from inspect import isfunction
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from llpgan.utils.messages import remove_addresses

_LAYERS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear)
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_SLOPE = 0.2  # of the leaky ReLU
_SAME = 1e-6  # a channel whose values differ by less, relative to the largest, is constant


def he_weights(network: nn.Module) -> None:
    """Initialize all weights with He's normal distribution for leaky ReLUs, and all biases with zero.

    At each pixel, a transposed convolution with stride s uses only 1/s² of its kernel, so its weights are drawn
    accordingly larger.

    Parameters
    ----------
    network : torch.nn.Module
        The network, which is changed in place.

    References
    ----------
    .. [1] K. He, X. Zhang, S. Ren and J. Sun, "Delving deep into rectifiers", International Conference on Computer
       Vision, 2015.
    """
    for layer in network.modules():
        if not isinstance(layer, _LAYERS + _TRANSPOSED):
            continue
        if isinstance(layer, _TRANSPOSED):
            inputs = layer.in_channels * layer.weight[0, 0].numel() / prod(layer.stride)
            nn.init.normal_(layer.weight, std=nn.init.calculate_gain("leaky_relu", _SLOPE) / inputs**0.5)
        else:
            nn.init.kaiming_normal_(layer.weight, a=_SLOPE)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


@torch.no_grad()
def settle_weights(network: nn.Module, instances: Tensor, last: float = 0.1) -> None:
    """Scale and shift each layer so that every channel has mean 0 and standard deviation 1 on some instances.

    One pass is enough: each layer is scaled when the instances reach it, and passes on its new output [1]_.
    Dropout is off meanwhile. A channel that is constant is only shifted.

    Parameters
    ----------
    network : torch.nn.Module
        The network, which is changed in place.
    instances : Tensor of shape (n_samples, ...)
        Some hundred training instances, in the range that the network takes.
    last : float, default=0.1
        The standard deviation of the output of the last layer. Logits should start small: a network that is
        confident in random classes fits its bags by the nearest way, and keeps most of these classes.

    References
    ----------
    .. [1] T. Salimans and D. P. Kingma, "Weight normalization", Advances in Neural Information Processing Systems
       29, 2016.

    Examples
    --------
    >>> network = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    >>> instances = torch.randn(100, 3)
    >>> settle_weights(network, instances)
    >>> [round(deviation, 3) for deviation in network(instances).std(0).tolist()]
    [0.1, 0.1]
    """
    reached: list[nn.Conv2d | nn.Linear] = []
    hooks = [
        layer.register_forward_hook(partial(_settle_layer, reached))
        for layer in network.modules()
        if isinstance(layer, _LAYERS)
    ]
    was_training = network.training
    try:
        network.eval()(instances)
    finally:
        network.train(was_training)
        for hook in hooks:
            hook.remove()
    for parameter in reached[-1].parameters():
        parameter.mul_(last)


def keeps_own_weights(network: nn.Module) -> bool:
    """Return whether a network or a part of it asks to be scaled by :func:`settle_weights`.

    Parameters
    ----------
    network : torch.nn.Module
        The network.

    Returns
    -------
    bool
        Whether it does.
    """
    return any(getattr(part, "settles", False) for part in network.modules())


@torch.no_grad()
def signal_spread(network: nn.Module, instances: Tensor) -> float:
    """Measure how well the first weights of a classifier tell instances apart.

    Batch normalization is used as in training, and dropout as in prediction.

    Parameters
    ----------
    network : torch.nn.Module
        The classifier.
    instances : Tensor of shape (n_samples, ...)
        Some instances.

    Returns
    -------
    float
        The smaller of the relative spreads of features and logits: 0 if they are the same for all instances.
    """
    tried = copy.deepcopy(network).train()
    for layer in tried.modules():
        if isinstance(layer, _DropoutNd):
            layer.eval()
    return min(relative_spread(values) for values in tried(instances))


@torch.no_grad()
def relative_spread(values: Tensor) -> float:
    """How much rows differ from each other, relative to their size: 0 if all are the same, 1 if their mean is 0.

    >>> relative_spread(torch.tensor([[1.0, 1.0], [1.0, 1.0]]))
    0.0
    >>> relative_spread(torch.tensor([[1.0], [-1.0]]))
    1.0
    """
    values = values.double()
    size = values.square().mean(0).sum().sqrt().item()
    return values.var(0, correction=0).sum().sqrt().item() / size if size > 0 else 0.0


def _settle_layer(
    reached: list[nn.Conv2d | nn.Linear], layer: nn.Conv2d | nn.Linear, inputs: tuple[Tensor, ...], outputs: Tensor
) -> Tensor:
    reached.append(layer)
    channel = outputs.ndim - 1 if isinstance(layer, nn.Linear) else 1
    others = [axis for axis in range(outputs.ndim) if axis != channel]
    mean, deviation = outputs.mean(others), outputs.std(others)
    scale = torch.where(deviation > _SAME * outputs.abs().max(), deviation, 1.0)
    layer.weight.div_(scale.view(-1, *[1] * (layer.weight.ndim - 1)))
    if layer.bias is not None:
        layer.bias.sub_(mean).div_(scale)
    else:
        mean = torch.zeros_like(mean)
    along = [1 if axis != channel else -1 for axis in range(outputs.ndim)]
    return (outputs - mean.view(along)) / scale.view(along)


Shape = tuple[int, ...]
Activation = Callable[[], nn.Module]


class Output(NamedTuple):
    """The output of a classifier for a batch of instances.

    Attributes
    ----------
    logits : Tensor of shape (n_samples, n_classes)
        The logits of the classes.
    features : Tensor of shape (n_samples, n_features)
        The features from which the logits are computed.
    """

    logits: Tensor
    features: Tensor


class Classifier(nn.Module):
    """A classifier of a body, which computes features, and a head, which computes logits from them.

    Parameters
    ----------
    body : torch.nn.Module
        The network from instances to features.
    head : torch.nn.Module
        The network from features to logits.
    settles : bool, default=False
        Whether an estimator that makes this network scales its first weights on the training instances
        (:func:`~llpgan.deep.networks.settle_weights`), as deep networks need.
    """

    def __init__(self, body: nn.Module, head: nn.Module, *, settles: bool = False) -> None:
        super().__init__()
        self.body = body
        self.head = head
        self.settles = settles
        if settles:
            he_weights(self)

    def forward(self, instances: Tensor) -> Output:
        """Compute the logits and features of a batch of instances.

        Parameters
        ----------
        instances : Tensor of shape (n_samples, ...)
            The instances.

        Returns
        -------
        Output
            The logits of the classes, and the features that feature matching compares.
        """
        features = self.body(instances)
        return Output(self.head(features), features)


class _SumOverRanks(torch.autograd.Function):
    """The sum over processes, in which each process's part has the gradient of all."""

    @staticmethod
    def forward(ctx: Any, mine: Tensor) -> Tensor:
        total = mine.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].clone()
        dist.all_reduce(total)
        return total


class StepNorm(nn.BatchNorm2d):
    """Batch normalization over a whole step, also if several processes have a share of it each.

    torch's ``SyncBatchNorm`` does the same on GPUs only.
    """

    def forward(self, maps: Tensor) -> Tensor:
        """Normalize ``(N, C, H, W)`` by mean and variance of each channel."""
        if not (self.training and dist.is_initialized() and dist.get_world_size() > 1):
            return super().forward(maps)
        values = maps.float()
        n = values.new_tensor(values.numel() / values.shape[1])
        dist.all_reduce(n)
        mean = _SumOverRanks.apply(values.sum((0, 2, 3))) / n  # type: ignore[no-untyped-call]
        centred = values - mean[:, None, None]
        variance = _SumOverRanks.apply(centred.square().sum((0, 2, 3))) / n  # type: ignore[no-untyped-call]
        if self.track_running_stats:
            assert self.momentum is not None
            assert self.running_mean is not None and self.running_var is not None
            assert self.num_batches_tracked is not None
            with torch.no_grad():
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(variance * n / (n - 1).clamp(min=1), self.momentum)
                self.num_batches_tracked += 1
        scaled = centred * ((variance + self.eps).rsqrt() * self.weight)[:, None, None] + self.bias[:, None, None]
        return scaled.to(maps.dtype)


class GlobalMean(nn.Module):
    """The mean of each channel over the image."""

    def forward(self, maps: Tensor) -> Tensor:
        """``(N, C, H, W)`` to ``(N, C)``."""
        return maps.mean(dim=(2, 3))


def leaky_relu() -> nn.Module:
    """The activation of the authors' code, for classifier and generator."""
    return nn.LeakyReLU(0.2)


def gelu() -> nn.Module:
    """The activation of the classifier for photographs."""
    return nn.GELU()


#: The activations that can be named in the parameter ``activation`` of deep methods.
ACTIVATIONS: dict[str, Activation] = {"leaky_relu": leaky_relu, "relu": nn.ReLU, "gelu": gelu}


def image_shape(shape: Shape) -> tuple[int, int, int]:
    """Channels, height and width; refuses what is not an image, and images whose channels come last."""
    if len(shape) != 3:
        raise ValueError(
            f"this network is for images (channels, height, width), got instances of shape {shape}"
            + ("; X[:, None] gives images of one channel their channel" if len(shape) == 2 else "")
        )
    channels, height, width = shape
    if channels > 4 >= width:
        raise ValueError(
            f"images of shape {shape} seem to have their channels last: X.transpose(0, 3, 1, 2) puts them first"
        )
    return channels, height, width


def halve(length: int, times: int = 1) -> int:
    """A side after so many convolutions of stride two with 'same' padding."""
    for _ in range(times):
        length = -(-length // 2)
    return length


class Dropout(nn.Dropout):
    """Dropout that draws one random number for four entries on a CPU: drawing was half of a small network's step.

    The share that is dropped is ``p`` to 1 / 65,536.
    """

    def forward(self, values: Tensor) -> Tensor:
        """The values, some of them zero and the others as much larger."""
        if not (self.training and 0 < self.p < 1 and values.device.type == "cpu"):
            return super().forward(values)
        words = torch.empty(-(-values.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        numbers = words.view(torch.int16)[: values.numel()].view(values.shape)
        dropped = round(self.p * 2**16)
        kept = (numbers >= dropped - 2**15).to(values.dtype)
        return values * kept.mul_(2**16 / (2**16 - dropped))


def check_classifier(network: nn.Module, shape: Shape, n_classes: int) -> None:
    """Check that a classifier returns logits and features for instances of a shape.

    Parameters
    ----------
    network : torch.nn.Module
        The classifier.
    shape : tuple of int
        The shape of an instance.
    n_classes : int
        The number of classes.

    Raises
    ------
    TypeError
        If it does not return a pair.
    ValueError
        If it does not take such instances, or returns tensors of another shape.
    """
    output = _try_network(network, torch.zeros(2, *shape), f"instances of shape {shape}")
    if not (isinstance(output, tuple) and len(output) == 2 and all(isinstance(part, Tensor) for part in output)):
        parts = f" ({', '.join(type(part).__name__ for part in output)})" if isinstance(output, tuple) else ""
        given = f"a {type(output).__name__}{parts}"
        raise TypeError(f"the classifier must return a pair of tensors, logits and features, not {given}")
    logits, features = output
    if logits.shape != (2, n_classes):
        raise ValueError(f"of 2 instances the classifier gave logits {tuple(logits.shape)}, not {(2, n_classes)}")
    if features.ndim != 2 or len(features) != 2:
        raise ValueError(f"of 2 instances the classifier gave features {tuple(features.shape)}, not (2, any)")


def check_generator(network: nn.Module, shape: Shape, noise_size: int) -> None:
    """Check that a generator turns noise into instances of a shape.

    Parameters
    ----------
    network : torch.nn.Module
        The generator.
    shape : tuple of int
        The shape of an instance.
    noise_size : int
        The number of dimensions of the noise.

    Raises
    ------
    ValueError
        If it does not take such noise, or returns something else.
    """
    fakes = _try_network(network, torch.zeros(2, noise_size), f"noise of size {noise_size}")
    if not isinstance(fakes, Tensor) or fakes.shape != (2, *shape):
        given = tuple(fakes.shape) if isinstance(fakes, Tensor) else type(fakes).__name__
        raise ValueError(f"of 2 rows of noise the generator made {given}, not instances {(2, *shape)}")


@torch.no_grad()
def _try_network(network: nn.Module, inputs: Tensor, what: str) -> object:
    was_training = network.training
    try:
        return network.eval()(inputs)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"this {type(network).__name__} does not take {what}: {error}") from error
    finally:
        network.train(was_training)


def use_channels_last(network: nn.Module) -> nn.Module:
    """The network with its weights in the layout in which convolutions are quickest."""
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def make_network(parameter: str, make: Callable[..., nn.Module], *arguments: Any) -> nn.Module:
    """The network that a function makes, or an error that names the parameter."""
    wanted = f"{parameter} is a module, or a function of three arguments (see its documentation) that makes one"
    try:
        network = make(*arguments)
    except TypeError as error:
        raise TypeError(f"{wanted}; {describe_factory(make)} does not take them: {error}") from error
    if not isinstance(network, nn.Module):
        raise TypeError(f"{wanted}; {describe_factory(make)} gave a {type(network).__name__}")
    return network


def describe_factory(value: Any) -> str:
    """A text for a setting that is the same in every process: functions and objects without their addresses.

    >>> describe_factory([object(), 1])
    '[<object object>, 1]'
    """
    if isinstance(value, partial):
        return f"{describe_factory(value.func)} of {remove_addresses(f'{value.args}, {value.keywords}')}"
    return f"{value.__module__}.{value.__qualname__}" if isfunction(value) else remove_addresses(repr(value))


def mlp_classifier(
    shape: Shape,
    n_classes: int,
    activation: Activation = leaky_relu,
    hidden: Sequence[int] = (256, 256),
    input_dropout: float = 0.1,
    dropout: float = 0.3,
) -> Classifier:
    """Make a classifier of dense layers, for tables or for images taken as rows of pixels.

    Few bags of many instances leave a network much freedom, which dropout reduces.

    Parameters
    ----------
    shape : tuple of int
        The shape of an instance.
    n_classes : int
        The number of classes.
    activation : callable, default=leaky_relu
        A function that makes an activation.
    hidden : sequence of int, default=(256, 256)
        The widths of the hidden layers.
    input_dropout : float, default=0.1
        The dropout rate of the inputs.
    dropout : float, default=0.3
        The dropout rate of the hidden layers.

    Returns
    -------
    Classifier
        The network.
    """
    widths = [prod(shape), *hidden]
    layers = [nn.Sequential(nn.Linear(a, b), activation(), Dropout(dropout)) for a, b in pairwise(widths)]
    body = nn.Sequential(nn.Flatten(), SoftClip(3.0), Dropout(input_dropout), *layers)
    return Classifier(body, nn.Linear(widths[-1], n_classes))


def mlp_generator(
    shape: Shape, noise_size: int, activation: Activation = leaky_relu, hidden: Sequence[int] = (256, 256)
) -> nn.Module:
    """Make a generator of dense layers with batch normalization; the last layer is linear.

    Parameters
    ----------
    shape : tuple of int
        The shape of an instance.
    noise_size : int
        The number of dimensions of the noise.
    activation : callable, default=leaky_relu
        A function that makes an activation.
    hidden : sequence of int, default=(256, 256)
        The widths of the hidden layers.

    Returns
    -------
    torch.nn.Module
        The network.
    """
    widths = [noise_size, *hidden]
    layers = [nn.Sequential(nn.Linear(a, b), nn.BatchNorm1d(b), activation()) for a, b in pairwise(widths)]
    return nn.Sequential(*layers, nn.Linear(widths[-1], prod(shape)), nn.Unflatten(1, shape))


class SoftClip(nn.Module):
    """x / sqrt(1 + (x / limit)²): near zero it changes nothing, and no outlier gets beyond the limit."""

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, values: Tensor) -> Tensor:
        """Values between −limit and limit."""
        return values * torch.rsqrt(1 + (values / self.limit).square())


class Logits(nn.Module):
    """Of what a classifier says, the logits alone; in single precision, as a saved model predicts."""

    def __init__(self, classifier: nn.Module) -> None:
        super().__init__()
        self.classifier = copy.deepcopy(classifier).cpu().float().eval()

    def forward(self, instances: Tensor) -> Tensor:
        """(rows, classes)."""
        logits: Tensor = self.classifier(instances)[0]
        return logits
