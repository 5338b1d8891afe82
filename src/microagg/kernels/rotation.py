"""The turned coordinates in which the kd-tree keeps its boxes and does most of its arithmetic.

Boxes fit a cloud best along its principal axes. Turned coordinates are measured from the mean,
scaled by a power of two so that they are at most about one, and kept in float32: twice as many to a
vector, half the memory. They only decide which boxes and records a question has to look at, never
its answer: the bounds allow for all rounding, and whatever passes them is compared by its distance
in float64, in the original coordinates.

Finding the axes of d columns takes O(d^3), turning a point O(d^2). Tables of more columns than
records, or of more than `WIDEST`, keep the axes that they have.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part

SAMPLE = 20_000  # enough to see the axes of any cloud
WIDEST = 128  # columns: from here on turning takes longer than the boxes it saves
SWEEPS = 12  # Jacobi converges quadratically; a few sweeps reach machine precision

ULP = 2.0**-23  # rounding to float32 changes a number by less than half of this, relatively
# The rows of a frame: the mean, the reference centre (in turned coordinates), the scale (in the
# first column), then d axes
# (times the scale) or, where coordinates are not turned, none.
MEAN, CENTRE, SCALE, AXES = 0, 1, 2, 3

TINY = np.float32(1e-37)  # and by less than this where it is too small to be rounded relatively
_LESS, _MORE = np.float32(1 - 2 * ULP), np.float32(1 + 2 * ULP)


@kernel
def frame_of(points, mean):
    """(3 + d, d): the mean, the reference centre, the scale, and d principal axes (largest
    variance first); see `AXES`.

    (3, d), without axes, for wide tables. The reference centre starts at the mean.
    """
    n, d = points.shape
    turned = d <= min(n, WIDEST)
    frame = np.zeros((AXES + d if turned else AXES, d))
    for j in range(d):
        frame[MEAN, j] = mean[j]
    frame[SCALE, 0] = _scale_for(points, frame[MEAN])
    if turned:
        _find_axes(points, frame)
    return frame


@part
def _find_axes(points, frame):
    d = points.shape[1]
    covariance = _sampled_covariance(points, frame[MEAN])
    axes = principal_axes(covariance)
    for row in range(d):
        widest = 0
        for j in range(d):
            if covariance[j, j] > covariance[widest, widest]:
                widest = j
        covariance[widest, widest] = -np.inf  # rounding may leave others below zero
        for j in range(d):
            frame[AXES + row, j] = axes[j, widest] * frame[SCALE, 0]


@part
def rotate(frame, q, out):
    """Write q's turned coordinates to `out`; returns their norm."""
    d = q.shape[0]
    squares = 0.0
    if frame.shape[0] == AXES:
        for j in range(d):
            x = (q[j] - frame[MEAN, j]) * frame[SCALE, 0]
            squares += x * x
            out[j] = x
        return np.sqrt(squares)
    for row in range(d):
        total = 0.0
        for j in range(d):
            total += frame[AXES + row, j] * (q[j] - frame[MEAN, j])
        squares += total * total
        out[row] = total
    return np.sqrt(squares)


@part
def below(x):
    """A float32 no larger than any number that is rounded to the float32 x."""
    return x * (_LESS if x > 0.0 else _MORE) - TINY


@part
def above(x):
    """A float32 no smaller than any number that is rounded to the float32 x."""
    return x * (_MORE if x > 0.0 else _LESS) + TINY


@part
def _scale_for(points, mean):
    """The power of two that brings the largest coordinate, measured from the mean, to between
    1/2 and 1.
    """
    n, d = points.shape
    largest = 0.0
    for i in range(n):
        for j in range(d):
            largest = max(largest, abs(points[i, j] - mean[j]))
    return 1.0 if largest == 0.0 else 2.0 ** min(-np.ceil(np.log2(largest)), 1000.0)


@part
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


@part
def principal_axes(matrix):
    """Jacobi's rotations: turns `matrix` diagonal in place and returns the axes as columns."""
    d = matrix.shape[0]
    axes = np.zeros((d, d))
    for p in range(d):
        axes[p, p] = 1.0
    for _ in range(SWEEPS):
        for p in range(d - 1):
            for q in range(p + 1, d):
                off = matrix[p, q]
                if abs(off) <= 1e-15 * (abs(matrix[p, p]) + abs(matrix[q, q])):
                    continue
                ratio = (matrix[q, q] - matrix[p, p]) / (2.0 * off)
                tangent = (1.0 if ratio >= 0 else -1.0) / (
                    abs(ratio) + np.sqrt(1.0 + ratio * ratio)
                )
                cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                _rotate_pair(matrix, axes, p, q, cosine, tangent * cosine)
    return axes


@part
def _rotate_pair(matrix, axes, p, q, cosine, sine):
    d = matrix.shape[0]
    for i in range(d):
        x, y = matrix[i, p], matrix[i, q]
        matrix[i, p], matrix[i, q] = cosine * x - sine * y, sine * x + cosine * y
    for i in range(d):
        x, y = matrix[p, i], matrix[q, i]
        matrix[p, i], matrix[q, i] = cosine * x - sine * y, sine * x + cosine * y
        x, y = axes[i, p], axes[i, q]
        axes[i, p], axes[i, q] = cosine * x - sine * y, sine * x + cosine * y
