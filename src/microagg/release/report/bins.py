"""Distributions before and after, in bins that say nothing of single records.

In a public report the edges come from the RELEASED values alone (round numbers within the middle 95 % of them), the
outermost bins are open, and every bin holds at least so many original and so many released records. What the original
values decide is only whether a subdivision may be shown or a coarser one is tried. So the largest and the smallest
original value leave no trace, wherever they lie.
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
    """How many records lie where, before and after. The first and the last bin have no outer edge."""

    edges: tuple[float, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    def names(self) -> tuple[str, ...]:
        """What each bin holds, in words.

        >>> Bins((20.0, 30.0), (5, 5, 5), (6, 4, 5)).names()
        ('under 20', '20 to under 30', '30 and more')
        """
        texts = [number(edge, 12) for edge in self.edges]
        inner = [f"{low} to under {high}" for low, high in itertools.pairwise(texts)]
        return (f"under {texts[0]}", *inner, f"{texts[-1]} and more")


def bins_of(
    original: np.ndarray, released: np.ndarray, at_least: int, guide: np.ndarray | None = None
) -> Bins | None:
    """The finest bins with `at_least` records of both columns in each; None where there are not two such bins.

    Edges come from `guide`, which is the released column unless another one is given (an internal report may take the
    original one).

    >>> ages = np.array([20.0, 22, 24, 41, 43, 99])
    >>> bins_of(ages, np.array([22.0, 22, 22, 61, 61, 61]), at_least=3)
    Bins(edges=(25.0,), before=(3, 3), after=(3, 3))
    """
    guide = released if guide is None else guide
    for edges in _subdivisions(guide):
        chosen = _merged(edges, released, at_least)
        if len(chosen) == 0:
            continue
        before, after = _counts(original, chosen), _counts(released, chosen)
        if min(before.min(), after.min()) >= at_least:
            return Bins(tuple(chosen.tolist()), tuple(before.tolist()), tuple(after.tolist()))
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


def _merged(edges: np.ndarray, released: np.ndarray, at_least: int) -> np.ndarray:
    """Without the edges that would part off a bin of too few released records."""
    kept: list[float] = []
    held = 0
    counts = _counts(released, edges).tolist()
    for edge, count in zip(edges.tolist(), counts, strict=False):
        held += count
        if held >= at_least:
            kept.append(edge)
            held = 0
    if kept and held + counts[-1] < at_least:
        kept.pop()
    return np.array(kept)


def _counts(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
