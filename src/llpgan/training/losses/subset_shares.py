"""The loss of bags of which only shares within a subset of the classes are known."""

import torch
from torch import Tensor


def subset_losses(log_means: Tensor, within: Tensor) -> Tensor:
    """−Σ_{k in S} r_k log(p̄_k / Σ_{j in S} p̄_j) of each bag; see :mod:`llpgan.bags.shares_within`.

    Parameters
    ----------
    log_means : Tensor of shape (n_bags, n_classes)
        The logarithms of the mean predictions p̄, all finite.
    within : Tensor of shape (n_bags, n_classes)
        The shares r within the subset S, NaN outside it; rows of NaN for other bags, whose loss is zero.

    Returns
    -------
    Tensor of shape (n_bags,)

    Examples
    --------
    >>> means = torch.tensor([[0.25, 0.25, 0.5], [0.1, 0.1, 0.8]])
    >>> subset_losses(means.log(), torch.tensor([[1.0, 0.0, torch.nan]]).expand(2, 3))  # whatever the mass
    tensor([0.6931, 0.6931])
    """
    outside = within.isnan()
    left_out = outside & ~outside.all(1, keepdim=True)
    log_mass = log_means.masked_fill(left_out, -torch.inf).logsumexp(1, keepdim=True)
    return -(within.nan_to_num() * (log_means - log_mass)).sum(1)
