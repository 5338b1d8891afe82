"""Groups that miss a guarantee, merged with others until none does; see `refine/merging.py`."""

from __future__ import annotations

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.guarantee_tables import shortfall

NOTHING_TAKEN = 1e-12  # less of the shortfall than this counts as none


@kernel
def merge_failing(
    labels, means, sizes, near, lacking, failing, parent, keys, waiting, stamps, codes, ordered,
    known, begins, cumulative, running, required,
):  # fmt: skip
    """Merge until nothing is lacking; leaves the group that each group has become part of in
    `parent`.

    `keys`, `waiting` and `stamps` are a heap: the price of a wish, whose it is, and the version of
    that group it is of.
    """
    groups, width = near.shape
    heads, tails = np.full(groups, -1, np.int32), np.full(groups, -1, np.int32)
    following = np.full(labels.shape[0], -1, np.int32)
    for i in range(labels.shape[0]):
        g = labels[i]
        if heads[g] < 0:
            heads[g] = i
        else:
            following[tails[g]] = i
        tails[g] = i
    members = np.empty(labels.shape[0], np.int32)
    versions, wishes, wished = (
        np.zeros(groups, np.int64),
        np.empty(groups, np.int32),
        np.zeros(groups, np.int64),
    )
    options, costs = np.empty(2 * width, np.int32), np.empty(2 * width)
    seen = np.zeros(
        groups + 1, np.int64
    )  # the last look that met a group; behind them the number of looks
    left, waits = groups, 0
    for f in range(failing.shape[0]):
        a = failing[f]
        key = _wish(
            a, means, sizes, near, lacking, parent, heads, following, members, wishes, options,
            costs, seen, codes, ordered, known, begins, cumulative, running, required,
        )  # fmt: skip
        wished[a] = versions[wishes[a]]
        waits = _push(keys, waiting, stamps, waits, key, a, versions[a])
    while waits > 0 and left > 1:
        a, stamp = waiting[0], stamps[0]
        waits = _pop(keys, waiting, stamps, waits)
        if parent[a] != a or stamp != versions[a]:
            continue
        b = wishes[a]
        if parent[b] == b and versions[b] == wished[a]:
            kept, gone = min(a, b), max(a, b)
            following[tails[kept]] = heads[gone]
            tails[kept] = tails[gone]
            _gather_candidates(kept, gone, means, sizes, near, parent, options, costs, seen)
            total = sizes[kept] + sizes[gone]
            for j in range(means.shape[1]):
                means[kept, j] += (means[gone, j] - means[kept, j]) * (sizes[gone] / total)
            sizes[kept], sizes[gone] = total, 0
            parent[gone] = kept
            versions[kept] += 1
            left -= 1
            count = _copy(kept, heads, following, sizes[kept], members, 0)
            lacking[kept] = shortfall(
                members, count, codes, ordered, known, begins, cumulative, running, required
            )
            if lacking[kept] == 0.0 or left == 1:
                continue
            a = kept
        key = _wish(
            a, means, sizes, near, lacking, parent, heads, following, members, wishes, options,
            costs, seen, codes, ordered, known, begins, cumulative, running, required,
        )  # fmt: skip
        wished[a] = versions[wishes[a]]
        waits = _push(keys, waiting, stamps, waits, key, a, versions[a])
    for g in range(groups):
        parent[g] = _root(parent, g)


@part
def _wish(
    a, means, sizes, near, lacking, parent, heads, following, members, wishes, options, costs, seen,
    codes, ordered, known, begins, cumulative, running, required,
):  # fmt: skip
    """Find the group to merge with, leave it in `wishes`, and return its price."""
    count = _candidates(a, means, sizes, near, parent, options, costs, seen, 0)
    if count == 0:
        count = _scan(a, means, sizes, near, parent, options, costs)
    count_a = _copy(a, heads, following, sizes[a], members, 0)
    wishes[a], best = options[0], np.inf
    for t in range(count):
        b = options[t]
        if costs[t] >= best * (lacking[a] + lacking[b]):
            continue
        both = _copy(b, heads, following, sizes[b], members, count_a)
        taken = lacking[a] + lacking[b]
        taken -= shortfall(
            members, both, codes, ordered, known, begins, cumulative, running, required
        )
        if taken > NOTHING_TAKEN and costs[t] / taken < best:
            best, wishes[a] = costs[t] / taken, b
    return best


