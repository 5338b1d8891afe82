"""From a table's quasi-identifiers to points, and what was done on the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microagg.errors import InputError
from microagg.kernels import sums

SCALES = ("zscore", "minmax", "robust", "none")


@dataclass(frozen=True)
class Space:
    """How values become points: subtract `centre`, divide by `width`. A constant column has width 1: distance 0.

    >>> space = Space.fit(np.array([[1.0, 7.0], [3.0, 7.0]]), "zscore")
    >>> space.points(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    >>> space.constant
    (1,)
    """

    scale: str
    centre: np.ndarray
    width: np.ndarray
    constant: tuple[int, ...]

    @staticmethod
    def fit(values: np.ndarray, scale: str = "zscore") -> Space:
        """Measure location and width of each column of a float64 C-order matrix."""
        if scale not in SCALES:
            raise InputError(f"scale must be one of {', '.join(SCALES)}.")
        centre, width = _location_and_width(values, scale)
        constant = tuple(int(j) for j in np.flatnonzero(values.min(axis=0) == values.max(axis=0)))
        width = width.copy()
        width[list(constant)] = 1.0
        # quartiles coincide where more than half of a column shares one value, and squares of very small numbers vanish
        flat = np.flatnonzero(width == 0.0)
        if len(flat):
            width[flat] = _deviation_of_small(np.ascontiguousarray(values[:, flat]))
        return Space(scale, centre, width, constant)

    def points(self, values: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The points of these values; in the array `out`, which may be that of the values, if one is given."""
        points = np.subtract(values, self.centre, out=out, order="C")
        points /= self.width
        return points


def _deviation_of_small(values: np.ndarray) -> np.ndarray:
    """The standard deviation of columns that are not constant, however small their numbers; never 0."""
    spread = np.ptp(values, axis=0)
    deviation = spread * sums.column_moments(values / spread)[1]
    return np.maximum(deviation, np.finfo(np.float64).smallest_subnormal)


def _location_and_width(values: np.ndarray, scale: str) -> tuple[np.ndarray, np.ndarray]:
    d = values.shape[1]
    if scale == "zscore":
        moments = sums.column_moments(values)
        return moments[0], moments[1]
    if scale == "minmax":
        low = values.min(axis=0)
        return low, values.max(axis=0) - low
    if scale == "robust":
        quarter, half, three_quarters = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        return half, three_quarters - quarter
    return np.zeros(d), np.ones(d)
