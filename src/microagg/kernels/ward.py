"""Ward's agglomeration under a size rule: groups are joined until all have k records, never two
that both have them.

Joining two groups of a and b records raises the sum of squares by a b / (a + b) times the squared
distance of their centroids. In every step the pair that raises it least is joined; of equal pairs
the one with fewer records, then the one whose lower first record is lowest, then the other one's.
One of a pair has fewer than k records, and only such groups keep a best partner. When two are
joined, the new group is offered to all others at once; whoever has lost a partner seeks another
only when its turn comes, since what is kept for it is never more than the truth. So each step takes
one or a few looks at all groups: O(n² d) time in practice for n groups, O(n d) memory.

Of equally good partners that are below k themselves, a group keeps one with a higher first record:
a pair with a lower one comes first in line by way of that other group. Were it not so, all of many
equal records would wait for the same partner, lose it together and seek together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from microagg.kernels.compiling import kernel, part
from microagg.kernels.sums import add_exactly, number_by_first_record, rounded

STEPS = 500  # joins between two reports


class Agglomeration(NamedTuple):
    """The groups left, in the first `counts[0]` places of all arrays; `counts[1]` is the next
    free identity.
    """

    counts: Any  # (2,)
    sums: Any  # (m, 3, d): of their records, exactly
    centres: Any  # (d, m): their centroids, column by column
    sizes: Any  # (m,)
    firsts: Any  # (m,): their lowest records
    identities: Any  # (m,): what they are called; a joined group gets a new one
    places: Any  # (2m,): where the group of an identity is, or -1
    increases: (
        Any  # (m,): of a group below k, what joining its best partner adds to the sum of squares
    )
    partners: Any  # (m,): the identity of that partner
    keys: Any  # (m, 4): what decides between equal increases, see `_offer`
    distances: Any  # (m,): room to work in


def joined_to_k(
    points: np.ndarray, labels: np.ndarray, k: int, tell: Callable[[int, int], None] | None = None
) -> np.ndarray:
    """Labels after joining the groups that are given by labels 0, 1, ...; `tell(joined, groups)`
    hears of it.

    >>> joined_to_k(np.array([[0.0], [9.0], [0.5], [10.0], [4.0]]), np.arange(5), 2).tolist()
    [0, 1, 0, 1, 0]
    """
    m, d = int(labels.max()) + 1, points.shape[1]
    state = Agglomeration(
        counts=np.array([m, m]),
        sums=np.zeros((m, 3, d)),
        centres=np.empty((d, m)),
        sizes=np.zeros(m, np.int64),
        firsts=np.full(m, -1),
        identities=np.arange(m),
        places=np.full(2 * m, -1),
        increases=np.empty(m),
        partners=np.empty(m, np.int64),
        keys=np.empty((m, 4), np.int64),
        distances=np.empty(m),
    )
    into = np.full(2 * m, -1)
    _begin(points, labels.astype(np.int64), k, state)
    while _join_some(state, into, k, STEPS):
        if tell is not None:
            tell(m - int(state.counts[0]), m)
    for identity in range(2 * m - 1, -1, -1):
        into[identity] = identity if into[identity] < 0 else into[into[identity]]
    return number_by_first_record(into[labels])


@kernel
def _begin(points, labels, k, state):
    """Fill in the groups as they are given, and the best partner of each that is below k."""
    for i in range(points.shape[0]):
        g = labels[i]
        state.sizes[g] += 1
        if state.firsts[g] < 0:
            state.firsts[g] = i
        for j in range(points.shape[1]):
            add_exactly(state.sums[g], points[i, j], j)
    for g in range(state.counts[0]):
        state.places[g] = g
        _place_centre(g, state)
    for g in range(state.counts[0]):
        if state.sizes[g] < k:
            _seek_partner(g, state, k)


@kernel
def _join_some(state, into, k, steps):
    """Join up to so many pairs, writing into which identity each went; False when all groups
    have k records.
    """
    for _ in range(steps):
        group = _next(state, k)
        while group >= 0 and state.places[state.partners[group]] < 0:
            _seek_partner(group, state, k)
            group = _next(state, k)
        if group < 0:
            return False
        _join(group, state.places[state.partners[group]], state, into, k)
    return True


@part
def _next(state, k):
    """The group below k whose best pair comes first; -1 if there is no such group, or nothing to
    join it to.
    """
    best = -1
    if state.counts[0] > 1:
        for g in range(state.counts[0]):
            if state.sizes[g] < k and (best < 0 or _before(g, best, state)):
                best = g
    return best


@part
def _before(g, h, state):
    if state.increases[g] != state.increases[h]:
        return state.increases[g] < state.increases[h]
    for t in (0, 2, 3):
        if state.keys[g, t] != state.keys[h, t]:
            return state.keys[g, t] < state.keys[h, t]
    return False


@part
def _place_centre(g, state):
    for j in range(state.centres.shape[0]):
        state.centres[j, g] = rounded(state.sums[g], j) / state.sizes[g]


@part
def _measure(g, state):
    """Squared distances of all centroids from that of g, column by column."""
    active = state.counts[0]
    distances = state.distances[:active]
    for t in range(active):
        distances[t] = 0.0
    for j in range(state.centres.shape[0]):
        column = state.centres[j, :active]
        y = column[g]
        for t in range(active):
            x = column[t] - y
            distances[t] += x * x


@part
def _increase(g, h, state):
    a, b = float(state.sizes[g]), float(state.sizes[h])
    return a * b / (a + b) * state.distances[h]


@part
def _offer(g, h, increase, state, k):
    """Make h the partner of g if this pair comes before the one kept for g.

    Of equal increases: fewer records, then a pair that h does not come before g to keep, then lower
    first records.
    """
    if increase > state.increases[g]:
        return
    low, high = min(state.firsts[g], state.firsts[h]), max(state.firsts[g], state.firsts[h])
    others = np.int64(state.sizes[h] < k and state.firsts[h] < state.firsts[g])
    size, keys = state.sizes[g] + state.sizes[h], state.keys[g]
    if increase == state.increases[g]:
        if size != keys[0]:
            before = size < keys[0]
        elif others != keys[1]:
            before = others < keys[1]
        elif low != keys[2]:
            before = low < keys[2]
        else:
            before = high < keys[3]
        if not before:
            return
    state.increases[g], state.partners[g] = increase, state.identities[h]
    keys[0], keys[1], keys[2], keys[3] = size, others, low, high


@part
def _seek_partner(g, state, k):
    _measure(g, state)
    state.increases[g] = np.inf
    for h in range(state.counts[0]):
        if h != g:
            _offer(g, h, _increase(g, h, state), state, k)


@part
def _join(a, b, state, into, k):
    """Join the groups at places a and b; the last group moves to b."""
    identity = state.counts[1]
    for t in (a, b):
        into[state.identities[t]] = identity
        state.places[state.identities[t]] = -1
    for row in range(3):
        for j in range(state.centres.shape[0]):
            add_exactly(state.sums[a], state.sums[b, row, j], j)
    state.sizes[a] += state.sizes[b]
    state.firsts[a] = min(state.firsts[a], state.firsts[b])
    state.identities[a], state.places[identity] = identity, a
    _place_centre(a, state)
    last = state.counts[0] - 1
    if b != last:
        _move(last, b, state)
    state.counts[0], state.counts[1] = last, identity + 1
    _introduce(b if a == last else a, state, k)


@part
def _move(old, new, state):
    state.sums[new] = state.sums[old]
    state.centres[:, new] = state.centres[:, old]
    state.sizes[new], state.firsts[new] = state.sizes[old], state.firsts[old]
    state.identities[new], state.places[state.identities[old]] = state.identities[old], new
    state.increases[new], state.partners[new] = state.increases[old], state.partners[old]
    state.keys[new] = state.keys[old]


@part
def _introduce(g, state, k):
    """Find the partner of a new group, and offer it to all others."""
    _measure(g, state)
    state.increases[g] = np.inf
    for h in range(state.counts[0]):
        if h == g:
            continue
        increase = _increase(g, h, state)
        if state.sizes[g] < k:
            _offer(g, h, increase, state, k)
        if state.sizes[h] < k:
            _offer(h, g, increase, state, k)
