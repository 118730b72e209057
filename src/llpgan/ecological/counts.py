"""Counts of people by group and by outcome for each unit: what ecological inference starts from."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.tables.columns import as_numbers, missing_values, naming_source
from llpgan.tables.join import bag_keys, names_total
from llpgan.tables.read import missing_column_error, read_table, source_name
from llpgan.tables.spec import check_names
from llpgan.utils.arrays import check_argument, check_numbers, is_frame, is_missing

Table = NDArray[np.float64]
Names = tuple[Hashable, ...]
_ROUNDING = 1e-6  # by how much of a unit its two totals may differ
_NAMES_IN_REPR = 6
_MANY_UNITS = 10  # that hardly all have a hundred people
_TINY = 1e-300


_FEWEST_OF_TOTAL = 3  # units, of which one may be the sum of the others


@dataclass(frozen=True, eq=False, repr=False)
class GroupCounts:
    """Two margins of each unit: how many people of each group it has, and how many people had each outcome.

    The cells, that is how many people *of each group* had each outcome, are unknown. Everything is checked when
    the object is made. Counts need not be whole numbers, but fractions of a unit are no counts.

    Parameters
    ----------
    groups : array-like or frame of shape (n_units, n_groups)
        How many people of each group a unit has. The columns of a frame name the groups, and its index names the
        units.
    outcomes : array-like or frame of shape (n_units, n_outcomes)
        How many people of a unit had each outcome. Each unit must have the same total as in ``groups``. Two frames
        are matched by their indices.
    group_names : sequence of hashable, default=None
        The names of the groups.
    outcome_names : sequence of hashable, default=None
        The names of the outcomes.
    unit_names : sequence of hashable, default=None
        The names of the units. Names are in the order of columns and rows; None means numbers from 0.
    strata : sequence of hashable, default=None
        The stratum of each unit, such as its county: groups may behave differently from stratum to stratum. None
        means that all units are of one district.
    covariates : array-like of shape (n_units, n_covariates), default=None
        Numbers that may explain how the groups of a unit behave, such as its income or density.

    Examples
    --------
    >>> GroupCounts([[80, 20], [30, 70]], [[50, 50], [40, 60]], ["black", "white"], ["yes", "no"])
    GroupCounts(200 people in 2 units, groups black, white, outcomes yes, no)
    """

    groups: Table
    outcomes: Table
    group_names: Sequence[Hashable] | None = None
    outcome_names: Sequence[Hashable] | None = None
    unit_names: Sequence[Hashable] | None = None
    strata: Sequence[Hashable] | None = None
    covariates: Table | None = None

    def __post_init__(self) -> None:
        self._use_names_of_frames()
        for side in ("groups", "outcomes"):
            with check_argument(side):
                table = check_numbers(getattr(self, side), side).astype(np.float64)
                if table.ndim != 2 or table.shape[1] < 2 or len(table) == 0:
                    raise ValueError(
                        f"one row per unit and at least two columns are needed, got shape {table.shape}"
                    )
                object.__setattr__(self, side, table)
        if len(self.groups) != len(self.outcomes):
            raise ValueError(
                f"{len(self.groups)} units in groups, but {len(self.outcomes)} in outcomes: "
                f"each unit needs a row in both"
            )
        for option, n in (
            ("group_names", self.groups.shape[1]),
            ("outcome_names", self.outcomes.shape[1]),
            ("unit_names", len(self.groups)),
        ):
            object.__setattr__(self, option, _check_names(getattr(self, option), n, option))
        _check_counts(self.groups, self.unit_names, self.group_names, "group")
        _check_counts(self.outcomes, self.unit_names, self.outcome_names, "outcome")
        self._check_totals()
        self._check_strata()
        self._check_covariates()

    def _use_names_of_frames(self) -> None:
        """The columns of frames name groups and outcomes; their indices name the units, and match the two."""
        sides: list[Any] = [self.groups, self.outcomes]
        indexed = [side for side in sides if is_frame(side) and hasattr(side, "index")]
        if len(indexed) == 2:
            object.__setattr__(self, "outcomes", _match_units(*indexed))
        columns = [list(side.columns) if is_frame(side) else None for side in sides]
        units = list(indexed[0].index) if indexed else None
        for option, names in zip(("group_names", "outcome_names", "unit_names"), (*columns, units), strict=True):
            if getattr(self, option) is None:
                object.__setattr__(self, option, names)

    def _check_totals(self) -> None:
        members, results = self.totals, self.outcomes.sum(axis=1)
        assert self.unit_names is not None
        for unit in np.flatnonzero(np.abs(members - results) > _ROUNDING * np.maximum(members, 1)).tolist():
            hint = ": name those who are in no outcome, such as abstained (remainder)"
            hint = hint if (members >= results).all() else ""
            raise ValueError(
                f"unit {self.unit_names[unit]!r}: its groups sum to {members[unit]:.10g}, its outcomes to "
                f"{results[unit]:.10g}; both must count the same people{hint}"
            )
        if members.max() <= 1 + _ROUNDING:
            raise ValueError(
                f"unit {self.unit_names[int(members.argmax())]!r}: its groups sum to {members.max():.6g}, so "
                f"these are fractions, not counts: multiply them by the number of people of each unit (or all by "
                f"one number, such as 1000, if it is unknown)"
            )

        people = members[members > 0]
        total = int(members.argmax())
        counts = np.column_stack([self.groups, self.outcomes])
        if len(people) > _FEWEST_OF_TOTAL and np.array_equal(counts[total], counts.sum(axis=0) - counts[total]):
            raise ValueError(
                f"unit {self.unit_names[total]!r} is the sum of all others, a total and not a unit: leave "
                f"its row out"
            )
        is_hundred = len(people) > 0 and (np.abs(people - 100) <= 1).all()
        if is_hundred and (len(people) >= _MANY_UNITS or (self.groups % 1 != 0).any()):
            raise ValueError(
                "all units sum to about 100, so these are percentages, not counts: multiply them by the number of "
                "people of each unit, and divide them by 100"
            )

    def _check_strata(self) -> None:
        if self.strata is None:
            return
        strata = tuple(self.strata)
        if len(strata) != self.n_units:
            raise ValueError(f"strata: {len(strata)} values, but {self.n_units} units: each unit needs one")
        for unit, name in enumerate(strata):
            if is_missing(name):
                assert self.unit_names is not None
                raise ValueError(f"unit {self.unit_names[unit]!r} has no stratum (strata)")
        object.__setattr__(self, "strata", strata)

    def _check_covariates(self) -> None:
        if self.covariates is None:
            return
        with check_argument("covariates"):
            table = check_numbers(self.covariates, "covariates").astype(np.float64)
            table = table[:, None] if table.ndim == 1 else table
            if table.shape[:1] != (self.n_units,) or table.ndim != 2:
                raise ValueError(
                    f"one row of known numbers per unit is needed ({self.n_units} rows), got shape {table.shape}"
                )
            for row in np.flatnonzero(~np.isfinite(table).all(axis=1)).tolist():
                assert self.unit_names is not None
                raise ValueError(
                    f"one row of known numbers per unit is needed, and unit {self.unit_names[row]!r} has none"
                )
        object.__setattr__(self, "covariates", table)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        groups: Sequence[str],
        outcomes: Sequence[str],
        unit: str | Sequence[str] | None = None,
        remainder: str | None = None,
        strata: str | Sequence[str] | None = None,
        covariates: Sequence[str] = (),
    ) -> GroupCounts:
        """Read counts from a table with one row per unit.

        Parameters
        ----------
        table : path, frame or dict of columns
            A CSV or Parquet file, a pandas or polars frame, an Arrow table or a dict of columns.
        groups, outcomes : sequence of str
            The columns that count the people of each group, and the people with each outcome.
        unit : str or sequence of str, default=None
            The column or columns that name the unit; units are numbered by default.
        remainder : str, default=None
            The name of one more outcome, for the people of a unit whose outcome is not counted, such as
            ``"abstained"``: the total of the groups minus that of the outcomes.
        strata : str or sequence of str, default=None
            The column or columns that say which stratum a unit belongs to, such as its county.
        covariates : sequence of str, default=()
            Columns of numbers that may explain how the groups of a unit behave, such as its income or density.

        Returns
        -------
        GroupCounts
            The counts.

        Examples
        --------
        >>> precincts = {"precinct": ["A", "B"], "black": [80, 30], "white": [20, 70]}
        >>> precincts |= {"yes": [50, 40], "no": [30, 60]}
        >>> GroupCounts.from_table(
        ...     precincts,
        ...     groups=["black", "white"],
        ...     outcomes=["yes", "no"],
        ...     unit="precinct",
        ...     remainder="abstained",
        ... )
        GroupCounts(200 people in 2 units, groups black, white, outcomes yes, no, abstained)
        """
        check_columns(groups, outcomes, unit, remainder, strata, covariates)
        ids = [name for given, option in ((unit, "unit"), (strata, "strata")) for name in _columns(given, option)]
        file, read = source_name(table), read_table(table, ids=ids)

        def collect(columns: Sequence[str], option: str) -> Table:
            for name in check_names(columns, option):
                if name not in read.column_names:
                    raise missing_column_error(file, name, read.column_names)
            with naming_source(file):
                found = np.column_stack([as_numbers(name, read[name]) for name in columns])
            for place, name in enumerate(columns if option != "covariates" else ()):
                if names_total(name) and (found[:, place] >= np.delete(found, place, 1).sum(axis=1)).all():
                    raise ValueError(
                        f"{file}: column {name!r} is a total, which counts people of the other columns again: "
                        f"name columns that count each person once, with one of those in no other ({option})"
                    )
            return found

        members, results, names = collect(groups, "groups"), collect(outcomes, "outcomes"), [*outcomes]
        in_strata = None if strata is None else _name_strata(read, _columns(strata, "strata"), file)
        unit_names = None if unit is None else _name_units(read, _columns(unit, "unit"), file, ids)
        if remainder is not None:
            results = np.column_stack([results, members.sum(axis=1) - results.sum(axis=1)])
            names.append(remainder)
            for row in np.flatnonzero(results[:, -1] < 0).tolist():
                raise ValueError(
                    f"{file}: unit {row if unit_names is None else unit_names[row]!r}: its outcomes sum to "
                    f"{results[row, :-1].sum():.10g}, more than its groups, {members[row].sum():.10g}: nobody is "
                    f"left for {remainder!r} (remainder)"
                )
        numbers = collect(covariates, "covariates") if len(covariates) else None
        with naming_source(file):
            return cls(members, results, list(groups), names, unit_names, in_strata, numbers)

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return len(self.groups)

    @property
    def totals(self) -> Table:
        """How many people each unit has."""
        return self.groups.sum(axis=1)

    @property
    def rows_by_stratum(self) -> dict[Hashable, NDArray[np.int64]]:
        """The positions of the units of each stratum, in the order of names; those of None without strata."""
        if self.strata is None:
            return {None: np.arange(self.n_units)}
        names = sorted(set(self.strata), key=lambda name: (isinstance(name, str), str(type(name)), name))
        place = {name: position for position, name in enumerate(names)}
        index = np.array([place[name] for name in self.strata])
        return {name: np.flatnonzero(index == position) for name, position in place.items()}

    @property
    def occupied(self) -> GroupCounts:
        """The units that have anybody."""
        there = self.totals > 0

        def take(values: Sequence[Hashable] | None) -> list[Hashable] | None:
            return None if values is None else [value for value, kept in zip(values, there, strict=True) if kept]

        return GroupCounts(
            self.groups[there],
            self.outcomes[there],
            self.group_names,
            self.outcome_names,
            take(self.unit_names),
            take(self.strata),
            None if self.covariates is None else self.covariates[there],
        )

    def __repr__(self) -> str:
        groups, outcomes = (_list_names(side or ()) for side in (self.group_names, self.outcome_names))
        strata = "" if self.strata is None else f", {len(set(self.strata)):,} strata"
        return (
            f"GroupCounts({self.groups.sum():,.0f} people in {self.n_units:,} units{strata}, "
            f"groups {groups}, outcomes {outcomes})"
        )


def _list_names(names: Sequence[Hashable]) -> str:
    shown = ", ".join(str(name) for name in names[:_NAMES_IN_REPR])
    return shown if len(names) <= _NAMES_IN_REPR else f"{shown} and {len(names) - _NAMES_IN_REPR} more"


def _columns(given: str | Sequence[str] | None, option: str) -> list[str]:
    return [] if given is None else list(check_names(given, option))


def check_columns(
    groups: Sequence[str],
    outcomes: Sequence[str],
    unit: str | Sequence[str] | None,
    remainder: str | None,
    strata: str | Sequence[str] | None,
    covariates: Sequence[str],
) -> None:
    """Refuse names of columns that cannot be those of counts, before a table is read."""
    for option, given in (("groups", groups), ("outcomes", outcomes)):
        if not len(given):
            raise ValueError(f"no columns are named ({option}): both groups and outcomes are needed")
    counted = {name: option for option, given in (("groups", groups), ("outcomes", outcomes)) for name in given}
    for name in outcomes:
        if name in groups:
            raise ValueError(f"column {name!r} is named twice: (groups) and (outcomes) must be other columns")
    if remainder is not None and (not remainder.strip() or remainder in outcomes):
        raise ValueError(f"{remainder!r} is no name for one more outcome: choose another (remainder)")
    for option, given, n_more in (("groups", groups, 0), ("outcomes", outcomes, remainder is not None)):
        if len(check_names(given, option)) + n_more < 2:
            raise ValueError(
                f"{given[0]!r} is the only one ({option}): name at least two columns"
                f"{', or those who are in no outcome (remainder)' if option == 'outcomes' else ''}"
            )
    others = {"unit": unit, "strata": strata, "covariates": covariates if len(covariates) else None}
    for option, several in others.items():
        for name in _columns(several, option):
            if name in counted:
                raise ValueError(f"column {name!r} is named twice, ({option}) and ({counted[name]}): name another")


def _match_units(groups: Any, outcomes: Any) -> Any:
    """The frame of outcomes, with its units in the order of those of the groups."""
    for name, index in (("groups", groups.index), ("outcomes", outcomes.index)):
        for unit in index[index.duplicated()]:
            raise ValueError(f"{name}: unit {unit!r} has two rows")
    for here, there, name in ((groups, outcomes, "outcomes"), (outcomes, groups, "groups")):
        for unit in here.index.difference(there.index):
            raise ValueError(f"unit {unit!r} has no row in {name}: each unit needs a row in both")
    return outcomes.reindex(groups.index)


def _check_names(given: Sequence[Hashable] | None, n: int, option: str) -> Names:
    found = tuple(range(n) if given is None else given)
    if len(found) != n:
        raise ValueError(f"{option}: {len(found)} names, but {n} are needed")
    if len(set(found)) < n:
        twice = next(name for name in found if found.count(name) > 1)
        raise ValueError(f"{option}: {twice!r} is given twice; names must differ")
    return found


def _check_counts(table: Table, units: Any, names: Any, what: str) -> None:
    for unit, column in np.argwhere(~np.isfinite(table) | (table < 0)):
        if np.isnan(table[unit, column]):
            raise ValueError(f"unit {units[unit]!r}: {what} {names[column]!r} has no count")
        raise ValueError(
            f"unit {units[unit]!r}: {table[unit, column]:g} of {what} {names[column]!r} is not a count"
        )
    for column in np.flatnonzero(table.sum(axis=0) == 0):
        raise ValueError(f"{what} {names[column]!r} is in no unit: all its counts are 0, so leave it out")


def _name_strata(table: Any, columns: Sequence[str], file: str) -> list[Hashable]:
    for name in columns:
        for row in np.flatnonzero(missing_values(table[name]) if name in table.column_names else ()).tolist():
            raise ValueError(f"{file}, row {row}: its {name!r} is missing, so it is in no stratum (strata)")
    index, names = bag_keys(table, columns, file)
    return [names[place] for place in index]


def _name_units(table: Any, columns: Sequence[str], file: str, ids: Sequence[str]) -> list[Hashable]:
    """The names of units, which are those of the stratum too if they are the same in two strata."""
    index, ids_of_units = bag_keys(table, columns, file)
    if (np.bincount(index) > 1).any():
        index, ids_of_units = bag_keys(table, list(dict.fromkeys(ids)), file)
    for twice in np.flatnonzero(np.bincount(index) > 1):
        rows = np.flatnonzero(index == twice)[:2].tolist()
        raise ValueError(f"{file}: unit {ids_of_units[twice]!r} has two rows, {rows[0]} and {rows[1]}")
    return [ids_of_units[place] for place in index]


# ---- What is certain: the method of bounds


def cell_bounds(counts: GroupCounts) -> tuple[Table, Table]:
    """Compute the least and the most people that each cell of each unit can hold.

    In a unit of n people with g in the group and v with the outcome,
    max(0, v − (n − g)) ≤ cell ≤ min(g, v).

    Parameters
    ----------
    counts : GroupCounts
        The margins of all units.

    Returns
    -------
    low : ndarray of shape (n_units, n_groups, n_outcomes)
        The lower bounds.
    high : ndarray of shape (n_units, n_groups, n_outcomes)
        The upper bounds.

    References
    ----------
    O. D. Duncan and B. Davis, "An alternative to ecological correlation", American Sociological Review 18 (1953).

    Examples
    --------
    >>> low, high = cell_bounds(GroupCounts([[80, 20]], [[90, 10]]))
    >>> low[0].tolist(), high[0].tolist()
    ([[70.0, 0.0], [10.0, 0.0]], [[80.0, 10.0], [20.0, 10.0]])
    """
    return bound_cells(counts.groups, counts.outcomes)


def bound_cells(groups: Table, outcomes: Table) -> tuple[Table, Table]:
    """Compute :func:`cell_bounds` from arrays.

    Parameters
    ----------
    groups : ndarray of shape (n_units, n_groups)
        The people of each group.
    outcomes : ndarray of shape (n_units, n_outcomes)
        The people with each outcome.

    Returns
    -------
    low, high : ndarray of shape (n_units, n_groups, n_outcomes)
        The bounds.
    """
    members, results = groups[:, :, None], outcomes[:, None, :]
    low = np.maximum(0.0, results - (groups.sum(axis=1)[:, None, None] - members))
    return low, np.minimum(members, results)


def share_bounds(counts: GroupCounts) -> tuple[Table, Table]:
    """Compute the least and the greatest share of each outcome in each group over all units together.

    Parameters
    ----------
    counts : GroupCounts
        The margins of all units.

    Returns
    -------
    low : ndarray of shape (n_groups, n_outcomes)
        The lower bounds.
    high : ndarray of shape (n_groups, n_outcomes)
        The upper bounds.

    Examples
    --------
    >>> low, high = share_bounds(GroupCounts([[80, 20], [10, 90]], [[90, 10], [50, 50]]))
    >>> low.round(3).tolist()
    [[0.778, 0.0], [0.455, 0.364]]
    """
    sizes = counts.groups.sum(axis=0)[:, None]
    low, high = cell_bounds(counts)
    return low.sum(axis=0) / sizes, high.sum(axis=0) / sizes


# ---- Regressions that assume the same shares in every unit


def goodman_rates(counts: GroupCounts) -> Table:
    """Estimate the share of each outcome in each group by Goodman's regression.

    Weighted least squares of v / n on g / n with weights n, as if the shares were the same in every unit. Shares
    may fall below 0 or exceed 1, which shows that the assumption is wrong. If the units' group shares do not
    determine the regression, all shares are NaN.

    Parameters
    ----------
    counts : GroupCounts
        The margins of all units.

    Returns
    -------
    ndarray of shape (n_groups, n_outcomes)
        The share of each outcome in each group.

    References
    ----------
    L. A. Goodman, "Ecological regressions and behavior of individuals", American Sociological Review 18 (1953).

    Examples
    --------
    >>> goodman_rates(GroupCounts([[80, 20], [20, 80]], [[70, 30], [40, 60]])).round(3).tolist()
    [[0.8, 0.2], [0.3, 0.7]]
    """
    return regress(counts.groups, counts.outcomes)


def regress(groups: Table, outcomes: Table) -> Table:
    """Regress outcomes on groups as :func:`goodman_rates` does; groups without people get NaN.

    Parameters
    ----------
    groups : ndarray of shape (n_units, n_groups)
        The people of each group.
    outcomes : ndarray of shape (n_units, n_outcomes)
        The people with each outcome.

    Returns
    -------
    ndarray of shape (n_groups, n_outcomes)
        The share of each outcome in each group.
    """
    there, kept = groups.sum(axis=1) > 0, groups.sum(axis=0) > 0
    root = np.sqrt(groups[there].sum(axis=1))[:, None]
    found, _, rank, _ = np.linalg.lstsq(groups[there][:, kept] / root, outcomes[there] / root, rcond=None)
    rates = np.full((groups.shape[1], outcomes.shape[1]), np.nan)
    if rank == kept.sum():
        rates[kept] = found
    return rates


def clipped_rates(rates: Table) -> Table:
    """Clip shares to between 0 and 1, and divide them by their sum in each group.

    Parameters
    ----------
    rates : ndarray of shape (n_groups, n_outcomes)
        Shares that may lie outside of 0 to 1, such as those of :func:`goodman_rates`.

    Returns
    -------
    ndarray of shape (n_groups, n_outcomes)
        The clipped shares.

    Examples
    --------
    >>> clipped_rates(np.array([[1.2, -0.2], [0.3, 0.7]])).tolist()
    [[1.0, 0.0], [0.3, 0.7]]
    """
    inside = np.clip(rates, 0.0, 1.0)
    return inside / inside.sum(axis=1, keepdims=True)


def cross_entropy_rates(counts: GroupCounts, *, max_iter: int = 10_000, tol: float = 1e-7) -> Table:
    """Estimate the shares, the same in every unit, that make the outcomes most likely.

    Minimises −Σ_i v_i · log(g_i B) over B whose rows are shares. The problem is convex; each iteration is
    B ← B ⊙ Gᵀ(V / GB) with normalised rows.

    Parameters
    ----------
    counts : GroupCounts
        The margins of all units.
    max_iter : int, default=10000
        The greatest number of iterations.
    tol : float, default=1e-7
        Stop when no share changes by more than this.

    Returns
    -------
    ndarray of shape (n_groups, n_outcomes)
        The share of each outcome in each group.

    Examples
    --------
    >>> cross_entropy_rates(GroupCounts([[80, 20], [20, 80]], [[70, 30], [40, 60]])).round(3).tolist()
    [[0.8, 0.2], [0.3, 0.7]]
    """
    counts = counts.occupied
    rates = np.tile(counts.outcomes.sum(axis=0) / counts.outcomes.sum(), (counts.groups.shape[1], 1))
    for _ in range(max_iter):
        cells = rates * (counts.groups.T @ (counts.outcomes / np.maximum(counts.groups @ rates, _TINY)))
        before, rates = rates, cells / cells.sum(axis=1, keepdims=True)
        if np.abs(rates - before).max() < tol:
            break
    return rates
