"""Ecological inference: shares of outcomes by group, from the margins of units."""

from collections.abc import Hashable, Sequence

import numpy as np

from llpgan.evaluation.groups.cell_covariance import AGGREGATION_BIAS, cell_covariance, spreads_of
from llpgan.evaluation.groups.duncan_davis import share_bounds
from llpgan.evaluation.groups.goodman import goodman_rates
from llpgan.evaluation.groups.group_counts import GroupCounts
from llpgan.evaluation.groups.group_shares import GroupShares
from llpgan.evaluation.groups.minimum_information import PRIOR_SCALE, fit_cells


def shares_from_counts(
    counts: GroupCounts,
    *,
    exclude: Sequence[Hashable] = (),
    prior_scale: float = PRIOR_SCALE,
    aggregation_bias: float = AGGREGATION_BIAS,
) -> GroupShares:
    """Estimate the share of each outcome in each group over all units, with 95 % intervals.

    The estimate is :func:`~llpgan.evaluation.groups.minimum_information.fit_cells`. The intervals include that
    groups differ from unit to unit; see :func:`~llpgan.evaluation.groups.cell_covariance.cell_covariance`.

    Parameters
    ----------
    counts : GroupCounts
        The margins of all units; more units than groups.
    exclude : sequence of hashable, default=()
        Outcomes to leave out *after* the estimate, such as ``["abstained"]``: shares are then among the others.
    prior_scale : float, default=1.5
        The scale of the prior of log odds ratios; infinite for no prior.
    aggregation_bias : float, default=0.2
        The scale of errors of log odds ratios that come from groups that behave differently where they are many.
        The margins cannot show them. It widens the intervals and does not change the shares.

    Returns
    -------
    GroupShares
        The shares.

    Examples
    --------
    >>> counts = GroupCounts(
    ...     [[80, 20], [20, 80], [50, 50], [65, 35]],
    ...     [[70, 30], [40, 60], [55, 45], [60, 40]],
    ...     ["black", "white"],
    ...     ["yes", "no"],
    ... )
    >>> print(shares_from_counts(counts).share("black", "yes"))
    0.781 (0.682 to 0.879)
    """
    _refuse_other_than_counts(counts)
    found = fit_cells(counts, prior_scale=prior_scale)
    sizes, low_high = counts.groups.sum(axis=0), share_bounds(counts)
    spreads = spreads_of(found.unit_cells[counts.totals > 0])
    covariance = cell_covariance([spreads], found.overdispersion, prior_scale, aggregation_bias)
    shares = GroupShares(
        tuple(counts.group_names or ()),
        tuple(counts.outcome_names or ()),
        sizes,
        found.unit_cells.sum(axis=0) / sizes[:, None],
        covariance / np.multiply.outer(sizes, sizes)[:, None, :, None],
        *low_high,
        goodman_rates(counts),
    )
    return shares.without(exclude) if len(exclude) else shares


def _refuse_other_than_counts(counts: GroupCounts) -> None:
    if not isinstance(counts, GroupCounts):
        raise TypeError(f"counts must be GroupCounts, got a {type(counts).__name__}")
