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
from microagg.kernels import sums
from microagg.release.cells import read_cells
from microagg.release.settings import Settings
from microagg.release.strata import class_columns
from microagg.table.aggregate import Aggregated, aggregated
from microagg.table.columns.cells import cells_of
from microagg.table.columns.dtypes import ColumnContext, restore_column
from microagg.table.grouping import Groups
from microagg.table.schema import Column, Kind, Role, Schema
from microagg.table.variable import Cells, Variable

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
    totals: dict[str, float] = field(default_factory=dict)
    """By how much weighted totals of columns have changed, in percent."""

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
        """By how much their sum has changed, relatively."""
        after = self.after
        return 0.0 if after is None else _sum(after) / _sum(self.before) - 1.0

    def with_totals(
        self, frame: nw.DataFrame[Any], schema: Schema, settings: Settings, made: Aggregated
    ) -> Weighting:
        """The same with what became of weighted totals; `made` is what groups release of the
        quasi-identifiers.
        """
        return replace(self, totals=_totals_changed(frame, schema, settings, self, made))

    def as_data(self) -> dict[str, Any]:
        """What the internal manifest keeps."""
        return {
            "aggregate": self.becomes,
            "sum_changed_by": self.change,
            "totals_changed_by_percent": dict(self.totals),
        }


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
    return Weighting(column.name, settings.weight_becomes or "mean", cells)


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
    weighting: Weighting | None, labels: np.ndarray, settings: Settings
) -> Weighting | None:
    """The same with what the groups release of the weights."""
    if weighting is None or weighting.becomes != "mean":
        return weighting
    made = aggregated(weighting.cells, labels, precision=settings.precision, k=settings.k)
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


def _totals_changed(
    frame: nw.DataFrame[Any],
    schema: Schema,
    settings: Settings,
    weighting: Weighting,
    made: Aggregated,
) -> dict[str, float]:
    """By how many percent the weighted totals of numeric columns change, by their names: those of
    confidential and kept columns, and of quasi-identifiers, which change by rounding, by gaps and
    where they are no means. Empty where no weights are released.
    """
    cells = read_cells(frame, schema, settings)
    return percents_of(summed_totals(frame, schema, settings, weighting, cells, made))


def summed_totals(
    frame: nw.DataFrame[Any],
    schema: Schema,
    settings: Settings,
    weighting: Weighting,
    cells: Cells,
    made: Aggregated,
) -> dict[str, list[list[float]]]:
    """By column the weighted totals before and after, as sums in three parts that can be put
    together; "" has those of the weights.

    `cells` and `made` are the quasi-identifiers before and after. Empty where no weights are
    released.
    """
    before, after, found = weighting.before, weighting.after, {}
    if after is None:
        return {}
    asked = settings.columns
    others = [
        column
        for column in schema.columns
        if column.role in (Role.CONFIDENTIAL, Role.KEEP) and column.kind is Kind.NUMERIC
    ]
    for column in others:
        own = cells_of(frame, [column], special=asked.special, na=asked.na)
        found[column.name] = [_total(own, 0, before), _total(own, 0, after)]
    released = made.cells
    for j, name in enumerate(cells.names):
        if not released.variables[j].coarse:
            found[name] = [_total(cells, j, before), _total(released, j, after)]
    return {
        "": [_parts(before), _parts(after)],
        **{name: pair for name, pair in found.items() if None not in pair},
    }


def percents_of(totals: dict[str, list[list[float]]]) -> dict[str, float]:
    """By how many percent the totals of columns have changed; without those that were 0.

    >>> percents_of({"": [[5.0, 0.0, 0.0], [5.0, 0.0, 0.0]], "age": [[50.0, 0.0, 0.0], [51.0, 0.0, 0.0]]})
    {'age': 2.0}
    """
    changed = {}
    for name, (before, after) in totals.items():
        percent = _percent(_rounded(before), _rounded(after))
        if name and percent is not None:
            changed[name] = percent
    return changed


def change_of_weights(totals: dict[str, list[list[float]]]) -> float:
    """By how much the sum of the weights has changed, relatively."""
    return _rounded(totals[""][1]) / _rounded(totals[""][0]) - 1.0 if totals else 0.0


def _total(cells: Cells, column: int, weights: np.ndarray) -> list[float] | None:
    """The weighted total of the values of a column; None where it has none: dates, categories."""
    variable: Variable = cells.variables[column]
    if variable.kind is not Kind.NUMERIC or variable.unit:
        return None
    values = _numbers(cells, column)
    there = ~np.isnan(values)
    return _parts(values[there] * weights[there])


def _parts(numbers: np.ndarray) -> list[float]:
    return sums.column_sums(np.ascontiguousarray(numbers).reshape(-1, 1))[:, 0].tolist()


def _rounded(parts: list[float]) -> float:
    return sums.rounded(np.array(parts).reshape(3, 1), 0)


def _sum(numbers: np.ndarray) -> float:
    """The sum, whatever the order of the records."""
    return sums.rounded(sums.column_sums(np.ascontiguousarray(numbers).reshape(-1, 1)), 0)


def _percent(before: float, after: float) -> float | None:
    if before == 0.0:
        return None
    return 100.0 * (after - before) / abs(before)


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
