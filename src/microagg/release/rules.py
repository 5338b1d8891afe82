"""Sums between quasi-identifying columns: which are declared or found, which are kept, and which
hold in a release.

Covered are sums and differences: one column is made of up to three others, each added or
subtracted, in all records without a gap in these columns. They must be plain numbers (no dates,
no numbers beyond 2**53) that are released as means and are not capped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from microagg.errors import InputError
from microagg.release.settings import Settings
from microagg.table.aggregates import aggregate_of
from microagg.table.columns.column_encoding import ColumnEncoding, cells_in
from microagg.table.linear import KeptSums, relation_of
from microagg.table.relations import Records, independent, plain_columns, records_of
from microagg.table.rules import NO_RULES, Rule
from microagg.table.variable import Variable


@dataclass(frozen=True)
class KeptRules:
    """The sums that a release keeps, and those that it does not."""

    sums: KeptSums = field(default_factory=KeptSums)
    """By the places of columns among the quasi-identifying ones."""
    detected: tuple[Rule, ...] = ()
    """Kept without having been declared."""
    lost: tuple[tuple[Rule, str], ...] = ()
    """Those that hold in the table and cannot be kept, each with the reason."""


def kept_rules(
    records: Records, variables: Sequence[Variable], settings: Settings, *, by_column: bool = False
) -> KeptRules:
    """Return the sums that a release keeps; refuse declared ones that do not hold or cannot be
    kept.

    `by_column` says that a method groups each column on its own.
    """
    if settings.rules == (NO_RULES,):
        return KeptRules()
    declared = [Rule.parse(text) for text in settings.rules]
    for rule in declared:
        _check_declared(rule, records, variables, settings, by_column=by_column)
    counts, detected = records.holding(declared)
    for rule, count in zip(declared, counts, strict=True):
        if count.missed:
            raise InputError(
                f"the rule {rule.text!r} does not hold in {count.missed:,} of "
                f"{count.complete:,} records; correct the table, or "
                "leave the rule out."
            )
    whys = [_obstacle(rule, variables, settings, by_column=by_column) for rule in detected]
    lost = [(rule, why) for rule, why in zip(detected, whys, strict=True) if why]
    names = [variable.name for variable in variables]
    rules = [*declared, *(rule for rule, why in zip(detected, whys, strict=True) if not why)]
    sums, solved = KeptSums.of(
        [(relation_of(rule, names), names.index(rule.left)) for rule in rules]
    )
    pairs = list(zip(rules, solved, strict=True))
    lost += [(rule, "it contradicts the others") for rule, solution in pairs if solution is False]
    kept = tuple(rule for rule, solution in pairs[len(declared) :] if solution)
    return KeptRules(sums, kept, tuple(lost))


def _check_declared(
    rule: Rule,
    records: Records,
    variables: Sequence[Variable],
    settings: Settings,
    *,
    by_column: bool,
) -> None:
    for name in rule.names:
        if name not in records.names:
            raise InputError(
                f"the rule {rule.text!r} names {name!r}, which is no quasi-identifying "
                "column of plain numbers; leave the rule out."
            )
    if why := _obstacle(rule, variables, settings, by_column=by_column):
        raise InputError(
            f"the rule {rule.text!r} cannot be kept, because {why}; leave one of both out."
        )


def _obstacle(
    rule: Rule, variables: Sequence[Variable], settings: Settings, *, by_column: bool
) -> str:
    """Return why a sum cannot be kept; empty where it can."""
    if by_column:
        return "the method groups each column on its own"
    by_name = {variable.name: variable for variable in variables}
    for name in rule.names:
        if name in settings.cap:
            return f"{name!r} is capped"
        entry = aggregate_of(by_name[name], settings.aggregates)
        if not entry.keeps_totals:
            return f"groups release no mean of {name!r} ({entry.name})"
    return ""


def released_variables(variables: Sequence[Variable], settings: Settings) -> list[ColumnEncoding]:
    """Return the columns of a release in which sums are looked for: plain numbers before and
    after.
    """
    # numbers that are held as text keep their markers of missing values
    na = tuple(map(str, settings.na))
    columns = (
        ColumnEncoding.of(variables[j])
        for j in plain_columns(variables)
        if not aggregate_of(variables[j], settings.aggregates).is_coarse
    )
    return [replace(column, na=column.na or na) for column in columns]


def released_records(released: pa.Table, variables: Sequence[Variable]) -> Records:
    """Return the records of a released table, or of a part of one, read anew."""
    chosen = list(variables)
    return records_of(cells_in(released.select([variable.name for variable in chosen]), chosen))


def rules_as_data(settings: Settings, records: Records) -> list[dict[str, Any]]:
    """Return the sums of a release as manifests have them: declared ones, and all others that hold.

    What is told follows from the released table and the settings alone.
    """
    if settings.rules == (NO_RULES,):
        return []
    declared = [Rule.parse(text) for text in settings.rules]
    counts, detected = records.holding(declared)
    declared_sums = [
        {"rule": rule.text, "declared": True, "records": count.complete, "missed": count.missed}
        for rule, count in zip(declared, counts, strict=True)
    ]
    new = independent(detected, records.names, known=declared)
    return [*declared_sums, *({"rule": rule.text, "declared": False, "missed": 0} for rule in new)]
