"""Lists of groups as two arrays: the records of all groups, and where each group starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from microagg.kernels.compiling import kernel


@kernel
def costs_of_groups(points, members, offsets):
    """Return the SSE of each group: its pairs' squared distances, divided by its size."""
    d = points.shape[1]
    costs = np.empty(offsets.shape[0] - 1)
    for g in range(costs.shape[0]):
        total = 0.0
        for e in range(offsets[g], offsets[g + 1]):
            for f in range(offsets[g], e):
                for c in range(d):
                    difference = points[members[e], c] - points[members[f], c]
                    total += difference * difference
        costs[g] = total / (offsets[g + 1] - offsets[g])
    return costs


@kernel
def some_of_each(n, members, offsets, order, per_record, most):
    """Return the first groups in this order, without those whose members all have enough."""
    used = np.zeros(n, np.int64)
    chosen = np.empty(min(most, order.shape[0]), np.int64)
    number = 0
    for t in range(order.shape[0]):
        g = order[t]
        wanted = False
        for e in range(offsets[g], offsets[g + 1]):
            wanted = wanted or used[members[e]] < per_record
        if wanted:
            for e in range(offsets[g], offsets[g + 1]):
                used[members[e]] += 1
            chosen[number] = g
            number += 1
            if number == chosen.shape[0]:
                break
    return chosen[:number]


def select_groups(
    members: np.ndarray, offsets: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return members and offsets of the chosen groups alone.

    >>> arrays = select_groups(np.array([5, 6, 7, 8]), np.array([0, 2, 3, 4]), np.array([0, 2]))
    >>> [x.tolist() for x in arrays]
    [[5, 6, 8], [0, 2, 3]]
    """
    sizes = np.diff(offsets)[chosen]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    entries = np.repeat(offsets[:-1][chosen] - starts[:-1], sizes) + np.arange(starts[-1])
    return members[entries], starts


def distinct_groups(
    members: np.ndarray,
    offsets: np.ndarray,
    kept_first: int,
    accepts: Callable[[np.ndarray], bool],
) -> tuple[np.ndarray, np.ndarray]:
    """Return members and offsets without groups that come twice or are not accepted.

    The first `kept_first` groups are kept and lead.

    >>> members, offsets = np.array([1, 2, 1, 2, 3]), np.array([0, 2, 4, 5])
    >>> arrays = distinct_groups(members, offsets, 1, lambda _: True)
    >>> [x.tolist() for x in arrays]
    [[1, 2, 3], [0, 2, 3]]
    """
    names: set[bytes] = set()
    kept = []
    for g in range(len(offsets) - 1):
        records = members[offsets[g] : offsets[g + 1]]
        if (name := records.tobytes()) not in names and (g < kept_first or accepts(records)):
            names.add(name)
            kept.append(g)
    return select_groups(members, offsets, np.array(kept, np.int64))


def groups_around_each(records: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each record with its nearest k - 1 others; `records` are the others, nearest first."""
    n = len(records)
    numbers = np.arange(n, dtype=np.int32)[:, None]
    flat = np.sort(np.hstack([numbers, records[:, : k - 1]]), axis=1).reshape(-1).astype(np.int32)
    return flat, np.arange(0, (n + 1) * k, k, dtype=np.int64)


def groups_of(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the groups of a partition, the records of each in ascending order.

    >>> [x.tolist() for x in groups_of(np.array([0, 1, 0]))]
    [[0, 2, 1], [0, 2, 3]]
    """
    members = np.argsort(labels, kind="stable").astype(np.int32)
    return members, np.concatenate([[0], np.cumsum(np.bincount(labels))]).astype(np.int64)


def usual_groups_of(labels: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return those groups of a partition that have fewer than 2k records."""
    members, offsets = groups_of(labels)
    return select_groups(members, offsets, np.flatnonzero(np.diff(offsets) < 2 * k))
