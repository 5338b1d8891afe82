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
from microagg.kernels.compiling import kernel, part
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
    """Add weights to the shares in `matrix`, each lowered by `error` of its parts; returns the
    least.
    """
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
    """Round weights down to multiples of 1 / scale; those too large for any listed set become
    `cap`.
    """
    n = weights.shape[0]
    for i in range(n):
        for j in range(n):
            integers[i, j] = np.int64(np.floor(min(weights[i, j], cap) * scale))
        integers[i, i] = np.int64(np.floor(cap * scale))


@part
def _fill_row(v, points, prices, size, cap, scale, row):
    """Compute the whole-number weights of one record, without cuts."""
    n, d = points.shape
    inverse, per_end = 1.0 / size, 1.0 / (size - 1)
    for u in range(n):
        x = 0.0
        for c in range(d):
            difference = points[v, c] - points[u, c]
            x += difference * difference
        x *= inverse
        w = x - (prices[v] + prices[u]) * per_end
        w -= ROUNDING * (x + abs(prices[v]) + abs(prices[u]))
        row[u] = np.int64(np.floor(min(w, cap) * scale))
    row[v] = np.int64(np.floor(cap * scale))


@part
def _square(u, v, points):
    """Return the squared distance of two records."""
    x = 0.0
    for c in range(points.shape[1]):
        difference = points[u, c] - points[v, c]
        x += difference * difference
    return x


@kernel
def _chains(
    weights, points, cap, scale, size, limit, level, prices,
    cut_starts, cut_of, penalties, parts, counts, rows, path_rows,
    lists, lengths, places, path, stars, totals, state, most_nodes, rows_out, excess,
):  # fmt: skip
    """List sets of `size` records with an excess of at most `limit`; goes on where `state` says.

    weights: (n, n) whole numbers, or (0, 0): then rows are computed as they are needed.
    level: the limit in whole numbers. state: next root, depth, nodes in all.
    rows[t]: for every record the sum of its weights to path[:t + 1].
    Returns how many were found; all is done once state[0] is n and state[1] is 0.
    """
    n, stored = points.shape[0], weights.shape[0] > 0
    pairs_of_all = size * (size - 1)
    depth, number, nodes = state[1], 0, 0
    while nodes < most_nodes and number < rows_out.shape[0]:
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
            if stored:
                path_rows[0] = weights[root]
            else:
                _fill_row(root, points, prices, size, cap, scale, path_rows[0])
            for v in range(n):
                x = path_rows[0, v]
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
                cost += _square(u, v, points)
                for q in range(p):
                    cost += _square(u, path[q], points)
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
                    rows_out[number, q] = path[q]
                rows_out[number, t] = v
                excess[number] = value
                number += 1
            continue
        path[t] = v
        for q in range(t):
            stars[t + 1, q] = stars[t, q] + path_rows[q, v]
        stars[t + 1, t] = star
        totals[t + 1] = totals[t] + star
        nodes += 1
        t += 1
        room = level * (t * (t + 1)) // pairs_of_all - totals[t]
        count = 0
        if stored:
            path_rows[t - 1] = weights[v]
        else:
            _fill_row(v, points, prices, size, cap, scale, path_rows[t - 1])
        before, after, add = rows[t - 2], rows[t - 1], path_rows[t - 1]
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
                y = stars[t, q] + path_rows[q, u]
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
                number = _chains(
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
        least = _fill_weights(self.squares, effective, s, ROUNDING, weights)
        cap, scale = _cap_and_scale(least, limit, pairs)
        _to_integers(weights, scale, cap, integers)
        return cap, scale


def _cap_and_scale(least: float, limit: float, pairs: float) -> tuple[float, float]:
    """Return the largest weight that can occur in a listed set, and the scale of whole numbers."""
    cap = max(pairs * max(-least, 0.0) + abs(limit), 1e-100)  # nothing negative: any scale will do
    return cap, 2.0 ** math.floor(math.log2(LARGEST_TOTAL / (cap * pairs)))
