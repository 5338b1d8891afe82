"""Cuts: of 2m + 1 records, at most m pairs can be kept together by different groups."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from microagg.kernels.compiling import kernel

CANDIDATES = 200_000
WORK = 20_000_000
CUTS_OF_A_RECORD = 4


class Cuts:
    """Some sets of an odd number of records, as the kernels want them.

    >>> cuts = Cuts(4, [(0, 1, 2)])
    >>> cuts.halves.tolist(), [x.tolist() for x in cuts.held(np.array([0, 1, 3]), np.array([0, 3]))]
    ([1.0], [[0], [0], [1.0]])
    """

    def __init__(self, n: int, records: Iterable[tuple[int, ...]]) -> None:
        self.n, self.records = n, tuple(records)
        sizes = np.array([len(c) for c in self.records], np.int64)
        self.halves = (sizes // 2).astype(np.float64)
        self.counts = np.zeros(len(self.records), np.int64)
        flat = np.array([i for c in self.records for i in c], np.int64)
        number = np.repeat(np.arange(len(sizes)), sizes)
        order = np.argsort(flat, kind="stable")
        self.of_records = (_starts(flat, n), number[order])
        pairs = [
            (i, j, c) for c, cut in enumerate(self.records) for i in cut for j in cut if i != j
        ]
        table = np.array(pairs, np.int64).reshape(-1, 3)
        keys, self._pair = np.unique(table[:, 0] * n + table[:, 1], return_inverse=True)
        self._cut_of_pair = table[:, 2]
        self._share_starts, self._share_others = _starts(keys // n, n), (keys % n).astype(np.int64)

    def __len__(self) -> int:
        return len(self.records)

    def shares(self, penalties: np.ndarray, s: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each record the others it shares cuts with (starts, others), and the pair's shares
        of the penalties.

        For sets of s records; see `pricing.py` for how large a share may be.
        """
        odd = np.minimum(2.0 * self.halves + 1.0, s if s % 2 else s - 1)
        share = (penalties / odd)[self._cut_of_pair]
        return (
            self._share_starts,
            self._share_others,
            np.bincount(self._pair, share, minlength=len(self._share_others)).astype(np.float64),
        )

    def with_more(self, records: Iterable[tuple[int, ...]]) -> Cuts:
        """These cuts and more."""
        return Cuts(self.n, [*self.records, *records])

    def held(
        self, members: np.ndarray, offsets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(cut, set, number of pairs): where sets keep pairs of a cut's records together, by
        ascending set and cut.
        """
        cut_starts, cut_of = self.of_records
        touched = (cut_starts[1:] - cut_starts[:-1])[members].sum()
        cut, column = np.empty(touched, np.int64), np.empty(touched, np.int64)
        pairs = np.empty(touched)
        size = _held(members, offsets, cut_starts, cut_of, self.counts, cut, column, pairs)
        return cut[:size], column[:size], pairs[:size]


def _starts(sorted_or_not: np.ndarray, n: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.bincount(sorted_or_not, minlength=n))]).astype(
        np.int64
    )


@kernel
def _held(members, offsets, cut_starts, cut_of, counts, cut, column, pairs):
    """See `Cuts.held`."""
    size = 0
    for g in range(offsets.shape[0] - 1):
        begin = size
        for e in range(offsets[g], offsets[g + 1]):
            for f in range(cut_starts[members[e]], cut_starts[members[e] + 1]):
                c = cut_of[f]
                counts[c] += 1
                if counts[c] == 2:
                    cut[size], column[size] = c, g
                    size += 1
        for p in range(begin, size):
            pairs[p] = counts[cut[p]] // 2
        for e in range(offsets[g], offsets[g + 1]):
            for f in range(cut_starts[members[e]], cut_starts[members[e] + 1]):
                counts[cut_of[f]] = 0
    return size


@kernel
def _odd_share(chosen, size, members, offsets, values, set_starts, set_of, counts):
    """How much of the sets (each counted with its value) holds an odd number of the chosen
    records.
    """
    total = 0.0
    for p in range(size):
        for f in range(set_starts[chosen[p]], set_starts[chosen[p] + 1]):
            g = set_of[f]
            counts[g] += 1
            total += values[g] if counts[g] % 2 == 1 else -values[g]
    for p in range(size):
        for f in range(set_starts[chosen[p]], set_starts[chosen[p] + 1]):
            counts[set_of[f]] = 0
    return total


@kernel
def _separate(
    near_starts,
    near,
    together,
    members,
    offsets,
    values,
    set_starts,
    set_of,
    size,
    least,
    least_together,
    work,
    found,
    shares,
):
    """Cycles of `size` records in the graph of those that are together somewhere, whose odd
    share is below 1 - least.

    Goes over paths that start at their lowest record, at most `work` of them, and returns how many
    were found.
    """
    n = near_starts.shape[0] - 1
    counts = np.zeros(offsets.shape[0] - 1, np.int64)
    path, at = np.empty(size, np.int64), np.empty(size, np.int64)
    inside = np.zeros(n, np.bool_)
    number = 0
    for first in range(n):
        path[0], at[0], depth = first, near_starts[first], 1
        inside[first] = True
        while depth > 0:
            u = path[depth - 1]
            if at[depth - 1] >= near_starts[u + 1]:
                depth -= 1
                inside[u] = False
                continue
            e = at[depth - 1]
            at[depth - 1] += 1
            v = near[e]
            work -= 1
            if work <= 0:
                return number
            if v <= first or inside[v] or together[e] < least_together:
                continue
            if depth + 1 < size:
                path[depth], at[depth] = v, near_starts[v]
                inside[v] = True
                depth += 1
                continue
            if v < path[1]:  # each cycle has two directions
                continue
            closes = False
            for f in range(near_starts[v], near_starts[v + 1]):
                if near[f] == first:
                    closes = True
            if not closes:
                continue
            path[depth] = v
            share = _odd_share(path, size, members, offsets, values, set_starts, set_of, counts)
            if share < 1.0 - least and number < found.shape[0]:
                for p in range(size):
                    found[number, p] = path[p]
                shares[number] = share
                number += 1
            if number == found.shape[0]:
                return number
    return number


def violated_cuts(
    n: int,
    members: np.ndarray,
    offsets: np.ndarray,
    values: np.ndarray,
    size: int,
    *,
    most: int,
    least: float = 0.02,
) -> list[tuple[int, ...]]:
    """Cuts of `size` records that a fractional choice of sets (CSR, with their values) violates,
    the most violated first.

    Every record is in sets worth 1 together. Those that hold an even number of a cut's records keep
    them in pairs; so the cut is violated exactly if less than 1 holds an odd number. A record gets
    into at most four cuts at a time.

    >>> violated_cuts(3, np.array([0, 1, 1, 2, 0, 2]), np.array([0, 2, 4, 6]), np.full(3, 0.5), 3, most=9)
    [(0, 1, 2)]
    """
    sizes = np.diff(offsets)
    number = np.repeat(np.arange(len(sizes)), sizes)
    order = np.argsort(members, kind="stable")
    set_starts, set_of = _starts(members, n), number[order].astype(np.int64)
    rows, columns, weights = [], [], []
    for g in range(len(sizes)):
        inside = members[offsets[g] : offsets[g + 1]].astype(np.int64)
        i, j = np.meshgrid(inside, inside)
        rows.append(i[i != j])
        columns.append(j[i != j])
        weights.append(np.full(len(rows[-1]), values[g]))
    if not rows:
        return []
    keys, place = np.unique(np.concatenate(rows) * n + np.concatenate(columns), return_inverse=True)
    together = np.bincount(place, np.concatenate(weights))
    found, shares = np.empty((CANDIDATES, size), np.int64), np.empty(CANDIDATES)
    count = _separate(
        _starts(keys // n, n),
        keys % n,
        together,
        members.astype(np.int64),
        offsets,
        values,
        set_starts,
        set_of,
        size,
        least,
        0.03 * size - 0.05,
        WORK,
        found,
        shares,
    )
    cuts: dict[tuple[int, ...], float] = {}
    for row, share in zip(
        np.sort(found[:count], axis=1).tolist(), shares[:count].tolist(), strict=True
    ):
        cuts[tuple(row)] = round(share, 9)
    chosen, used = [], np.zeros(n, np.int64)
    for cut in sorted(cuts, key=lambda c: (cuts[c], c)):
        if used[list(cut)].max() < CUTS_OF_A_RECORD and len(chosen) < most:
            used[list(cut)] += 1
            chosen.append(cut)
    return chosen
