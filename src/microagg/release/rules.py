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

COARSE = ("range", "generalise")


@dataclass(frozen=True)
class KeptRules:
    """The sums that a release keeps, and those that it does not."""

    sums: KeptSums = field(default_factory=KeptSums)
    """By the places of columns among the quasi-identifying ones."""
    found: tuple[Rule, ...] = ()
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
    declared = [Rule.parse(each) for each in settings.rules]
    for rule in declared:
        _check_declared(rule, records, variables, settings, by_column=by_column)
    counts, found = records.holding(declared)
    for rule, each in zip(declared, counts, strict=True):
        if each.missed:
            raise InputError(
                f"the rule {rule.text!r} does not hold in {each.missed:,} of "
                f"{each.complete:,} records; correct the table, or "
                "leave the rule out."
            )
    whys = [_obstacle(rule, variables, settings, by_column=by_column) for rule in found]
    lost = [(rule, why) for rule, why in zip(found, whys, strict=True) if why]
    names = [each.name for each in variables]
    rules = [*declared, *(rule for rule, why in zip(found, whys, strict=True) if not why)]
    sums, solved = KeptSums.of(
        [(relation_of(each, names), names.index(each.left)) for each in rules]
    )
    pairs = list(zip(rules, solved, strict=True))
    lost += [(rule, "it contradicts the others") for rule, each in pairs if each is False]
    kept = tuple(rule for rule, each in pairs[len(declared) :] if each)
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
    by_name = {each.name: each for each in variables}
    for name in rule.names:
        if name in settings.cap:
            return f"{name!r} is capped"
        how = aggregate_of(by_name[name], settings.aggregates).name
        if how != "mean":
            return f"groups release no mean of {name!r} ({how})"
    return ""


def notes_on_rules(kept: KeptRules) -> tuple[str, ...]:
    """Tell which sums were found and kept, and which are not kept."""
    notes = []
    if kept.found:
        notes.append(
            "sums found in the table, and kept by rounding their parts: "
            f"{'; '.join(each.text for each in kept.found)}"
        )
    notes += [
        f"the sum {rule.text} holds in the table but is not kept, because {why}"
        for rule, why in kept.lost
    ]
    return tuple(notes)


def released_variables(variables: Sequence[Variable], settings: Settings) -> list[ColumnEncoding]:
    """Return the columns of a release in which sums are looked for: plain numbers before and
    after.
    """
    # numbers that are held as text keep their markers of missing values
    na = tuple(map(str, settings.na))
    columns = (
        ColumnEncoding.of(variables[j])
        for j in plain_columns(variables)
        if aggregate_of(variables[j], settings.aggregates).name not in COARSE
    )
    return [replace(column, na=column.na or na) for column in columns]


def released_records(released: pa.Table, variables: Sequence[Variable]) -> Records:
    """Return the records of a released table, or of a part of one, read anew."""
    chosen = list(variables)
    return records_of(cells_in(released.select([each.name for each in chosen]), chosen))


def rules_as_data(settings: Settings, records: Records) -> list[dict[str, Any]]:
    """Return the sums of a release as manifests have them: declared ones, and all others that hold.

    What is told follows from the released table and the settings alone.
    """
    if settings.rules == (NO_RULES,):
        return []
    declared = [Rule.parse(each) for each in settings.rules]
    counts, found = records.holding(declared)
    told = [
        {"rule": rule.text, "declared": True, "records": each.complete, "missed": each.missed}
        for rule, each in zip(declared, counts, strict=True)
    ]
    new = independent(found, records.names, given=declared)
    return [*told, *({"rule": rule.text, "declared": False, "missed": 0} for rule in new)]
