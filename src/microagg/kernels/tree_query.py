"""Exact queries on the kd-tree: farthest, nearest, farthest pair; ties go to the lower record.

A query walks the tree depth first, the most promising child first, and leaves out every box that
cannot hold a better answer. Near queries use the distance to a box. Far queries use a sharper
bound: with z = x - c measured from the reference centre c and w = q - c, |x - q|^2 = |z|^2 + |w|^2
- 2 z.w is at most the largest |z|^2 of the box, plus |w|^2, minus twice the smallest z.w on the
box. The plain distance to a box would allow |z|^2 and z.w to be extreme in corners that no record
is near; near the outside of a cloud this bound opens 2 to 300 times fewer leaves.

Boxes and the points in a leaf are compared in turned float32 coordinates first, with limits that
allow for rounding (`near_limit`, `_far_limits`); the few that pass are compared again by their
exact distance.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.distances import squared_distance
from microagg.kernels.rotation import CENTRE, SCALE, TINY, ULP, rotate
from microagg.kernels.simd import (
    LANES,
    box_gaps_at_most,
    box_reaches_at_least,
    distances_at_least,
    distances_at_most,
    first_lane,
    highest,
)
from microagg.kernels.tree import PENDING, first_leaf, home_of, next_equal, tree_at, walk_of
from microagg.kernels.tree_build import move_centre

BEYOND = 1e15  # queries so far away, in units of the cloud's size, are answered without boxes
LARGEST = 3e38  # in float32, but for inf
UNDERFLOW = 1e-322  # squares of numbers too small to be squared are off by less


@part
def turn_query(frame, q, w):
    """Turn q into w; returns its norm, or inf (and w = 0) for a query that float32 cannot tell
    from infinity.
    """
    length = rotate(frame, q, w)
    if length < BEYOND:
        return length
    for j in range(w.shape[0]):
        w[j] = 0.0
    return np.inf


@part
def _at_most(length, w_length, d):
    """Return an upper bound on |x - w| in float32 if it is exactly `length`, and vice versa."""
    return length * (1.0 + (d + 8) * ULP) + 4.0 * ULP * w_length


@part
def _at_least(length, w_length, d):
    """Return a lower bound on |x - w| in float32 if it is exactly `length`, and vice versa."""
    return length * (1.0 - (d + 8) * ULP) - 4.0 * ULP * w_length


@part
def near_limit(worst, w_length, frame):
    """The squared float32 distance from w that no record with an exact squared distance <= worst
    exceeds.
    """
    d = frame.shape[1]
    reach = _at_most(np.sqrt(worst + d * UNDERFLOW) * frame[SCALE, 0], w_length, d)
    return np.float32(min(reach * reach + TINY, LARGEST))


@part
def _guessed_limit(roughly, w_length, frame):
    """The same for a record whose squared float32 distance is known, in place of its exact one."""
    d = frame.shape[1]
    reach = _at_most(np.sqrt(roughly), w_length, d) / frame[SCALE, 0]
    return near_limit(reach * reach, w_length, frame)


@part
def _far_limits(best, w_length, frame):
    """Return the squared float32 distances that a box and a point must reach to hold a record at
    least so far away.
    """
    d = frame.shape[1]
    length = np.sqrt(max(best - d * UNDERFLOW, 0.0)) * frame[SCALE, 0]
    reach = _at_least(length, w_length, d)
    limit = np.float32(
        reach * reach if reach > 1e-15 else -1.0
    )  # smaller squares are not rounded relatively
    return np.float32(length * length * (1.0 - 4.0 * ULP)) - TINY, limit


@part
def _nth_lowest(values, n):
    """The n-th lowest of sixteen numbers, not counting NaN; inf if they are fewer."""
    result, count = np.float32(-np.inf), 0
    for i in range(LANES):
        lower = 0
        for j in range(LANES):
            lower += values[j] < values[i]
        count += values[i] == values[i]
        if lower < n and values[i] > result:
            result = values[i]
    return result if count >= n else np.float32(np.inf)


@part
def push(walk, top, child, mask, largest_on_top):
    """Put the children that a mask names on the stack, the most promising one on top; returns
    the new top.
    """
    bounds, stack, start = walk.bounds, walk.stack, top
    while mask:
        lane = first_lane(mask)
        mask &= mask - 1
        bound = walk.lanes[lane]
        p = top
        while p > start and (bounds[p - 1] > bound if largest_on_top else bounds[p - 1] < bound):
            bounds[p] = bounds[p - 1]
            stack[p] = stack[p - 1]
            p -= 1
        bounds[p] = bound
        stack[p] = child + lane
        top += 1
    return top


@part
def _far_terms(tree, walk):
    """Fill slope (-2w) and rows (which face to take); returns the constant part of the bound."""
    frame, slope, rows = tree.frame, walk.slope, walk.rows
    d = frame.shape[1]
    squares, shift, length = 0.0, 0.0, 0.0
    for j in range(d):
        c = frame[CENTRE, j]
        w = walk.w[j] - c
        squares += w * w
        shift += w * c
        length += c * c
        slope[j] = -2.0 * w
        rows[j] = LANES * j if w > 0.0 else LANES * (d + j)
    size = np.sqrt(d * highest(tree.boxes, 2 * d * LANES)) + np.sqrt(squares) + np.sqrt(length)
    return squares + 2.0 * shift + 2.0 * (d + 12) * ULP * size * size + TINY


@part
def farthest(q, floor, tree, walk):
    """(record, squared distance, boxes opened) of the record farthest from q, among those at
    least `floor` away.

    The record is -1 where no record is that far.
    """
    d, blocks, lanes = q.shape[0], tree.blocks, walk.lanes
    length = turn_query(tree.frame, q, walk.w)
    constant = np.float32(_far_terms(tree, walk) + (length if length == np.inf else 0.0))
    leaves_from = first_leaf(tree)
    best, record, opened = floor, np.int64(-1), 0
    box_limit, limit = _far_limits(best, length, tree.frame)
    walk.stack[0], walk.bounds[0] = 0, np.inf
    top = 1
    while top > 0:
        top -= 1
        if walk.bounds[top] < box_limit:
            continue
        node = walk.stack[top]
        opened += 1
        offset, child = node * (2 * d + 1) * LANES, node * LANES + 1
        mask = box_reaches_at_least(
            tree.boxes, offset, walk.slope, walk.rows, constant, box_limit, lanes
        )
        if child < leaves_from:
            top = push(walk, top, child, mask, True)
            continue
        while mask:
            leaf = child + first_lane(mask) - leaves_from
            mask &= mask - 1
            opened += 1
            hits = distances_at_least(blocks, leaf * d * LANES, walk.w, limit, lanes)
            if hits:
                best, record = _farthest_of(leaf, hits, q, length, best, record, tree, walk)
                box_limit, limit = _far_limits(best, length, tree.frame)
    return record, best, opened


@part
def _farthest_of(leaf, hits, q, length, best, record, tree, walk):
    """(squared distance, record) of the farthest record known, some records of a leaf included."""
    d, lanes = q.shape[0], walk.lanes
    peak = max(_at_least(np.sqrt(highest(lanes, 0)), length, d), 0.0) / tree.frame[SCALE, 0]
    _, limit = _far_limits(
        peak * peak, length, tree.frame
    )  # most in this leaf are clearly not the farthest
    while hits:
        lane = first_lane(hits)
        hits &= hits - 1
        if lanes[lane] >= limit:
            r = np.int64(tree.slots[leaf, lane])
            x = squared_distance(tree.points[r], q)
            if x > best or (x == best and (record < 0 or r < record)):
                best, record = x, r
    return best, record


@part
def _offer(count, limit, q, near, records, size, tree, walk):
    """Let the first `count` pending records and their equals compete for the m nearest; returns
    how many there are now.
    """
    m = near.shape[0]
    for t in range(count):
        if walk.roughly[t] > limit:
            continue
        r = walk.pending[t]
        x = squared_distance(tree.points[r], q)
        while r >= 0:
            if size == m:
                if x > near[m - 1] or (x == near[m - 1] and r > records[m - 1]):
                    break
            else:
                size += 1
            p = size - 1
            while p > 0 and (near[p - 1] > x or (near[p - 1] == x and records[p - 1] > r)):
                near[p] = near[p - 1]
                records[p] = records[p - 1]
                p -= 1
            near[p] = x
            records[p] = r
            r = next_equal(tree, r)
    return size


@part
def _note(leaf, hits, count, lowest, tree, walk):
    """Add some records of a leaf to those pending, and keep the m lowest distances; returns the
    new count.
    """
    m, shared = lowest.shape[0], tree.counts.shape[0] > 0
    while hits:
        lane = first_lane(hits)
        hits &= hits - 1
        x = walk.lanes[lane]
        walk.roughly[count] = x
        walk.pending[count] = tree.slots[leaf, lane]
        count += 1
        times = min(m, tree.counts[leaf, lane]) if shared else 1
        while times > 0:
            times -= 1
            p = m - 1
            while p >= 0 and lowest[p] > x:
                if p < m - 1:
                    lowest[p + 1] = lowest[p]
                lowest[p] = x
                p -= 1
    return count


@part
def nearest_into(q, home, near, records, size, tree, walk):
    """Fill near and records with the m records nearest to q, sorted by (squared distance,
    record).

    `home` is the leaf to begin with (that of q, if q is a record still there), or -1. The first
    `size` entries are there already and compete with the rest. Exact distances wait for the end,
    when few records are in question.
    """
    d, m = q.shape[0], near.shape[0]
    frame, blocks, w, lanes = tree.frame, tree.blocks, walk.w, walk.lanes
    length = turn_query(frame, q, w)
    leaves_from = first_leaf(tree)
    limit = near_limit(near[m - 1] if size == m else np.inf, length, frame)
    lowest, count = np.full(m, np.inf, np.float32), np.int64(0)
    if home >= 0:  # the m-th nearest in here is a good guess at the m-th nearest of all
        distances_at_most(blocks, home * d * LANES, w, limit, lanes)
        limit = min(limit, _guessed_limit(_nth_lowest(lanes, m), length, frame))
    walk.stack[0], walk.bounds[0] = 0, 0.0
    top = 1
    while top > 0:
        top -= 1
        if walk.bounds[top] > limit:
            continue
        node = walk.stack[top]
        offset, child = node * (2 * d + 1) * LANES, node * LANES + 1
        mask = box_gaps_at_most(tree.boxes, offset, w, limit, lanes)
        if child < leaves_from:
            top = push(walk, top, child, mask, False)
            continue
        while mask:
            leaf = child + first_lane(mask) - leaves_from
            mask &= mask - 1
            hits = distances_at_most(blocks, leaf * d * LANES, w, limit, lanes)
            if hits:
                if count > PENDING - LANES:
                    size = _offer(count, limit, q, near, records, size, tree, walk)
                    count = np.int64(0)
                count = _note(leaf, hits, count, lowest, tree, walk)
                limit = min(limit, _guessed_limit(lowest[m - 1], length, frame))
    return _offer(count, limit, q, near, records, size, tree, walk)


@kernel
def farthest_from(q, record, handle):
    """The record farthest from the point q, or from a record where `record` is not -1."""
    tree = tree_at(handle)
    if record >= 0:
        return farthest(tree.points[record], -1.0, tree, walk_of(tree))[0]
    result, _, opened = farthest(q, -1.0, tree, walk_of(tree))
    effort = tree.effort
    effort[1] += opened
    effort[2] += 1
    if effort[1] > effort[0] + 16 * effort[2]:
        move_centre(tree, q)
        if effort[2] < 16:  # moving did not help: ask more before trying again
            effort[0] *= 2
        effort[1], effort[2] = 0, 0
    return result


@kernel
def nearest(q, record, near, records, handle):
    """Fill near and records with the records nearest to q, nearest first; `record` is the number
    of q, or -1.
    """
    tree = tree_at(handle)
    if record >= 0:
        q = tree.points[record]
    nearest_into(q, home_of(tree, record), near, records, np.int64(0), tree, walk_of(tree))


@kernel
def nearest_to_any(members, handle):
    """(record, squared distance) of the record in the tree that is nearest to any of the given
    ones.
    """
    tree = tree_at(handle)
    walk, points = walk_of(tree), tree.points
    near = np.empty(1)
    records = np.empty(1, np.int64)
    size = np.int64(0)
    for t in range(members.shape[0]):
        size = nearest_into(points[members[t]], np.int64(-1), near, records, size, tree, walk)
    return records[0], near[0]


@kernel
def farthest_pair(start, handle):
    """The two records farthest apart, lower number first; of several pairs the lexicographically
    smallest.

    Going back and forth between farthest records gives a pair that is nearly always the answer. It
    is proved, or bettered, by asking every record x whose distance from the centre leaves room for
    a longer pair: |x - y| <= |x - c| + |y - c|, and |y - c| is at most that of the outermost
    record. The longest pair of each leaf is kept: as records only leave, no later pair of theirs
    is longer. (-1, -1) if all are equal.
    """
    tree = tree_at(handle)
    walk, points = walk_of(tree), tree.points
    r, low, high = start, -1, -1
    best = -1.0
    while True:
        s, x, _ = farthest(points[r], -1.0, tree, walk)
        if x <= best:
            break
        best, low, high = x, min(r, s), max(r, s)
        r = s
    if best == 0.0:
        return -1, -1
    for leaf in range(tree.blocks.shape[0]):
        if tree.longest[leaf] < best or not _may_end_a_pair(tree, leaf, best):
            continue
        longest = -1.0
        for slot in range(LANES):
            r = np.int64(tree.slots[leaf, slot])
            if r < 0:
                continue
            s, x, _ = farthest(points[r], longest, tree, walk)
            if s < 0:
                continue
            longest = x
            a, b = min(r, s), max(r, s)
            if x > best or (x == best and (a < low or (a == low and b < high))):
                best, low, high = x, a, b
        tree.longest[leaf] = longest
    return low, high


@part
def _may_end_a_pair(tree, leaf, best):
    """Return True if a record of the leaf is far enough from the reference centre to end a pair of
    that length.
    """
    d = tree.frame.shape[1]
    child = first_leaf(tree) + leaf - 1
    outermost = np.sqrt(highest(tree.boxes, 2 * d * LANES))
    norm = tree.boxes[child // LANES, 2 * d, child % LANES]
    needed = np.sqrt(best) * tree.frame[SCALE, 0]
    return norm >= 0.0 and (np.sqrt(norm) + outermost) * (1.0 + 8.0 * ULP) >= needed
