"""Records to clusters at the least total cost, every cluster getting k to 2k - 1 of them: a
transportation problem.

An assignment is improved by cancelling negative cycles. The nodes are the clusters and one more,
the slack. Moving record x from its cluster a to b is an arc a -> b of weight cost(x, b) - cost(x,
a); a cluster that could spare a record has an arc of weight 0 from the slack, one that could take
another an arc of weight 0 to it. A cycle of negative weight is a set of moves that keeps all sizes
within bounds and lowers the total; an assignment without one is optimal (Klein 1967). Cycles are
found by the queue of Bellman, Ford and Moore, which looks up the tree of shortest paths before each
step: a step that would lead from a node back to one of its ancestors closes a negative cycle. Its
labels stay valid starts when a cycle has been cancelled.

Only arcs to the few clusters nearest to each record are kept. When no cycle is left among them, the
labels are prices that prove it: no arc leads below its end's label. Every pair left out is then
held against the same prices; those that violate them become arcs, and the search goes on until none
does. So the result is optimal among all pairs with O(n) arcs kept.

Termination. A cycle is cancelled only if the sum of its costs, added exactly (`sums.add_exactly`),
is negative, so the total cost strictly falls, no assignment comes twice, and there are finitely
many. A cycle that only rounding made doubles the tolerance instead, which can happen a bounded
number of times: a step needs a gain above the tolerance, and no gain exceeds all costs together.
Between two such events every step lowers a label by more than the tolerance while the labels,
without a cycle, are bounded from below by their starts and the costs on a path. Each widening adds
a pair that was not there, of n c. Nothing is stopped by a count. At the end every arc holds within
the tolerance t, so the total is within 2 n t of the optimum.

Deterministic: records are tried in ascending order, for each record clusters in ascending order,
and a later one must be better by more than the tolerance; a record stays where it is unless the
total falls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.distances import squared_distance
from microagg.kernels.sums import add_exactly, rounded

NEAR = 8  # clusters that each record may move to before the prices ask for more
TOLERANCE = 1e-13  # of the largest cost: what rounding may do to a price
SMALLEST = 1e-300  # so that doubling the tolerance gets somewhere
SLACK = 1.0 + 1e-9  # so that a look at partial sums does not miss a pair by rounding


class Arcs(NamedTuple):
    """The moves looked at: those of record x are starts[x] .. starts[x + 1], to the clusters
    `ends` at these costs.
    """

    starts: np.ndarray
    ends: np.ndarray
    costs: np.ndarray


class Assignment(NamedTuple):
    """The assignment: per record its cluster and cost; per cluster its records, ascending, and
    how many; all prices.
    """

    labels: np.ndarray
    costs: np.ndarray
    members: np.ndarray
    sizes: np.ndarray
    prices: np.ndarray


class Search(NamedTuple):
    """The tree of shortest paths (per node: where from, by which record, along which arc) and
    the queue of nodes.
    """

    tree: np.ndarray
    queue: np.ndarray
    waiting: np.ndarray
    span: np.ndarray
    """Where the queue begins, and how many wait in it."""


@kernel
def assign(points, centres, labels, k, squared):
    """int32 labels of an optimal assignment to the centres, reached from `labels`, whose groups
    have k to 2k - 1 records.

    The cost of a record is its distance from the centre, or with `squared` the square of it.
    Looking at all pairs takes O(n c d) time, a few times over; the cycles take less than that in
    practice.
    """
    clusters = centres.shape[0]
    plan = _plan(points, centres, labels, k, squared)
    if clusters == 1:
        return plan.labels
    arcs = _nearest_clusters(points, centres, min(NEAR, clusters), squared)
    tolerance = max(TOLERANCE * max(plan.costs.max(), arcs.costs.max()), SMALLEST)
    while True:
        tolerance = _cancel_cycles(arcs, plan, k, tolerance)
        records, ends, costs = _violating_pairs(points, centres, plan, tolerance, squared)
        if records.shape[0] == 0:
            return plan.labels
        arcs = _widened(arcs, records, ends, costs)


@part
def _plan(points, centres, labels, k, squared):
    n, clusters = points.shape[0], centres.shape[0]
    costs, sizes = np.empty(n), np.zeros(clusters, np.int64)
    members = np.empty((clusters, 2 * k - 1), np.int64)
    for x in range(n):
        a = labels[x]
        costs[x] = _cost(squared_distance(points[x], centres[a]), squared)
        members[a, sizes[a]] = x
        sizes[a] += 1
    return Assignment(labels.astype(np.int32), costs, members, sizes, np.zeros(clusters + 1))


@part
def _cost(distance, squared):
    return distance if squared else np.sqrt(distance)


@part
def _squared_within(x, q, limit):
    """|x - q|^2, or a part of it that is beyond the limit already."""
    total = 0.0
    for j in range(x.shape[0]):
        difference = x[j] - q[j]
        total += difference * difference
        if total > limit:
            break
    return total


@part
def _nearest_clusters(points, centres, near, squared):
    """The arcs of all records to their nearest clusters."""
    n, clusters = points.shape[0], centres.shape[0]
    ends, costs = np.empty(n * near, np.int64), np.empty(n * near)
    distances, chosen = np.empty(near), np.empty(near, np.int64)
    for x in range(n):
        distances[:] = np.inf
        for b in range(clusters):
            distance = _squared_within(points[x], centres[b], distances[near - 1])
            if distance < distances[near - 1]:
                slot = near - 1
                while slot > 0 and distance < distances[slot - 1]:
                    distances[slot], chosen[slot] = distances[slot - 1], chosen[slot - 1]
                    slot -= 1
                distances[slot], chosen[slot] = distance, b
        order = np.argsort(chosen)
        for t in range(near):
            ends[x * near + t] = chosen[order[t]]
            costs[x * near + t] = _cost(distances[order[t]], squared)
    return Arcs(np.arange(n + 1) * near, ends, costs)


@part
def _cancel_cycles(arcs, plan, k, tolerance):
    """Cancel negative cycles until no arc violates the prices; returns the tolerance it took."""
    nodes = plan.prices.shape[0]
    search = Search(
        np.full((nodes, 3), -1), np.arange(nodes), np.ones(nodes, np.bool_), np.array([0, nodes])
    )
    cycle = np.empty(nodes, np.int64)
    while search.span[1] > 0:
        a = search.queue[search.span[0]]
        search.span[0] = (search.span[0] + 1) % nodes
        search.span[1] -= 1
        search.waiting[a] = False
        closed = _lower_prices_beyond(a, arcs, plan, search, k, tolerance)
        if closed >= 0:
            length = _trace(closed, search.tree, cycle)
            if _lowers_the_total(cycle[:length], arcs, plan, search.tree):
                _move_along(cycle[:length], arcs, plan, search.tree)
                _forget(cycle[:length], search)
            else:
                tolerance = 2.0 * tolerance
                search.tree[:] = -1
                for node in range(nodes):
                    _enqueue(node, search)
    return tolerance


@part
def _lower_prices_beyond(a, arcs, plan, search, k, tolerance):
    """Follow the arcs out of node a; returns the end of one that closes a negative cycle, or -1."""
    clusters = plan.sizes.shape[0]
    if a == clusters:
        for b in range(clusters):
            if plan.sizes[b] > k and _follow(a, b, 0.0, -1, -1, plan, search, tolerance):
                return b
        return -1
    for t in range(plan.sizes[a]):
        x = plan.members[a, t]
        for arc in range(arcs.starts[x], arcs.starts[x + 1]):
            b = arcs.ends[arc]
            if b != a and _follow(
                a, b, arcs.costs[arc] - plan.costs[x], x, arc, plan, search, tolerance
            ):
                return b
    if plan.sizes[a] < 2 * k - 1 and _follow(a, clusters, 0.0, -1, -1, plan, search, tolerance):
        return clusters
    return -1


@part
def _violates(a, b, weight, prices, tolerance):
    return prices[a] + weight < prices[b] - tolerance


@part
def _follow(a, b, weight, record, arc, plan, search, tolerance):
    """Lower the price of b if the way through a is cheaper; True if that way comes from b
    itself: a cycle.
    """
    if not _violates(a, b, weight, plan.prices, tolerance):
        return False
    ancestor = a
    while ancestor >= 0 and ancestor != b:
        ancestor = search.tree[ancestor, 0]
    search.tree[b, 0], search.tree[b, 1], search.tree[b, 2] = a, record, arc
    if ancestor == b:
        return True
    plan.prices[b] = plan.prices[a] + weight
    _enqueue(b, search)
    return False


@part
def _enqueue(node, search):
    if not search.waiting[node]:
        search.waiting[node] = True
        search.queue[(search.span[0] + search.span[1]) % search.queue.shape[0]] = node
        search.span[1] += 1


@part
def _trace(closed, tree, cycle):
    """Write down the nodes of the cycle through a node; returns how many."""
    cycle[0], length = closed, 1
    node = tree[closed, 0]
    while node != closed:
        cycle[length] = node
        length += 1
        node = tree[node, 0]
    return length


@part
def _lowers_the_total(cycle, arcs, plan, tree):
    """Return True if the moves along a cycle lower the total cost, without any rounding."""
    total = np.zeros((3, 1))
    for node in cycle:
        if tree[node, 1] >= 0:
            add_exactly(total, arcs.costs[tree[node, 2]], 0)
            add_exactly(total, -plan.costs[tree[node, 1]], 0)
    return rounded(total, 0) < 0.0


@part
def _move_along(cycle, arcs, plan, tree):
    """Make the moves of a cycle; the records of each cluster stay in ascending order."""
    for node in cycle:
        x = tree[node, 1]
        if x >= 0:
            a = plan.labels[x]
            plan.sizes[a] -= 1
            slot = 0
            while plan.members[a, slot] != x:
                slot += 1
            for t in range(slot, plan.sizes[a]):
                plan.members[a, t] = plan.members[a, t + 1]
    for node in cycle:
        x = tree[node, 1]
        if x >= 0:
            slot = plan.sizes[node]
            while slot > 0 and plan.members[node, slot - 1] > x:
                plan.members[node, slot] = plan.members[node, slot - 1]
                slot -= 1
            plan.members[node, slot] = x
            plan.sizes[node] += 1
            plan.labels[x] = node
            plan.costs[x] = arcs.costs[tree[node, 2]]


@part
def _forget(cycle, search):
    """Take the nodes of a cancelled cycle, and all reached directly from them, out of the tree;
    look at them again.
    """
    changed = np.zeros(search.queue.shape[0], np.bool_)
    for node in cycle:
        changed[node] = True
        _enqueue(node, search)
    for node in range(search.queue.shape[0]):
        if changed[node] or (search.tree[node, 0] >= 0 and changed[search.tree[node, 0]]):
            search.tree[node, :] = -1


@part
def _violating_pairs(points, centres, plan, tolerance, squared):
    """All pairs of a record and a cluster whose cost is below what the prices allow: (records,
    clusters, costs).
    """
    n, clusters = points.shape[0], centres.shape[0]
    records, ends, costs, count = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), 0
    for x in range(n):
        a = plan.labels[x]
        for b in range(clusters):
            limit = (plan.prices[b] - plan.prices[a] + plan.costs[x]) * SLACK
            if b == a or limit <= 0.0:
                continue
            limit = limit if squared else limit * limit
            distance = _squared_within(points[x], centres[b], limit)
            if distance > limit:
                continue
            cost = _cost(distance, squared)
            if _violates(a, b, cost - plan.costs[x], plan.prices, tolerance):
                if count == records.shape[0]:
                    records = np.append(records, np.empty_like(records))
                    ends = np.append(ends, np.empty_like(ends))
                    costs = np.append(costs, np.empty_like(costs))
                records[count], ends[count], costs[count] = x, b, cost
                count += 1
    return records[:count], ends[:count], costs[:count]


@part
def _widened(arcs, records, ends, costs):
    """The arcs with these pairs, ordered by record and cluster, merged in."""
    n, total = arcs.starts.shape[0] - 1, arcs.ends.shape[0] + records.shape[0]
    wide = Arcs(np.zeros(n + 1, np.int64), np.empty(total, np.int64), np.empty(total))
    new, count = 0, 0
    for x in range(n):
        old = arcs.starts[x]
        while True:
            more = new < records.shape[0] and records[new] == x
            if old < arcs.starts[x + 1] and not (more and ends[new] < arcs.ends[old]):
                wide.ends[count], wide.costs[count] = arcs.ends[old], arcs.costs[old]
                old += 1
            elif more:
                wide.ends[count], wide.costs[count] = ends[new], costs[new]
                new += 1
            else:
                break
            count += 1
        wide.starts[x + 1] = count
    return wide
