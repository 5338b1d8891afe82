"""Fuzzy c-means: centres, and how much every record belongs to each of them.

The exponent m of the memberships is 1 + 1 / 2^s with a whole number s, the sharpness: then
memberships are ratios of squared distances, squared s times, and their weights need square roots
only. s = 0 is m = 2, s = 3 is m = 1.125.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part


@kernel
def fuzzy_clusters(points, centres, sharpness, rounds):
    """The nearest centre of each record after moving `centres`, until no record changes its own
    or all rounds are over.

    A centre moves to the mean of all records, each weighted by the m-th power of its membership. Of
    equally near centres the first one counts. O(n c d) time a round.
    """
    n, d = points.shape
    c = centres.shape[0]
    labels, before = np.full(n, -1), np.full(n, -1)
    shares = np.empty(c)
    for _ in range(rounds):
        weights, moved = np.zeros(c), np.zeros((c, d))
        for i in range(n):
            labels[i] = _share_out(points[i], centres, sharpness, shares)
            for q in range(c):
                weight = shares[q]
                for _ in range(sharpness):
                    weight = np.sqrt(weight)
                weight = weight * shares[q]
                weights[q] += weight
                for j in range(d):
                    moved[q, j] += weight * points[i, j]
        same = True
        for i in range(n):
            same = same and labels[i] == before[i]
            before[i] = labels[i]
        if same:
            break
        for q in range(c):
            if weights[q] > 0.0:
                for j in range(d):
                    centres[q, j] = moved[q, j] / weights[q]
    return labels


@part
def _share_out(x, centres, sharpness, shares):
    """Fill in the memberships of one record and return its nearest centre."""
    c, d = centres.shape
    least, nearest = np.inf, 0
    for q in range(c):
        distance = 0.0
        for j in range(d):
            difference = x[j] - centres[q, j]
            distance += difference * difference
        shares[q] = distance
        if distance < least:
            least, nearest = distance, q
    total = 0.0
    for q in range(c):
        if shares[q] == least:  # also where both are zero
            share = 1.0
        else:
            share = least / shares[q]
            for _ in range(sharpness):
                share = share * share
        shares[q] = share
        total += share
    for q in range(c):
        shares[q] = shares[q] / total
    return nearest
