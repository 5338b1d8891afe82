"""All sets of records that cost less than their prices promise, without looking at the rest:
averaging chains.

Every record i has a price pi_i. A set S of s records costs (1/s) times the sum of its pairs'
squared distances; what it costs above the prices of its members (and with the penalties of the cuts
that it touches) is its *excess*. With

    w_ij = d2_ij / s - (pi_i + pi_j) / (s - 1) + (the pair's shares of penalties)

the w of all pairs of S add up to the excess of S or less. Of the members of a set, take out the one
whose pairs have the largest sum (its *star*; of equals, the record with the highest number): the
mean w of the pairs that remain is no higher. So every set whose mean is low is reached from a pair
of low mean by adding one record at a time, each addition being the member that would be taken out
again. Going only this way (reverse search) meets each set once and needs no memory of those met.

A cut of 2m + 1 records with a penalty adds penalty * floor(h / 2) to a set that holds h of them.
Let o be the largest odd number that is at most 2m + 1 and at most s. A share of 1 / o for each of
the h (h - 1) / 2 pairs never exceeds that: an odd h is at most o and has h floor(h / 2) pairs; an
even h has (h - 1) floor(h / 2), and h - 1 is at most o.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from microagg.bounds.cuts import Cuts
from microagg.bounds.neighbours import Neighbours
from microagg.kernels.compiling import kernel, part
from microagg.refine.highs import Stop

SLICE = 5_000_000  # records looked at between two looks at the clock
ROUNDING = 1e-13


@part
def _weight(points, u, v, inverse, prices, share_starts, share_others, shares):
    """w of the pair, the same bits whichever way round."""
    x = 0.0
    for c in range(points.shape[1]):
        difference = points[u, c] - points[v, c]
        x += difference * difference
    share = 0.0
    for e in range(share_starts[u], share_starts[u + 1]):
        if share_others[e] == v:
            share = shares[e]
            break
    return x * inverse - (prices[u] + prices[v]) + share


@part
def _would_be_taken_out(
    points, path, t, v, inverse, prices, share_starts, share_others, shares, members
):
    """Whether v has the largest star in path[:t] and v, computed from the set alone: no order of
    arrival matters.
    """
    size = t + 1
    for p in range(t):
        members[p] = path[p]
    members[t] = v
    for p in range(1, size):
        x = members[p]
        q = p
        while q > 0 and members[q - 1] > x:
            members[q] = members[q - 1]
            q -= 1
        members[q] = x
    chosen, largest = -1, -np.inf
    for p in range(size):
        total = 0.0
        for q in range(size):
            if q != p:
                total += _weight(
                    points,
                    members[p],
                    members[q],
                    inverse,
                    prices,
                    share_starts,
                    share_others,
                    shares,
                )
        if total >= largest:
            chosen, largest = members[p], total
    return chosen == v


@kernel
def _walk(
    points, starts, others, squares, highest, unlisted, s, prices, limit,
    share_starts, share_others, shares, cut_starts, cut_of, penalties,
    path, stars, totals, stack, marks, places, counts, state, max_work, found, excess,
):  # fmt: skip
    """List sets of s records with an excess of at most `limit`; goes on where `state` says,
    until max_work records were looked at.

    state: root, height of the stack, stamp, nodes in all, nodes that had to look at all records,
    size of the path, records looked at. highest: the highest price in a record's list. unlisted:
    what the w of a record with one that is not in its list is at least. totals: for each size the
    sum of w, of its shares, and of the absolute values that rounding is measured by. Returns how
    many were found; all is done once state[0] is n.
    """
    n, d = points.shape
    inverse = 1.0 / s
    root, top, stamp, size = state[0], state[1], state[2], state[5]
    pairs_of_all = 0.5 * s * (s - 1)
    number, nodes, work = 0, 0, 0
    weights = np.empty(s)
    members = np.empty(s, np.int64)
    while work < max_work and found.shape[0] - number >= n:
        if top == 0:
            while size > 0:
                size -= 1
                places[path[size]] = -1
            if root >= n:
                break
            path[0], size = root, 1
            places[root] = 0
            root += 1
            stars[1, 0] = 0.0
            totals[1, 0] = totals[1, 1] = totals[1, 2] = 0.0
        else:
            top -= 1
            v, t = stack[top, 0], stack[top, 1]
            while size >= t:
                size -= 1
                places[path[size]] = -1
            star, share, scale = 0.0, 0.0, 0.0
            for p in range(size):
                u = path[p]
                x = 0.0
                for c in range(d):
                    difference = points[u, c] - points[v, c]
                    x += difference * difference
                weights[p] = x * inverse - (prices[u] + prices[v])
                scale += x * inverse + abs(prices[u]) + abs(prices[v])
            for e in range(share_starts[v], share_starts[v + 1]):
                p = places[share_others[e]]
                if p >= 0:
                    weights[p] += shares[e]
                    share += shares[e]
            for p in range(size):
                star += weights[p]
                stars[t, p] = stars[t - 1, p] + weights[p]
            stars[t, size] = star
            totals[t, 0] = totals[t - 1, 0] + star
            totals[t, 1] = totals[t - 1, 1] + share
            totals[t, 2] = totals[t - 1, 2] + scale + share
            path[size] = v
            places[v] = size
            size += 1
        nodes += 1
        t = size
        level = limit * (0.5 * t * (t + 1)) / pairs_of_all
        level += ROUNDING * (totals[t, 2] + abs(level))
        room = level - totals[t, 0]  # the star of what is added must not exceed this
        room += ROUNDING * abs(room)
        per_pair = room / t
        everything = False
        for p in range(t):
            everything = everything or unlisted[path[p]] <= per_pair
        stamp += 1
        for p in range(1 if everything else t):
            u = path[p]
            begin, end = (0, n) if everything else (starts[u], starts[u + 1])
            farthest = (per_pair + prices[u] + highest[u]) * s * (1.0 + ROUNDING)
            for e in range(begin, end):
                work += 1
                if everything:
                    v = e
                    work += 3
                else:
                    if squares[e] > farthest:  # nearest first: so are all that follow
                        break
                    v = np.int64(others[e])
                    if squares[e] * inverse - (prices[u] + prices[v]) > per_pair:
                        continue
                if marks[v] == stamp or places[v] >= 0 or (t == 1 and v < u):
                    continue
                marks[v] = stamp
                star, share, scale = 0.0, 0.0, 0.0
                for q in range(t):
                    x = 0.0
                    for c in range(d):
                        difference = points[path[q], c] - points[v, c]
                        x += difference * difference
                    weights[q] = x * inverse - (prices[path[q]] + prices[v])
                    star += weights[q]
                    scale += x * inverse + abs(prices[path[q]]) + abs(prices[v])
                if star > room + ROUNDING * scale:
                    continue
                for f in range(share_starts[v], share_starts[v + 1]):
                    q = places[share_others[f]]
                    if q >= 0:
                        weights[q] += shares[f]
                        share += shares[f]
                star += share
                scale += share
                if star > room + ROUNDING * scale:
                    continue
                if t > 1:
                    doubt = 16.0 * ROUNDING * (scale + totals[t, 2])
                    largest = -np.inf
                    for q in range(t):
                        largest = max(largest, stars[t, q] + weights[q])
                    if star < largest - doubt:
                        continue
                    if star <= largest + doubt and not _would_be_taken_out(
                        points,
                        path,
                        t,
                        v,
                        inverse,
                        prices,
                        share_starts,
                        share_others,
                        shares,
                        members,
                    ):
                        continue
                if t + 1 < s:
                    stack[top, 0], stack[top, 1] = v, t + 1
                    top += 1
                    continue
                extra = 0.0
                for q in range(t + 1):
                    u2 = v if q == t else path[q]
                    for f in range(cut_starts[u2], cut_starts[u2 + 1]):
                        counts[cut_of[f]] += 1
                        if counts[cut_of[f]] % 2 == 0:
                            extra += penalties[cut_of[f]]
                for q in range(t + 1):
                    u2 = v if q == t else path[q]
                    for f in range(cut_starts[u2], cut_starts[u2 + 1]):
                        counts[cut_of[f]] = 0
                value = totals[t, 0] + star - (totals[t, 1] + share) + extra
                if value <= limit:
                    for q in range(t):
                        found[number, q] = path[q]
                    found[number, t] = v
                    excess[number] = value
                    number += 1
        if everything:
            state[4] += 1
    state[0], state[1], state[2], state[5] = root, top, stamp, size
    state[3] += nodes
    state[6] += work
    return number


class Prices(NamedTuple):
    """What every record, and every cut that a group touches, is worth: the two halves of a
    proof.
    """

    pi: np.ndarray
    penalties: np.ndarray

    def sum(self, cuts: Cuts) -> float:
        """What these prices prove, if no set has a negative excess."""
        return math.fsum(self.pi) - math.fsum(self.penalties * cuts.halves)

    def towards(self, other: Prices, share: float) -> Prices:
        """A point on the way to other prices: excess is linear in prices, so between two proofs
        all are proofs.
        """
        return Prices(
            self.pi + share * (other.pi - self.pi),
            self.penalties + share * (other.penalties - self.penalties),
        )


class Sets(NamedTuple):
    """Sets of records, their excess, and whether these are all there are."""

    members: np.ndarray
    offsets: np.ndarray
    excess: np.ndarray
    complete: bool

    def __len__(self) -> int:
        return len(self.excess)


def _unlisted(reach: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """For each record u the least of max(reach_u, reach_v) - prices_u - prices_v over all v:
    below the w of any v not listed.
    """
    order = np.argsort(reach, kind="stable")
    nearer = np.maximum.accumulate(prices[order])
    farther = np.minimum.accumulate((reach - prices)[order][::-1])[::-1]
    least = np.empty(len(reach))
    least[order] = np.minimum(reach[order] - nearer, np.append(farther[1:], np.inf))
    return least - prices


class Pricing:
    """Lists sets of low excess among the given points.

    >>> from microagg.bounds.neighbours import listed_both_ways, nearest_others
    >>> points = np.array([[0.0], [1.0], [3.0], [9.0]])
    >>> pricing = Pricing(points, 2, listed_both_ways(*nearest_others(points, 3)[:2]))
    >>> pricing.sets(Prices(np.array([1.0, 1.0, 1.0, 1.0]), np.empty(0)), Cuts(4, []), 0.0).members.tolist()
    [0, 1, 1, 2]
    """

    def __init__(self, points: np.ndarray, k: int, neighbours: Neighbours) -> None:
        self._points, self._k, self._neighbours = points, k, neighbours
        self.nodes = self.scans = 0
        n, largest = len(points), 2 * k
        self._room = np.empty(max(4 * n, 1 << 16))
        self._path, self._stars = np.zeros(largest, np.int64), np.zeros((largest + 1, largest))
        self._totals = np.zeros((largest + 1, 3))
        self._stack = np.empty((n * largest, 2), np.int64)
        self._marks, self._places = np.zeros(n, np.int64), np.full(n, -1, np.int64)

    def sets(
        self,
        prices: Prices,
        cuts: Cuts,
        limit: float,
        *,
        most: int = 1 << 62,
        work: int = 1 << 62,
        stop: Stop | None = None,
    ) -> Sets:
        """All sets of k to 2k - 1 records with an excess of at most `limit`, in a fixed order.

        After `most` sets, or `work` records looked at, or when `stop` says so, it ends with those
        found so far.
        """
        found: list[tuple[np.ndarray, np.ndarray]] = []
        left, complete = work, True
        n = len(self._points)
        starts, others, squares, reach = self._neighbours
        for s in range(self._k, min(2 * self._k - 1, n) + 1):
            per_record = prices.pi / (s - 1)
            highest = np.maximum.reduceat(per_record[others], starts[:-1])
            unlisted = _unlisted(reach / s, per_record)
            shares = cuts.shares(prices.penalties, s)
            state = np.zeros(7, np.int64)
            self._places[:] = -1
            self._marks[:] = -1
            rows, values = np.empty((len(self._room), s), np.int32), self._room
            while state[0] < n or state[1] > 0:
                if (
                    left <= 0
                    or sum(len(x) for _, x in found) >= most
                    or (stop is not None and stop())
                ):
                    complete = False
                    break
                before = state[6]
                number = _walk(
                    self._points,
                    starts,
                    others,
                    squares,
                    highest,
                    unlisted,
                    s,
                    per_record,
                    limit,
                    *shares,
                    *cuts.of_records,
                    prices.penalties,
                    self._path,
                    self._stars,
                    self._totals,
                    self._stack,
                    self._marks,
                    self._places,
                    cuts.counts,
                    state,
                    min(left, SLICE),
                    rows,
                    values,
                )
                left -= int(state[6] - before)
                found.append((np.sort(rows[:number], axis=1), values[:number].copy()))
            self.nodes += int(state[3])
            self.scans += int(state[4])
            if not complete:
                break
        sizes = np.concatenate(
            [np.full(len(x), rows.shape[1]) for rows, x in found] or [np.empty(0, np.int64)]
        )
        return Sets(
            np.concatenate([rows.reshape(-1) for rows, _ in found] or [np.empty(0, np.int32)]),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([x for _, x in found] or [np.empty(0)]),
            complete,
        )
