"""The aggregates: what a group releases in place of its members' values. A new one is one entry
here.

This module imports no arrays before they are needed, so that help is shown at once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from microagg.errors import InputError
from microagg.table.schema import Kind

if TYPE_CHECKING:
    import numpy as np

    from microagg.table.grouping import Groups
    from microagg.table.variable import Variable


Texts = Callable[["Variable", "np.ndarray"], list[str]]
"""Writes numbers of a column as people read them."""


@dataclass(frozen=True)
class SortedMembers:
    """One column as an aggregate sees it: the values that count, and the groups that release one of
    them.
    """

    variable: Variable
    values: np.ndarray
    """(m,): the values, without atoms and without groups that release an atom."""
    groups: Groups
    whole: np.ndarray
    """(n,): the whole column, NaN where a cell is an atom."""
    decimals: int | None
    """Numeric: how many decimals the column is written with; None for no precision of its own."""
    texts: Texts
    weights: np.ndarray | None = None
    """(m,): of the records of these values, where means are weighted."""
    frequency: np.ndarray | None = None
    """(levels,): how often each occurs in the whole table, where these are records of a part of it.
    """
    heaviest: float | None = None
    """The largest weight of the whole table, likewise."""


@dataclass(frozen=True)
class RandomDraw:
    """What an aggregate that takes a member's own cell goes by."""

    name: str
    groups: Groups
    seed: int
    distances: Callable[[], np.ndarray]
    """(n,): how far each record is from its group's centroid, on all columns."""
    numbers: np.ndarray | None = None
    """(groups,): the numbers of these groups among all, where they are not all of a table."""


@dataclass(frozen=True)
class GroupValues:
    """A value for each group, before any rounding, and what these stand for."""

    values: np.ndarray
    variable: Variable
    rounds: bool = False
    """Whether the values lie between those of the column, so that they are rounded to its
    precision.
    """


@dataclass(frozen=True)
class Aggregate:
    """One aggregate: its name, the kinds it fits, and how the value of every group is found."""

    name: str
    help: str
    kinds: tuple[Kind, ...]
    values: Callable[[SortedMembers], GroupValues] | None = None
    """From the values of the groups that release one; the rule for atoms has been applied before.
    """
    member: Callable[[RandomDraw], np.ndarray] | None = None
    """The record of each group whose own cell is released, atom or value: instead of `values`."""
    true_values: bool = False
    """Whether a value of a single record is published."""
    needs_hierarchy: bool = False


def _mean(of: SortedMembers) -> GroupValues:
    import numpy as np

    if of.groups.count == 0:
        return GroupValues(of.values, of.variable)
    column = np.ascontiguousarray(of.values).reshape(-1, 1)
    return GroupValues(
        of.groups.means(column, of.weights, of.heaviest)[:, 0], of.variable, rounds=True
    )


def _median(of: SortedMembers) -> GroupValues:
    return GroupValues(of.groups.lower_medians(of.values) + 0.0, of.variable)


def _mode(of: SortedMembers) -> GroupValues:
    import numpy as np

    frequency = of.frequency
    if frequency is None:
        known = of.whole[~np.isnan(of.whole)].astype(np.int64)
        frequency = np.bincount(known, minlength=len(of.variable.levels))
    return GroupValues(
        of.groups.most_frequent(of.values.astype(np.int64), frequency).astype(float), of.variable
    )


def _range(of: SortedMembers) -> GroupValues:
    from microagg.table.coarse import ranges

    return GroupValues(*ranges(of))


def _generalise(of: SortedMembers) -> GroupValues:
    from microagg.table.coarse import ancestors

    return GroupValues(*ancestors(of))


def _draw(of: RandomDraw) -> np.ndarray:
    return of.groups.drawn(of.seed, "draw", of.name, numbers=of.numbers)


def _medoid(of: RandomDraw) -> np.ndarray:
    return of.groups.nearest(of.distances())


_ORDERED, _ALL = (Kind.NUMERIC, Kind.ORDINAL), tuple(Kind)
_ENTRIES = (
    Aggregate("mean", "the mean, at the column's precision", (Kind.NUMERIC,), values=_mean),
    Aggregate("median", "the lower median", _ORDERED, values=_median, true_values=True),
    Aggregate("mode", "the most frequent", (Kind.ORDINAL, Kind.NOMINAL), values=_mode),
    Aggregate("draw", "one member's, drawn", _ALL, member=_draw, true_values=True),
    Aggregate(
        "medoid", "that of the record nearest to the middle", _ALL, member=_medoid, true_values=True
    ),
    Aggregate("range", "from the least to the largest", _ORDERED, values=_range, true_values=True),
    Aggregate(
        "generalise", "the lowest common ancestor", _ALL, values=_generalise, needs_hierarchy=True
    ),
)
AGGREGATES: dict[str, Aggregate] = {entry.name: entry for entry in _ENTRIES}
DEFAULT_AGGREGATE = {Kind.NUMERIC: "mean", Kind.ORDINAL: "median", Kind.NOMINAL: "mode"}


class KindOfColumn(Protocol):
    """A column or variable: what has a name and a kind."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> Kind: ...


def aggregate_of(column: KindOfColumn, how: Mapping[str, str]) -> Aggregate:
    """The aggregate of one column: the one asked for, else that of its kind.

    >>> from microagg.table.variable import Variable
    >>> aggregate_of(Variable("age"), {"sex": "draw"}).name
    'mean'
    """
    return AGGREGATES[how.get(column.name, DEFAULT_AGGREGATE[column.kind])]


def check_aggregates(
    columns: Iterable[KindOfColumn], how: Mapping[str, str], hierarchies: Container[Any] = ()
) -> None:
    """Refuse an aggregate that does not fit its column; `hierarchies` holds the names of columns
    that have one.

    >>> from microagg.table.variable import Variable
    >>> check_aggregates([Variable("age")], {"age": "median"})
    """
    known = {column.name: column for column in columns}
    for name, asked in how.items():
        if name not in known:
            raise InputError(
                f"aggregate names {name!r}, which is no quasi-identifying column; others "
                f"are not changed."
            )
        if asked not in AGGREGATES:
            raise InputError(f"aggregate of {name!r} must be one of {', '.join(AGGREGATES)}.")
        entry, kind = AGGREGATES[asked], known[name].kind
        if kind not in entry.kinds:
            fitting = [
                each.name for each in _ENTRIES if kind in each.kinds and not each.needs_hierarchy
            ]
            raise InputError(
                f"{asked!r} does not fit column {name!r}, which is {kind}; "
                f"{', '.join(fitting[:-1])} and {fitting[-1]} do, and generalise with a hierarchy."
            )
        if entry.needs_hierarchy and name not in hierarchies:
            raise InputError(
                f"{asked!r} needs a hierarchy for column {name!r}; give one with hierarchy."
            )
