"""The neighbourhoods of the records that remain: each one's k nearest, kept up to date while
groups are taken.

A record that is among another's k nearest stays so until it is taken: those that leave only bring
the others nearer. So a neighbourhood has to be asked for again only when one of its members is
taken, and only the places of those are filled anew. Who holds a record is kept in chains: node i k
+ t is the place t of record i, and the nodes whose places hold one and the same record follow one
another. O(n k) memory; taking a group asks again for some k^2 neighbourhoods.

Records at one and the same point (twins) have the same neighbourhood. Only that of the first one
left is kept: the others could only tie with it. When it is taken, the next of its twins takes its
place.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.sums import add_exactly, mean_of, rounded
from microagg.kernels.tree import home_of, tree_at, walk_of
from microagg.kernels.tree_query import nearest_into

NOBODY = -1


@kernel
def spread_of(points, records):
    """The sum of squared distances of some records to their mean; the same in whichever order
    they come.
    """
    mean, total = mean_of(points, records), np.zeros((3, 1))
    for t in range(records.shape[0]):
        for j in range(points.shape[1]):
            x = points[records[t], j] - mean[j]
            add_exactly(total, x * x, 0)
    return rounded(total, 0)


@kernel
def all_neighbourhoods(k, kept, handle):
    """(n, k): the k nearest of every record that is kept, in a tree that nobody has left yet."""
    tree = tree_at(handle)
    walk, near = walk_of(tree), np.empty(k)
    members = np.empty((tree.points.shape[0], k), np.int64)
    for i in range(members.shape[0]):
        if kept[i]:
            nearest_into(
                tree.points[i], home_of(tree, i), near, members[i], np.int64(0), tree, walk
            )
    return members


@kernel
def chained(members, kept):
    """(the first node of each record's chain, the node that follows each node)."""
    n, k = members.shape
    first, following = np.full(n, NOBODY, np.int64), np.empty(n * k, np.int64)
    for i in range(n):
        if kept[i]:
            for t in range(k):
                _link(i * k + t, members[i, t], first, following)
    return first, following


@part
def _link(node, record, first, following):
    """Put a node at the head of a record's chain."""
    following[node] = first[record]
    first[record] = node


@kernel
def renew(taken, members, first, following, twins, kept, changed, handle):
    """Bring all neighbourhoods up to date after some records were taken; returns how many
    changed, and fills in which.

    `twins` has the next record at the same point, or -1.
    """
    tree = tree_at(handle)
    walk = walk_of(tree)
    k = members.shape[1]
    count = _hand_over(taken, members, twins, kept, changed, tree)
    for t in range(taken.shape[0]):
        node = first[taken[t]]
        while node != NOBODY:
            i, position = node // k, node % k
            if kept[i]:
                if not _has_gap(members[i]):
                    changed[count] = i
                    count += 1
                members[i, position] = NOBODY
            node = following[node]
    near, records = np.empty(k), np.empty(k, np.int64)
    for c in range(count):
        i = changed[c]
        nearest_into(tree.points[i], home_of(tree, i), near, records, np.int64(0), tree, walk)
        _fill_gaps(i, records, members, first, following)
    return count


@part
def _hand_over(taken, members, twins, kept, changed, tree):
    """Let twins take the places of the records taken, with nobody near yet; returns how many."""
    count = 0
    for t in range(taken.shape[0]):
        if kept[taken[t]]:
            kept[taken[t]] = False
            twin = twins[taken[t]]
            while twin != NOBODY and tree.places[twin] < 0:
                twin = twins[twin]
            if twin != NOBODY:
                kept[twin] = True
                changed[count] = twin
                count += 1
                for position in range(members.shape[1]):
                    members[twin, position] = NOBODY
    return count


@part
def _has_gap(places):
    """Return True if a position is empty."""
    gaps = 0
    for t in range(places.shape[0]):
        gaps += places[t] == NOBODY
    return gaps > 0


@part
def _fill_gaps(i, records, members, first, following):
    """Put those of the records into record i's empty places that are in no other of its places."""
    k = members.shape[1]
    position = 0
    for t in range(k):
        is_member = False
        for u in range(k):
            if members[i, u] == records[t]:
                is_member = True
                break
        if is_member:
            continue
        while members[i, position] != NOBODY:
            position += 1
        members[i, position] = records[t]
        _link(i * k + position, records[t], first, following)


@kernel
def describe(points, members, which, centres, spreads):
    """Fill in the centre and the spread of some records' neighbourhoods."""
    for c in range(which.shape[0]):
        i = which[c]
        mean = mean_of(points, members[i])
        for j in range(points.shape[1]):
            centres[i, j] = mean[j]
        spreads[i] = spread_of(points, members[i])


@kernel
def farthest_centre(centres, spreads, kept, q, weight):
    """The record whose weight |centre - q|^2 + spread is largest of those kept; the first of
    several.
    """
    best, chosen = -np.inf, -1
    for i in range(centres.shape[0]):
        if kept[i]:
            total = 0.0
            for j in range(q.shape[0]):
                x = centres[i, j] - q[j]
                total += x * x
            total = weight * total + spreads[i]
            if total > best:
                best, chosen = total, i
    return chosen


@kernel
def tournament(values):
    """(2 m,): who has the lowest value in each pair, up to the winner of all at 1; the first of
    several wins.
    """
    m = 1
    while m < values.shape[0]:
        m *= 2
    winners = np.full(2 * m, NOBODY, np.int64)
    for i in range(values.shape[0]):
        winners[m + i] = i
    for v in range(m - 1, 0, -1):
        winners[v] = _winner(values, winners[2 * v], winners[2 * v + 1])
    return winners


@part
def _winner(values, a, b):
    """The one with the lower value; the first of two equal ones, and nobody loses to all."""
    if b == NOBODY or (a != NOBODY and values[a] <= values[b]):
        return a
    return b


@kernel
def play_again(values, winners, which):
    """Update the tournament after the values of some have changed."""
    m = winners.shape[0] // 2
    for c in range(which.shape[0]):
        v = (m + which[c]) // 2
        while v > 0:
            winners[v] = _winner(values, winners[2 * v], winners[2 * v + 1])
            v //= 2
