"""Groups of the local search dissolved: where their members would go, and the move itself."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import part
from microagg.kernels.local_groups import distance, refresh

LEAST_GAIN = 1e-10  # of the error of the groups that change


@part
def plan_to_dissolve(
    points, weights, slots, sizes, centres, from_mean, candidates, group, reach, plan
):
    """Find a better group for every member; True, and the places in the plan, if that lowers the
    error.

    A row of `reach` is for a candidate: its mean with the members it would get, its weight, its
    size, and how far off it is, or -1 as soon as it would get one.
    """
    d = points.shape[1]
    left = centres[group, d + 1] * (1.0 - LEAST_GAIN)
    for t in range(candidates.shape[1]):
        other = candidates[group, t]
        reach[t, d] = 0.0
        if other >= 0 and sizes[other] > 0:
            apart = 0.0
            for j in range(d):
                x = centres[group, j] - centres[other, j]
                apart += x * x
            reach[t, d], reach[t, d + 1], reach[t, d + 2] = (
                centres[other, d],
                sizes[other],
                np.sqrt(apart),
            )
    for s in range(sizes[group]):
        record = slots[group, s]
        w, inside = weights[record], np.sqrt(from_mean[group, s])
        least, chosen = left, -1
        for t in range(candidates.shape[1]):
            W, size, off = reach[t, d], reach[t, d + 1], reach[t, d + 2]
            if W == 0.0 or size >= slots.shape[1]:
                continue
            share = w * W / (W + w)
            if off > inside and share * (off - inside) * (off - inside) >= least:
                continue
            if off >= 0.0:
                cost = share * distance(points, record, centres, np.int64(candidates[group, t]))
            else:
                cost = share * distance(points, record, reach, t)
            if cost < least:
                least, chosen = cost, t
        if chosen < 0:
            return False
        left -= least
        plan[s] = candidates[group, chosen]
        _reach_for(points, record, w, centres, plan[s], reach, np.int64(chosen))
    return True


@part
def _reach_for(points, record, w, centres, group, reach, t):
    """Count a record to a candidate that would get it."""
    d = points.shape[1]
    if reach[t, d + 2] >= 0.0:
        for j in range(d):
            reach[t, j] = centres[group, j]
    reach[t, d] += w
    reach[t, d + 1] += 1.0
    reach[t, d + 2] = -1.0
    for j in range(d):
        reach[t, j] += (points[record, j] - reach[t, j]) * (w / reach[t, d])


@part
def dissolve(points, weights, slots, sizes, centres, from_mean, plan, group):
    """Carry out the plan; False, and everything as before, if the error did not fall."""
    d, size = points.shape[1], sizes[group]
    change = -centres[group, d + 1]
    for s in range(size):
        other = np.int64(plan[s])
        slots[other, sizes[other]] = slots[group, s]
        sizes[other] += 1
        change -= centres[other, d + 1]
        refresh(points, weights, slots, sizes, centres, from_mean, other)
        change += centres[other, d + 1]
    if change < 0.0:
        sizes[group] = 0
        refresh(points, weights, slots, sizes, centres, from_mean, group)
        return True
    for s in range(size):
        sizes[plan[s]] -= 1
    for s in range(size):
        refresh(points, weights, slots, sizes, centres, from_mean, np.int64(plan[s]))
    return False
