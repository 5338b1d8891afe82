"""k-means: records to start from, and Lloyd's turns, exact and the same on every machine.

Lloyd's turns look only at what can have changed: a record whose own centre did not move away from
it can only be won by a centre that moved (Kaukoranta, Fränti and Nevalainen 2000). The labels are
those of the plain algorithm, ties included.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.distances import squared_distance
from microagg.kernels.random import below, unit
from microagg.kernels.sums import add_exactly, rounded


@kernel
def spread_records(points, count, state):
    """Records to start k-means from (k-means++; Arthur and Vassilvitskii 2007).

    The first is any record; each next one is drawn in proportion to its squared distance from the
    nearest of those drawn before. They are fewer than `count` where there are fewer distinct
    points.
    """
    n = points.shape[0]
    chosen, near = np.empty(count, np.int64), np.full(n, np.inf)
    record = below(state, n)
    for c in range(count):
        chosen[c] = record
        total = 0.0
        for i in range(n):
            near[i] = min(near[i], squared_distance(points[i], points[record]))
            total += near[i]
        if total == 0.0:
            return chosen[: c + 1]
        record = _drawn(near, total, state)
    return chosen


@part
def _drawn(weights, total, state):
    """An index drawn in proportion to the weights, whose sum (added up in order) is given."""
    mark = unit(state) * total
    running, drawn = 0.0, np.int64(-1)
    for i in range(weights.shape[0]):
        if weights[i] > 0.0:
            running += weights[i]
            drawn = i
            if running > mark:
                break
    return drawn


@kernel
def lloyd(points, starts, turns):
    """(labels, centres) of k-means from these starting centres, after so many turns or when
    nothing moves any more.

    A record belongs to its nearest centre, the first of several; a centre is the mean of its
    records, or stays where it is while it has none. Labels are rows of `centres`; some may be used
    by no record.
    """
    n, d = points.shape
    c = starts.shape[0]
    labels, nearest = np.full(n, -1, np.int32), np.full(n, np.inf)
    centres, columns = starts.copy(), starts.T.copy()
    totals, sizes = np.zeros((c, 3, d)), np.zeros(c, np.int64)
    moved, touched, room = np.ones(c, np.bool_), np.zeros(c, np.bool_), np.empty(c)
    movers, mover_columns, count = np.arange(c), columns.copy(), c
    for _ in range(turns):
        for i in range(n):
            old = labels[i]
            if old >= 0 and moved[old]:
                x = squared_distance(points[i], centres[old])
                if x > nearest[i]:
                    nearest[i], labels[i] = np.inf, -1
                else:
                    nearest[i] = x
            if labels[i] < 0:
                _distances(points[i], columns, c, room)
                _join_nearest(i, room, c, labels, nearest)
            else:
                _distances(points[i], mover_columns, count, room)
                _join_nearer(i, room, count, movers, labels, nearest)
            if labels[i] != old:
                _exchange(points[i], old, labels[i], totals, sizes, touched)
        count = _move(centres, columns, totals, sizes, touched, moved, movers)
        if count == 0:
            break
        for j in range(d):
            for t in range(count):
                mover_columns[j, t] = columns[j, movers[t]]
    return labels, centres


@part
def _distances(point, columns, count, room):
    """Fill room with the squared distances to the first `count` columns; the inner loop runs
    over centres.
    """
    for t in range(count):
        room[t] = 0.0
    for j in range(columns.shape[0]):
        x = point[j]
        row = columns[j]
        for t in range(count):
            difference = x - row[t]
            room[t] += difference * difference


@part
def _join_nearest(i, room, count, labels, nearest):
    """Record i joins the nearest of all centres."""
    best, chosen = room[0], 0
    for t in range(1, count):
        if room[t] < best:
            best, chosen = room[t], t
    labels[i], nearest[i] = chosen, best


@part
def _join_nearer(i, room, count, movers, labels, nearest):
    """Record i joins one of the centres that moved if that is nearer, or as near and comes
    first.
    """
    best, chosen = nearest[i], np.int64(labels[i])
    for t in range(count):
        if room[t] < best or (room[t] == best and movers[t] < chosen):
            best, chosen = room[t], movers[t]
    labels[i], nearest[i] = chosen, best


@part
def _exchange(point, old, new, totals, sizes, touched):
    """A record leaves one cluster (-1: none) for another."""
    for j in range(point.shape[0]):
        if old >= 0:
            add_exactly(totals[old], -point[j], j)
        add_exactly(totals[new], point[j], j)
    if old >= 0:
        sizes[old] -= 1
        touched[old] = True
    sizes[new] += 1
    touched[new] = True


@part
def _move(centres, columns, totals, sizes, touched, moved, movers):
    """Move the centres whose records changed; returns how many moved, and which."""
    count = 0
    for g in range(centres.shape[0]):
        moved[g] = False
        if touched[g] and sizes[g] > 0:
            for j in range(centres.shape[1]):
                x = rounded(totals[g], j) / sizes[g]
                if x != centres[g, j]:
                    centres[g, j], columns[j, g] = x, x
                    moved[g] = True
            if moved[g]:
                movers[count] = g
                count += 1
        touched[g] = False
    return count
