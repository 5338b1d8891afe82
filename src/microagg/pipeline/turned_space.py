"""Principal axes of a table that is read in chunks: moments and extents of its points."""

from __future__ import annotations

from typing import Any

import numpy as np

from microagg.runtime.chunk_map import ChunkMap
from microagg.table.capping import Limits
from microagg.table.columns.column_encoding import cells_in
from microagg.table.encoder import (
    RUN,
    Space,
    can_be_turned,
    extents,
    moments_of_run,
    principal_axes,
    turned_to,
)
from microagg.table.variable import Cells, Variable


def turned_space(
    passes: ChunkMap,
    variables: tuple[Variable, ...],
    space: Space,
    records: int,
    limits: Limits | None,
) -> Space:
    """The space on principal axes, where it has those: one or two passes."""
    if not can_be_turned(space):
        return space
    first, second = np.zeros(space._size), np.zeros((space._size, space._size))
    for runs in passes.map_chunks("turning", moments_chunk, variables, space, limits):
        for run in runs:
            first, second = first + run[0], second + run[1]
    mean, axes, doubtful = principal_axes(first, second, records)
    low, high = np.full(int(doubtful.sum()), np.inf), np.full(int(doubtful.sum()), -np.inf)
    if doubtful.any():
        for least, most in passes.map_chunks(
            "turning", extents_chunk, variables, space, limits, axes[:, doubtful]
        ):
            low, high = np.minimum(low, least), np.maximum(high, most)
    return turned_to(space, mean, axes, doubtful, low, high)


def moments_chunk(
    source: Any,
    first: int,
    count: int,
    variables: tuple[Variable, ...],
    space: Space,
    limits: Limits | None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """A task: the moments of each run of a chunk, which begins where a run does."""
    cells = _cells_within(source, first, count, variables, limits)
    return [
        moments_of_run(space, cells.rows(slice(start, start + RUN)))
        for start in range(0, len(cells), RUN)
    ]


def extents_chunk(
    source: Any,
    first: int,
    count: int,
    variables: tuple[Variable, ...],
    space: Space,
    limits: Limits | None,
    axes: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """A task: how far a chunk reaches along some axes."""
    return extents(space, _cells_within(source, first, count, variables, limits), axes)


def _cells_within(
    source: Any, first: int, count: int, variables: tuple[Variable, ...], limits: Limits | None
) -> Cells:
    cells = cells_in(
        source.read(first, count, [variable.name for variable in variables]), variables, first
    )
    return cells if limits is None else limits.cells(cells)
