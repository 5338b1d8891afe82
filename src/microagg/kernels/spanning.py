"""The minimum spanning tree of points, by the rounds of Boruvka on the kd-tree.

Edges are ordered by (squared length, lower record, higher record). No two are equal in that order,
so there is one minimum spanning tree, whichever way it is found. In each round every component
finds its least edge to another one; these edges join the components, which are at most half as many
afterwards. What a record has learned is kept: as components only grow, its nearest record outside
of its own stays the nearest for as long as it is outside, and is no nearer later on. So most
records need no question in most rounds. A box whose records all belong to the component of the one
that asks is left out.

Equal points are one point to the tree: the first of them stands for all, and the others hang on it.
That is what the order of edges makes of them, and it spares the questions that every one of many
equal points would have to ask of all the others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.distances import squared_distance
from microagg.kernels.simd import LANES, box_gaps_at_most, distances_at_most, first_lane
from microagg.kernels.tree import first_leaf, handle_of, tree_at, walk_of
from microagg.kernels.tree_build import build
from microagg.kernels.tree_query import near_limit, push, turn_query

MIXED, NOTHING = -1, -2  # what a box holds whose records are of several components, or of none


def spanning_tree(
    points: np.ndarray, report: Callable[[int, int], None] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges (lower record, higher record) of the minimum spanning tree, shortest first,
    and their squared lengths.

    `report(joined, all)` is called after each round with the number of edges. Near O(n log² n) time
    on data of few columns.

    >>> edges, squares = spanning_tree(np.array([[0.0], [5.0], [1.0], [7.0]]))
    >>> edges.tolist(), squares.tolist()
    ([[0, 2], [1, 3], [1, 2]], [1.0, 4.0, 16.0])
    """
    first, standing = _first_of_equals(points)
    tree = build(points[standing])
    handle, m = handle_of(tree), len(standing)
    edges, squares = np.empty((m - 1, 2), np.int64), np.empty(m - 1)
    components, partners, least = np.arange(m), np.full(m, -1), np.zeros(m)
    count = 0
    while count < m - 1:
        count = _round(components, partners, least, edges, squares, count, handle)
        if report is not None:
            report(count, m)
    others = np.flatnonzero(first != np.arange(len(points)))
    edges = np.concatenate([standing[edges], np.column_stack([first[others], others])])
    squares = np.concatenate([squares, np.zeros(len(others))])
    order = np.lexsort((edges[:, 1], edges[:, 0], squares))
    return edges[order], squares[order]


