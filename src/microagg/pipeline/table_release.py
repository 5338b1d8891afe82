"""Release of a verified table in memory: its loss, its facts, its notes."""

from __future__ import annotations

from microagg.guarantees.k import Anonymity
from microagg.pipeline.preparation import TablePlan
from microagg.pipeline.table_notes import group_note_facts, with_all_facts
from microagg.pipeline.table_output import TableLoss, TableOutput, measure_loss
from microagg.proposal.codes import averaged_codes
from microagg.release.conversions import labelled_like
from microagg.release.exposure import exposure_of
from microagg.release.facts import ColumnOutcome, ReleaseFacts, SearchOutcome
from microagg.release.manifest import input_facts, internal_manifest
from microagg.release.measuring import can_be_read_again, is_table_of_numbers
from microagg.release.note_rules import notes_from
from microagg.release.release import Release
from microagg.release.risks import NAMED_COLUMNS
from microagg.release.rules import released_records, released_variables, rules_as_data
from microagg.release.true_values import (
    frequencies_in,
    risks_of_aggregates,
    risks_of_categories,
    single_categories,
)
from microagg.table.columns.frames import same_type
from microagg.table.columns.text_types import with_values
from microagg.table.schema import Role


def build_release(
    plan: TablePlan, output: TableOutput, anonymity: Anonymity, file: str | None, format: int
) -> Release:
    """Measure a verified table and put its release together."""
    settings, cells, search = plan.settings, output.cells, output.search
    capped = plan.aggregation.capped(cells)
    note_facts = group_note_facts(plan, output, anonymity, capped)
    singles, _ = single_categories(output.made, frequencies_in(capped))
    bound = search.bound and search.bound.about(capped, plan.schema.names(Role.QUASI), plan.space)
    del capped
    lost = measure_loss(plan, output, anonymity)
    facts = _facts(plan, output, anonymity, lost, file, format)
    unique = int(facts.exposure["all_columns"]["unique_records"])
    note_facts = with_all_facts(note_facts, plan, output, anonymity, lost, unique)
    risks = risks_of_aggregates(cells, settings.aggregates) + risks_of_categories(singles)
    risks += (NAMED_COLUMNS,) if note_facts.naming else ()
    plain = is_table_of_numbers(cells) and output.made.is_plain
    plain = plain and can_be_read_again(plan.frame, cells.names)
    return Release(
        labelled_like(same_type(output.released, plan.input.table), output.arrow), output.labels,
        lost.loss, internal_manifest(facts, format), plan.schema, anonymity,
        notes_from(note_facts), bound, search.stopped,
        _arrow=output.arrow, _original=plan.frame,
        _cells=None if plain else (cells, output.made.cells),
        _risks=risks,
        _units=plan.units,
        _averaged_codes=tuple(averaged_codes(cells, settings.columns)),
    )  # fmt: skip


def _facts(
    plan: TablePlan,
    output: TableOutput,
    anonymity: Anonymity,
    lost: TableLoss,
    file: str | None,
    format: int,
) -> ReleaseFacts:
    """Return the facts that manifests state."""
    settings, schema, arrow = plan.settings, plan.schema, output.arrow
    # the records are as large as the table, and measuring exposure needs the memory
    rules = rules_as_data(
        settings, released_records(arrow, released_variables(output.cells.variables, settings))
    )
    source = plan.source.rename_columns(list(plan.input.names))
    return ReleaseFacts(
        settings, schema, len(output.made), plan.space, ColumnOutcome.of(output.made),
        SearchOutcome.of(output.search), input_facts(source, file, format), lost.loss,
        lost.largest_share, anonymity, exposure_of(with_values(arrow), schema, anonymity),
        plan.capped, rules, plan.dropped,
        None if plan.strata is None else plan.strata.as_data(),
        None if output.weighting is None else output.weighting.as_data(), output.effects,
    )  # fmt: skip
