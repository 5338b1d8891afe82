"""The path through all records that IMHM cuts: from cluster to cluster, and within each towards the
next.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel
from microagg.kernels.distances import squared_distance


@kernel
def path_through(points, centroids, labels, first):
    """All records in the order of a path that starts in cluster `first`, of two or more (Mortazavi
    et al. 2013, fig. 2).

    The next cluster is the unvisited one whose centroid is nearest to any record of the current
    cluster; the records go towards it, the nearest last. The records of the last cluster start with
    the nearest to the centroid before it. Ties go to the lower cluster number and the lower record
    number. O(n c d) time at worst, O(n + c) memory.
    """
    n, clusters = points.shape[0], centroids.shape[0]
    by_cluster = np.argsort(labels, kind="mergesort")
    ends = np.zeros(clusters + 1, np.int64)
    for i in range(n):
        ends[labels[i] + 1] += 1
    ends = np.cumsum(ends)
    unvisited = np.arange(clusters)
    unvisited = unvisited[unvisited != first]
    path, filled, current = np.empty(n, np.int64), 0, first
    while True:
        members = by_cluster[ends[current] : ends[current + 1]]
        target = _nearest_centroid(points, members, centroids, unvisited)
        towards = np.empty(members.shape[0])
        for t in range(members.shape[0]):
            towards[t] = -squared_distance(points[members[t]], centroids[target])
        path[filled : filled + members.shape[0]] = members[np.argsort(towards, kind="mergesort")]
        filled += members.shape[0]
        unvisited = unvisited[unvisited != target]
        if unvisited.shape[0] == 0:
            break
        current = target
    members = by_cluster[ends[target] : ends[target + 1]]
    away = np.empty(members.shape[0])
    for t in range(members.shape[0]):
        away[t] = squared_distance(points[members[t]], centroids[current])
    path[filled:] = members[np.argsort(away, kind="mergesort")]
    return path


@kernel
def _nearest_centroid(points, members, centroids, unvisited):
    """The first of the unvisited clusters whose centroid is nearest to any of the members."""
    best, chosen = np.inf, unvisited[0]
    for b in unvisited:
        for x in members:
            total = 0.0
            for j in range(points.shape[1]):
                difference = points[x, j] - centroids[b, j]
                total += difference * difference
                if total >= best:
                    break
            if total < best:
                best, chosen = total, b
    return chosen
