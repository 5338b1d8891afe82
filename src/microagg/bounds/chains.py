"""Exact pricing on a dense matrix: all sets of one size that cost less than their prices promise.

The averaging chains of `pricing.py`: every step adds one row of an n x n matrix of weights to the stars of
all records and keeps those that can be added. Weights are whole numbers, rounded down, so that sums and ties are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from microagg.bounds.cuts import Cuts
from microagg.bounds.pricing import Prices, Sets, joined_sets
from microagg.kernels.compiling import kernel
from microagg.refine.highs import Stop

BUFFER = 1 << 16
SLICE = 500_000_000  # records looked at between two looks at the clock
ROUNDING = 1e-14
LARGEST_TOTAL = 2.0**52
"""Sums of weights stay below this, so that products with numbers of pairs fit into 64 bits."""


@kernel
def squared_distances(points):
    """The squared distance of every pair, from differences: exact to the last digits."""
    n, d = points.shape
    squares = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            x = 0.0
            for c in range(d):
                difference = points[i, c] - points[j, c]
                x += difference * difference
            squares[i, j] = squares[j, i] = x
    return squares


@kernel
def _fill_weights(squares, prices, size, error, matrix):
    """Add weights to the shares in `matrix`, each lowered by `error` of its parts; returns the least."""
    n = squares.shape[0]
    least = 0.0
    inverse, per_end = 1.0 / size, 1.0 / (size - 1)
    for i in range(n):
        for j in range(n):
            if i != j:
                x = squares[i, j] * inverse
                y = (prices[i] + prices[j]) * per_end
                share = matrix[i, j]
                w = x - y + share
                w -= error * (x + abs(prices[i]) + abs(prices[j]) + share)
                matrix[i, j] = w
                least = min(least, w)
    return least


@kernel
def _to_integers(weights, scale, cap, integers):
    """Round weights down to multiples of 1 / scale; those too large for any listed set become `cap`."""
    n = weights.shape[0]
    for i in range(n):
        for j in range(n):
            integers[i, j] = np.int64(np.floor(min(weights[i, j], cap) * scale))
        integers[i, i] = np.int64(np.floor(cap * scale))


@kernel
def _chains(
    weights, size, limit, level, squares, prices, cut_starts, cut_of, penalties, parts, counts,
    rows, lists, lengths, places, path, stars, totals, state, most_nodes, found, excess,
):  # fmt: skip
    """List sets of `size` records with an excess of at most `limit`; goes on where `state` says.

    level: the limit in whole numbers. state: next root, depth, nodes in all.
    rows[t]: for every record the sum of its weights to path[:t + 1].
    Returns how many were found; all is done once state[0] is n and state[1] is 0.
    """
    n = weights.shape[0]
    pairs_of_all = size * (size - 1)
    depth, number, nodes = state[1], 0, 0
    while nodes < most_nodes and number < found.shape[0]:
        if depth == 0:
            if state[0] >= n:
                break
            root = state[0]
            state[0] += 1
            path[0] = root
            totals[1] = 0
            stars[1, 0] = 0
            depth, count = 1, 0
            room = level * 2 // pairs_of_all
            for v in range(n):
                x = weights[root, v]
                rows[0, v] = x
                lists[1, count] = v
                count += 1 if x <= room and v > root else 0
            lengths[1], places[1] = count, 0
            nodes += 1
            continue
        if places[depth] == lengths[depth]:
            depth -= 1
            continue
        v = lists[depth, places[depth]]
        places[depth] += 1
        t = depth
        star = rows[t - 1, v]
        if t + 1 == size:
            cost, price = 0.0, prices[v]
            for p in range(t):
                u = path[p]
                price += prices[u]
                cost += squares[u, v]
                for q in range(p):
                    cost += squares[u, path[q]]
            extra = 0.0
            for q in range(t + 1):
                u = v if q == t else path[q]
                for f in range(cut_starts[u], cut_starts[u + 1]):
                    c = cut_of[f]
                    counts[c] += 1
                    if counts[c] % parts[c] == 0:
                        extra += penalties[c]
            for q in range(t + 1):
                u = v if q == t else path[q]
                for f in range(cut_starts[u], cut_starts[u + 1]):
                    counts[cut_of[f]] = 0
            value = cost / size - price + extra
            if value <= limit:
                for q in range(t):
                    found[number, q] = path[q]
                found[number, t] = v
                excess[number] = value
                number += 1
            continue
        path[t] = v
        for q in range(t):
            stars[t + 1, q] = stars[t, q] + weights[path[q], v]
        stars[t + 1, t] = star
        totals[t + 1] = totals[t] + star
        nodes += 1
        t += 1
        room = level * (t * (t + 1)) // pairs_of_all - totals[t]
        count = 0
        before, after, add = rows[t - 2], rows[t - 1], weights[v]
        for u in range(n):
            x = before[u] + add[u]
            after[u] = x
            lists[t, count] = u
            count += 1 if x <= room else 0
        kept = 0
        for e in range(count):
            u = lists[t, e]
            x = after[u]
            good = True
            for q in range(t):
                w = path[q]
                y = stars[t, q] + weights[w, u]
                if w == u or y > x or (y == x and w > u):
                    good = False
                    break
            if good:
                lists[t, kept] = u
                kept += 1
        lengths[t], places[t] = kept, 0
        depth = t
    state[1] = depth
    state[2] += nodes
    return number


class ChainPricing:
    """Lists sets of low excess among points whose matrix of distances fits into memory.

    >>> from microagg.bounds.pricing import Prices
    >>> pricing = ChainPricing(np.array([[0.0], [1.0], [3.0], [9.0]]), 2)
    >>> prices = Prices(np.array([1.0, 1.0, 1.0, 1.0]), np.empty(0))
    >>> pricing.sets(prices, Cuts(4, []), 0.0).members.tolist()
    [0, 1, 1, 2]
    """

    def __init__(self, points: np.ndarray, k: int) -> None:
        self._k = k
        self.squares = squared_distances(points)
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
        """All sets of k to 2k - 1 records (or of `sizes`) with an excess of at most `limit`, in a fixed order.

        After `most` sets, or `work` records looked at, or when `stop` says so, it ends with those found so far.
        """
        n = len(self.squares)
        listed: list[tuple[np.ndarray, np.ndarray]] = []
        left, complete = work // n, True
        weights, integers = np.empty((n, n)), np.empty((n, n), np.int64)
        for s in sizes or range(self._k, min(2 * self._k - 1, n) + 1):
            level = self._integers(prices, cuts, limit, s, weights, integers)
            state = np.zeros(3, np.int64)
            rows, values = np.empty((BUFFER, s), np.int32), np.empty(BUFFER)
            buffers = (
                np.empty((s, n), np.int64), np.empty((s + 1, n + 1), np.int64), np.zeros(s + 1, np.int64),
                np.zeros(s + 1, np.int64), np.zeros(s + 1, np.int64), np.zeros((s + 1, s + 1), np.int64),
                np.zeros(s + 1, np.int64),
            )  # fmt: skip
            while state[0] < n or state[1] > 0:
                if left <= 0 or sum(len(x) for _, x in listed) >= most or (stop is not None and stop()):
                    complete = False
                    break
                before = state[2]
                number = _chains(
                    integers, s, limit, level, self.squares, prices.pi, *cuts.of_records, prices.penalties,
                    cuts.parts, cuts.counts, *buffers, state, min(left, SLICE // n), rows, values,
                )  # fmt: skip
                left -= int(state[2] - before)
                listed.append((np.sort(rows[:number], axis=1), values[:number].copy()))
            self.nodes += int(state[2])
            if not complete:
                break
        return joined_sets(listed, complete)

    def _integers(
        self, prices: Prices, cuts: Cuts, limit: float, s: int, weights: np.ndarray, integers: np.ndarray
    ) -> int:
        """Fill the whole-number weights for sets of s records; returns the limit in their units."""
        weights[:] = 0.0
        cuts.add_pair_shares(prices.penalties, s, weights)
        pairs = s * (s - 1) / 2
        effective = prices.pi + cuts.bonus(prices.penalties, s)
        least = _fill_weights(self.squares, effective, s, ROUNDING, weights)
        largest = pairs * max(-least, 0.0) + abs(limit)
        cap = max(largest, 1e-100)  # nothing is negative: any scale will do
        scale = 2.0 ** math.floor(math.log2(LARGEST_TOTAL / (cap * pairs)))
        _to_integers(weights, scale, cap, integers)
        # rounded up, and nothing below zero: a limit a little higher only lists more
        return math.ceil(max(limit, 0.0) * scale)
