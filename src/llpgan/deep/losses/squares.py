"""Square losses: DSQ and EasyLLP."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from llpgan.deep.losses.bag_losses import BagLoss, bag_means, bag_sizes, refuse_samples
from llpgan.utils.arrays import is_finite_number, require

_NEAR_ONE = 0.01  # as near as the sum of shares must be


@dataclass(frozen=True)
class DebiasedSquareLoss(BagLoss):
    """:func:`debiased_square_loss` as a proportion loss; a step needs two bags or more."""

    fewest_bags: ClassVar[int] = 3  # an epoch dealt to steps of up to three leaves none with a single bag
    grows_with_bags: ClassVar[bool] = True
    needs_whole_bags: ClassVar[bool] = True

    def __call__(
        self, logits: Tensor, bag_index: Tensor, proportions: Tensor, full_sizes: Tensor | None = None
    ) -> Tensor:
        """See :func:`debiased_square_loss`."""
        refuse_samples(full_sizes, "the debiased square loss")
        return debiased_square_loss(logits, bag_index, proportions)


def debiased_square_loss(logits: Tensor, bag_index: Tensor, proportions: Tensor) -> Tensor:
    """DSQ: mean_i [m_i ‖d_i‖² − (m_i − 1) d_i · d̄_(i)] with d_i = p̄_i − p_i, and d̄_(i) the mean of the others.

    For bags of independent members its expectation is that of ‖f(x) − y‖² of single instances: m ‖d‖² exceeds it
    by (m − 1)‖E f − π‖², which the product of two bags' differences estimates without bias. The published method
    keeps a moving average of E f instead; with the other bags of the step nothing has to be kept.

    Parameters
    ----------
    logits, bag_index, proportions
        As in :class:`~llpgan.deep.losses.bag_losses.BagLoss`; two bags or more.

    Returns
    -------
    Tensor without dimensions
        May be negative, since what is subtracted is an estimate.

    Examples
    --------
    Bags of one are labels, and the loss is the squared error:

    >>> labels = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> debiased_square_loss(torch.zeros(2, 2), torch.tensor([0, 1]), labels).item()
    0.5
    """
    n_bags = len(proportions)
    if n_bags < 2:
        raise ValueError("the debiased square loss compares the bags of a step: set bags_per_step to 3 or more")
    sizes = bag_sizes(bag_index, n_bags).to(logits.dtype)[:, None]
    gaps = bag_means(logits.softmax(1), bag_index, n_bags) - proportions
    of_others = (gaps.sum(0) - gaps) / (n_bags - 1)
    return (sizes * gaps.square() - (sizes - 1) * gaps * of_others).sum(1).mean()


@dataclass(frozen=True)
class EasyLoss(BagLoss):
    """:func:`easy_square_loss` with its settings.

    Parameters
    ----------
    instance_loss : {"square"}
        EasyLLP can be written for any loss of instances. Its weights are negative for some classes, so that a loss
        without an upper bound, as the cross-entropy, has no lower bound once weighted, and training diverges.
    prior : tuple of float, optional
        π, the overall share of each class. None until the estimator fills in that of its bags.
    """

    instance_loss: str = "square"
    prior: tuple[float, ...] | None = None

    grows_with_bags: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.instance_loss != "square":
            raise ValueError(
                f"instance_loss={self.instance_loss!r}: EasyLLP's negative weights make every loss but 'square' "
                "unbounded below, and training diverges: give 'square'"
            )
        if self.prior is not None:
            are_shares = all(is_finite_number(share) and share >= 0 for share in self.prior)
            sum_to_one = are_shares and abs(sum(self.prior) - 1) < _NEAR_ONE
            require(sum_to_one, "prior", self.prior, "shares that sum to 1, or None for those of the bags")

    def knowing(self, prior: tuple[float, ...]) -> Self:
        """The loss with these overall class shares, unless it was given others."""
        if self.prior is None:
            return replace(self, prior=prior)
        n_classes = len(prior)
        require(len(self.prior) == n_classes, "prior", self.prior, f"one share for each of {n_classes} classes")
        return self

    def __call__(
        self, logits: Tensor, bag_index: Tensor, proportions: Tensor, full_sizes: Tensor | None = None
    ) -> Tensor:
        """See :func:`easy_square_loss`."""
        if self.prior is None:
            raise ValueError("EasyLLP needs the overall shares of the classes: give prior")
        prior = torch.tensor(self.prior, dtype=logits.dtype, device=logits.device)
        return easy_square_loss(logits, bag_index, proportions, prior, full_sizes)


def easy_square_loss(
    logits: Tensor, bag_index: Tensor, proportions: Tensor, prior: Tensor, full_sizes: Tensor | None = None
) -> Tensor:
    """EasyLLP with the squared loss: the mean over bags and members of Σ_k w_ik ‖f(x) − e_k‖².

    The weights w_i = m_i p_i − (m_i − 1) π sum to one, and are unbiased estimates of a member's label for bags
    drawn at random. As f lies in the simplex, the loss is bounded.

    Parameters
    ----------
    logits, bag_index, proportions, full_sizes
        As in :class:`~llpgan.deep.losses.bag_losses.BagLoss`. A sample keeps the weights of its bag.
    prior : Tensor of shape (n_classes,)
        π.

    Returns
    -------
    Tensor without dimensions
        May be negative, as weights may.

    References
    ----------
    Busa-Fekete, Choi, Dick, Gentile and Munoz Medina, "Easy learning from label proportions", 2023.
    """
    n_bags = len(proportions)
    sizes = bag_sizes(bag_index, n_bags) if full_sizes is None else full_sizes
    sizes = sizes.to(logits.dtype)[:, None]
    weights = sizes * proportions - (sizes - 1) * prior
    posterior = logits.softmax(1)
    lengths = bag_means(posterior.square(), bag_index, n_bags)
    means = bag_means(posterior, bag_index, n_bags)
    return (lengths - 2 * weights * means).sum(1).mean() + weights.sum(1).mean()
