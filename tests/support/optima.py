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
    """Return True if pi and cuts, and the leaves of a tree, prove the certified bound: by brute
    force over all sets.

    A tree is for partitions that lose less than what it certifies: with the prices at its root,
    their groups cost less than what is missing more than their prices.
    """
    n, k = len(points), bound.k
    sst = cost(points, range(n))
    if n < 2 * k:  # one group, whatever the numbers
        return bound.certified_sse <= sst
    sets = [c for s in range(k, min(2 * k - 1, n) + 1) for c in itertools.combinations(range(n), s)]
    costs = [cost(points, c) for c in sets]
    cuts = [(set(records), p) for records, p, _ in bound.cuts]
    penalties = [penalty for _, _, penalty in bound.cuts]
    left = [x - priced(c, bound.pi, cuts, penalties) for c, x in zip(sets, costs, strict=True)]
    total = priced(range(n), bound.pi, cuts, penalties)
    if min(left) < -1e-12 * sst or any(x < 0.0 for x in penalties):
        return False
    if bound.tree is None:
        return all(x > 0.0 for x in penalties) and bound.certified_sse <= max(total, 0.0)
    missing = bound.certified_sse - total + 1e-12 * sst
    better = [(c, x) for c, x, over in zip(sets, costs, left, strict=True) if over < missing]
    return all(
        priced(range(n), leaf["pi"], cuts, leaf["penalties"]) >= bound.certified_sse
        and all(x >= 0.0 for x in leaf["penalties"])
        and all(
            priced(c, leaf["pi"], cuts, leaf["penalties"]) <= x + 1e-12 * sst
            for c, x in better
            if all(fits(c) for fits in decisions)
        )
        for leaf, decisions in leaves_of(bound.tree, ())
    )


def priced(members, pi, cuts, penalties):
    """The prices of a set, less a penalty for every p records of a cut."""
    times = [len(records & set(members)) // p for records, p in cuts]
    return math.fsum(pi[i] for i in members) - math.fsum(
        map(math.prod, zip(times, penalties, strict=True))
    )


def leaves_of(node, decisions):
    """The leaves below a node, each with what its sets have to fit."""
    if "pair" not in node:
        yield node, decisions
        return
    pair = set(node["pair"])
    yield from leaves_of(node["together"], (*decisions, lambda c: len(pair & set(c)) != 1))
    yield from leaves_of(node["apart"], (*decisions, lambda c: len(pair & set(c)) != 2))
