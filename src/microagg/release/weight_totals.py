"""Weighted totals of columns before and after a release, and by how much they changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from microagg.kernels import partial_sums, sums
from microagg.release.settings import Settings
from microagg.table.aggregate import Aggregated
from microagg.table.columns.cells import cells_of
from microagg.table.reduction import Reduction
from microagg.table.schema import Kind, Role, Schema
from microagg.table.variable import Cells, Variable

Parts = list[float]
"""A sum in three parts, whose result does not depend on the order of its terms."""
OF_WEIGHTS = ""
"""Name under which the sum of the weights themselves is kept."""


@dataclass(frozen=True)
class WeightTotals(Reduction):
    """Weighted totals of numeric columns; empty where no weights are released.

    Confidential and kept columns are included, and quasi-identifiers, whose totals change by
    rounding, by gaps and where groups release no means.
    """

    totals: dict[str, list[Parts]] = field(default_factory=dict)
    """By column the total before and the total after; "" has the sums of the weights."""

    @classmethod
    def of_chunk(
        cls,
        frame: nw.DataFrame[Any],
        schema: Schema,
        settings: Settings,
        weights: tuple[np.ndarray, np.ndarray | None],
        cells: Cells,
        made: Aggregated,
    ) -> WeightTotals:
        """Sum up some records; `weights`, and `cells` with `made`, are those before and after."""
        before, after = weights
        if after is None:
            return cls()
        pairs: dict[str, list[Parts | None]] = {}
        options = settings.columns
        for column in schema.columns:
            if column.role in (Role.CONFIDENTIAL, Role.KEEP) and column.kind is Kind.NUMERIC:
                values = cells_of(frame, [column], special=options.special, na=options.na)
                pairs[column.name] = [_total(values, 0, before), _total(values, 0, after)]
        released = made.cells
        for j, name in enumerate(cells.names):
            if not released.variables[j].coarse:
                pairs[name] = [_total(cells, j, before), _total(released, j, after)]
        totals = {OF_WEIGHTS: [_parts(before), _parts(after)]}
        for name, (first, second) in pairs.items():
            if first is not None and second is not None:
                totals[name] = [first, second]
        return cls(totals)

    def combine(self, other: WeightTotals) -> WeightTotals:
        """Add the totals of other records."""
        totals = dict(self.totals)
        for name, pair in other.totals.items():
            totals[name] = (
                [_added(*parts) for parts in zip(totals[name], pair, strict=True)]
                if name in totals
                else pair
            )
        return WeightTotals(totals)

    @property
    def change(self) -> float:
        """Relative change of the sum of the weights."""
        if not self.totals:
            return 0.0
        before, after = self.totals[OF_WEIGHTS]
        return _rounded(after) / _rounded(before) - 1.0

    @property
    def percents(self) -> dict[str, float]:
        """Change of the total of each column in percent; without totals that were 0.

        >>> weights = [[5.0, 0.0, 0.0], [5.0, 0.0, 0.0]]
        >>> WeightTotals({"": weights, "age": [[50.0, 0.0, 0.0], [51.0, 0.0, 0.0]]}).percents
        {'age': 2.0}
        """
        changes = {}
        for name, (first, second) in self.totals.items():
            before, after = _rounded(first), _rounded(second)
            if name != OF_WEIGHTS and before != 0.0:
                changes[name] = 100.0 * (after - before) / abs(before)
        return changes

    def finish(self) -> dict[str, Any]:
        """Return the changes as the internal manifest states them."""
        return {"sum_changed_by": self.change, "totals_changed_by_percent": self.percents}


def _total(cells: Cells, column: int, weights: np.ndarray) -> Parts | None:
    """Return the weighted total of a column; None where it has none: dates, categories."""
    variable: Variable = cells.variables[column]
    if variable.kind is not Kind.NUMERIC or variable.unit:
        return None
    values = cells.values[:, column] + float(variable.origin)
    present = ~np.isnan(values)
    return _parts(values[present] * weights[present])


def _parts(numbers: np.ndarray) -> Parts:
    return sums.column_sums(np.ascontiguousarray(numbers).reshape(-1, 1))[:, 0].tolist()


def _added(one: Parts, other: Parts) -> Parts:
    total = np.array(one).reshape(3, 1)
    partial_sums.add_sums(total, np.array(other).reshape(3, 1))
    return total[:, 0].tolist()


def _rounded(parts: Parts) -> float:
    return sums.rounded(np.array(parts).reshape(3, 1), 0)
