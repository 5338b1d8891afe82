"""Floor cuts: groups that hold h of a cut's records count floor(h / p), at most floor(size / p) in
all.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from microagg.kernels.compiling import kernel


class Cuts:
    """Floor cuts, as the kernels want them: sets of records, each with the number p that it counts
    by.

    A group that holds h records of a cut counts floor(h / p); over a partition these add up to
    floor(size / p) at most.

    >>> cuts = Cuts(4, [(0, 1, 2)])
    >>> cuts.floors.tolist(), [x.tolist() for x in cuts.held(np.array([0, 1, 3]), np.array([0, 3]))]
    ([1.0], [[0], [0], [1.0]])
    """

    def __init__(
        self, n: int, records: Iterable[tuple[int, ...]], parts: Iterable[int] | None = None
    ) -> None:
        self.n, self.records = n, tuple(records)
        sizes = np.array([len(c) for c in self.records], np.int64)
        self.parts = (
            np.full(len(sizes), 2, np.int64) if parts is None else np.array([*parts], np.int64)
        )
        self.sizes = sizes
        self.floors = (sizes // np.maximum(self.parts, 1)).astype(np.float64)
        self.counts = np.zeros(len(sizes), np.int64)
        flat = np.array([i for c in self.records for i in c], np.int64)
        number = np.repeat(np.arange(len(sizes)), sizes)
        order = np.argsort(flat, kind="stable")
        self.of_records = (_starts(flat, n), number[order])
        self.members = (np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), flat)

    def __len__(self) -> int:
        return len(self.records)

    def factors(self, s: int) -> np.ndarray:
        """Return how much of h * (h - p + 1) may count in sets of s records, never to exceed
        floor(h / p).

        See `pricing.py` for why that keeps pricing exact.
        """
        factors = np.zeros(len(self))
        for c, (size, p) in enumerate(zip(self.sizes.tolist(), self.parts.tolist(), strict=True)):
            held = range(p, min(size, s) + 1)
            factors[c] = min(((h // p) / (h * (h - p + 1)) for h in held), default=0.0)
        return factors

    def add_pair_shares(self, penalties: np.ndarray, s: int, matrix: np.ndarray) -> None:
        """Add each pair's shares of the penalties, for sets of s records, to a matrix."""
        share = 2.0 * self.factors(s) * penalties
        starts, flat = self.members
        for c in np.flatnonzero(share).tolist():
            inside = flat[starts[c] : starts[c + 1]]
            matrix[np.ix_(inside, inside)] += share[c]

    def bonus(self, penalties: np.ndarray, s: int) -> np.ndarray:
        """For each record what its price may count more: the linear part of h * (h - p + 1)."""
        slope = self.factors(s) * penalties * (self.parts - 2)
        starts, flat = self.members
        return np.bincount(flat, np.repeat(slope, np.diff(starts)), minlength=self.n).astype(
            np.float64
        )

    def with_more(self, records: Iterable[tuple[int, ...]], parts: Iterable[int]) -> Cuts:
        """These cuts and more."""
        return Cuts(self.n, [*self.records, *records], [*self.parts.tolist(), *parts])

    def only(self, chosen: np.ndarray) -> Cuts:
        """The chosen cuts alone."""
        return Cuts(self.n, [self.records[c] for c in chosen.tolist()], self.parts[chosen].tolist())

    def of_the_rest(
        self, position: np.ndarray, members: np.ndarray, offsets: np.ndarray, least: float
    ) -> Cuts:
        """Return what these cuts mean for the other records once some groups are fixed.

        position: the new number of each record, or -1 for those in fixed groups. A cut that has
        nothing left allows `least`.

        >>> cuts = Cuts(5, [(0, 1, 2, 3, 4)]).of_the_rest(
        ...     np.array([-1, -1, 0, 1, 2]), np.array([0, 1]), np.array([0, 2]), 0.0
        ... )
        >>> cuts.records, cuts.floors.tolist()
        (((0, 1, 2),), [1.0])
        """
        cut, _, times = self.held(members, offsets)
        floors = self.floors - np.bincount(cut, times, minlength=len(self))
        records, kept = [], []
        for c, (inside, p) in enumerate(zip(self.records, self.parts.tolist(), strict=True)):
            numbers = position[list(inside)]
            numbers = numbers[numbers >= 0]
            if len(numbers) >= p:
                records.append(tuple(np.sort(numbers).tolist()))
                kept.append(c)
        rest = Cuts(int(position.max()) + 1, records, self.parts[kept].tolist())
        rest.floors = np.maximum(np.minimum(rest.floors, floors[kept]), least)
        return rest

    def held(
        self, members: np.ndarray, offsets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(cut, set, floor(h / p)): where sets count in a cut, by ascending set and cut."""
        cut_starts, cut_of = self.of_records
        touched = (cut_starts[1:] - cut_starts[:-1])[members].sum()
        cut, column = np.empty(touched, np.int64), np.empty(touched, np.int64)
        times = np.empty(touched)
        size = _held(
            members, offsets, cut_starts, cut_of, self.parts, self.counts, cut, column, times
        )
        return cut[:size], column[:size], times[:size]


def _starts(sorted_or_not: np.ndarray, n: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.bincount(sorted_or_not, minlength=n))]).astype(
        np.int64
    )


@kernel
def _held(members, offsets, cut_starts, cut_of, parts, counts, cut, column, times):
    """See `Cuts.held`."""
    size = 0
    for g in range(offsets.shape[0] - 1):
        begin = size
        for e in range(offsets[g], offsets[g + 1]):
            for f in range(cut_starts[members[e]], cut_starts[members[e] + 1]):
                c = cut_of[f]
                counts[c] += 1
                if counts[c] == parts[c]:
                    cut[size], column[size] = c, g
                    size += 1
        for p in range(begin, size):
            times[p] = counts[cut[p]] // parts[cut[p]]
        for e in range(offsets[g], offsets[g + 1]):
            for f in range(cut_starts[members[e]], cut_starts[members[e] + 1]):
                counts[cut_of[f]] = 0
    return size
