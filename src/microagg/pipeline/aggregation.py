"""Aggregation step: from groups to released records, for a whole table or for one block of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np

from microagg.release.settings import Settings
from microagg.release.weighting import Weighting, released_weight
from microagg.table.aggregate import Aggregated, aggregated
from microagg.table.capping import Limits
from microagg.table.column_aggregate import WholeTable
from microagg.table.columns.dtypes import ColumnContext, canonical_column, restore_column
from microagg.table.columns.number_texts import texts_like
from microagg.table.encoder import Space
from microagg.table.linear import KeptSums
from microagg.table.schema import Role, Schema
from microagg.table.variable import Cells


@dataclass(frozen=True)
class Aggregation:
    """Specification of what groups release; for a part of a table, with facts of the whole."""

    schema: Schema
    settings: Settings
    space: Space
    """Space of the search, in which medoids are found."""
    limits: Limits | None = None
    """Caps: values beyond them are set to them before they are averaged."""
    kept: KeptSums | None = None
    """Sums between columns that rounding keeps."""
    whole: WholeTable | None = None
    """Facts of the whole table; None where the records are the whole table."""
    contexts: Mapping[str, ColumnContext] = field(default_factory=dict)
    """Facts of whole columns that decide how cells are written, for parts of a table."""

    def capped(self, cells: Cells) -> Cells:
        """Return the cells that groups release aggregates of."""
        return cells if self.limits is None else self.limits.cells(cells)

    def aggregate(
        self,
        frame: nw.DataFrame[Any],
        cells: Cells,
        labels: np.ndarray,
        weighting: Weighting | None = None,
        *,
        capped: Cells | None = None,
        numbers: np.ndarray | None = None,
    ) -> Aggregated:
        """Return what the groups of some records release of the quasi-identifiers.

        `frame` and `cells` are the records before; `capped` are the same cells within the caps,
        where these are at hand; `numbers` are those of the groups in the whole table.
        """
        settings, whole = self.settings, self.whole
        if whole is not None and numbers is not None:
            whole = replace(whole, group_numbers=numbers)
        return aggregated(
            self.capped(cells) if capped is None else capped, labels, how=settings.aggregates,
            precision=settings.precision, k=settings.k, seed=settings.seed or 0, space=self.space,
            exact=cells, texts=texts_like(frame), whole=whole,
            weights=None if weighting is None else weighting.before, kept=self.kept,
        )  # fmt: skip

    def released(
        self, frame: nw.DataFrame[Any], made: Aggregated, weighting: Weighting | None
    ) -> nw.DataFrame[Any]:
        """Return the released table of some records."""
        precision = self.settings.precision
        return released_frame(frame, self.schema, made, weighting, precision, self.contexts)


def released_frame(
    frame: nw.DataFrame[Any],
    schema: Schema,
    made: Aggregated,
    weighting: Weighting | None,
    precision: str,
    contexts: Mapping[str, ColumnContext] = {},
) -> nw.DataFrame[Any]:
    """Replace every quasi-identifier by its group's, in the types of the input; drop identifiers.

    Strata stay, but with one zero and one missing value: some readers would see further classes.
    `contexts` are needed where the frame is a part of a table.
    """
    cells, whole = made.cells, precision == "column"
    columns = [
        restore_column(
            frame[variable.name],
            variable,
            cells.values[:, j],
            cells.atoms_of(j),
            whole=whole,
            context=contexts.get(variable.name),
        )
        for j, variable in enumerate(cells.variables)
    ]
    columns += released_weight(frame, weighting, whole=whole, known=contexts)
    columns += [canonical_column(frame[name]) for name in schema.names(Role.STRATUM)]
    return frame.with_columns(*columns).select(*schema.released())
