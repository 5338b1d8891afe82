"""The turned coordinates in which the kd-tree keeps its boxes.

Boxes fit a cloud best along its principal axes. The axes only decide how many boxes a query opens, never its answer:
distances are always taken in the original coordinates.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel
from microagg.kernels.sums import column_sums, rounded

SAMPLE = 20_000  # enough to see the axes of any cloud
SWEEPS = 12  # Jacobi converges quadratically; a few sweeps reach machine precision


@kernel
def frame_of(points):
    """(d + 3, d): d principal axes as rows (largest variance first), the mean, and the reference centre.

    The reference centre starts at the mean; it is kept twice, in turned coordinates (row d + 1) and in original ones.
    """
    n, d = points.shape
    frame = np.zeros((d + 3, d))
    sums = column_sums(points)
    for j in range(d):
        frame[d, j] = rounded(sums, j) / n
        frame[d + 2, j] = frame[d, j]
    covariance = _sampled_covariance(points, frame[d])
    axes = _principal_axes(covariance)
    order = np.argsort(-np.diag(covariance), kind="mergesort")
    for row in range(d):
        for j in range(d):
            frame[row, j] = axes[j, order[row]]
    return frame


@kernel
def turn(frame, q, out):
    """Write q's turned coordinates to `out`."""
    d = q.shape[0]
    for row in range(d):
        total = 0.0
        for j in range(d):
            total += frame[row, j] * (q[j] - frame[d, j])
        out[row] = total


@kernel
def turn_all(frame, points):
    """(n, d): the turned coordinates of all points."""
    turned = np.empty(points.shape)
    for i in range(points.shape[0]):
        turn(frame, points[i], turned[i])
    return turned


@kernel
def _sampled_covariance(points, mean):
    n, d = points.shape
    step = max(1, n // SAMPLE)
    covariance = np.zeros((d, d))
    for i in range(0, n, step):
        for a in range(d):
            x = points[i, a] - mean[a]
            for b in range(a + 1):
                covariance[a, b] += x * (points[i, b] - mean[b])
    for a in range(d):
        for b in range(a):
            covariance[b, a] = covariance[a, b]
    return covariance


@kernel
def _principal_axes(matrix):
    """Jacobi's rotations: turns `matrix` diagonal in place and returns the axes as columns."""
    d = matrix.shape[0]
    axes = np.eye(d)
    for _ in range(SWEEPS):
        for p in range(d - 1):
            for q in range(p + 1, d):
                off = matrix[p, q]
                if abs(off) <= 1e-15 * (abs(matrix[p, p]) + abs(matrix[q, q])):
                    continue
                ratio = (matrix[q, q] - matrix[p, p]) / (2.0 * off)
                tangent = (1.0 if ratio >= 0 else -1.0) / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
                cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                _rotate(matrix, axes, p, q, cosine, tangent * cosine)
    return axes


@kernel
def _rotate(matrix, axes, p, q, cosine, sine):
    d = matrix.shape[0]
    for i in range(d):
        x, y = matrix[i, p], matrix[i, q]
        matrix[i, p], matrix[i, q] = cosine * x - sine * y, sine * x + cosine * y
    for i in range(d):
        x, y = matrix[p, i], matrix[q, i]
        matrix[p, i], matrix[q, i] = cosine * x - sine * y, sine * x + cosine * y
        x, y = axes[i, p], axes[i, q]
        axes[i, p], axes[i, q] = cosine * x - sine * y, sine * x + cosine * y
