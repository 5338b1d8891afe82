"""Roles and kinds of the columns of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.sentences import Assignment, sentence
from microagg.table.parameters import Choice
from microagg.table.suggestions import NO_QUASI, describe_columns, list_names

if TYPE_CHECKING:
    from microagg.table.hierarchy import Hierarchy


class Role(StrEnum):
    """Role of a column in a release."""

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    CONFIDENTIAL = "confidential"
    WEIGHT = "weight"
    STRATUM = "stratum"
    UNIT = "unit"
    KEEP = "keep"


class Kind(StrEnum):
    """Kind of the values of a column."""

    NUMERIC = "numeric"
    ORDINAL = "ordinal"
    NOMINAL = "nominal"


@dataclass(frozen=True)
class Column:
    """One column: its name, role and kind; for ordinal columns the levels in their order, where
    that was declared.

    >>> Column("age", Role.QUASI, Kind.NUMERIC).role.value
    'quasi'
    """

    name: str
    role: Role
    kind: Kind
    levels: tuple[Any, ...] | None = None
    withheld: bool = False
    """Whether it is left out though its role is one of columns that are released: a weight that is
    to be dropped.
    """


@dataclass(frozen=True)
class Schema:
    """The columns of a table in their order.

    >>> ages = Column("age", Role.QUASI, Kind.NUMERIC)
    >>> Schema((ages,)).names(Role.QUASI)
    ['age']
    """

    columns: tuple[Column, ...]

    def names(self, *roles: Role) -> list[str]:
        """The names of the columns with one of these roles, in table order."""
        return [column.name for column in self.columns if column.role in roles]

    def released(self) -> list[str]:
        """The names of the columns that appear in the release, in table order."""
        return [
            column.name
            for column in self.columns
            if column.role not in WITHHELD and not column.withheld
        ]

    def one(self, role: Role) -> str | None:
        """The name of the only column with this role; None where there is none."""
        return next(iter(self.names(role)), None)


WITHHELD = (Role.IDENTIFIER, Role.UNIT)
"""The roles of columns that no release has."""

REST = Choice("rest", ("error", "drop", "keep"), "error", "What happens to columns without a role.")


@dataclass(frozen=True)
class ColumnFacts:
    """Facts that follow from the type of a column; `columns/profile.py` reads its values."""

    name: str
    numeric: bool
    kind: Kind | None = None
    """What its type suggests; where nobody says, numbers are numeric and all else is nominal."""
    text: bool = False
    """Whether its values are texts."""
    levels: tuple[Any, ...] | None = None
    """The order of its levels, where its labels tell that it is ordinal."""

    @property
    def suggested(self) -> Kind:
        """The kind that a column has unless somebody says otherwise."""
        return self.kind or (Kind.NUMERIC if self.numeric else Kind.NOMINAL)


ROLES_INSTEAD = {"keep": "keep", "drop": "identifier"}
OF_WEIGHT = ("mean", *ROLES_INSTEAD)
"""What can be released of the weight: its group's mean, itself, nothing."""


@dataclass(frozen=True)
class ColumnSettings:
    """Options of single columns, by name; `kind_parameters.column_settings` validates and builds
    them.

    >>> ColumnSettings(kinds={"sex": Kind.NOMINAL}).kinds["sex"].value
    'nominal'
    """

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """By kinds, nominal or ordinal: what wins over the type."""
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """The levels of ordinal columns whose order was declared."""
    importance: Mapping[str, float] = field(default_factory=dict)
    aggregate: Mapping[str, str] = field(default_factory=dict)
    hierarchy: Mapping[str, Hierarchy] = field(default_factory=dict)
    special: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    na: tuple[str, ...] = ()


def assign_roles(
    facts: Sequence[ColumnFacts],
    wanted: Mapping[Role, Iterable[str]],
    rest: str = REST.default,
    options: ColumnSettings | None = None,
) -> Schema:
    """The schema a user asks for. Every column needs exactly one role; `rest` may drop or keep the
    others.

    The `options` of single columns win over what their types suggest, and must fit the columns
    that there are.

    >>> facts = [ColumnFacts("age", True), ColumnFacts("town", False)]
    >>> assign_roles(facts, {Role.QUASI: ["age"]}, rest="keep").names(Role.KEEP)
    ['town']
    """
    rest = REST.parse(rest)
    roles = _roles_by_name([fact.name for fact in facts], wanted)
    without = [fact.name for fact in facts if fact.name not in roles]
    if without and rest == "error":
        raise InputError(
            sentence(
                f"no role was given to {list_names(without)}; name each as quasi, "
                "confidential, weight, stratum, unit, keep or identifier, or say ",
                Assignment("rest", "drop"),
                " or ",
                Assignment("rest", "keep"),
                ".",
            )
        )
    default = Role.KEEP if rest == "keep" else Role.IDENTIFIER
    columns = tuple(
        _resolved(fact, roles.get(fact.name, default), options or ColumnSettings())
        for fact in facts
    )
    if not any(column.role is Role.QUASI for column in columns):
        raise InputError(
            "no column is quasi-identifying, so there is nothing to protect; name some with quasi."
        )
    if options is not None:
        _check_unfitting(columns, options)
    return Schema(columns)


