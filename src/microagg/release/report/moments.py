"""Where columns of numbers and dates lay before and after; for the data holder's eyes, for extremes
are single records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from microagg.formatting import number
from microagg.measures.measure import Pair
from microagg.release.report.document import Grid
from microagg.release.report.spread import absolute
from microagg.table.schema import Kind
from microagg.table.variable import Variable

QUARTERS = (0, 0.25, 0.5, 0.75, 1)
HEAD = (
    "column",
    "when",
    "mean",
    "standard deviation",
    "minimum",
    "quarter",
    "median",
    "three quarters",
    "maximum",
)
UNITS = {"D": "days", "s": "seconds", "ms": "ms", "us": "µs", "ns": "ns"}


def moments(pair: Pair, order: Iterable[int]) -> Grid:
    """Means, deviations and quantiles of the numeric columns, gaps left out.

    >>> moments(Pair(np.array([[1.0], [3.0]]), np.array([[2.0], [2.0]]), ("age",)), [0]).rows[0][:4]
    ('age', 'before', '2', '1')
    """
    rows = [row for j in order for row in _rows(pair, int(j))]
    return Grid(
        HEAD, tuple(rows), "Before and after, in the units of each column (internal report only)."
    )


def _rows(pair: Pair, j: int) -> Iterator[tuple[str, ...]]:
    for when, cells in (("before", pair.before), ("after", pair.after)):
        variable = cells.variables[j]
        if variable.kind is not Kind.NUMERIC or variable.coarse:
            continue
        values = absolute(cells, j)
        if len(values) == 0:
            yield (variable.name, when, *["–"] * 7)
        elif variable.unit:
            yield (variable.name, when, *_of_times(variable, values))
        else:
            yield (variable.name, when, *_of_numbers(values))


def _of_numbers(values: np.ndarray) -> Iterator[str]:
    size = float(np.abs(values).max()) or 1.0  # scaled, so that squares of huge values stay finite
    spread = size * float((values / size).std())
    told = [
        size * float((values / size).mean()),
        spread,
        *map(float, np.quantile(values, QUARTERS)),
    ]
    return (number(value, 6) for value in told)


def _of_times(variable: Variable, ticks: np.ndarray) -> Iterator[str]:
    least = int(ticks.min())
    since = (ticks - least).astype(np.float64)
    yield _time_text(variable, least + since.mean())
    yield f"{number(float(since.std()), 6)} {UNITS[variable.unit]}"
    for quantile in np.quantile(since, QUARTERS).tolist():
        yield _time_text(variable, least + quantile)


def _time_text(variable: Variable, ticks: float) -> str:
    """A date, a stamp to the second, or a length of time."""
    if variable.span:
        return f"{number(ticks, 6)} {UNITS[variable.unit]}"
    (moment,) = np.array([round(ticks)]).astype(f"datetime64[{variable.unit}]")
    return str(moment if variable.unit == "D" else moment.astype("datetime64[s]")).replace("T", " ")
