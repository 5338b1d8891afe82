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


QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Axis:
    """Transformation of a numeric column to one coordinate: subtract `centre`, divide by `width`.

    Where a scale goes by places instead of values, `steps` has the distinct values in ascending
    order and `places` the place of each, and what lies between two values lies between their
    places.
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
    """One scale: its name, what it does, and how it measures a contiguous column that is not
    constant.
    """

    name: str
    help: str
    measure: Callable[[np.ndarray], Axis]


def _by_deviation(column: np.ndarray) -> Axis:
    from microagg.kernels import sums

    centre, width = sums.column_moments(column.reshape(-1, 1))
    return Axis(float(centre[0]), float(width[0]))


def _by_range(column: np.ndarray) -> Axis:
    return axis_of_range(float(column.min()), float(column.max()))


def _by_quartiles(column: np.ndarray) -> Axis:
    import numpy as np

    return axis_of_quartiles(*np.quantile(column, QUARTILES).tolist())


def _as_is(column: np.ndarray) -> Axis:
    return Axis(0.0, 1.0)


def _by_rank(column: np.ndarray) -> Axis:
    import numpy as np

    return axis_of_ranks(*np.unique(column, return_counts=True))


def axis_of_range(least: float, most: float) -> Axis:
    """The axis of a column by its extremes; a zero among them has no sign.

    >>> axis_of_range(-0.0, 4.0)
    Axis(centre=0.0, width=4.0, steps=None, places=None)
    """
    return Axis(least + 0.0, most - least)


def axis_of_quartiles(quarter: float, half: float, three_quarters: float) -> Axis:
    """The axis of a column by its quartiles.

    >>> axis_of_quartiles(1.0, 2.0, 5.0).width
    4.0
    """
    return Axis(half + 0.0, three_quarters - quarter)


def axis_of_ranks(steps: np.ndarray, counts: np.ndarray) -> Axis:
    """The axis of a column by its different values in ascending order, and how often each occurs.

    >>> import numpy as np
    >>> axis_of_ranks(np.array([3.0, 9.0]), np.array([2, 1])).places.tolist()
    [1.5, 3.0]
    """
    import numpy as np

    from microagg.kernels import counting

    places = np.cumsum(counts) - 0.5 * (counts - 1)  # equal values share the mean of their places
    centre, width = counting.repeated_moments(places, counts.astype(np.int64)).tolist()
    return Axis(centre, width, steps, places)


_ENTRIES = (
    Scale("zscore", "in standard deviations from the mean", _by_deviation),
    Scale("minmax", "from the least (0) to the largest value (1)", _by_range),
    Scale("robust", "in quartile distances from the median", _by_quartiles),
    Scale("rank", "by rank, in standard deviations", _by_rank),
    Scale("none", "unchanged", _as_is),
)
SCALES: dict[str, Scale] = {entry.name: entry for entry in _ENTRIES}
SCALE = Choice(
    "scale",
    tuple(SCALES),
    "zscore",
    "How columns are made comparable: "
    f"{'; '.join(f'{entry.name} ({entry.help})' for entry in _ENTRIES)}.",
)
