"""Facts for the notes on a release in memory."""

from __future__ import annotations

from dataclasses import replace

from microagg.guarantees.k import Anonymity
from microagg.pipeline.note_facts import (
    capped_counts,
    with_cell_facts,
    with_group_facts,
    with_schema_facts,
    with_table_facts,
)
from microagg.pipeline.preparation import TablePlan
from microagg.pipeline.table_output import TableLoss, TableOutput
from microagg.release.note_columns import index_may_name, unchanged_profiles
from microagg.release.note_counts import dominated_columns
from microagg.release.note_facts import NoteFacts
from microagg.release.true_values import true_value_columns
from microagg.release.weighting import weight_facts
from microagg.table.columns.field_metadata import file_facts
from microagg.table.variable import Cells


def group_note_facts(
    plan: TablePlan, output: TableOutput, anonymity: Anonymity, capped: Cells
) -> NoteFacts:
    """Return the facts that compare groups with the cells that they release aggregates of."""
    weights = None if output.weighting is None else output.weighting.before
    return NoteFacts(
        plan.settings.k,
        len(plan.frame),
        dominated=dominated_columns(capped, output.labels, anonymity.labels, output.made, weights),
        capped=capped_counts(plan.capped),
        true_values=true_value_columns(capped, output.made),
        dropped_records=plan.dropped,
    )


def with_all_facts(
    facts: NoteFacts,
    plan: TablePlan,
    output: TableOutput,
    anonymity: Anonymity,
    lost: TableLoss,
    unique_records: int,
) -> NoteFacts:
    """Add all other facts; `unique_records` are those unique in all released columns."""
    schema, settings, arrow = plan.schema, plan.settings, output.arrow
    facts = with_group_facts(facts, anonymity, plan.attributes, plan.units, settings.promise)
    facts = with_cell_facts(facts, output.cells, output.made, settings, output.measured)
    facts = with_table_facts(facts, plan.source, arrow, schema, settings)
    facts = replace(
        facts,
        file=file_facts(plan.input.frame.to_native()),
        strata=None if plan.strata is None else plan.strata.facts(),
        weight=weight_facts(output.weighting, output.labels, arrow, schema, settings),
        index_may_name=index_may_name(plan.input.table),
        effects=output.effects,
        unique_records=unique_records,
    )
    losses, profiles = (lost.loss["IL"], lost.unrounded), unchanged_profiles(plan.frame, schema)
    return with_schema_facts(
        facts, schema, plan.space, losses, plan.rules, profiles, settings.accept_risk
    )
