"""What a search keeps: the groups it met, for an integer program, and the better parts of two partitions."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel


class Seen:
    """A bounded collection of different groups; of too many, those met last are kept: they are from colder times.

    >>> seen = Seen(capacity=100)
    >>> seen.add(np.array([0, 0, 1, 1], np.int32), np.array([0.5, 2.0]))
    >>> seen.add(np.array([0, 0, 1, 1], np.int32), np.array([0.5, 2.0]))
    >>> members, offsets, costs = seen.columns()
    >>> members.tolist(), offsets.tolist(), costs.tolist()
    ([0, 1, 2, 3], [0, 2, 4], [0.5, 2.0])
    """

    def __init__(self, capacity: int = 20_000) -> None:
        self._capacity = capacity
        self._costs: dict[bytes, float] = {}

    def __len__(self) -> int:
        return len(self._costs)

    def add(self, labels: np.ndarray, costs: np.ndarray) -> None:
        """Take in the groups of a partition with their costs."""
        order = np.argsort(labels, kind="stable").astype(np.int32)
        ends = np.cumsum(np.bincount(labels, minlength=len(costs)))
        start = 0
        for end, cost in zip(ends.tolist(), costs.tolist(), strict=True):
            group = order[start:end].tobytes()
            self._costs.pop(group, None)
            self._costs[group] = cost
            start = end
        for group in list(self._costs)[: max(0, len(self._costs) - self._capacity)]:
            del self._costs[group]

    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(members, offsets, costs): group g has the records members[offsets[g]:offsets[g + 1]], ascending."""
        members = np.frombuffer(b"".join(self._costs), np.int32)
        lengths = [len(group) // 4 for group in self._costs]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return members, offsets, np.array(list(self._costs.values()))


@kernel
def group_costs(points, masses, labels, groups):
    """The (weighted) SSE of each group, from sums in record order: equal groups have equal costs."""
    n, d = points.shape
    means, weights, costs = np.zeros((groups, d)), np.zeros(groups), np.zeros(groups)
    for i in range(n):
        weights[labels[i]] += masses[i]
        for j in range(d):
            means[labels[i], j] += masses[i] * points[i, j]
    for i in range(n):
        g = labels[i]
        for j in range(d):
            e = points[i, j] - means[g, j] / weights[g]
            costs[g] += masses[i] * (e * e)
    return costs


@kernel
def blend(ours, theirs, our_costs, their_costs):
    """Of two partitions the better one in each part of the records where no group of either crosses the border."""
    g, h = our_costs.shape[0], their_costs.shape[0]
    parent = np.arange(g + h)
    for i in range(ours.shape[0]):
        p, q = ours[i], theirs[i] + g
        while parent[p] != p:
            parent[p] = parent[parent[p]]
            p = parent[p]
        while parent[q] != q:
            parent[q] = parent[parent[q]]
            q = parent[q]
        parent[max(p, q)] = min(p, q)
    saving = np.zeros(g + h)
    for t in range(g + h):
        p = t
        while parent[p] != p:
            p = parent[p]
        parent[t] = p
        saving[p] += our_costs[t] if t < g else -their_costs[t - g]
    mixed = np.empty(ours.shape[0], np.int32)
    for i in range(ours.shape[0]):
        mixed[i] = theirs[i] + g if saving[parent[ours[i]]] > 0.0 else ours[i]
    return mixed
