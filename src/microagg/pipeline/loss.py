"""Information loss from partial sums of blocks: the digits that `loss_of` gives in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from microagg.kernels import partial_sums, sums
from microagg.measures.loss.loss_sums import LossSums, percent_lost, total_of_columns
from microagg.measures.loss.sse import error_sums
from microagg.release.measuring import is_released_as_numbers
from microagg.table.aggregate import Aggregated
from microagg.table.columns.matrix_values import values_of
from microagg.table.encoder import Space
from microagg.table.reduction import combine_chunks
from microagg.table.variable import Cells


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
        total = total_of_columns(totals, space)
        sse = parts.squared_error
        il = percent_lost(sse, total, one_record=parts.one is not None)
        return SpaceLoss(il, sse, percent_lost(parts.error_within(space), total))


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
                space.points(cells),
                space.points(after),
                labels if inside else None,
                keep_errors=number == 0,
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
