"""Repair of a partition: groups that miss l, t or units are merged with others until none does.

1. A failing group looks at the groups with the nearest centroids: at all of a thousand, at 24 of
very many. Merging groups A and B adds
   n_A n_B / (n_A + n_B) |c_A - c_B|² to the squared error and takes some of the shortfall of both
   away (see `kernels/standard.py`). Of all candidates it wants the one with the least error for
   each unit of shortfall taken away; if none takes anything away, the one with the least error.
2. Of all failing groups, the one whose wish is cheapest is merged first, the others' wishes being
looked at again where the
   group they want has changed. A merged group inherits the candidates of both its parts.

Groups only grow, so this ends: at the latest with the whole table as one group, which keeps every
promise that can be kept. Merging never hurts anybody else: two groups that keep l, t and units keep
them together. Ties go to the group formed first. O(n log n) in practice: all groups are scanned
only for one that has used up its candidates.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels import sums
from microagg.kernels.compiling import kernel, part
from microagg.kernels.standard import shortfall
from microagg.problem.problem import Problem
from microagg.refine.local_near import nearest_centroids

FEWEST, LISTED = 24, 1_000_000  # candidates of a group at least; of all groups together about
NOTHING_TAKEN = 1e-12  # less of the shortfall than this counts as none


def repair(problem: Problem, labels: np.ndarray) -> np.ndarray:
    """The partition itself if all its groups are accepted; else one in which failing groups are
    merged with others.

    >>> from microagg.table.confidential import Attribute
    >>> from microagg.guarantees.promise import Guarantees
    >>> from microagg.table.schema import Kind
    >>> ill = (Attribute("ill", Kind.NOMINAL, np.array([0, 0, 1, 1, 0, 1])),)
    >>> problem = Problem.of([[0.0], [0.1], [1.0], [1.1], [9.0], [9.1]], k=2, accept=Guarantees.of(l=2).accept(ill))
    >>> repair(problem, np.array([0, 0, 1, 1, 2, 2], np.int32)).tolist()
    [0, 0, 0, 0, 1, 1]
    """
    accept = problem.accept
    if accept is None:
        return labels
    lacking = accept.shortfalls(labels)
    groups = len(lacking)
    if groups < 2 or not lacking.any():
        return labels
    means = sums.group_means(problem.points, labels, groups)
    near = nearest_centroids(means, min(groups - 1, max(FEWEST, LISTED // groups)), problem.threads)
    failing = np.flatnonzero(lacking).astype(np.int32)
    heap = (
        np.empty(len(failing) + 1),
        np.empty(len(failing) + 1, np.int32),
        np.empty(len(failing) + 1, np.int64),
    )
    parent = np.arange(groups, dtype=np.int32)
    _merge_failing(
        labels,
        means,
        sums.group_sizes(labels, groups),
        near,
        lacking,
        failing,
        parent,
        *heap,
        *accept.standard,
    )
    return sums.number_by_first_record(parent[labels])


@kernel
def _merge_failing(
    labels,
    means,
    sizes,
    near,
    lacking,
    failing,
    parent,
    keys,
    waiting,
    stamps,
    codes,
    ordered,
    known,
    begins,
    cumulative,
    running,
    asked,
):
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
    found, costs = np.empty(2 * width, np.int32), np.empty(2 * width)
    seen = np.zeros(
        groups + 1, np.int64
    )  # the last look that met a group; behind them the number of looks
    left, waits = groups, 0
    for f in range(failing.shape[0]):
        a = failing[f]
        key = _wish(
            a,
            means,
            sizes,
            near,
            lacking,
            parent,
            heads,
            following,
            members,
            wishes,
            found,
            costs,
            seen,
            codes,
            ordered,
            known,
            begins,
            cumulative,
            running,
            asked,
        )
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
            _gather_candidates(kept, gone, means, sizes, near, parent, found, costs, seen)
            total = sizes[kept] + sizes[gone]
            for j in range(means.shape[1]):
                means[kept, j] += (means[gone, j] - means[kept, j]) * (sizes[gone] / total)
            sizes[kept], sizes[gone] = total, 0
            parent[gone] = kept
            versions[kept] += 1
            left -= 1
            count = _copy(kept, heads, following, sizes[kept], members, 0)
            lacking[kept] = shortfall(
                members, count, codes, ordered, known, begins, cumulative, running, asked
            )
            if lacking[kept] == 0.0 or left == 1:
                continue
            a = kept
        key = _wish(
            a,
            means,
            sizes,
            near,
            lacking,
            parent,
            heads,
            following,
            members,
            wishes,
            found,
            costs,
            seen,
            codes,
            ordered,
            known,
            begins,
            cumulative,
            running,
            asked,
        )
        wished[a] = versions[wishes[a]]
        waits = _push(keys, waiting, stamps, waits, key, a, versions[a])
    for g in range(groups):
        parent[g] = _root(parent, g)


@part
def _wish(
    a,
    means,
    sizes,
    near,
    lacking,
    parent,
    heads,
    following,
    members,
    wishes,
    found,
    costs,
    seen,
    codes,
    ordered,
    known,
    begins,
    cumulative,
    running,
    asked,
):
    """Find the group to merge with, leave it in `wishes`, and return its price."""
    count = _candidates(a, means, sizes, near, parent, found, costs, seen, 0)
    if count == 0:
        count = _scan(a, means, sizes, near, parent, found, costs)
    own = _copy(a, heads, following, sizes[a], members, 0)
    wishes[a], best = found[0], np.inf
    for t in range(count):
        b = found[t]
        if costs[t] >= best * (lacking[a] + lacking[b]):
            continue
        both = _copy(b, heads, following, sizes[b], members, own)
        taken = lacking[a] + lacking[b]
        taken -= shortfall(members, both, codes, ordered, known, begins, cumulative, running, asked)
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
    """How much the squared error grows when two groups become one."""
    total = 0.0
    for j in range(means.shape[1]):
        x = means[a, j] - means[b, j]
        total += x * x
    return total * (sizes[a] * sizes[b] / (sizes[a] + sizes[b]))


@part
def _candidates(a, means, sizes, near, parent, found, costs, seen, count):
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
                count = _insert(b, _cost(a, b, means, sizes), found, costs, count)
    return count


@part
def _insert(b, cost, found, costs, count):
    """Put a group into its place by (cost, number); beyond the room there is, the dearest falls
    out.
    """
    at = count
    if count == found.shape[0]:
        at -= 1
        if cost > costs[at] or (cost == costs[at] and b > found[at]):
            return count
    while at > 0 and (costs[at - 1] > cost or (costs[at - 1] == cost and found[at - 1] > b)):
        costs[at], found[at] = costs[at - 1], found[at - 1]
        at -= 1
    costs[at], found[at] = cost, b
    return min(count + 1, found.shape[0])


@part
def _gather_candidates(kept, gone, means, sizes, near, parent, found, costs, seen):
    """Give the one that is kept the nearest of both groups' candidates."""
    count = _candidates(kept, means, sizes, near, parent, found, costs, seen, 0)
    count = _candidates(gone, means, sizes, near, parent, found, costs, seen, count)
    at = 0
    for t in range(count):
        if at < near.shape[1] and found[t] != kept and found[t] != gone:
            near[kept, at] = found[t]
            at += 1
    for t in range(at, near.shape[1]):
        near[kept, t] = -1


@part
def _scan(a, means, sizes, near, parent, found, costs):
    """Look for the cheapest among all groups, for one that has no candidates left; returns how
    many were found.
    """
    count = 0
    for b in range(parent.shape[0]):
        if parent[b] == b and b != a:
            count = _insert(b, _cost(a, b, means, sizes), found, costs, count)
    count = min(count, near.shape[1])
    for t in range(count):
        near[a, t] = found[t]
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
    at = count
    while at > 0 and _before(keys, waiting, at, (at - 1) // 2):
        _trade(keys, waiting, stamps, at, (at - 1) // 2)
        at = (at - 1) // 2
    return count + 1


@part
def _pop(keys, waiting, stamps, count):
    count -= 1
    keys[0], waiting[0], stamps[0] = keys[count], waiting[count], stamps[count]
    at = 0
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and _before(keys, waiting, child + 1, child):
            child += 1
        if not _before(keys, waiting, child, at):
            break
        _trade(keys, waiting, stamps, at, child)
        at = child
    return count
