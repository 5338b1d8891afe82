"""The optimal cut: given an ordering of the records, the partition into runs of k to 2k - 1 with
the least SSE.

A shortest path: best[e] = min over s of best[e - s] + SSE of the s records that end at e. The SSE
of all windows that end in one stretch of the order comes from prefix sums over that stretch alone,
measured from its first record, so large offsets cancel before anything is squared and nothing
accumulates along the order. O(n k d) time; besides the points O(n) memory.

One sorted column with large k has a quicker way: window costs then have the Monge property (a
concave queue of candidates), and O(n log n) steps do, whatever k is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from microagg.kernels.compiling import kernel, part

LANES = 8
STRETCH = 128  # ends worked on together; a multiple of LANES
MONGE_FROM = 256  # from this k on, one column is cut by the Monge property

_intrinsic: Any = extending.intrinsic  # untyped in numba
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)


def optimal_cut(points: np.ndarray, order: np.ndarray, k: int) -> tuple[np.ndarray, float]:
    """(labels, SSE) of the best runs of k to 2k - 1 records along an order; labels are numbered
    along it.

    Of several optima the one whose last run is shortest, then the one before it. Fewer than 2k
    records are one run.

    >>> labels, sse = optimal_cut(np.array([[0.0], [0.1], [5.0], [5.1], [5.2]]), np.arange(5), 2)
    >>> labels.tolist()
    [0, 0, 1, 1, 1]
    """
    order = np.ascontiguousarray(order, np.int64)
    if points.shape[1] == 1 and k >= MONGE_FROM and _is_sorted(points, order):
        sizes, sse = _cut_sorted_column(points[order, 0], k)
    else:
        sizes, sse = _cut(points, order, k)
    return _labels(order, sizes), sse


@_intrinsic
def _window_errors(_context, prefix, end, start, stride, columns, size, out, offset):
    """SSE of eight windows of one size, into out[at:]: rows of prefix sums, the row after the
    columns of squares.
    """

    def generate(context, builder, signature, arguments):
        prefix, end, start, stride, columns, size, out, offset = arguments
        base = context.make_array(signature.args[0])(context, builder, value=prefix).data
        target = context.make_array(signature.args[6])(context, builder, value=out).data
        total = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, [0.0] * LANES))

        def difference(row: Any) -> Any:
            ends, starts = (
                builder.load(
                    builder.bitcast(
                        builder.gep(base, [builder.add(row_index, row)]), _VECTOR.as_pointer()
                    ),
                    align=8,
                )
                for row_index in (end, start)
            )
            return builder.fsub(ends, starts)

        with cgutils.for_range(builder, columns) as loop:
            x = difference(builder.mul(loop.index, stride))
            builder.store(builder.fadd(builder.load(total), builder.fmul(x, x)), total)
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(undefined, size, ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        sizes = builder.shuffle_vector(first, undefined, everywhere)
        squares = difference(builder.mul(columns, stride))
        errors = builder.fsub(squares, builder.fdiv(builder.load(total), sizes))
        builder.store(
            errors, builder.bitcast(builder.gep(target, [offset]), _VECTOR.as_pointer()), align=8
        )
        return context.get_dummy_value()

    whole = types.intp
    return types.void(prefix, whole, whole, whole, whole, types.float64, out, whole), generate


@kernel
def _cut(points, order, k):
    """(size of the last run for each end, SSE): runs of k to 2k - 1 along the order."""
    n, d = order.shape[0], points.shape[1]
    best = np.full(n + 1, np.inf)
    sizes = np.zeros(n + 1, np.int64)
    best[0] = 0.0
    if n < 2 * k:
        best[n] = _error_of_all(points, order)
        sizes[n] = n
        return sizes, best[n]
    prefix = np.zeros((d + 1, STRETCH + 2 * k + LANES))
    errors = np.empty((k, STRETCH + LANES))
    for first in range(0, n, STRETCH):
        count = min(STRETCH, n - first)
        lead = _fill_prefix(points, order, first, count, k, prefix)
        for row in range(k):
            size = k + row
            for e in range(max(0, size - lead), count, LANES):
                end = lead + e
                _window_errors(
                    prefix,
                    end,
                    end - size,
                    prefix.shape[1],
                    d,
                    float(size),
                    errors,
                    row * errors.shape[1] + e,
                )
        for e in range(count):
            end = first + e + 1
            least, size = np.inf, 0
            for row in range(min(k, end - k + 1)):
                error = errors[row, e]
                value = best[end - k - row] + (error if error > 0.0 else 0.0)
                if value < least:
                    least, size = value, k + row
            best[end] = least
            sizes[end] = size
    return sizes, best[n]


@part
def _fill_prefix(points, order, first, count, k, prefix):
    """Prefix sums over a stretch and the 2k - 1 records before it; returns the place of the
    stretch's first end.
    """
    d = points.shape[1]
    start = max(0, first - 2 * k + 1)
    origin = order[first]
    for j in range(d + 1):
        prefix[j, 0] = 0.0
    for t in range(first + count - start):
        record = order[start + t]
        squares = 0.0
        for j in range(d):
            x = points[record, j] - points[origin, j]
            prefix[j, t + 1] = prefix[j, t] + x
            squares += x * x
        prefix[d, t + 1] = prefix[d, t] + squares
    return first - start + 1


@part
def _error_of_all(points, order):
    n, d = order.shape[0], points.shape[1]
    error = 0.0
    for j in range(d):
        origin, total, squares = points[order[0], j], 0.0, 0.0
        for t in range(n):
            x = points[order[t], j] - origin
            total += x
            squares += x * x
        error += max(squares - total * total / n, 0.0)
    return error


@kernel
def _is_sorted(points, order):
    falls = 0
    for t in range(1, order.shape[0]):
        falls += points[order[t], 0] < points[order[t - 1], 0]
    return falls == 0


@kernel
def _cut_sorted_column(values, k):
    """The same for one ascending column, in O(n log n): (sizes, SSE).

    A candidate i stands for a last run that begins after record i. By the Monge property a later
    candidate, once it is better, stays better: candidates wait in a queue, each from the first end
    at which it beats the one before it. Runs of 2k or more need no ban: two runs never lose more
    than one.
    """
    n = values.shape[0]
    best = np.full(n + 1, np.inf)
    sizes = np.zeros(n + 1, np.int64)
    sums, squares = _compensated_prefixes(values)
    queue, since = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    best[0] = 0.0
    head, tail = 0, 0
    for end in range(k, n + 1):
        new = end - k
        if new == 0 or best[new] < np.inf:
            while tail > head:
                turn = _overtaken_at(queue[tail - 1], new, end, n, k, best, sums, squares)
                if turn > since[tail - 1]:
                    break
                tail -= 1
            turn = (
                end
                if tail == head
                else _overtaken_at(queue[tail - 1], new, end, n, k, best, sums, squares)
            )
            if turn <= n:
                queue[tail], since[tail] = new, turn
                tail += 1
        while head + 1 < tail and since[head + 1] <= end:
            head += 1
        start = queue[head]
        best[end] = best[start] + _column_error(start, end, sums, squares)
        sizes[end] = end - start
    return sizes, best[n]


@part
def _overtaken_at(old, new, first, n, k, best, sums, squares):
    """The first end from `first` on at which the candidate `new` is better than `old`; n + 1 if
    there is none.
    """
    low, high = first, n + 1
    while low < high:
        middle = (low + high) // 2
        of_old = best[old] + _column_error(old, middle, sums, squares)
        of_new = best[new] + _column_error(new, middle, sums, squares)
        if of_new < of_old:
            high = middle
        else:
            low = middle + 1
    return low


@part
def _column_error(start, end, sums, squares):
    """SSE of the values from place `start` up to `end`."""
    total = (sums[0, end] - sums[0, start]) + (sums[1, end] - sums[1, start])
    square = (squares[0, end] - squares[0, start]) + (squares[1, end] - squares[1, start])
    return max(square - total * total / (end - start), 0.0)


@part
def _compensated_prefixes(values):
    """Prefix sums of the values (measured from their middle) and of their squares, with what
    rounding left over.
    """
    n = values.shape[0]
    sums, squares = np.zeros((2, n + 1)), np.zeros((2, n + 1))
    origin = values[n // 2]
    for i in range(n):
        x = values[i] - origin
        sums[0, i + 1], sums[1, i + 1] = _plus(sums[0, i], sums[1, i], x)
        squares[0, i + 1], squares[1, i + 1] = _plus(squares[0, i], squares[1, i], x * x)
    return sums, squares


@part
def _plus(high, low, x):
    total = high + x
    shadow = total - high
    return total, low + ((high - (total - shadow)) + (x - shadow))


@kernel
def _labels(order, sizes):
    """Labels from the sizes of the last runs, numbered along the order."""
    n = order.shape[0]
    runs, end = 0, n
    while end > 0:
        end -= sizes[end]
        runs += 1
    labels = np.empty(n, np.int32)
    end = n
    while end > 0:
        runs -= 1
        for t in range(end - sizes[end], end):
            labels[order[t]] = runs
        end -= sizes[end]
    return labels
