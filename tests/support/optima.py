"""Tiny problems, their optimum by trying all partitions, and bounds checked by looking at all sets.
Slow; imports no microagg.
"""

import itertools
import math

import numpy as np

import plain


def tiny_problem(seed):
    """At most 12 records in 1 to 6 columns, k from 2 to 5: duplicates, constant columns, ties,
    large offsets.
    """
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    n, d = int(rng.integers(k, 13)), int(rng.integers(1, 7))
    return np.ascontiguousarray(plain.KINDS[seed % len(plain.KINDS)](rng, n, d), np.float64), k


def best_loss(points, k):
    """The least SSE of all partitions into groups of k to 2k - 1, one group for the lowest record
    left at a time.
    """
    n = len(points)
    if n < 2 * k:
        return cost(points, range(n))
    costs = {
        c: cost(points, c)
        for s in range(k, min(2 * k - 1, n) + 1)
        for c in itertools.combinations(range(n), s)
    }

    known = {}

    def best(left):
        if not left:
            return 0.0
        if left not in known:
            rest = left[1:]
            known[left] = min(
                (
                    costs[(left[0], *others)] + best(tuple(i for i in rest if i not in others))
                    for s in range(k, min(2 * k - 1, len(left)) + 1)
                    if len(left) - s == 0 or len(left) - s >= k
                    for others in itertools.combinations(rest, s - 1)
                ),
                default=math.inf,
            )
        return known[left]

    return best(tuple(range(n)))


def cost(points, members):
    pairs = itertools.combinations(members, 2)
    return math.fsum(plain.squared_distance(points[i], points[j]) for i, j in pairs) / len(members)


def proves(points, bound):
    """Whether pi and cuts prove the certified bound, by brute force over all sets."""
    n, k = len(points), bound.k
    sst = cost(points, range(n))
    if n < 2 * k:  # one group, whatever the numbers
        return bound.certified_sse <= sst
    for s in range(k, min(2 * k - 1, n) + 1):
        for c in itertools.combinations(range(n), s):
            held = sum(x * (len(set(c) & set(records)) // p) for records, p, x in bound.cuts)
            if bound.pi[list(c)].sum() - held > cost(points, c) + 1e-12 * sst:
                return False
    total = bound.pi.sum() - sum(x * (len(records) // p) for records, p, x in bound.cuts)
    return all(x > 0.0 for _, _, x in bound.cuts) and bound.certified_sse <= max(total, 0.0)
