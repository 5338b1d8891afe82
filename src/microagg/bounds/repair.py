"""Prices that promise too much somewhere are lowered until they do not: then their sum is a
proof.
"""

from __future__ import annotations

import numpy as np

from microagg.bounds.pricing import Prices, Sets
from microagg.kernels.compiling import kernel


@kernel
def _lower(pi, members, offsets, excess, order, weights):
    """Lower prices on the members of each set, in the given order, until its excess is not
    negative.
    """
    lowered = np.zeros(pi.shape[0])
    for t in range(order.shape[0]):
        g = order[t]
        missing, total = -excess[g], 0.0
        for e in range(offsets[g], offsets[g + 1]):
            missing -= lowered[members[e]]
            total += weights[members[e]]
        if missing > 0.0:
            for e in range(offsets[g], offsets[g + 1]):
                lowered[members[e]] += missing * (weights[members[e]] / total)
    for i in range(pi.shape[0]):
        pi[i] -= lowered[i]


@kernel
def _weights(n, members, offsets, excess):
    """Return how much each record is worth lowering: the more sets of negative excess it is in, the
    more.
    """
    weights = np.full(n, 1e-9)
    for g in range(excess.shape[0]):
        for e in range(offsets[g], offsets[g + 1]):
            weights[members[e]] -= excess[g]
    return weights


def repaired(prices: Prices, sets: Sets) -> Prices:
    """Prices under which none of these sets has a negative excess; no other set gets a lower one
    than it had.

    If all sets of negative excess were given, the result is a proof.

    >>> sets = Sets(np.array([0, 1], np.int32), np.array([0, 2]), np.array([-1.0]), True)
    >>> repaired(Prices(np.array([2.0, 2.0, 2.0]), np.empty(0)), sets).pi.tolist()
    [1.5, 1.5, 2.0]
    """
    pi = prices.pi.copy()
    order = np.argsort(sets.excess, kind="stable")
    weights = _weights(len(pi), sets.members, sets.offsets, sets.excess)
    _lower(pi, sets.members, sets.offsets, sets.excess, order, weights)
    return Prices(pi, prices.penalties)
