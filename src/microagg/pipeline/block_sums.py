"""Sums over the records of a block, by column, which depend on no order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from microagg.kernels import sums
from microagg.measures.columns import columns_of
from microagg.measures.loss.number_sums import NumberScale, terms_of
from microagg.measures.loss.unchanged import same_cells
from microagg.measures.risk.classes import columns_to_compare
from microagg.measures.risk.dominance import is_indicator
from microagg.release.changes import moves_of
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Cells


def amounts_of(
    before: Cells, after: Cells, weights: np.ndarray | None
) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Of each column of amounts what each record makes up, and which records have a value before
    and after; None: all.
    """
    amounts = {}
    for j, (old, new) in enumerate(zip(before.variables, after.variables, strict=True)):
        if old.kind is not Kind.NUMERIC or old.unit or new.coarse:
            continue
        parts = np.abs(before.values[:, j] + float(old.origin))
        counted = None
        for cells in (before, after):
            atoms = cells.atoms_of(j)
            if atoms is not None:
                has_value = atoms == NO_ATOM
                counted = has_value if counted is None else counted & has_value
        if counted is not None:
            parts = np.where(counted, parts, 0.0)
        amounts[old.name] = (parts if weights is None else parts * weights, counted)
    return amounts


def indicator_columns(
    before: Cells, amounts: dict[str, tuple[np.ndarray, np.ndarray | None]]
) -> list[str]:
    """Return the columns of amounts that hold nothing but 0 and 1."""
    values = {
        variable.name: before.values[:, j] + float(variable.origin)
        for j, variable in enumerate(before.variables)
    }
    return [
        name
        for name, (_, counted) in amounts.items()
        if is_indicator(values[name] if counted is None else values[name][counted])
    ]


def record_sums(
    numbers: Sequence[NumberScale],
    before: Cells,
    after: Cells,
    weights: np.ndarray | None,
    released: np.ndarray | None,
) -> dict[str, Any]:
    """Sums over the records that depend on no order, by column: of numbers around their centre in
    units of their range, of cells that are as they were.
    """
    once = np.ones(len(before)) if weights is None else weights
    theirs = once if released is None else released
    terms, lows, highs = [once, theirs], [], []
    for scale in numbers:
        x, y = before.values[:, scale.position], after.values[:, scale.position]
        terms += terms_of(scale, x, y, once)
        lows.append(float(y.min()))
        highs.append(float(y.max()))
    same = [same_cells(before, after, j) for j in range(len(before.variables))]
    terms += [once * unchanged for unchanged in same]
    totals = sums.column_sums(np.ascontiguousarray(np.column_stack(terms)))
    return {
        "sums": totals.tolist(),
        "lows": lows,
        "highs": highs,
        "same": [int(unchanged.sum()) for unchanged in same],
        "moved": [_moved(moves_of(before, after, j)) for j in range(len(after.variables))],
        "one": [_one_cell(after, j) for j in range(len(after.variables))],
    }


def _moved(moves: np.ndarray | None) -> list[float] | None:
    """By how much cells moved, as a sum in three parts, and how many cells that are; None where
    that says nothing.
    """
    if moves is None:
        return None
    parts = sums.column_sums(np.ascontiguousarray(moves, np.float64).reshape(-1, 1))
    return [*parts[:, 0].tolist(), float(len(moves))]


def _one_cell(cells: Cells, j: int) -> list[float] | None:
    """The cell that all records have in a column; None where they differ."""
    first_values = [
        float(values[0]) if (values == values[0]).all() else None
        for values in columns_to_compare(columns_of(cells, [j]))
    ]
    return None if None in first_values else [value for value in first_values if value is not None]
