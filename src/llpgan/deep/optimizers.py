"""Optimizers by name: Adam, SGD with Nesterov momentum, and Muon, for filters too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer

#: Type of a function that makes an optimiser from the parameters that it is to train.
MakeOptimizer = Callable[[list[nn.Parameter]], Optimizer]
OPTIMIZERS = ("adam", "sgd", "muon")
SGD_RATE, MUON_RATE, MUON_RATE_WITHOUT_NORM = 0.3, 0.08, 0.02
_SGD_MOMENTUM = 0.85
_NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
_REST_RATE, _REST_BETAS, _EPSILON = 3e-3, (0.8, 0.98), 1e-8


def named_optimizer(
    name: str,
    parameters: list[nn.Parameter],
    rate: float,
    betas: tuple[float, float] | None,
    weight_decay: float,
    *,
    has_norm: bool,
) -> Optimizer:
    """The optimiser of this name for these parameters.

    ``has_norm`` says whether the network normalises what its convolutions compute, so that Muon may rescale them.
    """
    if name == "muon":
        filters, others = split_parameters(parameters)
        return Muon(
            filters,
            others,
            rate,
            rescale=has_norm,
            rest_betas=betas or _REST_BETAS,
            weight_decay=weight_decay,
        )
    groups = group_by_rate(parameters, rate)
    if name == "sgd":
        return SGD(groups, rate, _SGD_MOMENTUM, weight_decay=weight_decay, nesterov=True)
    return AdamW(groups, rate, betas or (0.9, 0.999), weight_decay=weight_decay, fused=True)


def group_by_rate(parameters: Sequence[nn.Parameter], rate: float) -> list[dict[str, Any]]:
    """Parameters by their learning rate; pretrained ones have a share of it (``lr_factor``)."""
    shares = [float(getattr(parameter, "lr_factor", 1.0)) for parameter in parameters]
    return [
        {"params": [p for p, own in zip(parameters, shares, strict=True) if own == share], "lr": rate * share}
        for share in sorted(set(shares))
    ]


def split_parameters(parameters: Sequence[nn.Parameter]) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """The weights of hidden layers, which Muon trains, and the rest: biases, norms and the last layer."""
    weights = [parameter for parameter in parameters if parameter.ndim >= 2]
    hidden = {id(parameter) for parameter in weights[:-1]}
    return (
        [parameter for parameter in parameters if id(parameter) in hidden],
        [parameter for parameter in parameters if id(parameter) not in hidden],
    )


def orthogonalize(update: Tensor, steps: int = 3) -> Tensor:
    """The update, as a matrix of one row per filter, with all singular values brought near 1.

    Newton and Schulz's iteration X ← a X + (b A + c A²) X with A = X Xᵀ, which begins with X / ‖X‖. As all factors
    are polynomials of the first A, they are multiplied before they multiply X.

    Parameters
    ----------
    update : Tensor of shape (n_filters, ...)
        The update of a layer's weights.
    steps : int, default=3
        The number of iterations.

    Returns
    -------
    Tensor
        Of the same shape.

    References
    ----------
    .. [1] K. Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024.
    """
    a, b, c = _NEWTON_SCHULZ
    matrix = update.flatten(1)
    is_tall = matrix.shape[0] > matrix.shape[1]
    matrix = matrix.T if is_tall else matrix
    matrix = matrix / (matrix.norm() + torch.finfo(matrix.dtype).tiny)
    gram = matrix @ matrix.T
    identity = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    product = identity
    for _ in range(steps):
        factor = a * identity + b * gram + c * gram @ gram
        product = factor @ product
        gram = factor @ gram @ factor
    found = product @ matrix
    return (found.T if is_tall else found).reshape(update.shape)


class Muon(Optimizer):
    """Momentum whose steps are orthogonal matrices, for filters; Adam with decoupled decay for all else.

    Parameters
    ----------
    filters : sequence of Parameter
        The weights of hidden layers, with two dimensions or more.
    others : sequence of Parameter
        The remaining parameters.
    rate : float, default=0.08
        The learning rate of the filters.
    momentum : float, default=0.6
        The decay of their momentum, which is Nesterov's.
    rescale : bool, default=True
        Whether the weights of each layer are scaled to the norm √n_filters before each step, as suits layers that
        are normalised afterwards.
    rest_rate : float, default=0.003
        The learning rate of the other parameters.
    rest_betas : tuple of float, default=(0.8, 0.98)
        The decay rates of Adam.
    weight_decay : float, default=0.0
        The decoupled weight decay.
    """

    def __init__(
        self,
        filters: Sequence[nn.Parameter],
        others: Sequence[nn.Parameter],
        rate: float = MUON_RATE,
        *,
        momentum: float = 0.6,
        rescale: bool = True,
        rest_rate: float = _REST_RATE,
        rest_betas: tuple[float, float] = _REST_BETAS,
        weight_decay: float = 0.0,
    ) -> None:
        by_muon = {"params": list(filters), "lr": rate, "momentum": momentum, "rescale": rescale}
        by_adam = {"params": list(others), "lr": rest_rate, "betas": rest_betas}
        groups = [group for group in (by_muon, by_adam) if group["params"]]
        super().__init__(groups, {"weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step.

        Parameters
        ----------
        closure : callable, default=None
            A function that computes the loss and its gradients anew.

        Returns
        -------
        float or None
            The loss, if there is a closure.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            step = _muon_step if "momentum" in group else _adam_step
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    step(parameter, parameter.grad, self.state[parameter], group)
        return loss


def _muon_step(parameter: Tensor, gradient: Tensor, state: dict[str, Tensor], group: dict[str, Any]) -> None:
    if not state:
        state["momentum"] = torch.zeros_like(gradient)
    momentum = state["momentum"].mul_(group["momentum"]).add_(gradient)
    update = orthogonalize(gradient.add(momentum, alpha=group["momentum"]))
    if group["rescale"]:
        parameter.mul_(sqrt(len(parameter)) / (parameter.norm() + torch.finfo(parameter.dtype).tiny))
    parameter.sub_(update, alpha=group["lr"])


def _adam_step(parameter: Tensor, gradient: Tensor, state: dict[str, Tensor], group: dict[str, Any]) -> None:
    if not state:
        state.update(step=torch.zeros(()), mean=torch.zeros_like(gradient), square=torch.zeros_like(gradient))
    first, second = group["betas"]
    state["step"] += 1
    n = state["step"].item()
    state["mean"].lerp_(gradient, 1 - first)
    state["square"].lerp_(gradient.square(), 1 - second)
    root = (state["square"] / (1 - second**n)).sqrt_().add_(_EPSILON)
    parameter.addcdiv_(state["mean"], root, value=-group["lr"] / (1 - first**n))
