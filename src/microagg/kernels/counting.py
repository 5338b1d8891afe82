"""Counting numbers by where they lie in their order, and moments of numbers that occur several
times.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.sums import add_exactly, rounded


@part
def _key(bits):
    """A whole number that is larger where the float64 with these bits is."""
    if bits >> np.uint64(63) != np.uint64(0):
        return ~bits
    return bits | np.uint64(1 << 63)


@kernel
def keys_of(bits):
    """(n,): whole numbers in the order of the float64 that have these bits (n, uint64); NaN has
    no place in it.
    """
    keys = np.empty(bits.shape[0], np.uint64)
    for i in range(bits.shape[0]):
        keys[i] = _key(bits[i])
    return keys


@kernel
def count_keys(bits, low, high, shift, counts, least, most):
    """Count the numbers whose keys lie from `low` to `high` in buckets of 2^shift keys, with the
    least and the largest key of each.
    """
    for i in range(bits.shape[0]):
        key = _key(bits[i])
        if key >= low and key <= high:
            bucket = np.int64((key - low) >> shift)
            counts[bucket] += 1
            if key < least[bucket]:
                least[bucket] = key
            if key > most[bucket]:
                most[bucket] = key


@part
def _add_times(total, x, times):
    """Add x so many times to a sum (3, 1): once, twice, four times, …, each of which is exact."""
    while times > 0:
        if times & 1:
            add_exactly(total, x, 0)
        x, times = 2.0 * x, times >> 1


@kernel
def repeated_moments(values, counts):
    """(2,): mean and population standard deviation of numbers that occur so many times each."""
    total, squares, n = np.zeros((3, 1)), np.zeros((3, 1)), 0
    for i in range(values.shape[0]):
        _add_times(total, values[i], counts[i])
        n += counts[i]
    mean = rounded(total, 0) / n
    for i in range(values.shape[0]):
        x = values[i] - mean
        _add_times(squares, x * x, counts[i])
    return np.array([mean, np.sqrt(rounded(squares, 0) / n)])
