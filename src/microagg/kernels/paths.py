"""Kernels for orderings: scores along the first principal axis, places on a Hilbert curve, and
Hamiltonian paths.

A path is kept as a closed tour through one more place, number n, which is at distance 0 from all
others: the path's two ends are its neighbours, so that a move may change the ends as well. Moves
follow lists of near neighbours only, and nodes are looked at again only after something near them
changed, first come, first served.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.distances import squared_distance
from microagg.kernels.rotation import WIDEST, principal_axes
from microagg.kernels.sums import column_sums, rounded

LONGEST_MOVE = (
    50_000  # places of a tour that one move may rewrite: it keeps a million records within reach
)
# a move must shorten what it removes by this share, so that rounding cannot go round in circles
WORTHWHILE = 1e-9
SMALLEST_TOUR = 8  # below, a segment and its two neighbours may be the whole tour
LONGEST_SEGMENT = 3  # that Or-opt moves


@kernel
def first_component(points):
    """The scores of all records on the first principal component, whose largest loading is
    positive.
    """
    n, d = points.shape
    sums, mean = column_sums(points), np.empty(d)
    for j in range(d):
        mean[j] = rounded(sums, j) / n
    scale = 0.0
    for i in range(n):
        for j in range(d):
            scale = max(scale, abs(points[i, j] - mean[j]))
    scale = 1.0 if scale == 0.0 else scale
    axis = _first_axis(points, mean, scale)
    scores = np.zeros(n)
    for i in range(n):
        for j in range(d):
            scores[i] += axis[j] * ((points[i, j] - mean[j]) / scale)
    return scores


@part
def _first_axis(points, mean, scale):
    """The first principal axis, its largest loading positive."""
    n, d = points.shape
    axis = (
        _axis_through_records(points, mean, scale)
        if d > max(n, WIDEST)
        else _axis(points, mean, scale)
    )
    heaviest = 0
    for j in range(1, d):
        if abs(axis[j]) > abs(axis[heaviest]):
            heaviest = j
    return axis if axis[heaviest] >= 0.0 else -axis


@part
def _axis_through_records(points, mean, scale):
    """The first axis of a table with more columns than records, from the products of its
    records: O(n^3 + n^2 d).
    """
    n, d = points.shape
    products = np.zeros((n, n))
    for a in range(n):
        for b in range(a + 1):
            for j in range(d):
                products[a, b] += ((points[a, j] - mean[j]) / scale) * (
                    (points[b, j] - mean[j]) / scale
                )
            products[b, a] = products[a, b]
    shares = principal_axes(products)
    widest = _widest(products)
    axis, squares = np.zeros(d), 0.0
    for j in range(d):
        for i in range(n):
            axis[j] += shares[i, widest] * ((points[i, j] - mean[j]) / scale)
        squares += axis[j] * axis[j]
    if squares == 0.0:
        axis[0], squares = 1.0, 1.0
    return axis / np.sqrt(squares)


@part
def _widest(matrix):
    """Where the largest number of the diagonal is."""
    widest = 0
    for j in range(1, matrix.shape[0]):
        if matrix[j, j] > matrix[widest, widest]:
            widest = j
    return widest


@part
def _axis(points, mean, scale):
    n, d = points.shape
    covariance = np.zeros((d, d))
    for i in range(n):
        for a in range(d):
            x = (points[i, a] - mean[a]) / scale
            for b in range(a + 1):
                covariance[a, b] += x * ((points[i, b] - mean[b]) / scale)
    for a in range(d):
        for b in range(a):
            covariance[b, a] = covariance[a, b]
    axes = principal_axes(covariance)
    return axes[:, _widest(covariance)].copy()


@kernel
def squared_distances_to(points, others, rows):
    """|points[i] - others[rows[i]]|^2 for every record i."""
    distances = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        distances[i] = squared_distance(points[i], others[rows[i]])
    return distances


@kernel
def hilbert_places(cells, bits):
    """Return the index along the Hilbert curve of each row of `cells`, integers of `bits` bits (64
    per row at most).
    """
    n, d = cells.shape
    places = np.empty(n, np.uint64)
    cell = np.empty(d, np.int64)
    for i in range(n):
        for j in range(d):
            cell[j] = cells[i, j]
        _turn_along_the_curve(cell, bits)
        index = np.uint64(0)
        for bit in range(bits - 1, -1, -1):
            for j in range(d):
                index = (index << np.uint64(1)) | np.uint64((cell[j] >> bit) & 1)
        places[i] = index
    return places


@part
def _turn_along_the_curve(cell, bits):
    """Skilling's transform: after it the bits of the coordinates, highest first and interleaved,
    are the index.
    """
    d = cell.shape[0]
    for bit in range(bits - 1, 0, -1):
        lower = (1 << bit) - 1
        for j in range(d):
            if (cell[j] >> bit) & 1:
                cell[0] ^= lower
            else:
                swapped = (cell[0] ^ cell[j]) & lower
                cell[0] ^= swapped
                cell[j] ^= swapped
    for j in range(1, d):
        cell[j] ^= cell[j - 1]
    flipped = 0
    for bit in range(bits - 1, 0, -1):
        if (cell[d - 1] >> bit) & 1:
            flipped ^= (1 << bit) - 1
    for j in range(d):
        cell[j] ^= flipped


@kernel
def join_fragments(a, b, links, other_end):
    """Take the edges a[i] - b[i] in turn, each unless it would close a ring or give a node a
    third; returns how many.

    `links` (n, 2) holds each node's neighbours so far, -1 for none; `other_end` that of the
    fragment a node ends.
    """
    joined = 0
    for i in range(a.shape[0]):
        x, y = a[i], b[i]
        if links[x, 1] >= 0 or links[y, 1] >= 0 or x == y or other_end[x] == y:
            continue
        links[x, 0 if links[x, 0] < 0 else 1] = y
        links[y, 0 if links[y, 0] < 0 else 1] = x
        end_x, end_y = other_end[x], other_end[y]
        other_end[end_x], other_end[end_y] = end_y, end_x
        joined += 1
    return joined


@kernel
def walk(links):
    """The nodes of the one fragment that `links` describes, from its lower end to the other."""
    n = links.shape[0]
    path = np.empty(n, np.int64)
    here, before = 0, -1
    while links[here, 1] >= 0:
        here += 1
    for i in range(n):
        path[i] = here
        following = links[here, 0] if links[here, 0] != before else links[here, 1]
        before, here = here, following
    return path


@kernel
def improve(points, neighbours, tour, positions, queue, waiting, state, turns):
    """2-opt and Or-opt on the nodes in the queue, at most `turns` of them; returns whether any
    wait.

    `neighbours` lists near nodes, nearest first (node n, at distance 0, before them); `positions`
    where each node is in the tour; the queue is a ring. `state` holds its first node, its length,
    and how many moves were made.
    """
    n = points.shape[0]
    while state[1] > 0 and turns > 0:
        node = queue[state[0]]
        state[0] = (state[0] + 1) % n
        state[1] -= 1
        waiting[node] = False
        turns -= 1
        while _two_opt(points, neighbours, tour, positions, queue, waiting, state, node) or _or_opt(
            points, neighbours, tour, positions, queue, waiting, state, node
        ):
            state[2] += 1
    return state[1] > 0


@part
def _apart(points, a, b):
    n = points.shape[0]
    return 0.0 if a == n or b == n else np.sqrt(squared_distance(points[a], points[b]))


@part
def _beside(tour, positions, node, step):
    """The node that many steps after (before, if negative) a node."""
    return tour[(positions[node] + step) % tour.shape[0]]


@part
def _wake(queue, waiting, state, node):
    n = waiting.shape[0]
    if node < n and not waiting[node]:
        waiting[node] = True
        queue[(state[0] + state[1]) % n] = node
        state[1] += 1


@part
def _two_opt(points, neighbours, tour, positions, queue, waiting, state, a):
    """Replace the edges a-b and c-d by a-c and b-d, if that is shorter for any near c; returns
    whether it was.
    """
    for step in (1, -1):
        b = _beside(tour, positions, a, step)
        ab = _apart(points, a, b)
        for c in neighbours[a]:
            ac = _apart(points, a, c)
            if ac >= ab:
                break
            d = _beside(tour, positions, c, step)
            removed = ab + _apart(points, c, d)
            if removed - ac - _apart(points, b, d) <= WORTHWHILE * removed:
                continue
            first, last = (
                (positions[b], positions[c]) if step == 1 else (positions[a], positions[d])
            )
            if _reverse(tour, positions, first, last):
                for node in (a, b, c, d):
                    _wake(queue, waiting, state, node)
                return True
    return False


@part
def _reverse(tour, positions, first, last):
    """Turn round the places first..last of the ring, or all others, which is the same tour;
    False if it is too long.
    """
    size = tour.shape[0]
    length = (last - first) % size + 1
    if 2 * length > size:
        first, last, length = (last + 1) % size, (first - 1) % size, size - length
    if length > LONGEST_MOVE:
        return False
    for t in range(length // 2):
        i, j = (first + t) % size, (last - t) % size
        tour[i], tour[j] = tour[j], tour[i]
        positions[tour[i]], positions[tour[j]] = i, j
    return True


@part
def _or_opt(points, neighbours, tour, positions, queue, waiting, state, a):
    """Move a and up to two nodes after or before it beside a near c, if that is shorter; returns
    whether it was.
    """
    for step in (1, -1):
        for length in range(1, LONGEST_SEGMENT + 1):
            end = _beside(tour, positions, a, step * (length - 1))
            p, q = _beside(tour, positions, a, -step), _beside(tour, positions, end, step)
            removed = _apart(points, p, a) + _apart(points, end, q)
            gain = removed - _apart(points, p, q)
            for c in neighbours[a]:
                ac = _apart(points, a, c)
                if ac >= gain:
                    break
                if (positions[c] - positions[a]) * step % tour.shape[0] < length:
                    continue  # c is in the segment itself
                for side in (1, -1):
                    x = _beside(tour, positions, c, side)
                    if (positions[x] - positions[a]) * step % tour.shape[0] < length:
                        continue
                    added = ac + _apart(points, end, x) - _apart(points, c, x)
                    if gain - added <= WORTHWHILE * removed:
                        continue
                    if _move(tour, positions, a, step, length, c, side):
                        for node in (a, end, p, q, c, x):
                            _wake(queue, waiting, state, node)
                        return True
    return False


@part
def _move(tour, positions, a, step, length, c, side):
    """Move the segment that starts at a next to c, on that side of c, with a beside c; return
    False if that is too far away.
    """
    size = tour.shape[0]
    segment = np.empty(length, np.int64)
    for t in range(length):  # in the order in which it will stand
        segment[t if side == 1 else length - 1 - t] = _beside(tour, positions, a, step * t)
    first = positions[a] if step == 1 else (positions[a] - length + 1) % size
    before = (
        positions[c] if side == 1 else (positions[c] - 1) % size
    )  # the place after which the segment is to stand
    ahead = (before - first - length + 1) % size
    behind = size - length - ahead
    if min(ahead, behind) > LONGEST_MOVE:
        return False
    if ahead <= behind:
        for t in range(ahead):
            _put(tour, positions, (first + t) % size, tour[(first + length + t) % size])
        first += ahead
    else:
        for t in range(behind):
            _put(tour, positions, (first + length - 1 - t) % size, tour[(first - 1 - t) % size])
        first -= behind
    for t in range(length):
        _put(tour, positions, (first + t) % size, segment[t])
    return True


@part
def _put(tour, positions, where, node):
    tour[where] = node
    positions[node] = where
