"""From a table's quasi-identifiers to points: the space in which groups are searched and loss is measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from microagg.kernels import sums
from microagg.table.scales import SCALE, SCALES, Axis


@dataclass(frozen=True)
class Space:
    """What turns columns into points, and knows which axes belong to which column. A constant column has distance 0.

    >>> space = Space.fit(np.array([[1.0, 7.0], [3.0, 7.0]]), "zscore")
    >>> space.points(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    >>> space.constant, space.axes_of(1)
    ((1,), slice(1, 2, None))
    """

    scale: str
    axes: tuple[Axis, ...]
    """How each axis is made; a numeric column has one."""
    constant: tuple[int, ...]
    """The columns that do not vary."""

    @staticmethod
    def fit(values: np.ndarray, scale: str = SCALE.default) -> Space:
        """Measure each column of a float64 C-order matrix."""
        measure = SCALES[SCALE.parse(scale)].measure
        axes, constant = [], []
        for j in range(values.shape[1]):
            column = np.ascontiguousarray(values[:, j])
            axis = measure(column)
            if column.min() == column.max():
                constant.append(j)
                axis = replace(axis, width=1.0)
            elif axis.width == 0.0:
                # quartiles coincide where more than half of a column shares one value, and squares of very small numbers vanish
                axis = replace(axis, width=_deviation_of_small(column))
            axes.append(axis)
        return Space(scale, tuple(axes), tuple(constant))

    def points(self, values: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The points of these values; in the array `out`, which may be that of the values, where it has the room.

        >>> Space.fit(np.array([[1.0], [3.0]]), "minmax").points(np.array([[2.0]])).tolist()
        [[0.5]]
        """
        shape = (len(values), len(self.axes))
        points = out if out is not None and out.shape == shape else np.empty(shape)
        for j, axis in enumerate(self.axes):
            points[:, j] = axis.coordinates(values[:, j])
        return points

    def axes_of(self, column: int) -> slice:
        """Which axes of the points belong to a column."""
        return slice(column, column + 1)

    @property
    def centre(self) -> np.ndarray:
        """(axes,): what is subtracted"""
        return np.array([axis.centre for axis in self.axes])

    @property
    def width(self) -> np.ndarray:
        """(axes,): what is divided by"""
        return np.array([axis.width for axis in self.axes])

    def as_data(self) -> dict[str, Any]:
        """What a certificate says of the way from values to points; steps and places follow from the data themselves."""
        return {"scale": self.scale, "centre": self.centre.tolist(), "width": self.width.tolist()}

    def about_column(self, column: int) -> dict[str, float]:
        """What the internal manifest says of the way of one column."""
        axis = self.axes[self.axes_of(column)][0]
        return {"centre": axis.centre, "width": axis.width}


def _deviation_of_small(column: np.ndarray) -> float:
    """The standard deviation of a column that is not constant, however small its numbers; never 0."""
    spread = np.ptp(column)
    deviation = float(spread * sums.column_moments((column / spread).reshape(-1, 1))[1][0])
    return max(deviation, float(np.finfo(np.float64).smallest_subnormal))
