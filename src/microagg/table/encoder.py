"""From a table's quasi-identifiers to points: the space in which groups are searched and loss is
measured.

Each column becomes axes of its own (`table/axes.py`). Where one of them is nominal, all axes are
then turned to principal axes: distances do not depend on that, but block cuts and the boxes of
trees do. Loss is counted column by column on the exact encoding, which is the searched one but for
nominal columns of very many values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from microagg.kernels import principal_axes as axes_kernels
from microagg.kernels import sums
from microagg.table.axes import Coded, ColumnAxes, Pair, Scaled, axes_of, axes_of_numbers
from microagg.table.scales import SCALE, Axis
from microagg.table.variable import Cells

WIDEST_TURN = 1000
"""Axes; wider encodings stay as they are: finding the principal axes would take longer than many a
search.
"""

NULL = 1e-9
"""An axis along which records differ by less than this share of any column's spread has nothing but
rounding: without it squared distances change by less than a billionth of a billionth.
"""

RUN = 1 << 16
"""Records: moments are those of runs of so many, put together, so that it makes no difference how a
table is read.
"""

_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True)
class Rotation:
    """From the axes of the columns to principal axes: coordinates @ axes + offset."""

    axes: np.ndarray
    """(axes of the columns, principal axes)"""
    offset: np.ndarray
    """(principal axes,): brings the mean of the fitted records to 0"""


@dataclass(frozen=True)
class Space:
    """Conversion of columns to points, with the axes of each column. A constant column has distance
    0.

    >>> space = Space.fit(np.array([[1.0, 7.0], [3.0, 7.0]]), "zscore")
    >>> space.points(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    >>> space.constant, space.axes_of(1)
    ((1,), slice(1, 2, None))
    """

    scale: str
    columns: tuple[ColumnAxes, ...]
    """Axes of each column."""
    rotation: Rotation | None = None
    """Rotation to principal axes; None without one."""

    @staticmethod
    def fit(
        cells: Cells | np.ndarray,
        scale: str = SCALE.default,
        importance: Mapping[str, float] | None = None,
    ) -> Space:
        """Measure each column of some cells, or of a float64 C-order matrix.

        The squared distances of a column count `importance` times, once where it is not named.
        """
        scale = SCALE.parse(scale)
        importance = importance or {}
        if not isinstance(cells, Cells):
            columns = [axes_of_numbers(np.ascontiguousarray(column), scale) for column in cells.T]
            return Space(scale, tuple(columns))
        weights = [float(importance.get(name, 1.0)) for name in cells.names]
        if cells.is_plain:
            columns = [
                axes_of_numbers(
                    np.ascontiguousarray(cells.values[:, j]), scale, variable.unit, weights[j]
                )
                for j, variable in enumerate(cells.variables)
            ]
            return Space(scale, tuple(columns))
        columns = [
            axes_of(variable, *_column(cells, j), scale, weights[j])
            for j, variable in enumerate(cells.variables)
        ]
        return _turned(Space(scale, tuple(columns)), cells)

    def points(self, cells: Cells | np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The points of these cells; in the array `out`, which may be that of the values, where it
        has the room.

        Released cells have points, too: a number between two ranks lies between their places. Where
        axes are turned, what lies off all axes along which the fitted records differ is left out.

        >>> Space.fit(np.array([[1.0], [3.0]]), "minmax").points(np.array([[2.0]])).tolist()
        [[0.5]]
        """
        shape = (len(cells), self.size_of_points)
        points = out if out is not None and out.shape == shape else np.empty(shape)
        if self.is_plain:
            values = cells.values if isinstance(cells, Cells) else cells
            for j, axis in enumerate(self.axes):
                points[:, j] = axis.coordinates(values[:, j])
            return points
        for rows, block in self._blocks(_as_cells(cells)):
            if self.rotation is None:
                points[rows] = block
            else:
                axes_kernels.rotate(block, self.rotation.offset, self.rotation.axes, points[rows])
        return points

    @property
    def is_plain(self) -> bool:
        """True if every column is one axis of numbers."""
        return all(isinstance(column, Scaled) and not column.atoms for column in self.columns)

    @property
    def exact(self) -> bool:
        """True if points have the distances of the exact encoding; only then a bound on points
        holds for it.
        """
        return all(column.exact for column in self.columns)

    @property
    def constant(self) -> tuple[int, ...]:
        """The columns that do not vary."""
        return tuple(j for j, column in enumerate(self.columns) if column.constant)

    def axes_of(self, column: int) -> slice:
        """Return the axes of a column, before the rotation."""
        first = sum(axes.size for axes in self.columns[:column])
        return slice(first, first + self.columns[column].size)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of numbers, in the order of their columns."""
        return tuple(column.axis for column in self.columns if isinstance(column, Scaled))

    @property
    def centre(self) -> np.ndarray:
        """(axes of numbers,): what is subtracted"""
        return np.array([axis.centre for axis in self.axes])

    @property
    def width(self) -> np.ndarray:
        """(axes of numbers,): what is divided by"""
        return np.array([axis.width for axis in self.axes])

    def column_errors(self, before: Cells, after: Cells, labels: np.ndarray) -> np.ndarray:
        """(columns,): the squared error of what was released, on the exact encoding.

        Coarse columns (ranges, ancestors) have no point: there the variation within groups counts.
        """
        return np.array([_total(errors) for errors in self.errors_by_column(before, after, labels)])

    def record_errors(self, before: Cells, after: Cells, labels: np.ndarray) -> np.ndarray:
        """(n,): the same by record."""
        total = np.zeros(len(before))
        for errors in self.errors_by_column(before, after, labels):
            total += errors
        return total

    def within(self, cells: Cells, labels: np.ndarray) -> float:
        """The squared distances of all records to the centroids of their groups, on the exact
        encoding.

        Labels may be one per record, or one per record and column.
        """
        if self.is_plain and labels.ndim == 1:
            points = self.points(cells)
            return sums.squared_error(
                points, sums.group_means(points, labels, int(labels.max()) + 1), labels
            )
        return sum(self._variation(cells, labels).tolist())

    def column_totals(self, cells: Cells) -> np.ndarray:
        """(columns,): the squared distances of all records to the centroid of all in each column,
        on the exact encoding.
        """
        return self._variation(cells, np.zeros(len(cells), np.int32))

    def total(self, cells: Cells) -> float:
        """The squared distances of all records to the centroid of all, on the exact encoding."""
        return self.within(cells, np.zeros(len(cells), np.int32))

    def as_data(self) -> dict[str, Any]:
        """Return the transformation from numbers to points, as certificates state it; steps and
        places follow from the data themselves.

        Importance is told only where there is some; then centre and width are those without it.
        """
        importance = [column.importance for column in self.columns if isinstance(column, Scaled)]
        if all(times == 1.0 for times in importance):
            return {
                "scale": self.scale,
                "centre": self.centre.tolist(),
                "width": self.width.tolist(),
            }
        width = self.width * np.sqrt(importance)
        width[list(self.constant)] = 1.0
        return {
            "scale": self.scale,
            "centre": self.centre.tolist(),
            "width": width.tolist(),
            "importance": importance,
        }

    def about_column(self, column: int) -> dict[str, Any]:
        """Return the entry of the internal manifest for one column."""
        return self.columns[column].about()

    @property
    def size_of_points(self) -> int:
        """Number of axes of points."""
        return self._size if self.rotation is None else len(self.rotation.offset)

    @property
    def _size(self) -> int:
        return sum(column.size for column in self.columns)

    def _variation(self, cells: Cells, labels: np.ndarray) -> np.ndarray:
        """(columns,): the variation within groups in each column."""
        return np.array([_total(errors) for errors in self.variation_by_column(cells, labels)])

    def variation_by_column(self, cells: Cells, labels: np.ndarray) -> Iterator[np.ndarray]:
        """(n,) for each column: the squared distance of each record to the centroid of its group,
        on the exact encoding.
        """
        for j, column in enumerate(self.columns):
            yield column.variation(_column(cells, j), _of_column(labels, j))

    def errors_by_column(
        self, before: Cells, after: Cells, labels: np.ndarray
    ) -> Iterator[np.ndarray]:
        """(n,) for each column: the squared error of each record, on the exact encoding."""
        for j, column in enumerate(self.columns):
            if after.variables[j].coarse:
                yield column.variation(_column(before, j), _of_column(labels, j))
            else:
                yield column.squares(_column(before, j), _column(after, j))

    def _blocks(self, cells: Cells) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows, and their coordinates on the axes of the columns; numbers from their mean, if all
        will be turned.
        """
        homes = np.zeros(self._size)
        if self.rotation is not None:
            homes[[self.axes_of(j).start for j in self._scaled]] = [
                column.home for column in self.columns if isinstance(column, Scaled)
            ]
        for first in range(0, len(cells), _ROWS_AT_A_TIME):
            rows = slice(first, first + _ROWS_AT_A_TIME)
            parts = []
            for j, column in enumerate(self.columns):
                values, atoms = _column(cells, j)
                parts.append(
                    column.coordinates(values[rows], None if atoms is None else atoms[rows])
                )
            yield rows, np.ascontiguousarray(np.hstack(parts) - homes)

    @property
    def _scaled(self) -> list[int]:
        return [j for j, column in enumerate(self.columns) if isinstance(column, Scaled)]


def is_standard(scale: str, importance: Mapping[str, float]) -> bool:
    """Check if a space is one of plain z-scores with equal weights.

    >>> is_standard("zscore", {"age": 1.0}), is_standard("rank", {})
    (True, False)
    """
    return scale == SCALE.default and all(weight == 1.0 for weight in importance.values())


def _turned(space: Space, cells: Cells) -> Space:
    """The same space on principal axes, if there is a nominal column that varies and not too many
    axes.
    """
    if not can_be_turned(space):
        return space
    size = space._size
    first, second = np.zeros(size), np.zeros((size, size))
    for start in range(0, len(cells), RUN):
        run = moments_of_run(space, cells.rows(slice(start, start + RUN)))
        first, second = first + run[0], second + run[1]
    mean, axes, doubtful = principal_axes(first, second, len(cells))
    low, high = extents(space, cells, axes[:, doubtful])
    return turned_to(space, mean, axes, doubtful, low, high)


def can_be_turned(space: Space) -> bool:
    """Check if there is a nominal column that varies, and not too many axes."""
    nominal = any(isinstance(column, Coded) and not column.constant for column in space.columns)
    return nominal and space._size <= WIDEST_TURN


def _unturned(space: Space) -> Space:
    return Space(space.scale, space.columns, Rotation(np.eye(space._size), np.zeros(space._size)))


def moments_of_run(space: Space, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    """(m,) and (m, m): the coordinates of some records added up, and their products (the lower
    half).

    Those of runs of `RUN` records are added up in their order, however they are read.
    """
    first, second = np.zeros(space._size), np.zeros((space._size, space._size))
    for _, block in _unturned(space)._blocks(cells):
        axes_kernels.add_moments(block, first, second)
    return first, second


def principal_axes(
    first: np.ndarray, second: np.ndarray, records: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From the moments of all records: their mean, the principal axes as columns, and which of
    these may have nothing but rounding.
    """
    mean = first / records
    variances, rows = axes_kernels.principal(second / records - np.outer(mean, mean))
    return mean, np.ascontiguousarray(rows.T), variances <= 1e-9 * variances[0]


def extents(space: Space, cells: Cells, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest coordinate of some records on each of these axes."""
    tried = np.ascontiguousarray(axes)
    low, high = np.full(tried.shape[1], np.inf), np.full(tried.shape[1], -np.inf)
    for _, block in _unturned(space)._blocks(cells):
        turned = np.empty((len(block), tried.shape[1]))
        axes_kernels.rotate(block, np.zeros(tried.shape[1]), tried, turned)
        low, high = np.minimum(low, turned.min(axis=0)), np.maximum(high, turned.max(axis=0))
    return low, high


def turned_to(
    space: Space,
    mean: np.ndarray,
    axes: np.ndarray,
    doubtful: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> Space:
    """The space on its principal axes, but for the doubtful ones that have no coordinates but
    rounding.

    Variances alone do not tell: in a table of very large and very small numbers, rounding of the
    large exceeds the small.
    """
    spread = min(column.spread for column in space.columns if not column.constant)
    null = np.zeros(len(doubtful), bool)
    null[doubtful] = high - low <= NULL * spread
    kept = ~null
    kept[0] = True
    axes = np.ascontiguousarray(axes[:, kept])
    offset = np.zeros((1, axes.shape[1]))
    axes_kernels.rotate(-mean.reshape(1, -1), np.zeros(axes.shape[1]), axes, offset)
    return Space(space.scale, space.columns, Rotation(axes, offset[0]))


def _as_cells(cells: Cells | np.ndarray) -> Cells:
    return cells if isinstance(cells, Cells) else Cells.plain(cells, [""] * cells.shape[1])


def _column(cells: Cells, column: int) -> Pair:
    return cells.values[:, column], cells.atoms_of(column)


def _of_column(labels: np.ndarray, column: int) -> np.ndarray:
    return labels if labels.ndim == 1 else np.ascontiguousarray(labels[:, column])


def _total(terms: np.ndarray) -> float:
    return sums.rounded(sums.column_sums(np.ascontiguousarray(terms).reshape(-1, 1)), 0)
