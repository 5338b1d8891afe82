"""What each column of a table is for (its role) and what its values are like (its kind)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from microagg.errors import InputError
from microagg.table.parameters import Choice


class Role(StrEnum):
    """What a column is for."""

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    CONFIDENTIAL = "confidential"
    WEIGHT = "weight"
    STRATUM = "stratum"
    KEEP = "keep"


class Kind(StrEnum):
    """What the values of a column are like."""

    NUMERIC = "numeric"
    ORDINAL = "ordinal"
    NOMINAL = "nominal"


@dataclass(frozen=True)
class Column:
    """One column: its name, role and kind; for ordinal and nominal columns the levels, in order if they have one.

    >>> Column("age", Role.QUASI, Kind.NUMERIC).role.value
    'quasi'
    """

    name: str
    role: Role
    kind: Kind
    levels: tuple[str, ...] | None = None


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
        return [column.name for column in self.columns if column.role is not Role.IDENTIFIER]


REST = Choice("rest", ("error", "drop", "keep"), "error", "What happens to columns without a role.")


@dataclass(frozen=True)
class ColumnFacts:
    """What a look at a column tells: enough to propose a role, nothing of single values."""

    name: str
    numeric: bool
    distinct: int | None
    """How many different values there are; None if nobody counted."""
    records: int


ID_WORDS = ("id", "name", "nr", "no", "number", "code", "key", "ssn", "email", "phone", "uuid")


def propose(facts: Sequence[ColumnFacts]) -> Schema:
    """A schema to confirm: numbers are quasi-identifiers, unique texts identifiers, other texts confidential.

    >>> schema = propose([ColumnFacts("name", False, 90, 90), ColumnFacts("age", True, 40, 90)])
    >>> [column.role.value for column in schema.columns]
    ['identifier', 'quasi']
    """
    return Schema(tuple(_propose_column(fact) for fact in facts))


def _propose_column(fact: ColumnFacts) -> Column:
    words = fact.name.replace("-", "_").replace(".", "_").lower().split("_")
    sounds_like_id = words[-1] in ID_WORDS or words[0] in ID_WORDS
    nearly_unique = fact.records > 1 and (fact.distinct or 0) >= 0.95 * fact.records
    if nearly_unique and (sounds_like_id or not fact.numeric):
        role = Role.IDENTIFIER
    else:
        role = Role.QUASI if fact.numeric else Role.CONFIDENTIAL
    return Column(fact.name, role, Kind.NUMERIC if fact.numeric else Kind.NOMINAL)


def assign_roles(
    facts: Sequence[ColumnFacts], wanted: Mapping[Role, Iterable[str]], rest: str = REST.default
) -> Schema:
    """The schema a user asks for. Every column needs exactly one role; `rest` may drop or keep the others.

    >>> facts = [ColumnFacts("age", True, 40, 90), ColumnFacts("town", False, 9, 90)]
    >>> assign_roles(facts, {Role.QUASI: ["age"]}, rest="keep").names(Role.KEEP)
    ['town']
    """
    rest = REST.parse(rest)
    roles = _roles_by_name([fact.name for fact in facts], wanted)
    without = [fact.name for fact in facts if fact.name not in roles]
    if without and rest == "error":
        listed = ", ".join(repr(name) for name in without)
        raise InputError(
            f"no role was given to {listed}; name each as quasi, confidential, keep or identifier, "
            "or say rest='drop' or rest='keep'."
        )
    default = Role.KEEP if rest == "keep" else Role.IDENTIFIER
    columns = tuple(
        Column(fact.name, roles.get(fact.name, default), Kind.NUMERIC if fact.numeric else Kind.NOMINAL)
        for fact in facts
    )
    if not any(column.role is Role.QUASI for column in columns):
        raise InputError(
            "no column is quasi-identifying, so there is nothing to protect; name some with quasi."
        )
    return Schema(columns)


def _roles_by_name(names: Sequence[str], wanted: Mapping[Role, Iterable[str]]) -> dict[str, Role]:
    roles: dict[str, Role] = {}
    for role, chosen in wanted.items():
        for name in chosen:
            if name not in names:
                raise InputError(f"there is no column {name!r}; the table has {', '.join(map(repr, names))}.")
            if roles.get(name, role) is not role:
                raise InputError(
                    f"column {name!r} was given two roles, {roles[name]} and {role}; choose one."
                )
            roles[name] = role
    return roles


def refuse_duplicates(names: Sequence[str]) -> None:
    """Column names must be told apart."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"the column name {twice[0]!r} occurs more than once; rename one of the columns.")
