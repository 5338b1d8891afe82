"""Records sorted into groups, and what is asked of all groups at once: no loop over records or
groups in Python.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from microagg.kernels import random, sums

MOST_WHOLE = 2.0**31  # labels are less, so that both fit into 63 bits
# distances that differ by less, relatively, are equal: the two records of a pair are equally far
# from its middle
ROUNDING = 1e-12
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Groups:
    """A partition of some records, every group with one record at least.

    >>> groups = Groups.of(np.array([0, 1, 0]))
    >>> groups.sizes.tolist(), groups.order.tolist(), groups.starts.tolist()
    ([2, 1], [0, 2, 1], [0, 2])
    """

    labels: np.ndarray
    """(n,): the group of each record."""
    count: int

    @staticmethod
    def of(labels: np.ndarray) -> Groups:
        """The groups that are numbered so."""
        return Groups(labels, int(labels.max(initial=-1)) + 1)

    @functools.cached_property
    def sizes(self) -> np.ndarray:
        """(groups,): how many records each has."""
        return np.bincount(self.labels, minlength=self.count)

    @functools.cached_property
    def order(self) -> np.ndarray:
        """(n,): the records group by group, ascending within each."""
        return np.argsort(self.labels, kind="stable")

    @functools.cached_property
    def starts(self) -> np.ndarray:
        """(groups,): where each group begins in that order."""
        return np.cumsum(self.sizes) - self.sizes

    def counts(self, wanted: np.ndarray) -> np.ndarray:
        """(groups,): how many of each group's records are wanted."""
        return np.bincount(self.labels[wanted], minlength=self.count)

    def least(self, column: np.ndarray) -> np.ndarray:
        """(groups,): the least of each group."""
        return np.minimum.reduceat(column[self.order], self.starts) if self.count else column[:0]

    def largest(self, column: np.ndarray) -> np.ndarray:
        """(groups,): the largest of each group."""
        return np.maximum.reduceat(column[self.order], self.starts) if self.count else column[:0]

    def means(
        self, columns: np.ndarray, weights: np.ndarray | None = None, heaviest: float | None = None
    ) -> np.ndarray:
        """(groups, d): the mean of each group in each column, whatever the order of records;
        weighted where there are weights.

        `heaviest` is the largest weight of the whole table, where these are records of a part of
        it.

        >>> Groups.of(np.array([0, 0, 1])).means(np.array([[1.0], [4.0], [7.0]]), np.array([2.0, 1.0, 5.0])).tolist()
        [[2.0], [7.0]]
        """
        labels = np.ascontiguousarray(self.labels, np.int32)
        if weights is None or self.count == 0:
            return sums.group_means(columns, labels, self.count)
        # shares of the largest weight, so that no product leaves the range of float64
        shares = (weights / (weights.max() if heaviest is None else heaviest)).reshape(-1, 1)
        means = sums.group_means(columns * shares, labels, self.count)
        means /= sums.group_means(shares, labels, self.count)
        for j, column in enumerate(
            columns.T
        ):  # rounding must not lead out of a group: equal values stay what they are
            np.clip(means[:, j], self.least(column), self.largest(column), out=means[:, j])
        return means

    def lower_medians(self, column: np.ndarray) -> np.ndarray:
        """(groups,): of each group's values in their order the one in the middle; of two such
        the lower.

        >>> Groups.of(np.array([0, 0, 0, 0, 1])).lower_medians(np.array([9.0, 1.0, 3.0, 5.0, 7.0])).tolist()
        [3.0, 7.0]
        """
        middle = self.starts + (self.sizes - 1) // 2
        low, high = (column.min(), column.max()) if self.count else (0.0, 0.0)
        if high - low < MOST_WHOLE and (column == np.rint(column)).all():
            # group and value in one whole number, which sorts four times as fast
            span = int(high - low) + 1
            keys = np.sort(self.labels * np.int64(span) + (column - low).astype(np.int64))
            return low + keys[middle] % span
        return column[np.lexsort((column, self.labels))[middle]]

    def most_frequent(self, codes: np.ndarray, frequency: np.ndarray) -> np.ndarray:
        """(groups,): the code that most records of each group have; ties go to the one of the
        larger `frequency`, then the lower.

        >>> Groups.of(np.array([0, 0, 1])).most_frequent(np.array([0, 1, 0]), np.array([4, 7])).tolist()
        [1, 0]
        """
        if self.count == 0:
            return codes[:0]
        different = len(frequency)
        by_rank = np.lexsort((np.arange(different), -frequency))
        rank = np.empty(different, np.int64)
        rank[by_rank] = np.arange(different)
        keys = np.sort(self.labels * np.int64(different) + rank[codes])
        runs = np.flatnonzero(np.diff(keys, prepend=-1))
        groups, ranks = np.divmod(keys[runs], different)
        scores = np.diff(runs, append=len(keys)) * different + (different - 1 - ranks)
        best = np.maximum.reduceat(scores, np.flatnonzero(np.diff(groups, prepend=-1)))
        return by_rank[different - 1 - best % different]

    def nearest(self, distances: np.ndarray) -> np.ndarray:
        """(groups,): the record of each group with the least distance; the lower one of two, also
        where rounding parts them.

        >>> Groups.of(np.array([0, 1, 0])).nearest(np.array([2.0, 5.0, 2.0])).tolist()
        [0, 1]
        """
        limits = self.least(distances) * (1.0 + ROUNDING)
        hits = np.flatnonzero(distances[self.order] <= np.repeat(limits, self.sizes))
        owners = self.labels[self.order[hits]]
        return self.order[hits[np.flatnonzero(np.diff(owners, prepend=-1))]]

    def drawn(self, *key: int | str, numbers: np.ndarray | None = None) -> np.ndarray:
        """(groups,): a record of each group, every one equally likely: by the key and the group's
        number.

        `numbers` (groups,) are those that the groups have among others, where these are not all.

        A generator that starts from the key gives each group the start of a generator of its own,
        which draws.

        >>> Groups.of(np.array([0, 0, 1])).drawn(7, "age").tolist()[1]
        2
        """
        own = np.arange(self.count) if numbers is None else numbers
        states = _mixed(random.seeded(*key)[0] + (own.astype(np.uint64) + np.uint64(1)) * GOLDEN)
        sizes = self.sizes.astype(np.uint64)
        whole = np.uint64(0xFFFFFFFFFFFFFFFF)
        usable = whole - whole % sizes
        bits = np.full(self.count, whole)
        # as `random.below`: what is left over would favour some
        while (again := bits >= usable).any():
            states[again] += GOLDEN
            bits[again] = _mixed(states[again])
        return self.order[self.starts + (bits % sizes).astype(np.int64)]


def _mixed(states: np.ndarray) -> np.ndarray:
    """The random bits that SplitMix64 makes of its states: `random.next_integer` for many
    generators at once.
    """
    bits = (states ^ (states >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
