"""Which records are equal: chains of them, found with a table of hashes in one pass."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part

MIXER = np.int64(-7046029254386353131)  # odd, its bits without a pattern (2^64 over the golden ratio)


def chain_equal(points: np.ndarray, records: np.ndarray, following: np.ndarray) -> np.ndarray:
    """The first record of each point, of some records in ascending order; `following` gets the next one at the same point.

    `following` has a place for each row of points (C-contiguous, float64) and holds -1 before.

    >>> following = np.full(4, -1, np.int32)
    >>> chain_equal(np.array([[5.0], [2.0], [5.0], [5.0]]), np.arange(4, dtype=np.int32), following).tolist()
    [0, 1]
    >>> following.tolist()
    [2, -1, 3, -1]
    """
    size = 1 << int(2 * len(records)).bit_length()
    table, firsts = np.full((size, 2), -1, np.int32), np.empty(len(records), np.int32)
    return firsts[: _chain(points, points.view(np.int64), records, table, firsts, following)]


@kernel
def _chain(points, bits, records, table, firsts, following):
    """Fill in `firsts` and `following`; returns how many are first. `table` has the first and the last record so far."""
    mask, count = table.shape[0] - 1, 0
    for t in range(records.shape[0]):
        record = records[t]
        place = _hash_of(bits[record]) & mask
        while table[place, 0] >= 0 and not _are_equal(points[table[place, 0]], points[record]):
            place = (place + 1) & mask
        if table[place, 0] < 0:
            table[place, 0] = record
            firsts[count] = record
            count += 1
        else:
            following[table[place, 1]] = record
        table[place, 1] = record
    return count


@part
def _hash_of(bits):
    mixed = np.int64(0)
    for j in range(bits.shape[0]):
        if bits[j] != np.iinfo(np.int64).min:  # -0.0, which equals 0.0
            mixed ^= bits[j]
        mixed *= MIXER
        mixed ^= mixed >> 32
    return mixed


@part
def _are_equal(p, q):
    for j in range(p.shape[0]):
        if p[j] != q[j]:
            return False
    return True
