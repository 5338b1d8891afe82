"""Distributions in bins of round edges.

In a public report both the edges and the counts come from the RELEASED values alone; an internal one counts the original values
beside them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from microagg.drawing.wording import number

FINEST = 12  # bins between the open ones
MIDDLE = (0.025, 0.975)


@dataclass(frozen=True)
class Bins:
    """How many records lie where, in each of some columns. The first and the last bin have no outer edge."""

    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]

    def names(self) -> tuple[str, ...]:
        """What each bin holds, in words.

        >>> Bins((20.0, 30.0), ((5, 5, 5), (6, 4, 5))).names()
        ('under 20', '20 to under 30', '30 and more')
        """
        texts = [number(edge, 12) for edge in self.edges]
        inner = [f"{low} to under {high}" for low, high in itertools.pairwise(texts)]
        return (f"under {texts[0]}", *inner, f"{texts[-1]} and more")


def bins_of(guide: np.ndarray, *columns: np.ndarray) -> Bins | None:
    """The finest bins of round edges within the bulk of `guide`, and how many records of each column lie in them.

    None where there are not two bins, as in a constant column.

    >>> bins_of(np.array([0.0, 1, 2]), np.array([0.0, 0, 1]), np.array([1.0, 1, 2]))
    Bins(edges=(1.0,), counts=((2, 1), (0, 3)))
    """
    least = min((float(column.min()) for column in columns), default=-math.inf)
    for edges in _subdivisions(guide):
        edges = edges[edges > least]  # so that the first bin is not empty
        if len(edges) > 0:
            return Bins(tuple(edges.tolist()), tuple(_counts(column, edges) for column in columns))
    return None


def _subdivisions(values: np.ndarray) -> Iterator[np.ndarray]:
    """Round edges within the bulk of the values, from fine to coarse."""
    if np.abs(values).max() > 1e300:  # differences would not be finite
        return
    low, high = (float(edge) for edge in np.quantile(values, MIDDLE))
    if not low < high:  # nearly all values are the same
        low, high = float(values.min()), float(values.max())
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


def _counts(values: np.ndarray, edges: np.ndarray) -> tuple[int, ...]:
    places = np.searchsorted(edges, values, side="right")
    return tuple(np.bincount(places, minlength=len(edges) + 1).tolist())
