"""The share of each outcome in each group, with intervals, bounds, and differences between groups."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.evaluation.interval_estimate import Estimate
from llpgan.utils.frames import frame
from llpgan.utils.notebook_html import html_table
from llpgan.utils.suggestions import did_you_mean

Table = NDArray[np.float64]
_NORMAL = 1.959964  # the 97.5 % point of the normal distribution


@dataclass(frozen=True, eq=False)
class GroupShares:
    """Estimated shares of outcomes by group.

    Attributes
    ----------
    groups : tuple of hashable
        The names of the groups; tuples where several columns make a group.
    outcomes : tuple of hashable
        The names of the outcomes, or classes.
    sizes : ndarray of shape (n_groups,)
        How many people each group has.
    shares : ndarray of shape (n_groups, n_outcomes)
        The estimated share of each outcome in each group.
    covariance : ndarray of shape (n_groups, n_outcomes, n_groups, n_outcomes) or None
        Of the shares; None where nothing tells how uncertain they are.
    lowest : ndarray of shape (n_groups, n_outcomes)
        The smallest share that is possible: the lower bound of Duncan and Davis.
    highest : ndarray of shape (n_groups, n_outcomes)
        The largest share that is possible.
    goodman : ndarray of shape (n_groups, n_outcomes)
        Goodman's regression, for comparison; NaN where the units do not determine it.
    """

    groups: tuple[Hashable, ...]
    outcomes: tuple[Hashable, ...]
    sizes: Table
    shares: Table
    covariance: Table | None
    lowest: Table
    highest: Table
    goodman: Table

    @property
    def intervals(self) -> tuple[Table, Table] | None:
        """The ends of the 95 % intervals, each of shape (n_groups, n_outcomes): normal, cut at the bounds."""
        if self.covariance is None:
            return None
        n_groups, n_outcomes = self.shares.shape
        variance = np.einsum("rcrc->rc", self.covariance)
        half = _NORMAL * np.sqrt(np.maximum(variance, 0.0)).reshape(n_groups, n_outcomes)
        return np.maximum(self.lowest, self.shares - half), np.minimum(self.highest, self.shares + half)

    def share(self, group: Hashable, outcome: Hashable) -> Estimate:
        """The share of one outcome in one group, with its 95 % interval if there is one.

        Parameters
        ----------
        group, outcome : hashable
            Their names.

        Returns
        -------
        Estimate
            The estimate with its interval.
        """
        place = _place(group, self.groups, "group"), _place(outcome, self.outcomes, "outcome")
        if self.intervals is None:
            return Estimate(float(self.shares[place]))
        low, high = self.intervals
        return Estimate(float(self.shares[place]), float(low[place]), float(high[place]))

    def difference(self, group: Hashable, other: Hashable) -> dict[Hashable, Estimate]:
        """By how much the shares of one group exceed those of another: polarisation.

        Parameters
        ----------
        group, other : hashable
            The names of two groups.

        Returns
        -------
        dict of outcome to Estimate
            With 95 % intervals, cut at what the bounds of both groups allow.
        """
        r, s = _place(group, self.groups, "group"), _place(other, self.groups, "group")
        apart = self.shares[r] - self.shares[s]
        if self.covariance is None:
            return {name: Estimate(float(value)) for name, value in zip(self.outcomes, apart, strict=True)}
        both = self.covariance
        variance = np.diag(both[r, :, r] + both[s, :, s] - both[r, :, s] - both[s, :, r])
        half = _NORMAL * np.sqrt(np.maximum(variance, 0.0))
        low = np.maximum(apart - half, self.lowest[r] - self.highest[s])
        high = np.minimum(apart + half, self.highest[r] - self.lowest[s])
        ends = zip(self.outcomes, apart.tolist(), low.tolist(), high.tolist(), strict=True)
        return {name: Estimate(value, lower, upper) for name, value, lower, upper in ends}

    def without(self, outcomes: Sequence[Hashable]) -> "GroupShares":
        """The shares among the people with the other outcomes, such as among those who voted.

        Parameters
        ----------
        outcomes : sequence of hashable
            The outcomes to leave out.

        Returns
        -------
        GroupShares
            The shares.
        """
        left_out = [_place(name, self.outcomes, "outcome") for name in outcomes]
        kept = np.setdiff1d(np.arange(len(self.outcomes)), left_out)
        if len(kept) == 0:
            raise ValueError("all outcomes are left out: at least one must remain")
        shares, low, high = self.shares[:, kept], self.lowest[:, kept], self.highest[:, kept]
        total = shares.sum(axis=1, keepdims=True)
        for group in np.flatnonzero(total[:, 0] <= 0):
            raise ValueError(f"nobody is left in group {self.groups[group]!r} without {list(outcomes)}")
        covariance = None
        if self.covariance is not None:
            within = (np.eye(len(kept)) - (shares / total)[:, :, None]) / total[:, :, None]
            part = self.covariance[:, kept][:, :, :, kept]
            covariance = np.einsum("rab,rbsc,sdc->rasd", within, part, within, optimize=True)
        return GroupShares(
            self.groups,
            tuple(self.outcomes[place] for place in kept),
            self.sizes * total[:, 0],
            shares / total,
            covariance,
            _ratio(low, low + high.sum(axis=1, keepdims=True) - high, otherwise=0.0),
            _ratio(high, high + low.sum(axis=1, keepdims=True) - low, otherwise=1.0),
            self.goodman[:, kept] / self.goodman[:, kept].sum(axis=1, keepdims=True),
        )

    def columns(self, by: Sequence[str] = ("group",), outcome: str = "outcome") -> dict[str, list[Any]]:
        """The table of shares as a dict of columns, with one row for each group and outcome.

        Parameters
        ----------
        by : sequence of str, default=("group",)
            The names of the columns that tell the group; several where groups are tuples.
        outcome : str, default="outcome"
            The name of the column that tells the outcome.

        Returns
        -------
        dict of str to list
            The group, its size, the outcome, ``share``, the ``low`` and ``high`` end of the 95 % interval (None
            without one), ``lowest`` and ``highest`` possible share, and ``goodman``.
        """
        n_groups, n_outcomes = self.shares.shape
        low, high = self.intervals or (np.full_like(self.shares, np.nan),) * 2
        figures = {"share": self.shares, "low": low, "high": high}
        figures |= {"lowest": self.lowest, "highest": self.highest, "goodman": self.goodman}
        named = [_as_tuple(group) for group in self.groups for _ in range(n_outcomes)]
        return (
            {name: [group[place] for group in named] for place, name in enumerate(by)}
            | {"size": np.repeat(self.sizes, n_outcomes).tolist(), outcome: list(self.outcomes) * n_groups}
            | {
                name: [None if np.isnan(x) else x for x in table.ravel().tolist()]
                for name, table in figures.items()
            }
        )

    def to_frame(self, by: Sequence[str] | None = None, outcome: str = "outcome") -> Any:
        """The table of shares as a pandas frame, with one row for each group and outcome.

        Parameters
        ----------
        by : sequence of str, default=None
            The names of the columns that tell the group, several if groups are tuples. None means one column,
            ``group``, with the parts of a tuple in one text.
        outcome : str, default="outcome"
            The name of the column that tells the outcome.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`columns`.
        """
        if by is not None:
            return frame(self.columns(by, outcome))
        texts = [group_text(group) for group in self.groups for _ in self.outcomes]
        return frame({**self.columns(("group",), outcome), "group": texts})

    def _repr_html_(self) -> str:
        shown = {str(outcome): [self.share(group, outcome) for group in self.groups] for outcome in self.outcomes}
        texts = {name: [_with_interval(share) for share in shares] for name, shares in shown.items()}
        columns = {"group": [group_text(group) for group in self.groups], **texts}
        return html_table(columns, f"Shares of {len(self.groups):,} groups, with 95 % intervals", most=40)

    def differences(self) -> list[tuple[Hashable, Hashable, Hashable, Estimate]]:
        """All pairs of groups: the two names, the outcome, and the difference of the shares.

        Returns
        -------
        list of tuple
            The differences, with their intervals.
        """
        return [
            (group, other, outcome, apart)
            for group, other in combinations(self.groups, 2)
            for outcome, apart in self.difference(group, other).items()
        ]

    def __str__(self) -> str:
        width = max(len(group_text(group)) for group in self.groups)
        return "\n".join(
            f"{group_text(group):<{width}}  {outcome}  {self.share(group, outcome)}"
            for group in self.groups
            for outcome in self.outcomes
        )


def group_text(group: Hashable) -> str:
    """A group's name for readers.

    Examples
    --------
    >>> group_text("white"), group_text(("white", 1)), group_text(None)
    ('white', 'white, 1', 'missing')
    """
    return ", ".join("missing" if part is None else str(part) for part in _as_tuple(group))


def _with_interval(share: Estimate) -> str:
    if share.low is None or share.high is None:
        return f"{share.value:.1%}"
    return f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%})"


def _as_tuple(group: Hashable) -> tuple[Hashable, ...]:
    return group if isinstance(group, tuple) else (group,)


def _place(name: Hashable, names: Sequence[Hashable], what: str) -> int:
    if name not in names:
        raise ValueError(f"there is no {what} {name!r}{did_you_mean(name, names)}")
    return list(names).index(name)


def _ratio(part: Table, whole: Table, otherwise: float) -> Table:
    return np.divide(part, whole, out=np.full_like(part, otherwise), where=whole > 0)
