"""Exact pricing on a dense matrix: all sets of one size that cost less than their prices promise.

The averaging chains of `pricing.py`: every step adds one row of an n x n matrix of weights to the
stars of all records and keeps those that can be added. Weights are whole numbers, rounded down, so
that sums and ties are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from microagg.bounds.cuts import Cuts
from microagg.bounds.pricing import Prices, Sets, joined_sets
from microagg.kernels.chain_pricing import (
    ROUNDING,
    fill_weights,
    list_chains,
    squared_distances,
    to_integers,
)
from microagg.refine.highs import Stop

BUFFER = 1 << 16
SLICE = 500_000_000  # records looked at between two looks at the clock
LARGEST_TOTAL = 2.0**52
"""Sums of weights stay below this, so that products with numbers of pairs fit into 64 bits."""


class ChainPricing:
    """Lists sets of low excess among points.

    The matrix of distances is kept, or (not `stored`) rows of it are computed as they are needed;
    there can be no cuts then.

    >>> from microagg.bounds.pricing import Prices
    >>> pricing = ChainPricing(np.array([[0.0], [1.0], [3.0], [9.0]]), 2)
    >>> prices = Prices(np.array([1.0, 1.0, 1.0, 1.0]), np.empty(0))
    >>> pricing.sets(prices, Cuts(4, []), 0.0).members.tolist()
    [0, 1, 1, 2]
    """

    def __init__(self, points: np.ndarray, k: int, stored: bool = True) -> None:
        self._k, self._points = k, points
        self._stored = stored
        self.squares = squared_distances(points) if stored else np.empty((0, 0))
        self.nodes = 0

    def sets(
        self,
        prices: Prices,
        cuts: Cuts,
        limit: float,
        *,
        sizes: Iterable[int] | None = None,
        most: int = 1 << 62,
        work: int = 1 << 62,
        stop: Stop | None = None,
    ) -> Sets:
        """All sets of k to 2k - 1 records (or of `sizes`) with an excess of at most `limit`, in a
        fixed order.

        After `most` sets, or `work` records looked at, or when `stop` says so, it ends with those
        found so far.
        """
        n = len(self._points)
        listed: list[tuple[np.ndarray, np.ndarray]] = []
        left, complete = work // n, True
        side = n if self._stored else 0
        weights, integers = np.empty((side, side)), np.empty((side, side), np.int64)
        cost = 1 if self._stored else 2 + self._points.shape[1]  # of a record, in time
        for s in sizes or range(self._k, min(2 * self._k - 1, n) + 1):
            cap, scale = self._integers(prices, cuts, limit, s, weights, integers)
            # rounded up, and nothing below zero: a limit a little higher only lists more
            level = math.ceil(max(limit, 0.0) * scale)
            state = np.zeros(3, np.int64)
            rows, values = np.empty((BUFFER, s), np.int32), np.empty(BUFFER)
            buffers = (
                np.empty((s, n), np.int64), np.empty((s, n), np.int64),
                np.empty((s + 1, n + 1), np.int64),
                np.zeros(s + 1, np.int64), np.zeros(s + 1, np.int64), np.zeros(s + 1, np.int64),
                np.zeros((s + 1, s + 1), np.int64), np.zeros(s + 1, np.int64),
            )  # fmt: skip
            while state[0] < n or state[1] > 0:
                if (
                    left <= 0
                    or sum(len(x) for _, x in listed) >= most
                    or (stop is not None and stop())
                ):
                    complete = False
                    break
                before = state[2]
                number = list_chains(
                    integers, self._points, cap, scale, s, limit, level, prices.pi,
                    *cuts.of_records, prices.penalties, cuts.parts, cuts.counts,
                    *buffers, state, min(left, 1 + SLICE // (n * cost)), rows, values,
                )  # fmt: skip
                left -= int(state[2] - before)
                listed.append((np.sort(rows[:number], axis=1), values[:number].copy()))
            self.nodes += int(state[2])
            if not complete:
                break
        return joined_sets(listed, complete)

    def _integers(
        self,
        prices: Prices,
        cuts: Cuts,
        limit: float,
        s: int,
        weights: np.ndarray,
        integers: np.ndarray,
    ) -> tuple[float, float]:
        """Fill the whole-number weights for sets of s records; return their cap and scale."""
        pairs = s * (s - 1) / 2
        if not self._stored:
            if len(cuts):
                raise ValueError("cuts need a matrix of distances")
            least = -(2.0 / (s - 1) + 2.0 * ROUNDING) * float(np.abs(prices.pi).max())
            return _cap_and_scale(least, limit, pairs)
        weights[:] = 0.0
        cuts.add_pair_shares(prices.penalties, s, weights)
        effective = prices.pi + cuts.bonus(prices.penalties, s)
        least = fill_weights(self.squares, effective, s, ROUNDING, weights)
        cap, scale = _cap_and_scale(least, limit, pairs)
        to_integers(weights, scale, cap, integers)
        return cap, scale


def _cap_and_scale(least: float, limit: float, pairs: float) -> tuple[float, float]:
    """Return the largest weight that can occur in a listed set, and the scale of whole numbers."""
    cap = max(pairs * max(-least, 0.0) + abs(limit), 1e-100)  # nothing negative: any scale will do
    return cap, 2.0 ** math.floor(math.log2(LARGEST_TOTAL / (cap * pairs)))
