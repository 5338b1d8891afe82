"""Registry of aggregates: the value that a group releases in place of its members' values.

An aggregate is one entry here. The entry holds all that the program does with it and says of it:
reports, notes, manifests, the command line, the estimator and the documentation read it from here.
This module imports no arrays before they are needed, so that help is shown at once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from microagg.errors import InputError
from microagg.table.schema import Kind
from microagg.table.suggestions import NO_QUASI

if TYPE_CHECKING:
    import numpy as np

    from microagg.table.grouping import Groups
    from microagg.table.variable import Variable


Texts = Callable[["Variable", "np.ndarray"], list[str]]
"""Writes numbers of a column as people read them."""


@dataclass(frozen=True)
class SortedMembers:
    """Values of one column that an aggregate works on, and the groups that release one of them."""

    variable: Variable
    values: np.ndarray
    """(m,): the values, without special codes and without groups that release one."""
    groups: Groups
    whole: np.ndarray
    """(n,): the whole column, NaN where a cell is missing or a special code."""
    decimals: int | None
    """Numeric: the decimals that the column is written with; None where it has no precision."""
    texts: Texts
    weights: np.ndarray | None = None
    """(m,): weights of the records, where means are weighted."""
    frequency: np.ndarray | None = None
    """(levels,): frequencies in the whole table, where these are records of a part of it."""
    heaviest: float | None = None
    """Largest weight of the whole table, likewise."""


@dataclass(frozen=True)
class RandomDraw:
    """Context of an aggregate that releases the cell of one member."""

    name: str
    groups: Groups
    seed: int
    distances: Callable[[], np.ndarray]
    """(n,): distance of each record to its group's centroid, on all columns."""
    numbers: np.ndarray | None = None
    """(groups,): numbers of these groups among all, where they are not all of a table."""


@dataclass(frozen=True)
class GroupValues:
    """Values of all groups before any rounding, and the variable that they belong to."""

    values: np.ndarray
    variable: Variable


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """Declaration of one aggregate.

    Fields without a default concern what a release discloses or what its readers are told. Leaving
    one out is an error, so that nothing is forgotten in silence.
    """

    name: str
    """Word that settings, the command line and manifests use."""
    noun: str
    """Name in a sentence about a group, such as "mean" in "the group's mean"."""
    phrase: str
    """End of the sentence "replaced by …" in a report, such as "the mean of its group"."""
    help: str
    """Explanation in the documentation: what the group releases."""
    kinds: tuple[Kind, ...]
    """Kinds of columns that it can be used for."""
    default_for: tuple[Kind, ...]
    """Kinds of columns that have it unless settings name another one."""
    true_values_in: tuple[Kind, ...]
    """Kinds of columns in which it publishes values of single records that can be recognised."""
    dominance_applies: bool
    """Whether one large value decides the released one, so that dominated groups are counted."""
    keeps_totals: bool
    """Whether totals and means of a column stay what they were, up to rounding."""
    keeps_shares: bool
    """Whether the shares of categories stay what they were, on average."""
    rounds: bool
    """Whether released values may be none of the column's and are rounded to its precision."""
    is_coarse: bool
    """Whether it releases texts coarser than values: no input of a model, no term of a sum."""
    values: Callable[[SortedMembers], GroupValues] | None = None
    """Computes one value for each group; the rule for special codes has been applied before."""
    member: Callable[[RandomDraw], np.ndarray] | None = None
    """Chooses the record of each group whose cell is released, instead of `values`."""
    of_matrix: Callable[..., np.ndarray] | None = None
    """Computes `values` of all columns of a plain table at once, as a shortcut."""
    needs_hierarchy: bool = False
    needs_group_numbers: bool = False
    """Whether the number of a group among all groups decides what it releases."""

    def __post_init__(self) -> None:
        if (self.values is None) is (self.member is None):
            raise ValueError(f"aggregate {self.name!r} must have either values or member")
        if not set(self.default_for) | set(self.true_values_in) <= set(self.kinds):
            raise ValueError(f"aggregate {self.name!r} names a kind that it does not fit")


