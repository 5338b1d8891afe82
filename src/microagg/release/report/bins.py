"""Distributions in bins of round edges.

In a public report both the edges and the counts come from the RELEASED values alone; an internal
one counts the original values beside them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from microagg.formatting import number

FINEST = 12  # bins between the open ones
MIDDLE = (0.025, 0.975)
# widths of bins of dates, from fine to coarse, in the words of NumPy
STEPS = (
    ("s", (1, 2, 5, 10, 15, 30)),
    ("m", (1, 2, 5, 10, 15, 30)),
    ("h", (1, 2, 3, 6, 12)),
    ("D", (1, 2, 7, 14)),
    ("M", (1, 2, 3, 6)),
    ("Y", (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)),
)
# what makes years count from the year 0, and weeks begin on Mondays
OFFSETS = {("Y", 0): 1970, ("D", 7): 3, ("D", 14): 3}


@dataclass(frozen=True)
class Bins:
    """How many records lie where, in each of some columns. The first and the last bin have no outer
    edge.
    """

    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    words: tuple[str, ...] = ()
    """What the edges are called where they are no plain numbers, such as dates."""

    @property
    def texts(self) -> tuple[str, ...]:
        """What the edges are called.

        >>> Bins((1000.0,), ((5, 5),)).texts
        ('1,000',)
        """
        return self.words or tuple(number(edge, 12) for edge in self.edges)

    def names(self) -> tuple[str, ...]:
        """What each bin holds, in words.

        >>> Bins((20.0, 30.0), ((5, 5, 5), (6, 4, 5))).names()
        ('under 20', '20 to under 30', '30 and more')
        """
        texts = self.texts
        inner = [f"{low} to under {high}" for low, high in itertools.pairwise(texts)]
        return (f"under {texts[0]}", *inner, f"{texts[-1]} and more")


def bins_of(guide: np.ndarray, *columns: np.ndarray) -> Bins | None:
    """The finest bins of round edges within the bulk of `guide`, and how many records of each
    column lie in them.

    None where there are not two bins, as in a constant column.

    >>> bins_of(np.array([0.0, 1, 2]), np.array([0.0, 0, 1]), np.array([1.0, 1, 2]))
    Bins(edges=(1.0,), counts=((2, 1), (0, 3)), words=())
    """
    least = min((float(column.min()) for column in columns if len(column)), default=-math.inf)
    for edges in _subdivisions(guide):
        edges = edges[edges > least]  # so that the first bin is not empty
        if len(edges) > 0:
            return Bins(tuple(edges.tolist()), tuple(_counts(column, edges) for column in columns))
    return None


def _subdivisions(values: np.ndarray) -> Iterator[np.ndarray]:
    """Round edges within the bulk of the values, from fine to coarse."""
    if len(values) == 0 or np.abs(values).max() > 1e300:  # differences would not be finite
        return
    low, high = _bulk(values)
    if high - low <= max(
        1e-12 * max(abs(low), abs(high)), 1e-290
    ):  # constant, or too close for edges between
        return
    finest = (high - low) / FINEST
    whole = bool((values == np.rint(values)).all())
    for power in range(math.floor(math.log10(finest)), math.ceil(math.log10(high - low)) + 1):
        for leading in (1, 2, 5):
            step = leading * 10.0**power
            if step < finest or (whole and step < 1):
                continue
            multiples = np.arange(math.ceil(low / step), math.floor(high / step) + 1)
            yield np.unique(np.round(multiples * step, max(0, -power)))


def _bulk(values: np.ndarray) -> tuple[float, float]:
    low, high = (float(edge) for edge in np.quantile(values, MIDDLE))
    if not low < high:  # nearly all values are the same
        low, high = float(values.min()), float(values.max())
    return low, high


def bins_of_dates(unit: str, guide: np.ndarray, *columns: np.ndarray) -> Bins | None:
    """The same for dates and stamps, whole numbers of a unit since 1970: edges are years, months,
    Mondays, days, hours …

    >>> bins_of_dates("D", np.array([0, 1000]), np.array([0, 364, 365])).words[:3]
    ('1970-04', '1970-07', '1970-10')
    """
    if len(guide) == 0:
        return None
    least = min((int(column.min()) for column in columns if len(column)), default=0)
    low, high = np.array(_bulk(guide)).astype(np.int64).astype(f"datetime64[{unit}]")
    for step_unit, steps in STEPS:
        if unit == "D" and step_unit in ("s", "m", "h"):  # finer than the dates are
            continue
        for step in steps:
            first, last = (
                int(edge.astype(f"datetime64[{step_unit}]").astype(np.int64))
                for edge in (low, high)
            )
            if (last - first) // step > FINEST:
                continue
            offset = OFFSETS.get((step_unit, step), OFFSETS.get((step_unit, 0), 0))
            counts = np.arange(first, last + 1)
            edges = counts[(counts + offset) % step == 0].astype(f"datetime64[{step_unit}]")
            places = edges.astype(f"datetime64[{unit}]").astype(np.int64)
            inside = (places > least) & (places >= low.astype(np.int64))
            if inside.any():
                words = tuple(_date_text(edge, step_unit) for edge in edges[inside])
                edges = places[inside]
                return Bins(
                    tuple(map(float, edges)),
                    tuple(_counts(column, edges) for column in columns),
                    words,
                )
    return None


def _date_text(date: np.datetime64, unit: str) -> str:
    if unit in ("Y", "M", "D"):
        return str(date)
    return str(date.astype("datetime64[s]" if unit == "s" else "datetime64[m]")).replace("T", " ")


def _counts(values: np.ndarray, edges: np.ndarray) -> tuple[int, ...]:
    places = np.searchsorted(edges, values, side="right")
    return tuple(np.bincount(places, minlength=len(edges) + 1).tolist())
