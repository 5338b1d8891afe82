"""Distances between single points, and from one to all."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel


@kernel
def squared_distance(x, q):
    """|x - q|^2, summed over the columns in ascending order."""
    total = 0.0
    for j in range(x.shape[0]):
        difference = x[j] - q[j]
        total += difference * difference
    return total


@kernel
def squared_distances(points, q):
    """|x - q|^2 of every point."""
    distances = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        distances[i] = squared_distance(points[i], q)
    return distances