def _mean(members: SortedMembers) -> GroupValues:
    import numpy as np

    if members.groups.count == 0:
        return GroupValues(members.values, members.variable)
    column = np.ascontiguousarray(members.values).reshape(-1, 1)
    means = _means(members.groups, column, members.weights, members.heaviest)
    return GroupValues(means[:, 0], members.variable)


def _means(
    groups: Groups, values: np.ndarray, weights: np.ndarray | None, heaviest: float | None
) -> np.ndarray:
    return groups.means(values, weights, heaviest)


def _median(members: SortedMembers) -> GroupValues:
    return GroupValues(members.groups.lower_medians(members.values) + 0.0, members.variable)


def _mode(members: SortedMembers) -> GroupValues:
    import numpy as np

    frequency = members.frequency
    if frequency is None:
        codes = members.whole[~np.isnan(members.whole)].astype(np.int64)
        frequency = np.bincount(codes, minlength=len(members.variable.levels))
    modes = members.groups.most_frequent(members.values.astype(np.int64), frequency)
    return GroupValues(modes.astype(float), members.variable)


def _range(members: SortedMembers) -> GroupValues:
    from microagg.table.coarse import ranges

    return GroupValues(*ranges(members))


def _generalise(members: SortedMembers) -> GroupValues:
    from microagg.table.coarse import ancestors

    return GroupValues(*ancestors(members))


def _draw(draw: RandomDraw) -> np.ndarray:
    return draw.groups.drawn(draw.seed, "draw", draw.name, numbers=draw.numbers)


def _medoid(draw: RandomDraw) -> np.ndarray:
    return draw.groups.nearest(draw.distances())


_ENTRIES = (
    Aggregate(
        name="mean",
        noun="mean",
        phrase="the mean of its group",
        help="the mean, rounded to the decimals that most values of the column have (at most one "
        "in twenty has more); where that takes more than four decimals, as with raw floats, to "
        "three to four digits of the standard deviation",
        kinds=(Kind.NUMERIC,),
        default_for=(Kind.NUMERIC,),
        true_values_in=(),
        dominance_applies=True,
        keeps_totals=True,
        keeps_shares=False,
        rounds=True,
        is_coarse=False,
        values=_mean,
        of_matrix=_means,
    ),
    Aggregate(
        name="median",
        noun="median",
        phrase="the median of its group, the true value of one of its records",
        help="the lower median",
        kinds=(Kind.NUMERIC, Kind.ORDINAL),
        default_for=(Kind.ORDINAL,),
        true_values_in=(Kind.NUMERIC,),
        dominance_applies=False,
        keeps_totals=False,
        keeps_shares=False,
        rounds=False,
        is_coarse=False,
        values=_median,
    ),
    Aggregate(
        name="mode",
        noun="most frequent value",
        phrase="the most frequent value of its group",
        help="the most frequent value",
        kinds=(Kind.ORDINAL, Kind.NOMINAL),
        default_for=(Kind.NOMINAL,),
        true_values_in=(),
        dominance_applies=False,
        keeps_totals=False,
        keeps_shares=False,
        rounds=False,
        is_coarse=False,
        values=_mode,
    ),
    Aggregate(
        name="draw",
        noun="value drawn by lot",
        phrase="the value of one record of its group, drawn by lot",
        help="the cell of one member, drawn for each column by itself: shares stay as they are on "
        "average",
        kinds=tuple(Kind),
        default_for=(),
        true_values_in=tuple(Kind),
        dominance_applies=False,
        keeps_totals=False,
        keeps_shares=True,
        rounds=False,
        is_coarse=False,
        member=_draw,
        needs_group_numbers=True,
    ),
    Aggregate(
        name="medoid",
        noun="most central record",
        phrase="the value of the most central record of its group",
        help="the cells of the record nearest to the group's centre",
        kinds=tuple(Kind),
        default_for=(),
        true_values_in=tuple(Kind),
        dominance_applies=False,
        keeps_totals=False,
        keeps_shares=False,
        rounds=False,
        is_coarse=False,
        member=_medoid,
    ),
    Aggregate(
        name="range",
        noun="range",
        phrase="the range of its group, from the least value to the largest",
        help='"a..b", from the lowest to the highest',
        kinds=(Kind.NUMERIC, Kind.ORDINAL),
        default_for=(),
        true_values_in=(Kind.NUMERIC, Kind.ORDINAL),
        dominance_applies=False,
        keeps_totals=False,
        keeps_shares=False,
        rounds=False,
        is_coarse=True,
        values=_range,
    ),
    Aggregate(
        name="generalise",
        noun="common category",
        phrase="the narrowest category that holds all values of its group",
        help="what all values of the group have in common",
        kinds=tuple(Kind),
        default_for=(),
        true_values_in=(),
        dominance_applies=False,
        keeps_totals=False,
        keeps_shares=False,
        rounds=False,
        is_coarse=True,
        values=_generalise,
        needs_hierarchy=True,
    ),
)
AGGREGATES: dict[str, Aggregate] = {entry.name: entry for entry in _ENTRIES}


