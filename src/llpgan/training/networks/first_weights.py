"""First weights that carry the signal through a deep network, and a measure of whether they do.

PyTorch's default weights shrink what a convolution passes on by a factor of about 2.4. After nine layers the
features of different images are the same but for one part in a thousand, and proportions of bags, whose signal is
weak, cannot pull them apart. He's weights keep the scale on average; weights that are settled on data keep it for
each channel (Salimans and Kingma, 2016).
"""

import copy
from functools import partial
from math import prod

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

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
            _draw_transposed(layer)
        else:
            nn.init.kaiming_normal_(layer.weight, a=_SLOPE)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


@torch.no_grad()
def settle(network: nn.Module, instances: Tensor, last: float = 0.1) -> None:
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
    >>> settle(network, instances)
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


def settles(network: nn.Module) -> bool:
    """Return whether a network, or a part of it, asks for its first weights to be scaled by :func:`settle`.

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
def signal(network: nn.Module, instances: Tensor) -> float:
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


def _draw_transposed(layer: nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d) -> None:
    inputs = layer.in_channels * layer.weight[0, 0].numel() / prod(layer.stride)
    nn.init.normal_(layer.weight, std=nn.init.calculate_gain("leaky_relu", _SLOPE) / inputs**0.5)


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
