"""Information loss of a release in memory, and refusals of tables that cannot be searched or
proven.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from microagg.bounds.bound import check_inexact
from microagg.errors import InputError
from microagg.kernels import partial_sums, sums
from microagg.measures.loss.mixed import loss_of_release
from microagg.measures.loss.sse import (
    LossBetween,
    error_sums,
    largest_share,
    loss_of_partition,
    share_of,
)
from microagg.release.settings import Settings
from microagg.table.aggregate import Aggregated
from microagg.table.columns.matrix_values import values_of
from microagg.table.encoder import Space, is_standard
from microagg.table.variable import Cells, Variable

ROWS = 65_536  # records at a time


def check_unsearchable(space: Space, settings: Settings) -> None:
    """Raise if the method or a proof does not support these columns, before any work."""
    method = settings.chosen_method
    if method.scope == "column" and not space.is_plain:
        raise InputError(
            f"method {method.name} groups each column on its own, so it takes numbers "
            f"and ordered levels without gaps only; choose "
            "another method."
        )
    if settings.params.get("effort") == "prove":
        check_inexact(space, list(settings.quasi))


def loss_of(
    space: Space,
    cells: Cells,
    made: Aggregated,
    released: nw.DataFrame[Any],
    settings: Settings,
    labels: np.ndarray,
    groups: np.ndarray,
) -> tuple[dict[str, float], float, float]:
    """Return the loss in the space that was searched, the largest share of one group, and the IL
    without rounding.

    A proven bound holds in the same space.

    Where that space is not z-scores, or a column counts more than others, IL in plain z-scores
    stands beside.
    """
    standard = is_standard(settings.scale, settings.importance)
    if is_released_as_numbers(cells, made, released):
        figures = _loss_of_numbers(space, cells, made, released, groups, standard=standard)
        if settings.weight is not None:  # a weighted mean is not the middle of its group
            figures[0]["IL_within"] = loss_of_partition(space.points(cells), labels)["IL"]
        return figures
    loss = loss_of_release(space, cells, made.cells, labels)
    errors = space.record_errors(cells, made.cells, labels).reshape(-1, 1)
    share = share_of(error_sums(errors, groups if groups.ndim == 1 else groups[:, 0]))
    unrounded = (
        loss["IL"]
        if made.means is made.cells
        else loss_of_release(space, cells, made.means, labels)["IL"]
    )
    if not standard:
        loss["IL_zscore"] = loss_of_release(Space.fit(cells), cells, made.cells, labels)["IL"]
    return loss, share, unrounded


def is_released_as_numbers(cells: Cells, made: Aggregated, released: nw.DataFrame[Any]) -> bool:
    """Return True if all columns are plain numbers before and after: loss is then measured on the
    released table itself.
    """
    return (
        is_table_of_numbers(cells)
        and _are_numbers(made.variables, plain=made.is_plain)
        and can_be_read_again(released, cells.names)
    )


def can_be_read_again(frame: nw.DataFrame[Any], names: Sequence[str]) -> bool:
    """Return True if `values_of` reads the types of these columns; it reads neither Python objects
    nor Decimals of 256 bits.

    >>> import pyarrow as pa
    >>> can_be_read_again(nw.from_native(pa.table({"age": [1]})), ["age"])
    True
    """
    return all(frame[name].dtype.is_numeric() for name in names)


def is_table_of_numbers(cells: Cells) -> bool:
    """Return True if all columns are plain numbers, and no dates: their released values can be read
    again as they are.

    >>> is_table_of_numbers(Cells.plain(np.array([[1.0]]), ["age"]))
    True
    """
    return _are_numbers(cells.variables, plain=cells.is_plain)


def _are_numbers(variables: Sequence[Variable], *, plain: bool) -> bool:
    return plain and not any(variable.unit or variable.origin for variable in variables)


def _loss_of_numbers(
    space: Space,
    cells: Cells,
    made: Aggregated,
    released: nw.DataFrame[Any],
    groups: np.ndarray,
    *,
    standard: bool,
) -> tuple[dict[str, float], float, float]:
    """Return the same, chunk by chunk: matrices of all points before and after would need most of
    the memory of a release.
    """
    mean = _mean_of(space, cells)
    whole = groups if groups.ndim == 1 else np.zeros(0, np.int32)
    loss = LossBetween(mean, int(whole.max()) + 1 if len(whole) else 0)
    unrounded = LossBetween(mean)
    plain = None if standard else Space.fit(cells)
    of_scores = None if plain is None else LossBetween(_mean_of(plain, cells))
    for rows in _runs(len(cells)):
        values, moved = cells.values[rows], values_of(released[rows], cells.names)
        if plain is not None and of_scores is not None:
            of_scores.add(plain.points(values), plain.points(moved))
        points, means = space.points(values), space.points(made.unrounded(rows))
        unrounded.add(points, means)
        loss.add(points, space.points(moved, out=moved), whole[rows] if len(whole) else None)
    loss_figures = loss.loss()
    if of_scores is not None:
        loss_figures["IL_zscore"] = of_scores.loss()["IL"]
    if groups.ndim == 1:
        return loss_figures, loss.largest_share(), unrounded.loss()["IL"]
    moved = values_of(released, cells.names)
    share = largest_share(space.points(cells), space.points(moved, out=moved), groups)
    return loss_figures, share, unrounded.loss()["IL"]


def _mean_of(space: Space, cells: Cells) -> np.ndarray:
    """Return the mean of all points, (axes,)."""
    total = np.zeros((3, len(space.columns)))
    for rows in _runs(len(cells)):
        partial_sums.add_sums(total, sums.column_sums(space.points(cells.values[rows])))
    return np.array([sums.rounded(total, j) for j in range(total.shape[1])]) / len(cells)


def _runs(records: int) -> Iterator[slice]:
    return (slice(first, min(first + ROWS, records)) for first in range(0, records, ROWS))