def _resolved(fact: ColumnFacts, role: Role, options: ColumnSettings) -> Column:
    by_labels = fact.levels if fact.name not in options.kinds else None
    levels = options.levels.get(fact.name, by_labels)
    if levels is not None and fact.numeric:
        levels = tuple(map(_as_number, levels))
    elif levels is not None and fact.text:
        levels = tuple(map(str, levels))
    kind = options.kinds.get(fact.name, fact.suggested)
    withheld = role is Role.WEIGHT and options.aggregate.get(fact.name) == "drop"
    return Column(fact.name, role, kind, levels, withheld)


def _as_number(level: Any) -> Any:
    """A level as it was typed, as the number that a column of numbers has for it."""
    if not isinstance(level, str):
        return level
    try:
        number = float(level)
    except ValueError:
        return level
    return int(number) if number.is_integer() else number


def _check_unfitting(columns: Sequence[Column], options: ColumnSettings) -> None:
    """Refuse what was said of columns that are not there, have another role, or are of another
    kind.
    """
    by_name = {column.name: column for column in columns}
    of_quasi = {
        "importance": options.importance,
        "aggregate": options.aggregate,
        "hierarchy": options.hierarchy,
    }
    of_any = {"kinds, nominal or ordinal": options.kinds, "special": options.special}
    for what, names in {**of_any, **of_quasi}.items():
        for name in names:
            if name not in by_name:
                raise InputError(
                    f"{what} names {name!r}, but there is no such column; "
                    f"{describe_columns(name, list(by_name))}."
                )
            if (
                by_name[name].role in WITHHELD
            ):  # everybody is told what is said of columns, and those not even by name
                raise InputError(
                    f"{what} names {name!r}, a column that is left out; remove it there."
                )
            weighs = what == "aggregate" and by_name[name].role is Role.WEIGHT
            if what in of_quasi and by_name[name].role is not Role.QUASI and not weighs:
                raise InputError(NO_QUASI.format(what, name))
    for name in options.special:
        _check_special(by_name[name])
    for name, how in options.aggregate.items():
        _check_aggregate(by_name[name], how, name in options.hierarchy)
    for name in options.hierarchy:
        _check_hierarchy(by_name[name], options.aggregate.get(name))


def _check_hierarchy(column: Column, aggregate: str | None) -> None:
    """Raise where a hierarchy has no use: it scales categories, and some aggregates need it."""
    from microagg.table.aggregates import AGGREGATES

    fitting = [name for name, entry in AGGREGATES.items() if entry.needs_hierarchy]
    if column.kind is not Kind.NOMINAL and aggregate not in fitting:
        raise InputError(
            sentence(
                f"column {column.name!r} is {column.kind}, and a hierarchy only works with "
                f"{' and '.join(fitting)} there; say ",
                Assignment("aggregate", {column.name: fitting[0]}),
                ", or leave the hierarchy out.",
            )
        )


def _check_special(column: Column) -> None:
    if column.role not in (Role.QUASI, Role.CONFIDENTIAL):
        raise InputError(
            f"special names {column.name!r}, which is neither quasi-identifying nor "
            f"confidential; leave it out."
        )
    if column.kind is Kind.NOMINAL:
        raise InputError(
            sentence(
                f"special names {column.name!r}, which is nominal: there every code is a "
                "category of its own; leave it out, or say ",
                Assignment("kinds", {column.name: "numeric"}),
                " if the other values are numbers.",
            )
        )


def _check_aggregate(column: Column, how: str, has_tree: bool) -> None:
    from microagg.table.aggregates import (
        AGGREGATES,  # which are declared for kinds, and so import this module
    )

    if column.role is Role.WEIGHT:
        if how not in OF_WEIGHT:
            raise InputError(
                f"column {column.name!r} is the weight, of which {how} cannot be released; "
                f"choose one of {', '.join(OF_WEIGHT)}."
            )
        return
    if how not in AGGREGATES:
        raise InputError(
            f"column {column.name!r} is no weight, and {how} is for weights only; give "
            f"it the role {ROLES_INSTEAD[how]} instead."
        )
    if column.kind not in AGGREGATES[how].kinds:
        fitting = [
            word
            for word, entry in AGGREGATES.items()
            if column.kind in entry.kinds and (has_tree or not entry.needs_hierarchy)
        ]
        raise InputError(
            f"column {column.name!r} is {column.kind}, and {how} is no aggregate for "
            f"that; choose one of {', '.join(fitting)}."
        )
    if AGGREGATES[how].needs_hierarchy and not has_tree:
        raise InputError(
            f"column {column.name!r} cannot be generalised without a hierarchy; give it "
            f"one with hierarchy."
        )


def _roles_by_name(names: Sequence[str], wanted: Mapping[Role, Iterable[str]]) -> dict[str, Role]:
    roles: dict[str, Role] = {}
    for role, chosen in wanted.items():
        for name in chosen:
            if name not in names:
                raise InputError(f"there is no column {name!r}; {describe_columns(name, names)}.")
            if roles.get(name, role) is not role:
                raise InputError(
                    f"column {name!r} was given two roles, {roles[name]} and {role}; choose one."
                )
            roles[name] = role
    return roles


def check_duplicates(names: Sequence[str]) -> None:
    """Column names must be told apart."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(
            f"the column name {twice[0]!r} occurs more than once; rename one of the columns."
        )
