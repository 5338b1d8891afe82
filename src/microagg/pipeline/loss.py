"""Information loss from partial sums of blocks: the digits that `loss_of` gives in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from microagg.kernels import partial_sums, sums
from microagg.measures.loss.mixed import have_one_record
from microagg.measures.loss.sse import error_sums, percent_lost
from microagg.release.measuring import is_released_as_numbers
from microagg.table.aggregate import Aggregated
from microagg.table.columns.matrix_values import values_of
from microagg.table.encoder import Space
from microagg.table.reduction import Reduction, combine_chunks
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
        by_column = list(space.errors_by_column(before, after, labels))
        errors = np.zeros(len(before))
        for column in by_column:
            errors += column
        within = [_sum_of(column) for column in space.variation_by_column(before, labels)]
        sse = [_sum_of(column) for column in by_column]
        return cls(sse, within, _shared_record(after), errors.reshape(-1, 1))

    @classmethod
    def of_points(
        cls, points: np.ndarray, moved: np.ndarray, labels: np.ndarray | None
    ) -> LossSums:
        """Sum up records of plain numbers, all columns at once; groups only where `labels` are."""
        every = np.arange(len(points), dtype=np.int32)
        within = []
        if labels is not None:
            means = sums.group_means(points, labels, int(labels.max()) + 1)
            within.append(partial_sums.squared_error_sums(points, means, labels))
        with np.errstate(over="ignore", invalid="ignore"):
            errors = (points - moved) ** 2
        sse = [partial_sums.squared_error_sums(points, moved, every)]
        one = moved[0].tolist() if (moved == moved[:1]).all() else None
        return cls(sse, within, one, errors)

    def combine(self, other: LossSums) -> LossSums:
        """Add the sums of other records."""
        for totals, more in ((self.sse, other.sse), (self.within, other.within)):
            for total, part in zip(totals, more, strict=True):
                partial_sums.add_sums(total, part)
        one = self.one if self.one == other.one else None
        return LossSums(self.sse, self.within, one)

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


@dataclass(frozen=True)
class SpaceLoss:
    """IL, SSE and IL_within of a release in one space."""

    il: float
    sse: float
    il_within: float

    @staticmethod
    def of(
        space: Space, totals: Sequence[np.ndarray], blocks: Sequence[dict[str, Any]]
    ) -> SpaceLoss:
        """Return the loss of all blocks; `totals` are squared distances to the centroid of all
        records, column by column.
        """
        parts = combine_chunks(LossSums.from_data(block) for block in blocks)
        total = _joined(totals) if space.is_plain else _added(totals)
        within = _joined(parts.within) if space.is_plain else _added(parts.within)
        sse = sums.rounded(parts.sse[0], 0)
        if len(parts.sse) > 1:
            sse = _of_column(np.array([sums.rounded(part, 0) for part in parts.sse]))
        il = percent_lost(sse, total, one_record=parts.one is not None)
        return SpaceLoss(il, sse, percent_lost(within, total))


def block_loss(
    spaces: Sequence[Space],
    cells: Cells,
    made: Aggregated,
    released: nw.DataFrame[Any],
    labels: np.ndarray,
    *,
    weighted: bool,
) -> tuple[dict[str, Any], np.ndarray]:
    """Return partial sums of the loss of a block in each space, and (groups, 3) the errors of each
    group in the first.
    """
    numbers = is_released_as_numbers(cells, made, released)
    parts: list[LossSums] = []
    by_record = np.zeros((0, 1))
    for number, space in enumerate(spaces):
        coarse = any(variable.coarse for variable in made.variables)
        plain = numbers or (space.is_plain and not coarse)
        if plain:
            after = values_of(released, cells.names) if numbers else made.cells.values
            # the mean of plain numbers is the middle of their group, but for a weighted one
            inside = number == 0 and (weighted or not numbers)
            part = LossSums.of_points(
                space.points(cells), space.points(after), labels if inside else None
            )
        else:
            part = LossSums.of_chunk(space, cells, made.cells, labels)
        parts.append(part)
        if number == 0:
            assert part.errors is not None
            by_record = part.errors
            if plain and not numbers:  # as those of mixed tables: by column, then by record
                by_record = space.record_errors(cells, made.cells, labels).reshape(-1, 1)
    errors = error_sums(by_record, labels)
    total = sums.column_sums(errors.reshape(-1, 1)).tolist()
    return {
        "numbers": numbers,
        "lost": [part.as_data() for part in parts],
        "errors": total,
    }, errors


def summed(parts: Sequence[Sequence[Any]]) -> list[np.ndarray]:
    """Add the partial sums of all blocks, column by column.

    >>> summed([[[[1.0], [0.0], [0.0]]], [[[2.0], [0.0], [0.0]]]])[0][:, 0].tolist()
    [3.0, 0.0, 0.0]
    """
    total = [np.zeros((3, 1)) for _ in parts[0]]
    for part in parts:
        for column, more in zip(total, part, strict=True):
            partial_sums.add_sums(column, np.array(more))
    return total


def _sum_of(terms: np.ndarray) -> np.ndarray:
    return sums.column_sums(np.ascontiguousarray(terms).reshape(-1, 1))


def _shared_record(cells: Cells) -> list[float | None] | None:
    """Return the cells that all records share, if they do: numbers, then special codes."""
    if not have_one_record(cells):
        return None
    first = cells.values[0]
    codes = np.full(first.shape, NO_ATOM) if cells.atoms is None else cells.atoms[0]
    return [*np.where(np.isnan(first), 0.0, first).tolist(), *codes.astype(float).tolist()]


def _joined(parts: Sequence[np.ndarray]) -> float:
    """Return all columns as one sum, as tables of numbers are measured."""
    total = np.zeros((3, 1))
    for part in parts:
        partial_sums.add_sums(total, part)
    return sums.rounded(total, 0)


def _added(parts: Sequence[np.ndarray]) -> float:
    """Return the sum of the columns one after the other, as mixed tables are measured."""
    return sum(sums.rounded(part, 0) for part in parts)


def _of_column(numbers: np.ndarray) -> float:
    return sums.rounded(sums.column_sums(numbers.reshape(-1, 1)), 0)
