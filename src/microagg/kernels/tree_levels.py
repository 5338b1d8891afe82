"""The nearest and second nearest originals of released points, and their distances.

What counts is how many originals lie at the lowest distance and at the next one, not which. Two
originals whose mean is released are equally far from it, and only rounding says otherwise; so
distances up to `rounded_up` of the lowest are the lowest, too, and the next one is the lowest
beyond. A walk of the kd-tree finds either, looking no farther than the originals whose released
point the query is: whoever is behind two other distances is linked to neither. Only where one of
them is in a tie, another walk counts it.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.distances import squared_distance
from microagg.kernels.simd import LANES, box_gaps_at_most, distances_at_most, first_lane
from microagg.kernels.tree import first_leaf, tree_at, walk_of
from microagg.kernels.tree_query import near_limit, push, turn_query

EPSILON = 2.0**-52
NOBODY = -1.0  # in place of a squared distance


@kernel
def link(released, order, starts, originals, counts, slack, handle, nearest, second):
    """Fill in for each record its part in the tie for the nearest original of its released
    point, or the second nearest.

    The tree holds the distinct originals and `counts` how often each occurs; `originals` is that of
    each record. The records of one released point are order[starts[c] : starts[c + 1]]. Rounding
    moves a point by up to `slack`.
    """
    tree = tree_at(handle)
    walk = walk_of(tree)
    for c in range(starts.shape[0] - 1):
        members = order[starts[c] : starts[c + 1]]
        q = released[members[0]]
        first = _lowest_own(q, originals, members, NOBODY, tree)
        lowest, _ = _look(q, NOBODY, first, False, NOBODY, slack, counts, tree, walk)
        lower = rounded_up(lowest, slack, q.shape[0])
        other = _lowest_own(q, originals, members, lower, tree)
        at_lower, at_upper, upper = np.int64(0), np.int64(0), lower
        if first <= lower:
            at_lower = _look(q, NOBODY, lower, True, NOBODY, slack, counts, tree, walk)[1]
        if other > lower:
            following, _ = _look(q, lower, other, False, other, slack, counts, tree, walk)
            upper = rounded_up(following, slack, q.shape[0])
            if other <= upper:
                at_upper = _look(q, lower, upper, True, NOBODY, slack, counts, tree, walk)[1]
        for record in members:
            distance = squared_distance(tree.points[originals[record]], q)
            nearest[record] = 1.0 / at_lower if distance <= lower else 0.0
            second[record] = 1.0 / at_upper if lower < distance <= upper else 0.0


@kernel
def two_nearest(queries, counts, handle, nearest, second):
    """Fill in the squared distance from each query to the original nearest to it, and to the
    second nearest.

    The tree holds the distinct originals and `counts` how often each occurs. Without a second
    original, inf.
    """
    tree = tree_at(handle)
    walk = walk_of(tree)
    for i in range(queries.shape[0]):
        q = queries[i]
        lowest, _ = _look(q, NOBODY, np.inf, False, NOBODY, 0.0, counts, tree, walk)
        nearest[i] = second[i] = lowest
        if _look(q, NOBODY, lowest, True, NOBODY, 0.0, counts, tree, walk)[1] == 1:
            second[i] = _look(q, lowest, np.inf, False, NOBODY, 0.0, counts, tree, walk)[0]


@kernel
def nearest_levels(queries, floors, reaches, counts, handle, distances, numbers):
    """Fill in for each query the lowest squared distances of originals above its floor and up to
    its reach, and how many lie at each.

    As many of them as `distances` (n, levels) has room for; inf and 0 where there are no more.
    """
    tree = tree_at(handle)
    walk = walk_of(tree)
    for i in range(queries.shape[0]):
        floor = floors[i]
        for level in range(distances.shape[1]):
            lowest, _ = _look(queries[i], floor, reaches[i], False, NOBODY, 0.0, counts, tree, walk)
            distances[i, level], numbers[i, level] = lowest, 0
            if lowest == np.inf:
                distances[i, level:], numbers[i, level:] = np.inf, 0
                break
            numbers[i, level] = _look(
                queries[i], floor, lowest, True, NOBODY, 0.0, counts, tree, walk
            )[1]
            floor = lowest


@kernel
def between(queries, floors, reaches, counts, handle, lowest, numbers):
    """Fill in for each query the lowest squared distance of an original above its floor and up
    to its reach, and how many there are.
    """
    tree = tree_at(handle)
    walk = walk_of(tree)
    for i in range(queries.shape[0]):
        lowest[i], numbers[i] = _look(
            queries[i], floors[i], reaches[i], True, NOBODY, 0.0, counts, tree, walk
        )


@kernel
def round_up(distances, slack, d):
    """(n,): the highest squared distances that rounding may have made of these, in d columns."""
    rounded = np.empty(distances.shape[0])
    for i in range(distances.shape[0]):
        rounded[i] = rounded_up(distances[i], slack, d)
    return rounded


@part
def rounded_up(x, slack, d):
    """The highest squared distance that rounding may have made of x, in d columns."""
    reach = np.sqrt(x) * (1.0 + (d + 8) * EPSILON) + slack
    return max(x, reach * reach)


@part
def _lowest_own(q, originals, members, floor, tree):
    """The lowest squared distance above `floor` between q and the originals of these records, or
    NOBODY.
    """
    lowest, is_above = np.inf, False
    for record in members:
        x = squared_distance(tree.points[originals[record]], q)
        if floor < x <= lowest:
            lowest, is_above = x, True
    return lowest if is_above else NOBODY


@part
def _look(q, floor, reach, counting, enough, slack, counts, tree, walk):
    """(lowest squared distance above `floor` and up to `reach`, inf if there is none; how many
    originals are in between).

    They are counted only where `counting`; else the walk ends once the lowest, rounded up, is below
    `enough`.
    """
    d, w, lanes = q.shape[0], walk.w, walk.lanes
    length = turn_query(tree.frame, q, w)
    limit = near_limit(reach, length, tree.frame)
    leaves_from = first_leaf(tree)
    lowest, count = np.inf, np.int64(0)
    walk.stack[0], walk.bounds[0] = 0, 0.0
    top = 1
    while top > 0:
        top -= 1
        if walk.bounds[top] > limit:
            continue
        node = walk.stack[top]
        child = node * LANES + 1
        mask = box_gaps_at_most(tree.boxes, node * (2 * d + 1) * LANES, w, limit, lanes)
        if child < leaves_from:
            top = push(walk, top, child, mask, False)
            continue
        while mask:
            leaf = child + first_lane(mask) - leaves_from
            mask &= mask - 1
            hits = distances_at_most(tree.blocks, leaf * d * LANES, w, limit, lanes)
            while hits:
                original = tree.slots[leaf, first_lane(hits)]
                hits &= hits - 1
                x = squared_distance(tree.points[original], q)
                if floor < x <= reach:
                    lowest = min(lowest, x)
                    count += counts[original]
            if not counting and lowest < reach:
                if rounded_up(lowest, slack, d) < enough:
                    return lowest, count
                reach = lowest
                limit = near_limit(reach, length, tree.frame)
    return lowest, count
