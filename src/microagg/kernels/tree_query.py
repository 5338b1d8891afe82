"""Questions to the kd-tree: farthest, nearest, farthest pair. All exact; ties go to the lower record number.

A question walks the tree depth first, the most promising child first, and leaves out every box that cannot hold a
better answer. Near questions use the distance to a box. Far questions use a sharper bound: with z = x - c measured from
the reference centre c and w = q - c, |x - q|^2 = |z|^2 + |w|^2 - 2 z.w is at most the largest |z|^2 of the box, plus
|w|^2, minus twice the smallest z.w on the box. A box of its own would allow |z|^2 and z.w to be extreme in corners
that no record is near; near the outside of a cloud this bound opens 2 to 300 times fewer leaves.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel
from microagg.kernels.frame import turn
from microagg.kernels.lanes import (
    LANES,
    box_gaps_at_most,
    box_reaches_at_least,
    squared_distances_at_least,
    squared_distances_at_most,
)
from microagg.kernels.tree_build import LEAF, highest

STACK = 256  # seven children left behind on each of the at most 16 levels, and room to spare
NEAR_SLACK = 1e-13  # relative, for bounds that were themselves rounded
FAR_SLACK = 1e-12


@kernel
def _push(stack, bounds, start, top, child, bound, largest_on_top):
    """Insert a child into bounds[start:top], kept sorted so that the most promising one is on top."""
    p = top
    while p > start and (bounds[p - 1] > bound if largest_on_top else bounds[p - 1] < bound):
        bounds[p] = bounds[p - 1]
        stack[p] = stack[p - 1]
        p -= 1
    bounds[p] = bound
    stack[p] = child


@kernel
def _far_terms(q, frame, boxes, slope, rows):
    """Fill slope (-2w) and rows (which face to take); returns the constant part of the bound."""
    d = q.shape[0]
    turn(frame, q, slope)
    squares, shift = 0.0, 0.0
    for j in range(d):
        w = slope[j] - frame[d + 1, j]
        squares += w * w
        shift += w * frame[d + 1, j]
        slope[j] = -2.0 * w
        rows[j] = LANES * j if w > 0.0 else LANES * (d + j)
    outermost = highest(boxes, 0, 2 * d)
    return squares + 2.0 * shift + FAR_SLACK * (outermost + squares)


@kernel
def farthest(q, floor, frame, boxes, links, base, coords, slots, counts, column, rows, lanes, bounds, stack):
    """(record, squared distance, boxes opened) of the record farthest from q, among those at least `floor` away.

    The record is -1 where no record is that far.
    """
    d = q.shape[0]
    slope = column
    constant = _far_terms(q, frame, boxes, slope, rows)
    node_size = (2 * d + 1) * LANES
    best, record, opened = floor, -1, 0
    stack[0] = 0
    bounds[0] = np.inf
    top = 1
    while top > 0:
        top -= 1
        if bounds[top] < best:
            continue
        node = stack[top]
        opened += 1
        if node >= 0:
            at = node * node_size
            mask = box_reaches_at_least(
                boxes, at, at + 2 * d * LANES, slope, rows, constant, best, lanes
            )
            start = top
            for lane in range(LANES):
                if mask >> lane & 1 and lanes[lane] > -np.inf:
                    child = links[0, node] + lane if node < base else -1 - ((node - base) * LANES + lane)
                    _push(stack, bounds, start, top, child, lanes[lane], True)
                    top += 1
        else:
            leaf = -1 - node
            for slot in range(0, counts[0, leaf], LANES):
                mask = squared_distances_at_least(
                    coords, (leaf * LEAF + slot) * d, LANES, q, best, lanes
                )
                if mask == 0:
                    continue
                for lane in range(LANES):
                    if mask >> lane & 1:
                        x, r = lanes[lane], slots[leaf, slot + lane]
                        if x > best or (x == best and (record < 0 or r < record)):
                            best, record = x, r
    return record, best, opened


@kernel
def _offer(leaf, q, coords, slots, counts, lanes, near, records, size, m):
    """Let the records of a leaf compete for the m nearest; returns how many there are now."""
    d = q.shape[0]
    worst = near[m - 1] if size == m else np.inf
    for slot in range(0, counts[0, leaf], LANES):
        mask = squared_distances_at_most(coords, (leaf * LEAF + slot) * d, LANES, q, worst, lanes)
        if mask == 0:
            continue
        for lane in range(LANES):
            if mask >> lane & 1 == 0:
                continue
            x, r = lanes[lane], slots[leaf, slot + lane]
            if size == m:
                if x > worst or (x == worst and r > records[m - 1]):
                    continue
            else:
                size += 1
            p = size - 1
            while p > 0 and (near[p - 1] > x or (near[p - 1] == x and records[p - 1] > r)):
                near[p] = near[p - 1]
                records[p] = records[p - 1]
                p -= 1
            near[p] = x
            records[p] = r
            if size == m:
                worst = near[m - 1]
    return size


@kernel
def nearest_into(q, home, near, records, size, m, frame, boxes, links, base, coords, slots, counts, column, rows, lanes, bounds, stack):
    """Fill near[:m], records[:m] with the m records nearest to q, sorted by (squared distance, record).

    `home` is the leaf to begin with (that of q, if q is a record still there), or -1. The first `size` entries
    are there already and compete with the rest.
    """
    d = q.shape[0]
    w = column
    turn(frame, q, w)
    node_size = (2 * d + 1) * LANES
    if home >= 0:
        size = _offer(home, q, coords, slots, counts, lanes, near, records, size, m)
    stack[0] = 0
    bounds[0] = 0.0
    top = 1
    while top > 0:
        top -= 1
        worst = near[m - 1] if size == m else np.inf
        if bounds[top] > worst:
            continue
        node = stack[top]
        if node < 0:
            size = _offer(-1 - node, q, coords, slots, counts, lanes, near, records, size, m)
            continue
        mask = box_gaps_at_most(boxes, node * node_size, w, worst * (1.0 + NEAR_SLACK), lanes)
        start = top
        for lane in range(LANES):
            if mask >> lane & 1 and lanes[lane] < np.inf:
                child = links[0, node] + lane if node < base else -1 - ((node - base) * LANES + lane)
                if child != -1 - home:
                    bound = lanes[lane] * (1.0 - NEAR_SLACK)
                    _push(stack, bounds, start, top, child, bound, False)
                    top += 1
    return size


@kernel
def nearest_to_any(points, members, frame, boxes, links, base, coords, slots, counts, column, rows, lanes, bounds, stack):
    """(record, squared distance) of the record in the tree that is nearest to any of the given ones."""
    near = np.empty(1)
    records = np.empty(1, np.int64)
    size = 0
    for t in range(members.shape[0]):
        q = points[members[t]]
        size = nearest_into(
            q, -1, near, records, size, 1, frame, boxes, links, base, coords, slots, counts, column, rows, lanes, bounds, stack
        )
    return records[0], near[0]


@kernel
def farthest_pair(points, start, frame, boxes, links, base, coords, slots, counts, column, rows, lanes, bounds, stack):
    """The two records farthest apart, lower number first; of several pairs the lexicographically smallest.

    Going back and forth between farthest records gives a pair that is nearly always the answer. It is proved, or
    bettered, by asking every record x whose distance from the centre leaves room for a longer pair:
    |x - y| <= |x - c| + |y - c|, and |y - c| is at most that of the outermost record. (-1, -1) if all are equal.
    """
    d = points.shape[1]
    r, low, high = start, -1, -1
    best = -1.0
    while True:
        s, x, _ = farthest(points[r], -1.0, frame, boxes, links, base, coords, slots, counts, column, rows, lanes, bounds, stack)
        if x <= best:
            break
        best, low, high = x, min(r, s), max(r, s)
        r = s
    if best == 0.0:
        return -1, -1
    lengths, candidates = _far_from_centre(best, frame, boxes, links, base, coords, slots, counts, column, rows, lanes, bounds, stack)
    radius = np.sqrt(highest(boxes, 0, 2 * d)) * (1.0 + FAR_SLACK)
    order = np.argsort(-lengths)
    for t in range(order.shape[0]):
        if (lengths[order[t]] + radius) * (1.0 + FAR_SLACK) < np.sqrt(best):
            break
        r = candidates[order[t]]
        s, x, _ = farthest(points[r], best, frame, boxes, links, base, coords, slots, counts, column, rows, lanes, bounds, stack)
        if s < 0:
            continue
        a, b = min(r, s), max(r, s)
        if x > best or a < low or (a == low and b < high):
            best, low, high = x, a, b
    return low, high


@kernel
def _far_from_centre(best, frame, boxes, links, base, coords, slots, counts, column, rows, lanes, bounds, stack):
    """(lengths, records): all records so far from the reference centre that they may end a pair of length >= best."""
    d = frame.shape[1]
    radius = np.sqrt(highest(boxes, 0, 2 * d))
    least = (np.sqrt(best) - radius) * (1.0 - FAR_SLACK) - FAR_SLACK * radius
    lengths = np.empty(64)
    records = np.empty(64, np.int64)
    found = 0
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if node >= 0:
            for lane in range(LANES):
                reach = boxes[node, 2 * d, lane]
                if reach >= 0.0 and np.sqrt(reach) >= least:
                    stack[top] = links[0, node] + lane if node < base else -1 - ((node - base) * LANES + lane)
                    top += 1
            continue
        leaf = -1 - node
        if found + LEAF > lengths.shape[0]:
            lengths = np.concatenate((lengths, np.empty_like(lengths)))
            records = np.concatenate((records, np.empty_like(records)))
        for slot in range(0, counts[0, leaf], LANES):
            at = (leaf * LEAF + slot) * d
            mask = squared_distances_at_least(coords, at, LANES, frame[d + 2], max(least, 0.0) ** 2, lanes)
            for lane in range(LANES):
                if mask >> lane & 1:
                    lengths[found] = np.sqrt(lanes[lane])
                    records[found] = slots[leaf, slot + lane]
                    found += 1
    return lengths[:found], records[:found]
