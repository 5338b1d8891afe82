"""Notes on a release made beyond memory: the sentences of `protect`, from facts that blocks and
passes have counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from microagg.pipeline.block_output import BlockOutputConfig
from microagg.pipeline.block_plan import GroupingResult, TaskContext
from microagg.pipeline.figures import FigureInputs
from microagg.pipeline.loss import SpaceLoss
from microagg.release.notes_on_columns import (
    notes_on_columns,
    notes_on_encoding,
    notes_on_numbers_as_text,
    notes_on_precision,
)
from microagg.release.notes_on_gaps import notes_on_unknown
from microagg.release.notes_on_names import notes_on_looks
from microagg.release.notes_on_texts import note_on_formulas
from microagg.release.risks import dominance_counts, notes_on_dominance
from microagg.release.rules import notes_on_rules
from microagg.release.shared_values import note_on_shared
from microagg.release.strata import notes_on_sizes
from microagg.release.weighting import notes_on_weighting
from microagg.table.aggregates import aggregate_of
from microagg.table.capping import Capped, note_on_capped
from microagg.table.columns.profile import ColumnProfile, ProfileStats
from microagg.table.schema import Kind
from microagg.table.variable import Variable

if TYPE_CHECKING:
    from microagg.pipeline.out_of_core import OutOfCoreRun


def out_of_core_notes(
    run: OutOfCoreRun,
    layout: TaskContext,
    finishing: BlockOutputConfig,
    grouped: GroupingResult,
    manifest: Mapping[str, Any],
    measured: FigureInputs,
    capped: dict[str, Capped],
    strata: np.ndarray | None,
    looks: Sequence[ColumnProfile],
) -> tuple[str, ...]:
    """All that can be told, in the order of `protect`."""
    settings, told = run.settings, [each["measured"] for each in grouped.pieces]
    notes = notes_on_dominance(
        _dominated(layout.variables, settings.aggregates, measured, told), settings.k
    )
    notes += note_on_capped(capped)
    gaps = [
        each.name for each in layout.variables if each.kind is not Kind.NOMINAL and _has_atoms(each)
    ]
    names = [each.name for each in layout.variables]
    space = layout.spaces[0]
    notes += notes_on_encoding(
        names, gaps, space, settings.scale, 0, _alike(layout.variables, told, measured)
    )
    notes += notes_on_numbers_as_text(layout.variables, settings)
    totals = grouped.totals.by_space(layout.spaces)[0]
    plain = [{"sse": each["unrounded"], "within": [], "one": None} for each in told]
    unrounded = SpaceLoss.of(space, totals, plain).il
    notes += notes_on_columns(run.schema, layout.space, manifest["loss"]["IL"], unrounded)
    decimals = [each["decimals"] for each in manifest["scaling"].values()]
    notes += notes_on_precision(names, decimals, [each.reason for each in finishing.precisions])
    notes += notes_on_rules(run.rules)
    notes += _shared(told, measured)
    formulas = {name for each in told for name in each["formulas"]}
    notes += note_on_formulas([name for name in run.schema.released() if name in formulas])
    if settings.promise.diversity is not None and layout.promised is not None:
        unknown = {
            each.name: int(each.counts[each.known :].sum()) for each in layout.promised.columns
        }
        notes += notes_on_unknown(unknown, layout.records)
    if strata is not None:
        notes += notes_on_sizes(strata, settings.k)
    return notes + _weights(settings, grouped, told, manifest, measured) + notes_on_looks(looks)


def different_values(told: Sequence[Mapping[str, Any]], facts: ProfileStats) -> int:
    """How many different values a column has, about: from those whose hash is low, which are all
    there are in a small table.
    """
    counts: dict[int, int] = {}
    for each in told:
        for value, count in zip(*each["low"].get(facts.name, ((), ())), strict=True):
            counts[value] = counts.get(value, 0) + count
    cells = sum(counts.values())
    return max(1, round(facts.values * len(counts) / cells)) if cells else min(1, facts.values)


def _has_atoms(column: Variable) -> bool:
    return bool(getattr(column, "has_atoms", bool(column.marks)))


def _dominated(
    variables: Sequence[Variable],
    how: Mapping[str, str],
    measured: FigureInputs,
    told: Sequence[Mapping[str, Any]],
) -> list[str]:
    found, facts = [], measured.facts
    for variable in variables:
        name = variable.name
        if name not in facts.dominated or aggregate_of(variable, how).name != "mean":
            continue
        if facts.dominated[name] and not all(name in block["indicators"] for block in told):
            found.append(dominance_counts(name, facts.dominated[name], facts.averaged[name]))
    return found


def _alike(
    variables: Sequence[Variable], told: Sequence[Mapping[str, Any]], measured: FigureInputs
) -> list[list[str]]:
    """The names of columns that hold the same cells in all records, and more than one."""
    found: dict[tuple[int, Kind], list[str]] = {}
    constant = {variables[j].name for j in measured.scores.constant}
    for j, variable in enumerate(variables):
        total = sum(each["prints"][j] for each in told) % 2**64
        if variable.name not in constant:
            found.setdefault((total, variable.kind), []).append(variable.name)
    return [names for names in found.values() if len(names) > 1]


def _shared(told: Sequence[Mapping[str, Any]], measured: FigureInputs) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    for name, shared in measured.facts.sharing.items():
        different = {value for each in told for value in each["values"][name][0]}
        known = sum(each["values"][name][1] for each in told)
        one = known if len(different) == 1 else None
        notes += note_on_shared(name, shared, measured.facts.classes, one)
    return notes


def _weights(
    settings: Any,
    grouped: GroupingResult,
    told: Sequence[Mapping[str, Any]],
    manifest: Mapping[str, Any],
    measured: FigureInputs,
) -> tuple[str, ...]:
    found = manifest.get("weighting")
    if settings.weight is None or not found:
        return ()
    groups = sum(each["groups"] for each in grouped.pieces)
    alone = None
    if measured.aside.kept == (settings.weight,) and measured.kept is not None:
        alone = measured.kept.sizes.get(1, 0)
    heavy = sum(each["heavy"] for each in told), groups
    return notes_on_weighting(
        settings.weight,
        heavy,
        found["sum_changed_by"],
        found["totals_changed_by_percent"],
        alone,
        measured.records,
    )
