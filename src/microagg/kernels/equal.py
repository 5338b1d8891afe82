"""Chains of equal records, built with a hash table in one pass."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part

MIXER = np.int64(
    -7046029254386353131
)  # odd, its bits without a pattern (2^64 over the golden ratio)


def chain_equal(points: np.ndarray, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first record at each point, and for each row of points the next record equal to
    it, or -1.

    Records are in ascending order. Points are a C-contiguous matrix of float64.

    >>> points, records = np.array([[5.0], [2.0], [5.0], [5.0]]), np.arange(4, dtype=np.int32)
    >>> firsts, following = chain_equal(points, records)
    >>> firsts.tolist(), following.tolist()
    ([0, 1], [2, -1, 3, -1])
    """
    following = np.full(len(points), -1, np.int32)
    size = 1 << int(2 * len(records)).bit_length()
    table, firsts = np.full((size, 2), -1, np.int32), np.empty(len(records), np.int32)
    count = _chain(points, points.view(np.int64), records, table, firsts, following)
    return firsts[:count], following


@kernel
def _chain(points, bits, records, table, firsts, following):
    """Fill in `firsts` and `following`; return the number of firsts. `table` has the first and the
    last record so far.
    """
    mask, count = table.shape[0] - 1, 0
    for t in range(records.shape[0]):
        record = records[t]
        slot = _hash_of(bits[record]) & mask
        while table[slot, 0] >= 0 and not _are_equal(points[table[slot, 0]], points[record]):
            slot = (slot + 1) & mask
        if table[slot, 0] < 0:
            table[slot, 0] = record
            firsts[count] = record
            count += 1
        else:
            following[table[slot, 1]] = record
        table[slot, 1] = record
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
    different = 0
    for j in range(p.shape[0]):
        different += p[j] != q[j]
    return different == 0
