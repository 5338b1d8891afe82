"""Loss against bound: no grouping of a small table may lose less than is proven for any."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import microagg as ma
import plain
from microagg.bounds.bound import Bound
from microagg.problem.watch import Watch

ROUNDS = 2  # of rising: most of the way, in a few milliseconds
ROUNDING = 1e-9  # of the total sum of squares


def never_below_bound(points: Any, labels: np.ndarray, k: int) -> None:
    """Assert that these groups lose no less than is proven for every grouping of the points."""
    points = np.ascontiguousarray(points, np.float64)
    everything = plain.sse(points, np.zeros(len(points), np.int32))
    assert (
        plain.sse(points, labels)
        >= _bound(points.tobytes(), points.shape[1], k).sse - ROUNDING * everything
    )


def release_never_below_bound(values: Any, release: ma.Release, k: int) -> None:
    """Assert that a release loses no less than is proven for every grouping of these
    quasi-identifiers, in z-scores.
    """
    values = np.asarray(values, np.float64)
    spread = values.std(axis=0)
    points = (values - values.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    assert release.loss["IL"] >= _bound(points.tobytes(), points.shape[1], k).il - 100.0 * ROUNDING


@functools.cache  # many methods are held to the bound of one table
def _bound(content: bytes, columns: int, k: int) -> Bound:
    points = np.frombuffer(content).reshape(-1, columns).copy()
    return ma.lower_bound(points, k, watch=Watch(stop_after=ROUNDS))