def _first_of_equals(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(for each record the first one equal to it, the records that are the first of their
    equals).
    """
    order = np.lexsort(points.T[::-1])  # stable: equals stay in ascending order
    new = np.ones(len(points), bool)
    new[1:] = (points[order[1:]] != points[order[:-1]]).any(axis=1)
    first = np.empty(len(points), np.int64)
    first[order] = order[new][np.cumsum(new) - 1]
    return first, np.sort(order[new])


@kernel
def _round(components, partners, least, edges, squares, count, handle):
    """Add the least edge out of each component and renumber the components; return the edge count.

    `partners` holds for each record the nearest one outside of its component, where known, and
    `least` what the squared distance to any record outside is at least.
    """
    tree = tree_at(handle)
    walk, n = walk_of(tree), components.shape[0]
    best, ends = np.full(n, np.inf), np.full((n, 2), n)
    held = _what_boxes_hold(components, tree)
    for i in range(n):
        j = partners[i]
        if j >= 0 and components[j] != components[i]:
            _offer(components[i], i, j, least[i], best, ends)
    for i in range(n):
        component = components[i]
        if (partners[i] >= 0 and components[partners[i]] != component) or least[i] > best[
            component
        ]:
            continue
        j, x = _nearest_outside(i, best[component], ends[component], components, held, tree, walk)
        partners[i] = j
        least[i] = max(least[i], x)
        if j >= 0:
            _offer(component, i, j, x, best, ends)
    return _join(components, best, ends, edges, squares, count)


@part
def _less(x, a, b, best, ends):
    """Return True if the edge a-b of squared length x comes before `ends` of length `best`."""
    low, high = min(a, b), max(a, b)
    return x < best or (x == best and (low < ends[0] or (low == ends[0] and high < ends[1])))


@part
def _offer(component, a, b, x, best, ends):
    if _less(x, a, b, best[component], ends[component]):
        best[component] = x
        ends[component, 0], ends[component, 1] = min(a, b), max(a, b)


@part
def _what_boxes_hold(components, tree):
    """For each node and each leaf, numbered as children in the heap, the only component of its
    records, or MIXED.
    """
    first, leaves, nodes = first_leaf(tree), tree.blocks.shape[0], tree.boxes.shape[0]
    held = np.full(max(first + leaves, nodes * LANES + 1), NOTHING)
    for leaf in range(leaves):
        for slot in range(LANES):
            record = tree.slots[leaf, slot]
            if record >= 0:
                held[first + leaf] = _together(held[first + leaf], components[record])
    for number in range(first + leaves - 1, 0, -1):
        parent = (number - 1) // LANES
        held[parent] = _together(held[parent], held[number])
    return held


@part
def _together(a, b):
    if a in (NOTHING, b):
        return b
    return a if b == NOTHING else MIXED


@part
def _nearest_outside(i, best, ends, components, held, tree, walk):
    """(record, squared distance): the least edge from record i to another component that comes
    before the edge given.

    Where there is none, the record is -1 and the squared distance that of the edge given: no record
    outside is nearer.
    """
    q, component, d = tree.points[i], components[i], tree.points.shape[1]
    low, high, nearest = ends[0], ends[1], -1
    length = turn_query(tree.frame, q, walk.w)
    limit = near_limit(best, length, tree.frame)
    leaves_from = first_leaf(tree)
    walk.stack[0], walk.bounds[0] = 0, 0.0
    top = 1
    while top > 0:
        top -= 1
        if walk.bounds[top] > limit:
            continue
        child = walk.stack[top] * LANES + 1
        mask = box_gaps_at_most(
            tree.boxes, walk.stack[top] * (2 * d + 1) * LANES, walk.w, limit, walk.lanes
        )
        for lane in range(LANES):
            if held[child + lane] == component:
                mask &= ~(np.int64(1) << lane)
        if child < leaves_from:
            top = push(walk, top, child, mask, False)
            continue
        while mask:
            leaf = child + first_lane(mask) - leaves_from
            mask &= mask - 1
            hits = distances_at_most(tree.blocks, leaf * d * LANES, walk.w, limit, walk.lanes)
            while hits:
                j = np.int64(tree.slots[leaf, first_lane(hits)])
                hits &= hits - 1
                if components[j] == component:
                    continue
                x, a, b = squared_distance(tree.points[j], q), min(i, j), max(i, j)
                if x < best or (x == best and (a < low or (a == low and b < high))):
                    best, low, high, nearest = x, a, b, j
                    limit = near_limit(best, length, tree.frame)
    return nearest, best


@part
def _join(components, best, ends, edges, squares, count):
    """Add the least edge of each component, once, and let the components that they join share a
    number.
    """
    n = components.shape[0]
    parents = np.arange(n)
    for c in range(n):
        if ends[c, 0] < n:
            a, b = _root(parents, components[ends[c, 0]]), _root(parents, components[ends[c, 1]])
            if a != b:  # else it is the least edge of both its ends and has been added
                parents[max(a, b)] = min(a, b)
                edges[count, 0], edges[count, 1], squares[count] = ends[c, 0], ends[c, 1], best[c]
                count += 1
    for i in range(n):
        components[i] = _root(parents, components[i])
    return count


@part
def _root(parents, c):
    while parents[c] != c:
        parents[c] = parents[parents[c]]
        c = parents[c]
    return c


@kernel
def cut_longest(edges, n, k):
    """The component of each of n records after cutting edges of a spanning tree, the last ones
    first, where it may be.

    An edge may be cut if k records are on both sides of it. As sides only shrink, one look at each
    edge is enough; a look walks no farther than k records to each side.
    """
    starts, others, numbers = _ways(edges, n)
    cut = np.zeros(edges.shape[0], np.bool_)
    reached, before = np.empty(k, np.int64), np.empty(k, np.int64)
    for edge in range(edges.shape[0] - 1, -1, -1):
        cut[edge] = True
        for end in range(2):
            if not _reaches(edges[edge, end], k, starts, others, numbers, cut, reached, before):
                cut[edge] = False
                break
    parents = np.arange(n)
    for edge in range(edges.shape[0]):
        if not cut[edge]:
            a, b = _root(parents, edges[edge, 0]), _root(parents, edges[edge, 1])
            parents[max(a, b)] = min(a, b)
    labels = np.empty(n, np.int32)
    for i in range(n):
        labels[i] = _root(parents, i)
    return labels


@part
def _ways(edges, n):
    """Of each record the edges: (where they start, the other ends, the numbers of the edges)."""
    starts = np.zeros(n + 1, np.int64)
    for edge in range(edges.shape[0]):
        starts[edges[edge, 0] + 1] += 1
        starts[edges[edge, 1] + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    filled = starts[:n].copy()
    others, numbers = np.empty(2 * edges.shape[0], np.int64), np.empty(2 * edges.shape[0], np.int64)
    for edge in range(edges.shape[0]):
        for end in range(2):
            slot = filled[edges[edge, end]]
            others[slot], numbers[slot] = edges[edge, 1 - end], edge
            filled[edges[edge, end]] += 1
    return starts, others, numbers


@part
def _reaches(start, k, starts, others, numbers, cut, reached, before):
    """Return True if k records can be reached along edges that are not cut.

    The last two arrays are scratch space.
    """
    reached[0], before[0] = start, -1
    count, done = 1, 0
    while done < count < k:
        here, came_by = reached[done], before[done]
        done += 1
        for way in range(starts[here], starts[here + 1]):
            if count == k:  # of many duplicates, all but one hang on that one
                break
            if not cut[numbers[way]] and numbers[way] != came_by:
                reached[count], before[count] = others[way], numbers[way]
                count += 1
    return count >= k
