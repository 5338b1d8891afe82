"""Floor cuts that a fractional choice of groups violates.

For a set R of records and a whole number p, groups that hold h of the records count floor(h / p),
and over a partition these add up to floor(|R| / p) at most. A fractional choice may exceed that, by

    ((|R| mod p) - sum of share * (h mod p)) / p.

R is grown around each record by how much others are together with it, then changed record by
record.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels.floor_cuts import LARGEST_SET, find_floor_cuts
from microagg.refine.highs import Stop

MULTIPLES = (1, 2, 3)
SEEDS = 64  # records around which cuts are sought between two looks at the clock


def violated_cuts(
    n: int,
    members: np.ndarray,
    offsets: np.ndarray,
    shares: np.ndarray,
    parts: tuple[int, ...],
    *,
    most: int,
    of_a_record: int = 4,
    stop: Stop | None = None,
) -> list[tuple[tuple[int, ...], int]]:
    """Return floor cuts (records and p) that a fractional choice of groups violates, the most
    violated first.

    A record gets into at most `of_a_record` of them.

    >>> members, offsets = np.array([0, 1, 1, 2, 0, 2]), np.array([0, 2, 4, 6])
    >>> violated_cuts(3, members, offsets, np.full(3, 0.5), (2,), most=9)
    [((0, 1, 2), 2)]
    """
    sizes = np.diff(offsets)
    number = np.repeat(np.arange(len(sizes)), sizes)
    order = np.argsort(members, kind="stable")
    set_starts = np.concatenate([[0], np.cumsum(np.bincount(members, minlength=n))]).astype(
        np.int64
    )
    capacity = n * len(parts) * len(MULTIPLES)
    buffers = (
        np.empty((capacity, LARGEST_SET + 1), np.int64), np.empty(capacity, np.int64),
        np.empty(capacity, np.int64), np.empty(capacity),
    )  # fmt: skip
    groups = (members.astype(np.int64), offsets, shares, set_starts, number[order].astype(np.int64))
    kinds = (np.array(parts, np.int64), np.array(MULTIPLES, np.int64))
    count = 0
    for begin in range(0, n, SEEDS):
        if stop is not None and stop():
            return []
        count = find_floor_cuts(*groups, *kinds, begin, min(begin + SEEDS, n), *buffers, count)
    cuts: dict[tuple[tuple[int, ...], int], float] = {}
    rows = zip(*(buffer[:count].tolist() for buffer in buffers), strict=True)
    for row, length, p, violation in rows:
        cuts[tuple(row[:length]), p] = round(violation, 9)
    chosen, used = [], np.zeros(n, np.int64)
    for cut in sorted(cuts, key=lambda cut: (-cuts[cut], cut)):
        inside = list(cut[0])
        if used[inside].max() < of_a_record and len(chosen) < most:
            used[inside] += 1
            chosen.append(cut)
    return chosen
