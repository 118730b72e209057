"""LLP-VAT: virtual adversarial smoothness."""

from collections.abc import Callable
from math import exp

import torch
from torch import Tensor

RAMP = 5.0


def divergence(logits: Tensor, changed: Tensor) -> Tensor:
    """mean_j KL(f(x_j) ‖ f(x_j + r_j)), from the logits at both.

    Parameters
    ----------
    logits, changed : Tensor of shape (n_instances, n_classes)
        Gradients flow through both; the caller detaches the first, whose predictions are the target.

    Returns
    -------
    Tensor without dimensions
    """
    log_here, log_there = logits.log_softmax(1), changed.log_softmax(1)
    return (log_here.exp() * (log_here - log_there)).sum(1).mean()


def adversarial_changes(
    logits_of: Callable[[Tensor], Tensor],
    instances: Tensor,
    length: float,
    probe: float,
    scale: Tensor | float = 1.0,
) -> Tensor:
    """For each instance the change of a given length that changes its prediction most, to second order.

    r = ε g / ‖g‖, g the gradient of KL(f(x) ‖ f(x + ξ d)) by ξ d, where d is a random direction: one step of the
    power iteration for the leading eigenvector of the divergence's Hessian.

    Parameters
    ----------
    logits_of : callable
        The network, as a function without chance in it.
    instances : Tensor
        One row per instance.
    length : float
        ε, in units of the networks' range.
    probe : float
        ξ. In single precision 1e-6 would be lost to rounding.
    scale : Tensor or float
        One unit of the networks' range in units of the instances.

    Returns
    -------
    Tensor
        Of the instances' shape, to be added to them. No gradient flows through it.

    References
    ----------
    Miyato, Maeda, Koyama and Ishii, "Virtual adversarial training", 2018; Tsai and Lin, "Learning from label
    proportions with consistency regularization", 2020.
    """
    with torch.no_grad():
        here = logits_of(instances)
    probed = (probe * _unit(torch.randn_like(instances))).requires_grad_()
    with torch.enable_grad():
        there = logits_of(instances + scale * probed)
        (slope,) = torch.autograd.grad(divergence(here, there), probed)
    return scale * length * _unit(slope)


def ramp(progress: float, until: float) -> float:
    """exp(−5 (1 − t/T)²), and 1 from T on: the weight of a term that would mislead an untrained network.

    Examples
    --------
    >>> round(ramp(0.0, 0.4), 4), ramp(0.4, 0.4), ramp(0.9, 0.4)
    (0.0067, 1.0, 1.0)
    """
    return 1.0 if progress >= until else exp(-RAMP * (1 - progress / until) ** 2)


def _unit(rows: Tensor) -> Tensor:
    """Rows of length one; a row of zeros stays so."""
    flat = rows.flatten(1)
    peak = flat.abs().amax(1, keepdim=True)
    flat = flat / torch.where(peak > 0, peak, 1.0)  # squares of a sure network's slopes would vanish
    length = flat.norm(dim=1, keepdim=True)
    return (flat / torch.where(length > 0, length, 1.0)).view_as(rows)
