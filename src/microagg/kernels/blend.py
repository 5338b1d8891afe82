"""The better parts of two partitions."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel


@kernel
def costs_by_label(points, masses, labels, groups):
    """The (weighted) SSE of each group, from sums in record order: equal groups have equal
    costs.
    """
    n, d = points.shape
    means, weights, costs = np.zeros((groups, d)), np.zeros(groups), np.zeros(groups)
    for i in range(n):
        weights[labels[i]] += masses[i]
        for j in range(d):
            means[labels[i], j] += masses[i] * points[i, j]
    for i in range(n):
        g = labels[i]
        for j in range(d):
            e = points[i, j] - means[g, j] / weights[g]
            costs[g] += masses[i] * (e * e)
    return costs


@kernel
def blend(ours, theirs, our_costs, their_costs):
    """Of two partitions the better one in each part of the records where no group of either
    crosses the border.
    """
    g, h = our_costs.shape[0], their_costs.shape[0]
    parent = np.arange(g + h)
    for i in range(ours.shape[0]):
        p, q = ours[i], theirs[i] + g
        while parent[p] != p:
            parent[p] = parent[parent[p]]
            p = parent[p]
        while parent[q] != q:
            parent[q] = parent[parent[q]]
            q = parent[q]
        parent[max(p, q)] = min(p, q)
    saving = np.zeros(g + h)
    for t in range(g + h):
        p = t
        while parent[p] != p:
            p = parent[p]
        parent[t] = p
        saving[p] += our_costs[t] if t < g else -their_costs[t - g]
    mixed = np.empty(ours.shape[0], np.int32)
    for i in range(ours.shape[0]):
        mixed[i] = theirs[i] + g if saving[parent[ours[i]]] > 0.0 else ours[i]
    return mixed
