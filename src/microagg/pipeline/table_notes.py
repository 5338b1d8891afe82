"""Notes on a release in memory, in the order in which they are shown."""

from __future__ import annotations

from microagg.guarantees.k import Anonymity
from microagg.pipeline.preparation import TablePlan
from microagg.pipeline.table_output import TableLoss, TableOutput
from microagg.release.notes_on_columns import (
    notes_on_cells,
    notes_on_columns,
    notes_on_markers,
    notes_on_numbers_as_text,
    notes_on_precision,
    warning_of_single_columns,
)
from microagg.release.notes_on_gaps import notes_on_gaps
from microagg.release.notes_on_labels import notes_on_labels
from microagg.release.notes_on_names import note_on_index, notes_on_names
from microagg.release.notes_on_texts import notes_on_texts
from microagg.release.notes_on_units import notes_on_units
from microagg.release.risks import notes_on_disclosure
from microagg.release.rules import notes_on_rules
from microagg.release.shared_values import notes_on_shared_values
from microagg.release.strata import notes_on_strata
from microagg.release.true_values import notes_on_true_values
from microagg.release.weighting import notes_on_weights
from microagg.table.capping import note_on_capped
from microagg.table.columns.field_metadata import notes_of
from microagg.table.schema import Role
from microagg.table.variable import Cells


def notes_on_groups(
    plan: TablePlan, output: TableOutput, anonymity: Anonymity, capped: Cells
) -> tuple[str, ...]:
    """Return the notes that compare groups with the cells that they release aggregates of."""
    weights = None if output.weighting is None else output.weighting.before
    notes = notes_on_disclosure(
        plan.settings.k, capped, output.labels, anonymity.labels, output.made, weights
    )
    return notes + note_on_capped(plan.capped) + notes_on_true_values(capped, output.made)


def notes_on_table(
    plan: TablePlan, output: TableOutput, anonymity: Anonymity, lost: TableLoss
) -> tuple[str, ...]:
    """Return all other notes."""
    schema, settings, k, made = plan.schema, plan.settings, plan.settings.k, output.made
    cells, arrow, attributes = output.cells, output.arrow, plan.attributes
    notes = notes_of(plan.input.frame.to_native()) + notes_on_labels(plan.source, schema, settings)
    notes += notes_on_cells(cells, output.measured, settings, plan.dropped)
    notes += notes_on_markers(plan.source) + notes_on_numbers_as_text(cells.variables, settings)
    notes += notes_on_columns(schema, plan.space, lost.loss["IL"], lost.unrounded)
    notes += notes_on_precision(schema.names(Role.QUASI), made.decimals, made.reasons)
    notes += notes_on_rules(plan.rules) + notes_on_shared_values(anonymity.labels, attributes)
    notes += notes_on_texts(attributes, arrow) + notes_on_gaps(settings.promise, attributes)
    notes += notes_on_units(plan.units, k) + notes_on_strata(plan.strata, k)
    notes += notes_on_weights(output.weighting, output.labels, arrow, schema, settings)
    return notes + notes_on_names(plan.frame, schema) + note_on_index(plan.input.table)


def with_warning(notes: tuple[str, ...], anonymity: Anonymity) -> tuple[str, ...]:
    """Return the notes, led by a warning where k holds for each column alone only."""
    if anonymity.scope == "column" and not anonymity.holds:
        return (warning_of_single_columns(anonymity), *notes)
    return notes