@part
def _copy(g, heads, following, size, members, count):
    """Append the members of a group; returns how many there are now."""
    record = heads[g]
    for _ in range(size):
        members[count] = record
        count += 1
        record = following[record]
    return count


@part
def _root(parent, g):
    while parent[g] != g:
        parent[g] = parent[parent[g]]
        g = parent[g]
    return g


@part
def _cost(a, b, means, sizes):
    """Return the growth of the squared error when two groups become one."""
    total = 0.0
    for j in range(means.shape[1]):
        x = means[a, j] - means[b, j]
        total += x * x
    return total * (sizes[a] * sizes[b] / (sizes[a] + sizes[b]))


@part
def _candidates(a, means, sizes, near, parent, options, costs, seen, count):
    """Add the groups that the candidates of `a` have become, cheapest first, each once; returns
    how many there are.
    """
    groups = parent.shape[0]
    if count == 0:
        seen[groups] += 1
    seen[a] = seen[groups]
    for t in range(near.shape[1]):
        if near[a, t] >= 0:
            b = _root(parent, near[a, t])
            if seen[b] != seen[groups]:
                seen[b] = seen[groups]
                count = _insert(b, _cost(a, b, means, sizes), options, costs, count)
    return count


@part
def _insert(b, cost, options, costs, count):
    """Put a group into its place by (cost, number); beyond the room there is, the dearest falls
    out.
    """
    rank = count
    if count == options.shape[0]:
        rank -= 1
        if cost > costs[rank] or (cost == costs[rank] and b > options[rank]):
            return count
    while rank > 0 and (
        costs[rank - 1] > cost or (costs[rank - 1] == cost and options[rank - 1] > b)
    ):
        costs[rank], options[rank] = costs[rank - 1], options[rank - 1]
        rank -= 1
    costs[rank], options[rank] = cost, b
    return min(count + 1, options.shape[0])


@part
def _gather_candidates(kept, gone, means, sizes, near, parent, options, costs, seen):
    """Give the one that is kept the nearest of both groups' candidates."""
    count = _candidates(kept, means, sizes, near, parent, options, costs, seen, 0)
    count = _candidates(gone, means, sizes, near, parent, options, costs, seen, count)
    rank = 0
    for t in range(count):
        if rank < near.shape[1] and options[t] != kept and options[t] != gone:
            near[kept, rank] = options[t]
            rank += 1
    for t in range(rank, near.shape[1]):
        near[kept, t] = -1


@part
def _scan(a, means, sizes, near, parent, options, costs):
    """Look for the cheapest among all groups, for one that has no candidates left; returns how
    many were options.
    """
    count = 0
    for b in range(parent.shape[0]):
        if parent[b] == b and b != a:
            count = _insert(b, _cost(a, b, means, sizes), options, costs, count)
    count = min(count, near.shape[1])
    for t in range(count):
        near[a, t] = options[t]
    return count


@part
def _before(keys, waiting, s, t):
    return keys[s] < keys[t] or (keys[s] == keys[t] and waiting[s] < waiting[t])


@part
def _trade(keys, waiting, stamps, s, t):
    keys[s], keys[t] = keys[t], keys[s]
    waiting[s], waiting[t] = waiting[t], waiting[s]
    stamps[s], stamps[t] = stamps[t], stamps[s]


@part
def _push(keys, waiting, stamps, count, key, group, stamp):
    keys[count], waiting[count], stamps[count] = key, group, stamp
    node = count
    while node > 0 and _before(keys, waiting, node, (node - 1) // 2):
        _trade(keys, waiting, stamps, node, (node - 1) // 2)
        node = (node - 1) // 2
    return count + 1


@part
def _pop(keys, waiting, stamps, count):
    count -= 1
    keys[0], waiting[0], stamps[0] = keys[count], waiting[count], stamps[count]
    node = 0
    while 2 * node + 1 < count:
        child = 2 * node + 1
        if child + 1 < count and _before(keys, waiting, child + 1, child):
            child += 1
        if not _before(keys, waiting, child, node):
            break
        _trade(keys, waiting, stamps, node, child)
        node = child
    return count
