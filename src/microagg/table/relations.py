"""Records in which sums between columns are looked for, and the sums that hold in all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from microagg.table.linear import (
    Confirmed,
    KeptSums,
    Relation,
    RelationTotals,
    confirm,
    relation_of,
    rule_of,
)
from microagg.table.rules import Rule
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable


@dataclass(frozen=True)
class Records:
    """Records in which sums are looked for: a table in memory, chunks of one, or what was
    released.
    """

    names: list[str]
    """The columns of plain numbers."""
    singles: list[bool]
    totals: Callable[[], RelationTotals]
    confirmed: Callable[[Sequence[Relation]], list[Confirmed]]

    def holding(self, declared: Sequence[Rule]) -> tuple[list[Confirmed], list[Rule]]:
        """Return how declared rules fare, and the others that hold, those of fewer columns
        first.
        """
        relations = [relation_of(rule, self.names) for rule in declared]
        candidates = [] if len(self.names) < 2 else self.totals().candidates(self.singles)
        others = [entry for entry in candidates if entry not in relations]
        counts = self.confirmed([*relations, *others]) if relations or others else []
        holding = [
            rule_of(relation, self.names)
            for relation, entry in zip(others, counts[len(relations) :], strict=True)
            if entry.holds
        ]
        return counts[: len(relations)], holding


def plain_columns(variables: Sequence[Variable]) -> list[int]:
    """Return the places of columns of plain numbers."""
    return [
        j
        for j, variable in enumerate(variables)
        if variable.kind is Kind.NUMERIC
        and not variable.unit
        and not variable.origin
        and not variable.coarse
    ]


def records_of(cells: Cells) -> Records:
    """Return the records of a table in memory."""
    columns = plain_columns(cells.variables)
    chosen = [cells.variables[j] for j in columns]
    singles = [variable.single for variable in chosen]
    return Records(
        [variable.name for variable in chosen],
        singles,
        lambda: RelationTotals.of_chunk(cells.values, columns),
        lambda relations: confirm(cells.values, columns, relations, singles),
    )


def independent(
    rules: Sequence[Rule], names: Sequence[str], known: Sequence[Rule] = ()
) -> list[Rule]:
    """Return the rules that do not follow from those before them and from `given` ones.

    >>> rules = [Rule.parse(each) for each in ("a = b + c", "b = d + e", "a = c + d + e")]
    >>> [rule.text for rule in independent(rules, ["a", "b", "c", "d", "e"])]
    ['a = b + c', 'b = d + e']
    """
    every = [*known, *rules]
    _, solved = KeptSums.of(
        [
            (relation_of(rule_or_declared, names), list(names).index(rule_or_declared.left))
            for rule_or_declared in every
        ]
    )
    return [rule for rule, new in zip(rules, solved[len(known) :], strict=True) if new]
