"""Sampling weights: means are weighted by them, and each record gets its group's mean weight, so
that weighted totals are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.guarantees.k import class_labels
from microagg.release.note_facts import WeightFacts
from microagg.release.settings import Settings
from microagg.release.strata import class_columns
from microagg.release.weight_totals import WeightTotals
from microagg.table.aggregate import Aggregated, aggregated
from microagg.table.column_aggregate import WholeTable
from microagg.table.columns.cells import cells_of
from microagg.table.columns.dtypes import ColumnContext, restore_column
from microagg.table.grouping import Groups
from microagg.table.schema import Column, Kind, Role, Schema
from microagg.table.variable import Cells

# relatively: from here on it is told that rounding changed the sum of the weights

NO_NUMBERS = "the weight {!r} does not hold numbers; choose a column of numbers above 0."


@dataclass(frozen=True)
class Weighting:
    """The weights of a table, and those of its release."""

    name: str
    becomes: str
    """mean | keep | drop"""
    cells: Cells
    """The weights as the one column of a table."""
    made: Aggregated | None = None
    """What groups release of it, where that is their mean."""
    sums: WeightTotals = field(default_factory=WeightTotals)
    """Weighted totals of columns before and after."""

    @property
    def before(self) -> np.ndarray:
        """(n,): the weights."""
        return _numbers(self.cells, 0)

    @property
    def after(self) -> np.ndarray | None:
        """(n,): those that are released; None where none are."""
        if self.becomes == "drop":
            return None
        return self.before if self.made is None else _numbers(self.made.cells, 0)

    @property
    def change(self) -> float:
        """Relative change of the sum of the weights."""
        return self.sums.change

    @property
    def totals(self) -> dict[str, float]:
        """Change of the weighted total of each column, in percent."""
        return self.sums.percents

    def with_totals(
        self,
        frame: nw.DataFrame[Any],
        schema: Schema,
        settings: Settings,
        cells: Cells,
        made: Aggregated,
    ) -> Weighting:
        """Add weighted totals; `cells` and `made` are the quasi-identifiers before and after."""
        weights = self.before, self.after
        return replace(
            self, sums=WeightTotals.of_chunk(frame, schema, settings, weights, cells, made)
        )

    def as_data(self) -> dict[str, Any]:
        """Return the weighting as the internal manifest states it."""
        return {"aggregate": self.becomes, **self.sums.finish()}


def _numbers(cells: Cells, column: int) -> np.ndarray:
    return cells.values[:, column] + float(cells.variables[column].origin)


def weighting_of(frame: nw.DataFrame[Any], schema: Schema, settings: Settings) -> Weighting | None:
    """Return the weights, if there are any; raise with column and row where one is no number above
    0.
    """
    column = next(
        (candidate for candidate in schema.columns if candidate.role is Role.WEIGHT), None
    )
    if column is None:
        return None
    options = settings.columns
    cells = cells_of(frame, [column], special=options.special, na=options.na)
    variable = cells.variables[0]
    if column.kind is not Kind.NUMERIC or variable.unit or variable.kind is not Kind.NUMERIC:
        raise InputError(NO_NUMBERS.format(column.name))
    _check_where(column, cells.atoms_of(0), cells)
    return weighting_in(cells, settings)


def weighting_in(cells: Cells, settings: Settings) -> Weighting:
    """Return the weights of some records, which are the one column of `cells`."""
    return Weighting(cells.variables[0].name, settings.weight_becomes or "mean", cells)


def _check_where(column: Column, atoms: np.ndarray | None, cells: Cells) -> None:
    """Refuse weights that are missing, not finite or not above 0, with the row of the first."""
    gaps = np.zeros(len(cells), bool) if atoms is None else atoms >= 0
    numbers = np.where(gaps, 1.0, _numbers(cells, 0))
    for wrong, what in (
        (gaps, "is missing"),
        (~np.isfinite(numbers), "is not finite"),
        (numbers <= 0.0, "is not above 0"),
    ):
        if wrong.any():
            raise InputError(
                f"the weight {column.name!r} {what} in row {int(np.argmax(wrong)) + 1} "
                f"(header not counted); weights are numbers "
                "above 0: leave such records out, or correct them."
            )


def weighted(
    weighting: Weighting | None,
    labels: np.ndarray,
    settings: Settings,
    whole: WholeTable | None = None,
) -> Weighting | None:
    """Add what groups release of the weights; `whole` is needed for a part of a table."""
    if weighting is None or weighting.becomes != "mean":
        return weighting
    made = aggregated(
        weighting.cells, labels, precision=settings.precision, k=settings.k, whole=whole
    )
    return replace(weighting, made=made)


def released_weight(
    frame: nw.DataFrame[Any],
    weighting: Weighting | None,
    *,
    whole: bool,
    known: Mapping[str, ColumnContext] = {},
) -> list[nw.Series[Any]]:
    """Return the released column of weights in its original type; empty where it is unchanged or
    dropped.
    """
    if weighting is None or weighting.made is None:
        return []
    made = weighting.made.cells
    column, name = frame[weighting.name], weighting.name
    return [
        restore_column(
            column, made.variables[0], made.values[:, 0], None, whole=whole, context=known.get(name)
        )
    ]


def weight_facts(
    weighting: Weighting | None,
    labels: np.ndarray,
    released: pa.Table,
    schema: Schema,
    settings: Settings,
) -> WeightFacts | None:
    """Return the counts that notes on weights are made of; None without weights."""
    if weighting is None:
        return None
    groups, unique = Groups.of(labels), None
    if weighting.becomes == "keep":
        unique = _singled_out(released, [*class_columns(schema, settings), weighting.name])
    return WeightFacts(
        weighting.name,
        heavy_groups(weighting.before, groups),
        groups.count,
        weighting.change,
        weighting.totals,
        unique,
    )


def heavy_groups(weights: np.ndarray, groups: Groups) -> int:
    """Count the groups in which one record has more than half of the weight.

    >>> heavy_groups(np.array([1.0, 1.0, 1.0, 1.0, 3.0]), Groups.of(np.array([0, 0, 1, 1, 1])))
    1
    """
    totals = np.bincount(groups.labels, weights, groups.count)
    return int((2.0 * groups.largest(weights) > totals * (1.0 + 1e-12)).sum())


def _singled_out(table: pa.Table, names: list[str]) -> int:
    """Count the records that share the values of these columns with no other."""
    labels, classes = class_labels(table, names)
    return int((np.bincount(labels, minlength=classes) == 1).sum())
