"""Output of a table in memory: aggregate groups, verify the released table, measure its loss."""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.guarantees.k import Anonymity, verify
from microagg.methods.method import Grouping
from microagg.pipeline.choose_groups import loses_less, with_groups_of
from microagg.pipeline.preparation import TablePlan
from microagg.release.cells import confidential_of
from microagg.release.effects import ColumnEffect, effects_of
from microagg.release.measuring import loss_of
from microagg.release.strata import class_columns
from microagg.release.weighting import Weighting, weighted, weighting_of
from microagg.table.aggregate import Aggregated
from microagg.table.columns.arrow import release_unused_memory
from microagg.table.columns.field_metadata import with_metadata_of
from microagg.table.columns.frames import to_arrow
from microagg.table.columns.labels import with_labels_in_use
from microagg.table.encoder import Space
from microagg.table.schema import Role
from microagg.table.variable import Cells

_log = logging.getLogger(__name__)  # steps and numbers, never a value of the data


@dataclass(frozen=True)
class Groups:
    """Groups that a search formed, and those of a quick one to compare with, if there is one."""

    search: Grouping
    quick: Grouping | None = None


@dataclass(frozen=True)
class TableOutput:
    """Released table of a run in memory, with the records before it."""

    search: Grouping
    """The groups that are released."""
    cells: Cells
    """Quasi-identifiers before, without caps."""
    measured: Space
    """Space in which loss is measured: that of the search as it is without caps."""
    made: Aggregated
    weighting: Weighting | None
    released: nw.DataFrame[Any]
    arrow: pa.Table

    @functools.cached_property
    def effects(self) -> tuple[ColumnEffect, ...]:
        """Mean, total, spread and categories of each quasi-identifier before and after."""
        weights = self.weighting and (self.weighting.before, self.weighting.after)
        return effects_of(self.cells, self.made, weights)

    @property
    def labels(self) -> np.ndarray:
        """Group of each record."""
        return self.search.labels


@dataclass(frozen=True)
class TableLoss:
    """Information loss of a release in memory."""

    loss: dict[str, float]
    largest_share: float
    """Share of one class."""
    unrounded: float
    """IL as it would be without rounding."""


def aggregate_table(plan: TablePlan, groups: Groups) -> TableOutput:
    """Aggregate each group; of two groupings, take the one that loses less when released."""
    frame, schema, settings, cells = plan.frame, plan.schema, plan.settings, plan.cells
    assert cells is not None
    aggregation, search, quick = plan.aggregation, groups.search, groups.quick
    weighting = weighting_of(frame, schema, settings)
    capped = aggregation.capped(cells)
    measured = Space.fit(cells, settings.scale, settings.importance) if plan.capped else plan.space
    made = aggregation.aggregate(frame, cells, search.labels, weighting, capped=capped)
    if quick is not None:
        other = aggregation.aggregate(frame, cells, quick.labels, weighting, capped=capped)
        if loses_less(measured, cells, other, made):
            search, made = with_groups_of(search, quick), other
    weighting = weighted(weighting, search.labels, settings)
    weighting = weighting and weighting.with_totals(frame, schema, settings, cells, made)
    released = aggregation.released(frame, made, weighting)
    coarse = [variable.name for variable in made.cells.variables if variable.coarse]
    arrow = with_labels_in_use(with_metadata_of(to_arrow(released), plan.source, coarse))
    release_unused_memory()
    return TableOutput(search, cells, measured, made, weighting, released, arrow)


def verify_table(plan: TablePlan, output: TableOutput) -> Anonymity:
    """Verify all guarantees on the released table, whatever formed its groups."""
    schema, settings, arrow = plan.schema, plan.settings, output.arrow
    scope = settings.chosen_method.scope
    anonymity = verify(arrow, class_columns(schema, settings), settings.k, len(plan.frame), scope)
    confidential = confidential_of(arrow, schema.names(Role.CONFIDENTIAL), settings)
    findings = settings.promise.verify(
        anonymity.labels, len(anonymity.sizes), confidential, plan.units
    )
    _log.info(
        "verified %d classes, the smallest of %d records",
        len(anonymity.sizes),
        anonymity.sizes.min(),
    )
    return replace(anonymity, findings=findings)


def measure_loss(plan: TablePlan, output: TableOutput, anonymity: Anonymity) -> TableLoss:
    """Measure the information loss of the released table."""
    labels = output.labels
    classes = labels if labels.ndim == 2 else anonymity.labels
    return TableLoss(
        *loss_of(
            output.measured,
            output.cells,
            output.made,
            output.released,
            plan.settings,
            labels,
            classes,
        )
    )
