"""Distances between single points."""

from __future__ import annotations

from microagg.kernels.compiling import kernel


@kernel
def squared_distance(x, q):
    """|x - q|^2, summed over the columns in ascending order."""
    total = 0.0
    for j in range(x.shape[0]):
        difference = x[j] - q[j]
        total += difference * difference
    return total
