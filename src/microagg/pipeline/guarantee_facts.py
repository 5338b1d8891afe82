"""Guarantees of a table that is read in chunks, and the strata that cannot keep them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.pipeline.confidential_codes import (
    GuaranteeContext,
    guarantee_context,
    lacking_in_strata,
)
from microagg.pipeline.strata_plan import StrataCodes
from microagg.pipeline.units import CountedUnits, UnitColumn
from microagg.release.cells import confidential_of
from microagg.release.settings import Settings
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.columns.categories import used_among, with_categories
from microagg.table.confidential import Attribute
from microagg.table.ordering import ValueFrequencies
from microagg.table.schema import Role, Schema


def unit_in(passes: ChunkMap, schema: Schema, settings: Settings) -> UnitColumn | None:
    """The column of units, if there is one."""
    name = schema.one(Role.UNIT)
    if name is None:
        return None
    return UnitColumn(passes.source.schema.field(name), tuple(settings.columns.na))


def units_of_records(
    passes: ChunkMap, schema: Schema, settings: Settings, strata: StrataCodes | None = None
) -> CountedUnits | None:
    """The units of a table, if they are asked for; refused where a record has none."""
    unit, required = unit_in(passes, schema, settings), settings.promise.units
    return (
        None
        if unit is None or required is None
        else CountedUnits.of(passes, unit, required, strata)
    )


def count_confidential(
    passes: ChunkMap,
    schema: Schema,
    settings: Settings,
    strata: StrataCodes | None,
    memory: int,
    categories: Mapping[str, pa.Array],
    *,
    may_be_impossible: bool = False,
) -> tuple[GuaranteeContext | None, np.ndarray]:
    """Return the guarantees by the values of the whole table, and (strata,) the shortfall of each
    stratum; raise where no grouping can keep them.

    `categories` are those of all columns that have some, whose kind and order depend on that. With
    `may_be_impossible` strata are looked at all the same, because those that are not able to keep
    it are going to be left out.
    """
    strata_in_all = 0 if strata is None else len(strata.codes)
    if not settings.promise:
        return None, np.zeros(strata_in_all)

    def read(cells: pa.Table, standing: ValueFrequencies) -> tuple[Attribute, ...]:
        kinds: dict[str, Any] = {
            name: passes.source.schema.field(name).type
            for name in cells.column_names
            if name in categories
        }
        used = {
            name: used_among(categories[name], cells.column(name), ordered=kind.ordered)
            for name, kind in kinds.items()
        }
        return confidential_of(
            with_categories(cells, kinds, used), cells.column_names, settings, standing
        )

    promise, unit = settings.promise, unit_in(passes, schema, settings)
    units = units_of_records(passes, schema, settings, strata)
    promised = guarantee_context(
        passes, promise, schema.names(Role.CONFIDENTIAL), read, memory, unit
    )
    if not may_be_impossible:
        promised.check_impossible()
    lacking = np.zeros(strata_in_all)
    if units is not None and promise.units is not None:
        if not may_be_impossible:
            units.check_impossible(promise.units)
        if strata is not None:
            lacking += units.lacking(promise.units)
    if strata is not None:
        lacking += lacking_in_strata(passes, strata, promised, memory)
    return promised, lacking
