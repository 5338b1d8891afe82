"""Interval disclosure: how often an original value lies in a narrow interval around its released
value.

The share of values inside says how surely an intruder knows a value within that interval. Both
kinds are taken at widths of 1, 2, ..., 10 percent and averaged over widths and columns; a single
width can be asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from microagg.errors import InputError
from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.measures.risk.classes import percent_of_records
from microagg.table.encoder import Space

WIDTHS = tuple(range(1, 11))

_Inside = Callable[[np.ndarray, np.ndarray, Sequence[float]], np.ndarray]
"""From an original and a released column to (widths, n): which values lie inside."""


def rank_interval_disclosure(pair: Pair, widths: Sequence[float] = WIDTHS) -> Figure:
    """The original values, in percent, between released values whose rank is near that of their own
    released value.

    At a width of p percent the interval around a released value reaches from the lowest to the
    highest released value whose rank differs from its own by less than p n / 100. Values that tie
    share the mean of their ranks.

    >>> values = np.arange(200.0).reshape(-1, 1)
    >>> shifted = Pair(values, values + 2.0, ("income",))
    >>> rank_interval_disclosure(shifted, [2]).value, rank_interval_disclosure(shifted, [1]).value
    (99.0, 0.0)
    """
    return _disclosure(pair, widths, _inside_rank_intervals)


def deviation_interval_disclosure(pair: Pair, widths: Sequence[float] = WIDTHS) -> Figure:
    """The original values, in percent, no farther from their released value than p percent of a
    standard deviation.

    The deviation is that of the original column (the population's formula), so all releases of a
    table are measured by one yardstick; the interval is closed and reaches so far to both sides.

    >>> pair = Pair(np.array([[0.0], [100.0]]), np.array([[4.0], [94.0]]), ("income",))
    >>> deviation_interval_disclosure(pair, [10]).value
    50.0
    """
    return _disclosure(pair, widths, _inside_deviation_intervals)


def _disclosure(pair: Pair, widths: Sequence[float], inside: _Inside) -> Figure:
    if len(widths) == 0 or min(widths) < 0.0:
        raise InputError("give at least one width of an interval, in percent and none below 0.")
    columns, by_width = {}, np.zeros(len(widths))
    everywhere = np.ones((len(widths), len(pair.original)), bool)
    for name, original, released in zip(pair.names, pair.original.T, pair.released.T, strict=True):
        here = inside(original, released, widths)
        everywhere &= here
        percents = _percent_of_rows(here, pair.weights)
        columns[name] = float(percents.mean())
        by_width += percents / len(pair.names)
    details = {f"width {width:g} %": float(x) for width, x in zip(widths, by_width, strict=True)}
    details["in all columns at once"] = float(np.mean(_percent_of_rows(everywhere, pair.weights)))
    return Figure(float(by_width.mean()), columns, details)


def _percent_of_rows(inside: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    if weights is None and inside.shape[1] > 0:
        return 100.0 * inside.mean(axis=1)
    return np.array([percent_of_records(row, weights) for row in inside])


def _inside_rank_intervals(
    original: np.ndarray, released: np.ndarray, widths: Sequence[float]
) -> np.ndarray:
    values, which, counts = np.unique(released, return_inverse=True, return_counts=True)
    ranks = (
        2 * np.cumsum(counts) - counts
    )  # twice the mean rank, less 1: whole numbers, whose differences are exact
    inside = np.empty((len(widths), len(original)), bool)
    for row, width in enumerate(widths):
        # the largest whole number below twice the reach; the value itself is always within it
        reach = max(int(np.ceil(width * len(released) / 50.0)) - 1, 0)
        low = values[np.searchsorted(ranks, ranks - reach, side="left")]
        high = values[np.searchsorted(ranks, ranks + reach, side="right") - 1]
        inside[row] = (low[which] <= original) & (original <= high[which])
    return inside


def _inside_deviation_intervals(
    original: np.ndarray, released: np.ndarray, widths: Sequence[float]
) -> np.ndarray:
    if len(original) == 0:
        return np.empty((len(widths), 0), bool)
    space = Space.fit(np.require(original, np.float64, ["C", "W"]).reshape(-1, 1))
    deviation = 0.0 if space.constant else space.width[0]
    return np.abs(original - released) <= np.array(widths).reshape(-1, 1) * deviation / 100.0


_SOURCE = (
    "Mateo-Sanz, Sebé and Domingo-Ferrer 2004; Domingo-Ferrer and Torra 2001: the mean "
    "over the columns and over widths "
    "of 1 to 10 percent. Weights count the records; "
)

RANK_INTERVALS = Measure(
    name="rank-intervals",
    title="values an intruder can guess closely by rank",
    side="risk",
    unit="percent of the values",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="No original value lies between the neighbours in rank of its released value.",
    highest_means="Every original value lies between the nearest neighbours in rank of its "
    "released value.",
    source=_SOURCE + "ranks are those among the released records, ties sharing the mean of theirs.",
    compute=rank_interval_disclosure,
    basis=Basis.SAMPLE,
    needs="numbers",
)

DEVIATION_INTERVALS = Measure(
    name="deviation-intervals",
    title="values an intruder can guess within part of a standard deviation",
    side="risk",
    unit="percent of the values",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="Every released value is farther from its original than a tenth of the standard "
    "deviation.",
    highest_means="Every released value is within a hundredth of the standard deviation of its "
    "original.",
    source=_SOURCE
    + "the deviation is that of all original values, each counted once, and the interval "
    "reaches to both "
    "sides by the given percentage of it (as in sdcMicro, which takes the deviation of "
    "the released values instead).",
    compute=deviation_interval_disclosure,
    basis=Basis.SAMPLE,
    needs="numbers",
)
