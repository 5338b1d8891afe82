"""Prices of records and cuts, and the sets that cost less than their prices promise.

Every record i has a price pi_i. A set S of s records costs (1/s) times the sum of its pairs'
squared distances; what it costs above the prices of its members (and with the penalties of the cuts
that it touches) is its *excess*. With

    w_ij = d2_ij / s - (pi_i + pi_j) / (s - 1) + (the pair's shares of penalties)

the w of all pairs of S add up to the excess of S or less. Of the members of a set, take out the one
whose pairs have the largest sum (its *star*; of equals, the record with the highest number): the
mean w of the pairs that remain is no higher. So every set whose mean is low is reached from a pair
of low mean by adding one record at a time, each addition being the member that would be taken out
again. Going only this way (reverse search) meets each set once and needs no memory of those met
(`chains.py`).

A cut of r records adds penalty * floor(h / p) to a set that holds h of them. Let b be the least of
floor(h / p) / (h (h - p + 1)) over all h from p to min(r, s). Then b h (h - p + 1) never exceeds
floor(h / p): not from p on, by the choice of b, and below p it is 0 or negative. It is a sum over
pairs: 2 b for each pair inside the cut, and -b (p - 2) / (s - 1) for each end of a pair that is in
the cut, which is as if the record's price were higher by b (p - 2) times the penalty.

Without cuts, sets of k records are enough: if none of them costs less than its prices, no larger
one does. Over the k-subsets T of a set S of s records, the prices of S count k / s times and the
sum D of its pairs' squared distances (k - 1) / (s (s - 1)) times, on average; so the prices of S
are at most D (k - 1) / (k (s - 1)), and that is at most D / s, the cost of S, because s (k - 1) <=
k (s - 1).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from microagg.bounds.cuts import Cuts

TOLERANCE = 1e-9  # an excess this little below 0 is none; in units of the mean price


class Prices(NamedTuple):
    """The two halves of a proof: prices of records, and penalties of cuts."""

    pi: np.ndarray
    penalties: np.ndarray

    def sum(self, cuts: Cuts) -> float:
        """Return what these prices prove, if no set has a negative excess."""
        return math.fsum(self.pi) - math.fsum(self.penalties * cuts.floors)


class Sets(NamedTuple):
    """Sets of records, their excess, and whether these are all there are."""

    members: np.ndarray
    offsets: np.ndarray
    excess: np.ndarray
    complete: bool

    def __len__(self) -> int:
        return len(self.excess)


def joined_sets(listed: list[tuple[np.ndarray, np.ndarray]], complete: bool) -> Sets:
    """Put lists of sets of one size each (rows of records, and their excess) together."""
    sizes = np.concatenate(
        [np.full(len(x), rows.shape[1]) for rows, x in listed] or [np.empty(0, np.int64)]
    )
    return Sets(
        np.concatenate([rows.reshape(-1) for rows, _ in listed] or [np.empty(0, np.int32)]),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([x for _, x in listed] or [np.empty(0)]),
        complete,
    )


def excess_of_groups(
    members: np.ndarray, offsets: np.ndarray, costs: np.ndarray, prices: Prices, cuts: Cuts
) -> np.ndarray:
    """Return the cost of each group above the prices of its members, penalties included.

    >>> prices = Prices(np.array([1.0, 2.0]), np.empty(0))
    >>> members, offsets = np.array([0, 1]), np.array([0, 2])
    >>> excess_of_groups(members, offsets, np.array([5.0]), prices, Cuts(2, [])).tolist()
    [2.0]
    """
    sizes = np.diff(offsets)
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    worth = np.bincount(numbers, prices.pi[members], minlength=len(sizes))
    cut, column, times = cuts.held(members, offsets)
    penalties = np.bincount(column, prices.penalties[cut] * times, minlength=len(sizes))
    return costs - worth + penalties
