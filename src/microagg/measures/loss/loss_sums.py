"""Partial sums of information loss: of a table in memory, of runs of its records, or of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from microagg.kernels import partial_sums, sums
from microagg.table.encoder import Space
from microagg.table.reduction import Reduction
from microagg.table.variable import NO_ATOM, Cells


@dataclass
class LossSums(Reduction):
    """Partial sums of the squared errors of some records in one space."""

    sse: list[np.ndarray]
    """Of the released values: one sum for all columns, or one for each."""
    within: list[np.ndarray] = field(default_factory=list)
    """Around the means of groups; empty where that is not measured."""
    one: list[float | None] | None = None
    """The released record, where all records share it."""
    errors: np.ndarray | None = field(default=None, repr=False)
    """(n, axes) squared errors of a chunk; not kept when chunks are combined."""

    @classmethod
    def of_chunk(cls, space: Space, before: Cells, after: Cells, labels: np.ndarray) -> LossSums:
        """Sum up whole groups of records, column by column on the exact encoding."""
        errors, sse = np.zeros(len(before)), []
        for column in space.errors_by_column(before, after, labels):
            errors += column
            sse.append(_sum_of(column))
        within = [_sum_of(column) for column in space.variation_by_column(before, labels)]
        return cls(sse, within, _shared_record(after), errors.reshape(-1, 1))

    @classmethod
    def of_points(
        cls,
        points: np.ndarray,
        moved: np.ndarray,
        labels: np.ndarray | None = None,
        *,
        keep_errors: bool = False,
    ) -> LossSums:
        """Sum up records of plain numbers, all columns at once; groups only where `labels` are."""
        every = np.arange(len(points), dtype=np.int32)
        within = []
        if labels is not None:
            means = sums.group_means(points, labels, int(labels.max()) + 1)
            within.append(partial_sums.squared_error_sums(points, means, labels))
        errors = squared_errors(points, moved) if keep_errors else None
        sse = [partial_sums.squared_error_sums(points, moved, every)]
        one = moved[0].tolist() if len(moved) and (moved == moved[:1]).all() else None
        return cls(sse, within, one, errors)

    def combine(self, other: LossSums) -> LossSums:
        """Add the sums of other records."""
        for totals, more in ((self.sse, other.sse), (self.within, other.within)):
            for total, part in zip(totals, more, strict=True):
                partial_sums.add_sums(total, part)
        one = self.one if self.one == other.one else None
        return LossSums(self.sse, self.within, one)

    @property
    def squared_error(self) -> float:
        """SSE of the released values."""
        columns = [sums.rounded(part, 0) for part in self.sse]
        return columns[0] if len(columns) == 1 else sums.rounded(_sum_of(np.array(columns)), 0)

    def error_within(self, space: Space) -> float:
        """Squared distances to the means of groups."""
        return total_of_columns(self.within, space)

    def as_data(self) -> dict[str, Any]:
        """Return the sums as a spill file states them."""
        return {
            "sse": [part.tolist() for part in self.sse],
            "within": [part.tolist() for part in self.within],
            "one": self.one,
        }

    @staticmethod
    def from_data(data: dict[str, Any]) -> LossSums:
        """Return the sums that a spill file states."""
        sse, within = ([np.array(part) for part in data[name]] for name in ("sse", "within"))
        return LossSums(sse, within, data["one"])


def squared_errors(points: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """(n, axes): squared distances between points; those of huge values are infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray((points - moved) ** 2)


def percent_lost(sse: float, sst: float, *, one_record: bool = False) -> float:
    """Return IL: the squared error in percent of the total; 0 where nothing varies.

    One released record for all tells nothing of any of them: all is lost, and no more than all,
    though that record, a rounded mean, may be farther off than the mean itself. Where records are
    still told apart, an IL above 100 is a fact and stays.

    >>> percent_lost(1.0, 4.0), percent_lost(0.0, 0.0), percent_lost(4.1, 4.0, one_record=True)
    (25.0, 0.0, 100.0)
    """
    percent = 100.0 * sse / sst if sst > 0.0 else 0.0
    return min(percent, 100.0) if one_record else percent


def total_of_columns(parts: Sequence[np.ndarray], space: Space) -> float:
    """Return the sum of the columns: of plain numbers all at once, else one after the other."""
    if not space.is_plain:
        return sum(sums.rounded(part, 0) for part in parts)
    total = np.zeros((3, 1))
    for part in parts:
        partial_sums.add_sums(total, part)
    return sums.rounded(total, 0)


def _sum_of(terms: np.ndarray) -> np.ndarray:
    return sums.column_sums(np.ascontiguousarray(terms).reshape(-1, 1))


def _shared_record(cells: Cells) -> list[float | None] | None:
    """Return the cells that all records share, if they do: numbers, then special codes."""
    if not _have_one_record(cells):
        return None
    first = cells.values[0]
    codes = np.full(first.shape, NO_ATOM) if cells.atoms is None else cells.atoms[0]
    return [*np.where(np.isnan(first), 0.0, first).tolist(), *codes.astype(float).tolist()]


def _have_one_record(cells: Cells) -> bool:
    values = np.array_equal(
        cells.values, np.broadcast_to(cells.values[:1], cells.values.shape), equal_nan=True
    )
    return values and (cells.atoms is None or bool((cells.atoms == cells.atoms[:1]).all()))
