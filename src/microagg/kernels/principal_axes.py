"""Principal axes of encoded tables: second moments of sparse coordinates, their axes, and
turning to them.

Coordinates of categories are mostly zeros, so moments and turns skip them: a record costs what it
holds, not how wide the encoding is. Axes come from Householder's reflections and the implicit QL
method (Bowdler, Martin, Reinsch and Wilkinson 1968) in O(m^3) for m axes: half a second for 500.
Sums go in the order of records and columns, so the axes are the same on every run.
"""

from __future__ import annotations

import math

import numpy as np

from microagg.kernels.compiling import kernel, part

# of QL for one axis; two or three are usual. Axes that needed more stay at right angles, only less
# principal
ROUNDS = 60
_EPSILON = 2.0**-52
# what rounding has left of columns that depend on others: dividing by it would not give numbers
_VANISHED = 1e-200


@kernel
def add_moments(block, first, second):
    """Add the coordinates of a block of records to `first` (m,), their products to the lower
    half of `second` (m, m).
    """
    n, m = block.shape
    held = np.empty(m, np.int64)
    for i in range(n):
        count = 0
        for j in range(m):
            x = block[i, j]
            if x != 0.0:
                held[count] = j
                count += 1
                first[j] += x
                for t in range(count):
                    second[j, held[t]] += x * block[i, held[t]]


@kernel
def rotate(block, offset, axes, out):
    """Write offset + block @ axes to `out`; axes are columns."""
    n, m = block.shape
    for i in range(n):
        for t in range(axes.shape[1]):
            out[i, t] = offset[t]
        for j in range(m):
            x = block[i, j]
            if x != 0.0:
                for t in range(axes.shape[1]):
                    out[i, t] += x * axes[j, t]


def principal(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (m,) variances, the largest first, and (m, m) axes of unit length as rows.

    Signs are fixed: the largest coordinate of an axis is positive.
    """
    m = len(covariance)
    largest = float(covariance.diagonal().max(initial=0.0))
    # a power of two keeps squares within the range of float64
    scale = 1.0 if largest == 0.0 else 2.0 ** (math.frexp(largest)[1] - 1)
    matrix = np.tril(covariance) / scale
    above = np.triu_indices(m, 1)
    matrix[above] = matrix.T[above]
    diagonal, rows = np.empty(m), np.eye(m)
    _find_axes(matrix, rows, diagonal, np.zeros(m), np.zeros((3, m)))
    # sorted here: numba would take longer to compile a sort than all the rest
    order = np.argsort(-diagonal, kind="mergesort")
    return np.maximum(diagonal[order], 0.0) * scale, np.ascontiguousarray(rows[order])


@kernel
def _find_axes(matrix, rows, diagonal, off, work):
    """Turn `rows` to the axes of the matrix and write the variances to `diagonal`; `work` is (3,
    m) zeros.
    """
    m = matrix.shape[0]
    for j in range(m - 2):
        _reflect(matrix, rows, j, work)
    for j in range(m):
        diagonal[j] = matrix[j, j]
        if j + 1 < m:
            off[j] = matrix[j + 1, j]
    _diagonalise(diagonal, off, rows)
    for j in range(m):
        _fix_sign(rows, j)


@part
def _reflect(matrix, rows, j, work):
    """Clear column j of the symmetric matrix below its second diagonal, and reflect the rows
    alike.
    """
    m = matrix.shape[0]
    mirror, product, shadow = work[0], work[1], work[2]
    for i in range(m):
        mirror[i] = product[i] = shadow[i] = 0.0
    squares = 0.0
    for i in range(j + 2, m):
        squares += matrix[i, j] * matrix[i, j]
    if squares < _VANISHED:
        return
    length = np.sqrt(squares + matrix[j + 1, j] * matrix[j + 1, j])
    for i in range(j + 1, m):
        mirror[i] = matrix[i, j]
    mirror[j + 1] += length if mirror[j + 1] >= 0.0 else -length
    beta = 2.0 / (squares + mirror[j + 1] * mirror[j + 1])
    along = 0.0
    for i in range(j, m):
        total = 0.0
        for t in range(j + 1, m):
            total += matrix[i, t] * mirror[t]
        product[i] = beta * total
        along += product[i] * mirror[i]
    for i in range(j, m):
        product[i] -= 0.5 * beta * along * mirror[i]
    for i in range(j, m):
        for t in range(j, m):
            matrix[i, t] -= mirror[i] * product[t] + product[i] * mirror[t]
    for i in range(j + 1, m):
        for t in range(m):
            shadow[t] += mirror[i] * rows[i, t]
    for i in range(j + 1, m):
        x = beta * mirror[i]
        for t in range(m):
            rows[i, t] -= x * shadow[t]


@part
def _diagonalise(diagonal, off, rows):
    """The implicit QL method on a tridiagonal matrix; `rows` turn with it, `diagonal` becomes
    the variances.
    """
    m = diagonal.shape[0]
    largest = 0.0
    for j in range(m):
        largest = max(largest, abs(diagonal[j]) + abs(off[j]))
    for low in range(m):
        for _ in range(ROUNDS):
            high = low
            while high < m - 1 and abs(off[high]) > _EPSILON * largest:
                high += 1
            if high == low:
                break
            _chase(diagonal, off, rows, low, high)


@part
def _chase(diagonal, off, rows, low, high):
    """One QL step on the block from low to high."""
    ratio = (diagonal[low + 1] - diagonal[low]) / (2.0 * off[low])
    root = np.sqrt(ratio * ratio + 1.0)
    g = diagonal[high] - diagonal[low] + off[low] / (ratio + (root if ratio >= 0.0 else -root))
    sine, cosine, p = 1.0, 1.0, 0.0
    for i in range(high - 1, low - 1, -1):
        f, b = sine * off[i], cosine * off[i]
        r = np.sqrt(f * f + g * g)
        off[i + 1] = r
        if r == 0.0:
            diagonal[i + 1] -= p
            off[high] = 0.0
            return
        sine, cosine = f / r, g / r
        g = diagonal[i + 1] - p
        r = (diagonal[i] - g) * sine + 2.0 * cosine * b
        p = sine * r
        diagonal[i + 1] = g + p
        g = cosine * r - b
        for t in range(rows.shape[1]):
            x, y = rows[i, t], rows[i + 1, t]
            rows[i + 1, t] = sine * x + cosine * y
            rows[i, t] = cosine * x - sine * y
    diagonal[low] -= p
    off[low] = g
    off[high] = 0.0


@part
def _fix_sign(rows, j):
    """Make the first of the largest components of an axis positive; those that differ by
    rounding count as largest.
    """
    m, largest = rows.shape[1], 0.0
    for t in range(m):
        largest = max(largest, abs(rows[j, t]))
    for t in range(m):
        if abs(rows[j, t]) >= 0.999999 * largest:
            if rows[j, t] < 0.0:
                for u in range(m):
                    rows[j, u] = -rows[j, u]
            return