class KindOfColumn(Protocol):
    """A column or variable: anything with a name and a kind."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> Kind: ...


def default_aggregate(kind: Kind) -> Aggregate:
    """Return the aggregate that columns of a kind have unless settings name another one.

    >>> default_aggregate(Kind.NOMINAL).name
    'mode'
    """
    return next(entry for entry in AGGREGATES.values() if kind in entry.default_for)


def aggregate_of(column: KindOfColumn, names: Mapping[str, str]) -> Aggregate:
    """Return the aggregate of one column: the one that `names` has for it, else that of its kind.

    >>> from microagg.table.variable import Variable
    >>> aggregate_of(Variable("age"), {"sex": "draw"}).name
    'mean'
    """
    name = names.get(column.name)
    return default_aggregate(column.kind) if name is None else AGGREGATES[name]


def coarse_columns(names: Mapping[str, str]) -> list[str]:
    """Return the columns of which groups release texts coarser than values.

    >>> coarse_columns({"age": "range", "sex": "mode"})
    ['age']
    """
    return [column for column, name in names.items() if AGGREGATES[name].is_coarse]


def check_aggregates(
    columns: Iterable[KindOfColumn], names: Mapping[str, str], hierarchies: Container[Any] = ()
) -> None:
    """Raise where an aggregate does not fit its column; `hierarchies` are columns that have one.

    >>> from microagg.table.variable import Variable
    >>> check_aggregates([Variable("age")], {"age": "median"})
    """
    by_name = {column.name: column for column in columns}
    for column, name in names.items():
        if column not in by_name:
            raise InputError(NO_QUASI.format("aggregate", column))
        if name not in AGGREGATES:
            raise InputError(f"aggregate of {column!r} must be one of {', '.join(AGGREGATES)}.")
        entry, kind = AGGREGATES[name], by_name[column].kind
        if kind not in entry.kinds:
            fitting = [other for other in AGGREGATES.values() if kind in other.kinds]
            *first, last = (other.name for other in fitting if not other.needs_hierarchy)
            with_tree = " and ".join(other.name for other in fitting if other.needs_hierarchy)
            raise InputError(
                f"{name!r} does not fit column {column!r}, which is {kind}; {', '.join(first)} and "
                f"{last} do, and {with_tree} with a hierarchy."
            )
        if entry.needs_hierarchy and column not in hierarchies:
            raise InputError(
                f"{name!r} needs a hierarchy for column {column!r}; give one with hierarchy."
            )
