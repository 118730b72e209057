"""Counts of people by group and by outcome for each unit: what ecological inference starts from."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llpgan.tables.bag_join import bag_keys
from llpgan.tables.column_values import as_numbers, of
from llpgan.tables.rows import no_column
from llpgan.tables.table_readers import name_of, read_table
from llpgan.tables.table_spec import names as column_names
from llpgan.utils.array_input import argument, is_frame, numbers

Table = NDArray[np.float64]
Names = tuple[Hashable, ...]
_ROUNDING = 1e-6  # by how much of a unit its two totals may differ


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Two margins of each unit: how many people of each group it has, and how many people had each outcome.

    The cells, that is how many people *of each group* had each outcome, are unknown. Everything is checked when
    the object is made. Counts need not be whole numbers.

    Parameters
    ----------
    groups : array-like or frame of shape (n_units, n_groups)
        How many people of each group a unit has. Of a frame, the columns name the groups, and the index names the
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

    def __post_init__(self) -> None:
        self._take_names_of_frames()
        for side in ("groups", "outcomes"):
            with argument(side):
                object.__setattr__(self, side, _two_dimensional(getattr(self, side), side))
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
            object.__setattr__(self, option, _names(getattr(self, option), n, option))
        _refuse_no_counts(self.groups, self.unit_names, self.group_names, "group")
        _refuse_no_counts(self.outcomes, self.unit_names, self.outcome_names, "outcome")
        _refuse_other_totals(self)

    def _take_names_of_frames(self) -> None:
        """The columns of frames name groups and outcomes; their indices name the units, and match the two."""
        sides: list[Any] = [self.groups, self.outcomes]
        indexed = [side for side in sides if is_frame(side) and hasattr(side, "index")]
        if len(indexed) == 2:
            object.__setattr__(self, "outcomes", _matched(*indexed))
        columns = [list(side.columns) if is_frame(side) else None for side in sides]
        units = list(indexed[0].index) if indexed else None
        for option, names in zip(("group_names", "outcome_names", "unit_names"), (*columns, units), strict=True):
            if getattr(self, option) is None:
                object.__setattr__(self, option, names)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        groups: Sequence[str],
        outcomes: Sequence[str],
        unit: str | Sequence[str] | None = None,
        remainder: str | None = None,
    ) -> "GroupCounts":
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
        file, read = name_of(table), read_table(table, ids=[] if unit is None else column_names(unit, "unit"))

        def counted(columns: Sequence[str], option: str) -> Table:
            for name in column_names(columns, option):
                if name not in read.column_names:
                    raise no_column(file, name, read.column_names)
            with of(file):
                return np.column_stack([as_numbers(name, read[name]) for name in columns])

        members, results, names = counted(groups, "groups"), counted(outcomes, "outcomes"), list(outcomes)
        if remainder is not None:
            results = np.column_stack([results, members.sum(axis=1) - results.sum(axis=1)])
            names.append(remainder)
        return cls(members, results, list(groups), names, None if unit is None else _units(read, unit, file))

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return len(self.groups)

    @property
    def totals(self) -> Table:
        """How many people each unit has."""
        return self.groups.sum(axis=1)

    @property
    def occupied(self) -> "GroupCounts":
        """The units that have anybody."""
        there = self.totals > 0
        units = [name for name, kept in zip(self.unit_names or (), there, strict=True) if kept]
        return GroupCounts(self.groups[there], self.outcomes[there], self.group_names, self.outcome_names, units)

    def __repr__(self) -> str:
        groups, outcomes = (", ".join(map(str, side or ())) for side in (self.group_names, self.outcome_names))
        return (
            f"GroupCounts({self.groups.sum():,.0f} people in {self.n_units:,} units, "
            f"groups {groups}, outcomes {outcomes})"
        )


def _matched(groups: Any, outcomes: Any) -> Any:
    """The frame of outcomes, with its units in the order of those of the groups."""
    for name, index in (("groups", groups.index), ("outcomes", outcomes.index)):
        for unit in index[index.duplicated()]:
            raise ValueError(f"{name}: unit {unit!r} stands there twice")
    for here, there, name in ((groups, outcomes, "outcomes"), (outcomes, groups, "groups")):
        for unit in here.index.difference(there.index):
            raise ValueError(f"unit {unit!r} has no row in {name}: each unit needs a row in both")
    return outcomes.reindex(groups.index)


def _two_dimensional(given: Any, name: str) -> Table:
    table = numbers(given, name).astype(np.float64)
    if table.ndim != 2 or table.shape[1] < 2 or len(table) == 0:
        raise ValueError(f"one row per unit and at least two columns are needed, got shape {table.shape}")
    return table


def _names(given: Sequence[Hashable] | None, n: int, option: str) -> Names:
    found = tuple(range(n) if given is None else given)
    if len(found) != n:
        raise ValueError(f"{option}: {len(found)} names, but {n} are needed")
    if len(set(found)) < n:
        twice = next(name for name in found if found.count(name) > 1)
        raise ValueError(f"{option}: {twice!r} stands there twice; names must differ")
    return found


def _refuse_no_counts(table: Table, units: Any, names: Any, what: str) -> None:
    for unit, column in np.argwhere(~np.isfinite(table) | (table < 0)):
        hint = (
            " (the outcomes sum to more than the groups)" if table[unit, column] < 0 and what == "outcome" else ""
        )
        raise ValueError(
            f"unit {units[unit]!r}: {table[unit, column]:g} of {what} {names[column]!r} is not a count{hint}"
        )
    for column in np.flatnonzero(table.sum(axis=0) == 0):
        raise ValueError(f"{what} {names[column]!r} is in no unit: all its counts are 0, so leave it out")


def _refuse_other_totals(counts: GroupCounts) -> None:
    members, results = counts.totals, counts.outcomes.sum(axis=1)
    for unit in np.flatnonzero(np.abs(members - results) > _ROUNDING * np.maximum(members, 1)).tolist():
        assert counts.unit_names is not None
        raise ValueError(
            f"unit {counts.unit_names[unit]!r}: its groups sum to {members[unit]:.10g}, its outcomes to "
            f"{results[unit]:.10g}; both must count the same people (GroupCounts.from_table can make those "
            f"without an outcome one more: remainder='abstained')"
        )


def _units(table: Any, unit: str | Sequence[str], file: str) -> list[Hashable]:
    index, ids = bag_keys(table, column_names(unit, "unit"), file)
    for twice in np.flatnonzero(np.bincount(index) > 1):
        rows = np.flatnonzero(index == twice)[:2].tolist()
        raise ValueError(f"{file}: unit {ids[twice]!r} stands there twice, in rows {rows[0]} and {rows[1]}")
    return [ids[place] for place in index]
