"""Sums over records of one column of numbers before and after: SSE, IL and IL1s follow from them.

Terms are taken around the column's mean in units of its range, so that squares stay finite. The
sums are kept in three parts each (`kernels.sums`), so that neither the order of records nor the
way a table is cut into blocks changes a digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from microagg.kernels import partial_sums, sums

if TYPE_CHECKING:
    from microagg.measures.measure import Pair

ROWS_AT_A_TIME = 65_536
TERMS = 4
"""Sums of a column: see `terms_of`."""
_UNCHANGED = 1e-12  # of a constant column, beside the size of its numbers: rounding


@dataclass(frozen=True)
class NumberScale:
    """Centre and unit of a column of numbers without gaps."""

    position: int
    """Position among the quasi-identifiers."""
    name: str
    centre: float
    unit: float
    """Range of the column; 1 where it is constant."""
    least: float
    most: float

    @property
    def constant(self) -> bool:
        """Return True if all values are one."""
        return self.least == self.most


def terms_of(
    scale: NumberScale,
    before: np.ndarray,
    after: np.ndarray,
    weights: np.ndarray,
) -> list[np.ndarray]:
    """Return the `TERMS` terms of each record, in the order in which `NumberTotals` takes their
    sums.

    >>> scale = NumberScale(0, "age", 1.0, 2.0, 0.0, 2.0)
    >>> one = np.ones(1)
    >>> [float(term[0]) for term in terms_of(scale, np.zeros(1), np.array([2.0]), one)]
    [-0.5, 0.25, 1.0, 1.0]
    """
    z = (before - scale.centre) / scale.unit
    with np.errstate(over="ignore"):
        moved = (before - after) / scale.unit
    if scale.constant:
        moved[np.abs(moved) <= _UNCHANGED * abs(scale.most)] = 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # a cap may lie far beyond the range
        return [
            weights * z,
            weights * z * z,
            weights * moved * moved,
            weights * np.abs(moved),
        ]


@dataclass(frozen=True)
class NumberTotals:
    """Totals of one column of numbers over all records."""

    scale: NumberScale
    records: int
    weight: float
    """Sum of the weights; the number of records where there are none."""
    sums: tuple[float, ...]
    """Sums of the terms."""
    one_value: bool
    """Whether all records have the same released value."""

    @property
    def name(self) -> str:
        """Return the name of the column."""
        return self.scale.name

    def squared(self, scale: str) -> tuple[float, float]:
        """Return SSE and SST of the column, scaled by `zscore`, `minmax` or `none`."""
        z, squares, errors = self.sums[:3]
        around = 0.0 if self.scale.constant else max(squares - z * z / self.weight, 0.0)
        if scale == "zscore":
            if self.scale.constant:
                return errors, 0.0
            return errors / (around / self.weight), self.weight
        square = self.scale.unit * self.scale.unit if scale == "none" else 1.0
        return errors * square, around * square

    @property
    def moved(self) -> float:
        """Return the sum of absolute errors in (weighted) population standard deviations."""
        if self.scale.constant:
            return self.sums[3]
        z, squares = self.sums[:2]
        return self.sums[3] / math.sqrt(max(squares - z * z / self.weight, 0.0) / self.weight)


def number_totals(pair: Pair) -> tuple[NumberTotals, ...]:
    """Return the totals of all columns of numbers of a pair.

    >>> from microagg.measures.measure import Pair
    >>> pair = Pair(np.array([[0.0], [2.0]]), np.array([[1.0], [1.0]]), ("age",))
    >>> number_totals(pair)[0].squared("none")
    (2.0, 2.0)
    """
    weights = _weights(pair.weights, len(pair.original))
    weight = _total(weights)
    totals = []
    for j, name in enumerate(pair.names):
        before, after = pair.original[:, j], pair.released[:, j]
        scale = _scale_of(j, name, before)
        column = np.zeros((3, TERMS))
        for first in range(0, len(before), ROWS_AT_A_TIME):
            rows = slice(first, first + ROWS_AT_A_TIME)
            terms = terms_of(scale, before[rows], after[rows], weights[rows])
            partial_sums.add_sums(column, sums.column_sums(np.column_stack(terms)))
        numbers = tuple(float(sums.rounded(column, term)) for term in range(TERMS))
        one_value = bool(after.min() == after.max()) if len(after) else True
        totals.append(NumberTotals(scale, len(before), weight, numbers, one_value))
    return tuple(totals)


def _scale_of(position: int, name: str, values: np.ndarray) -> NumberScale:
    least, most = float(values.min()), float(values.max())
    unit = most - least or 1.0
    centre = least + unit * float(np.mean((values - least) / unit))
    return NumberScale(position, name, centre, unit, least, most)


def _weights(weights: Sequence[float] | np.ndarray | None, records: int) -> np.ndarray:
    return np.ones(records) if weights is None else np.asarray(weights, np.float64)


def _total(weights: np.ndarray) -> float:
    return float(sums.rounded(sums.column_sums(np.ascontiguousarray(weights).reshape(-1, 1)), 0))
