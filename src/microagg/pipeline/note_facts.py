"""Facts for the notes on a table in memory, and those that both ways of running share.

They fill in `NoteFacts`; `release.note_rules` makes the notes of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from microagg.guarantees.k import Anonymity
from microagg.guarantees.promise import Guarantees
from microagg.release.note_columns import formula_columns, label_facts, naming_columns
from microagg.release.note_counts import (
    approximated_columns,
    columns_with_gaps,
    equal_columns,
    numbers_as_text,
    records_without_value,
    rounded_columns,
    shared_value_columns,
    unit_facts,
)
from microagg.release.note_facts import (
    NoteFacts,
)
from microagg.release.risks import NAMED_COLUMNS
from microagg.release.rules import KeptRules
from microagg.release.settings import Settings
from microagg.table.aggregate import Aggregated
from microagg.table.capping import Capped
from microagg.table.columns.field_metadata import columns_with_values_like_markers
from microagg.table.columns.profile import ColumnProfile
from microagg.table.confidential import Attribute
from microagg.table.encoder import Space
from microagg.table.schema import Role, Schema
from microagg.table.variable import Cells


def with_group_facts(
    facts: NoteFacts,
    anonymity: Anonymity,
    attributes: Sequence[Attribute],
    units: Attribute | None,
    promise: Guarantees,
) -> NoteFacts:
    """Add the counts of classes, units and confidential values of a table in memory."""
    unprotected = 0
    if anonymity.scope == "column" and not anonymity.holds:
        unprotected = int(anonymity.sizes[anonymity.failing].sum())
    unknown = {} if promise.diversity is None else records_without_value(attributes)
    return replace(
        facts,
        unprotected_records=unprotected,
        shared_values=shared_value_columns(anonymity.labels, attributes),
        spellings={attribute.name: attribute.spellings for attribute in attributes},
        similar_texts={attribute.name: attribute.similar for attribute in attributes},
        records_without_value=unknown,
        units=unit_facts(units, facts.k),
    )


def with_cell_facts(
    facts: NoteFacts, cells: Cells, made: Aggregated, settings: Settings, measured: Space
) -> NoteFacts:
    """Add the facts of quasi-identifying cells in memory; `measured` is the space of the loss."""
    return replace(
        facts,
        scale=settings.scale,
        columns_with_gaps=columns_with_gaps(cells),
        approximated=approximated_columns(cells.names, measured),
        equal_columns=equal_columns(cells),
        numbers_as_text=numbers_as_text(cells.variables, settings.columns.kinds),
        rounded=rounded_columns(cells.names, made.decimals, made.reasons),
    )


def with_table_facts(
    facts: NoteFacts, source: pa.Table, released: pa.Table, schema: Schema, settings: Settings
) -> NoteFacts:
    """Add the facts of a table that was read into memory, and of what is released of it."""
    return replace(
        facts,
        labels=label_facts(source, schema, settings),
        values_like_markers=columns_with_values_like_markers(source),
        formulas=formula_columns(released),
    )


def with_schema_facts(
    facts: NoteFacts,
    schema: Schema,
    space: Space,
    losses: tuple[float, float],
    rules: KeptRules,
    profiles: Sequence[ColumnProfile],
    accepted: Sequence[str] = (),
) -> NoteFacts:
    """Add the facts that both ways of running know alike.

    `space` is the one that groups were formed in, `losses` are IL as released and unrounded,
    `profiles` are those of the columns that are released as they are, `accepted` the risks that
    settings accept.
    """
    quasi = schema.names(Role.QUASI)
    naming, unique = naming_columns(profiles)
    return replace(
        facts,
        constant=[quasi[j] for j in space.constant],
        loss=losses[0],
        loss_unrounded=losses[1],
        kept=schema.names(Role.KEEP),
        rules_found=[rule.text for rule in rules.detected],
        rules_lost=[(rule.text, reason) for rule, reason in rules.lost],
        naming=naming,
        names_accepted=NAMED_COLUMNS in accepted,
        nearly_unique=unique,
    )


def capped_counts(capped: Mapping[str, Capped]) -> dict[str, int]:
    """Count the values that a cap changed, by column.

    >>> capped_counts({"income": Capped(None, 5.0, 0, 3)})
    {'income': 3}
    """
    return {name: column.below + column.above for name, column in capped.items()}
