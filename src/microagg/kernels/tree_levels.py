"""Which originals are nearest and second nearest to released points: one walk of the kd-tree per distinct point.

What counts is how many originals lie at the lowest distance and at the next one, not which. So the walk keeps two
distances and two counts, however many originals tie. It looks no farther than the originals whose released point the
query is: whoever is behind two other distances is linked to neither.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.distances import squared_distance
from microagg.kernels.lanes import LANES, box_gaps_at_most, distances_at_most, first_lane
from microagg.kernels.tree import first_leaf, tree_at, walk_of
from microagg.kernels.tree_query import near_limit, push, turn_query


@kernel
def link(released, order, starts, own, counts, handle, nearest, second):
    """Fill in for each record its part in the tie for the nearest original of its released point, or the second nearest.

    The tree holds the distinct originals and `counts` how often each occurs; `own` is that of each record. The records
    of one released point are order[starts[c] : starts[c + 1]].
    """
    tree = tree_at(handle)
    walk = walk_of(tree)
    for c in range(starts.shape[0] - 1):
        members = order[starts[c] : starts[c + 1]]
        q = released[members[0]]
        first, other = _two_lowest(q, own, members, tree)
        reach = other if other < np.inf else first
        lower, at_lower, upper, at_upper = _levels(q, first, reach, counts, tree, walk)
        for record in members:
            distance = squared_distance(tree.points[own[record]], q)
            nearest[record] = 1.0 / at_lower if distance == lower else 0.0
            second[record] = 1.0 / at_upper if distance == upper and upper > lower else 0.0


@part
def _two_lowest(q, own, members, tree):
    """The two lowest distances between q and the originals of these records; inf where there is only one."""
    first, other = np.inf, np.inf
    for record in members:
        x = squared_distance(tree.points[own[record]], q)
        if x < first:
            first, other = x, first
        elif first < x < other:
            other = x
    return first, other


@part
def _levels(q, least, reach, counts, tree, walk):
    """(lowest distance, originals there, next distance, originals there): all of them that are at most `reach`.

    Ends at once when both are below `least`. Distances are squared.
    """
    d, w, lanes = q.shape[0], walk.w, walk.lanes
    length = turn_query(tree.frame, q, w)
    limit = near_limit(reach, length, tree.frame)
    leaves_from = first_leaf(tree)
    lower, upper, at_lower, at_upper = np.inf, np.inf, np.int64(0), np.int64(0)
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
                if x < lower:
                    upper, at_upper = lower, at_lower
                    lower, at_lower = x, counts[original]
                elif x == lower:
                    at_lower += counts[original]
                elif x < upper:
                    upper, at_upper = x, counts[original]
                elif x == upper:
                    at_upper += counts[original]
            if upper < least:
                return lower, at_lower, upper, at_upper
            if upper < reach:
                reach = upper
                limit = near_limit(reach, length, tree.frame)
    return lower, at_lower, upper, at_upper
