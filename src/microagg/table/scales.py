"""The scales: how the values of a numeric column become coordinates. A new scale is one entry here.

This module imports no arrays before they are needed, so that help is shown at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from microagg.table.parameters import Choice

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Axis:
    """How a numeric column becomes one coordinate: subtract `centre`, divide by `width`.

    Where a scale goes by places instead of values, `steps` has the distinct values in ascending order and `places` the place of
    each, and what lies between two values lies between their places.
    """

    centre: float
    width: float
    steps: np.ndarray | None = None
    places: np.ndarray | None = None

    def coordinates(self, column: np.ndarray) -> np.ndarray:
        """The coordinate of each value."""
        return (self._placed(column) - self.centre) / self.width

    def _placed(self, column: np.ndarray) -> np.ndarray:
        if self.steps is None or self.places is None:
            return column
        import numpy as np

        return np.interp(column, self.steps, self.places)


@dataclass(frozen=True)
class Scale:
    """One scale: its name, what it does, and how it measures a contiguous column that is not constant."""

    name: str
    help: str
    measure: Callable[[np.ndarray], Axis]


def _by_deviation(column: np.ndarray) -> Axis:
    from microagg.kernels import sums

    centre, width = sums.column_moments(column.reshape(-1, 1))
    return Axis(float(centre[0]), float(width[0]))


def _by_range(column: np.ndarray) -> Axis:
    return Axis(float(column.min()), float(column.max() - column.min()))


def _by_quartiles(column: np.ndarray) -> Axis:
    import numpy as np

    quarter, half, three_quarters = np.quantile(column, [0.25, 0.5, 0.75])
    return Axis(float(half), float(three_quarters - quarter))


def _as_is(column: np.ndarray) -> Axis:
    return Axis(0.0, 1.0)


def _by_rank(column: np.ndarray) -> Axis:
    import numpy as np

    steps, which, counts = np.unique(column, return_inverse=True, return_counts=True)
    places = np.cumsum(counts) - 0.5 * (counts - 1)  # equal values share the mean of their places
    measured = _by_deviation(np.ascontiguousarray(places[which.reshape(-1)]))
    return Axis(measured.centre, measured.width, steps, places)


_ENTRIES = (
    Scale("zscore", "in standard deviations from the mean", _by_deviation),
    Scale("minmax", "from the least (0) to the largest value (1)", _by_range),
    Scale("robust", "in quartile distances from the median", _by_quartiles),
    Scale("rank", "by the place of a value among the others, in standard deviations", _by_rank),
    Scale("none", "as they are", _as_is),
)
SCALES: dict[str, Scale] = {entry.name: entry for entry in _ENTRIES}
SCALE = Choice(
    "scale", tuple(SCALES), "zscore",
    f"How columns are made comparable: {'; '.join(f'{entry.name} ({entry.help})' for entry in _ENTRIES)}.",
)  # fmt: skip
