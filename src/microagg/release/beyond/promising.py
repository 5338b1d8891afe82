"""What is promised of a table beyond memory, and which of its strata cannot keep it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from microagg.engine.passing import Passes
from microagg.engine.promises import Promised, lacking_in_strata, promised_of
from microagg.engine.territories import StrataCodes
from microagg.release.cells import confidential_of
from microagg.release.settings import Settings
from microagg.release.strata import refuse_strata
from microagg.table.confidential import Attribute
from microagg.table.io.categories import used_among, with_categories
from microagg.table.ordering import Standing
from microagg.table.schema import Role, Schema


def promised_in(
    passes: Passes, schema: Schema, settings: Settings, memory: int, categories: Mapping[str, pa.Array]
) -> Promised | None:
    """What is promised, by the values of the whole table; refused where no grouping can keep it.

    `categories` are those of all columns that have some, whose kind and order depend on that.
    """
    if not settings.promise:
        return None

    def read(cells: pa.Table, standing: Standing) -> tuple[Attribute, ...]:
        own = {
            name: used_among(categories[name], cells.column(name))
            for name in cells.column_names
            if name in categories
        }
        kinds = {name: passes.source.schema.field(name).type for name in own}
        return confidential_of(with_categories(cells, kinds, own), cells.column_names, settings, standing)

    promised = promised_of(passes, settings.promise, schema.names(Role.CONFIDENTIAL), read, memory)
    promised.refuse_impossible()
    return promised


def refuse_strata_in(
    passes: Passes,
    strata: StrataCodes,
    sizes: np.ndarray,
    promised: Promised | None,
    settings: Settings,
    memory: int,
) -> None:
    """Raise where a stratum has fewer than k records, or cannot keep what is promised."""
    lacking = np.zeros(len(sizes))
    if promised is not None:
        lacking = lacking_in_strata(passes, strata, promised, memory)
    refuse_strata(sizes, lacking, settings)
