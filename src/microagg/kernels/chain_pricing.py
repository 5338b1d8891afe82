"""Exact pricing on a dense matrix: list sets of one size that cost less than promised."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part

ROUNDING = 1e-14


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
def fill_weights(squares, prices, size, error, matrix):
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
def to_integers(weights, scale, cap, integers):
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
def list_chains(
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
