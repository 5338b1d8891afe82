"""Sampling weights: means are weighted by them, and each record gets its group's mean weight, so
that weighted totals stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.formatting import listed
from microagg.guarantees.k import class_labels
from microagg.release.settings import Settings
from microagg.release.strata import class_columns
from microagg.release.weight_totals import WeightTotals
from microagg.table.aggregate import Aggregated, WholeTable, aggregated
from microagg.table.columns.cells import cells_of
from microagg.table.columns.dtypes import ColumnContext, restore_column
from microagg.table.grouping import Groups
from microagg.table.schema import Column, Kind, Role, Schema
from microagg.table.variable import Cells

# relatively: from here on it is told that rounding changed the sum of the weights
TOTAL_CHANGED = 1e-6
TOLD = 0.05  # percent: rounding alone changes weighted totals of means by less, as a rule


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
        """Add the weighted totals; `cells` and `made` are the quasi-identifiers before and after."""
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
    """The weights, if there are any: numbers above 0, else an error that names column and row."""
    column = next((each for each in schema.columns if each.role is Role.WEIGHT), None)
    if column is None:
        return None
    asked = settings.columns
    cells = cells_of(frame, [column], special=asked.special, na=asked.na)
    variable = cells.variables[0]
    if column.kind is not Kind.NUMERIC or variable.unit or variable.kind is not Kind.NUMERIC:
        raise InputError(
            f"the weight {column.name!r} does not hold numbers; weights are numbers above 0."
        )
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
                "above 0: leave such records out, or mend them."
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
    """The column of weights as it is released, where that is not as it was: in the type that came
    in.
    """
    if weighting is None or weighting.made is None:
        return []
    made = weighting.made.cells
    given, name = frame[weighting.name], weighting.name
    return [
        restore_column(
            given, made.variables[0], made.values[:, 0], None, whole=whole, known=known.get(name)
        )
    ]


def notes_on_weights(
    weighting: Weighting | None,
    labels: np.ndarray,
    arrow: pa.Table,
    schema: Schema,
    settings: Settings,
) -> tuple[str, ...]:
    """What the data holder should know of the weights. For inside eyes only; names no value."""
    if weighting is None:
        return ()
    groups, alone = Groups.of(labels), None
    if weighting.becomes == "keep":
        alone = _singled_out(arrow, [*class_columns(schema, settings), weighting.name])
    heavy = heavy_groups(weighting.before, groups), groups.count
    return notes_on_weighting(
        weighting.name, heavy, weighting.change, weighting.totals, alone, arrow.num_rows
    )


def notes_on_weighting(
    name: str,
    heavy_of: tuple[int, int],
    change: float,
    totals: Mapping[str, float],
    alone: int | None,
    records: int,
) -> tuple[str, ...]:
    """The same from facts: in how many of all groups one record is heavy, by how much sums change,
    how many stand alone with a kept weight.

    >>> notes_on_weighting("w", (0, 5), 0.0, {}, None, 25)
    ()
    """
    notes, (heavy, groups) = [], heavy_of
    if heavy:
        notes.append(
            f"one record has more than half of the weight, so that it all but decides "
            f"the means, in {heavy:,} of "
            f"{groups:,} groups; a larger k helps"
        )
    if abs(change) > TOTAL_CHANGED:
        notes.append(
            f"rounding the weights to the precision of {name!r} changed their sum by "
            f"{100.0 * change:+.2g} %; "
            "precision='full' avoids it"
        )
    told = [
        f"{each!r} {percent:+.1f} %" for each, percent in totals.items() if abs(percent) >= TOLD
    ]
    if told:
        notes.append(f"with the released weights, weighted totals change: {listed(told)}")
    if alone is not None:
        notes.append(
            f"the weight {name!r} is kept as it is, and with it {alone:,} of {records:,} "
            f"records stand alone; "
            f"aggregate={{{name!r}: 'mean'}} releases the mean of each group instead"
        )
    return tuple(notes)


def heavy_groups(weights: np.ndarray, groups: Groups) -> int:
    """In how many groups one record has more than half of the weight.

    >>> heavy_groups(np.array([1.0, 1.0, 1.0, 1.0, 3.0]), Groups.of(np.array([0, 0, 1, 1, 1])))
    1
    """
    totals = np.bincount(groups.labels, weights, groups.count)
    return int((2.0 * groups.largest(weights) > totals * (1.0 + 1e-12)).sum())


def _singled_out(table: pa.Table, names: list[str]) -> int:
    """How many records share the values of these columns with no other."""
    labels, classes = class_labels(table, names)
    return int((np.bincount(labels, minlength=classes) == 1).sum())
