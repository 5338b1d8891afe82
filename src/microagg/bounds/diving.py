"""Partitions by diving: groups that a program takes nearly whole are fixed, until none is open.

The program over known groups, with its cuts, says how much of each group it takes. The groups that
it takes most of are fixed. The program over the other records is solved again, with groups that are
priced among these records only; and so on. What comes out is not proven to be anything, but is near
the bound where cuts have left little to decide.
"""

from __future__ import annotations

import numpy as np

from microagg.bounds.columns import NEIGHBOURS, ColumnGeneration
from microagg.bounds.groups import select_groups
from microagg.bounds.master import Solution
from microagg.bounds.neighbours import nearest_others
from microagg.kernels import sums
from microagg.refine.highs import Stop

WHOLE = 0.97  # groups of such a share are fixed
PART = 0.1  # of the records left: groups of lower shares are fixed up to this
TOLERANCE = 1e-3  # relative gap of programs
ROUNDS = 3  # of solving and pricing before groups are fixed, at most
FEW = 0.02  # new groups for each record: fewer, and groups are fixed
NOTHING_LEFT = 1e-3  # how much a cut allows that has nothing left: an interior needs some room


def dive(generation: ColumnGeneration, stop: Stop) -> np.ndarray | None:
    """Return labels of a partition near the program's solution; None if `stop` interrupted it.

    The groups that are found on the way become known to the generation.
    """
    n, k = len(generation.points), generation.k
    labels, groups = np.full(n, -1, np.int32), 0
    left = np.arange(n)
    while len(left) >= 2 * k:
        program = _program_of(generation, labels, left)
        solution = _solved(program, stop)
        if solution is None:
            return None
        master = program.master
        generation.know(left[master.members].astype(np.int32), master.offsets)
        for g in _nearly_whole(solution.shares, master.members, master.offsets, len(left)):
            labels[left[master.members[master.offsets[g] : master.offsets[g + 1]]]] = groups
            groups += 1
        left = np.flatnonzero(labels < 0)
    if len(left) >= k:
        labels[left] = groups
    else:
        _join_nearest(generation.points, labels, left)
    return sums.number_by_first_record(labels)


def _program_of(
    generation: ColumnGeneration, labels: np.ndarray, left: np.ndarray
) -> ColumnGeneration:
    """Return a program over the records left: known groups of these alone, and what cuts allow."""
    k, points = generation.k, np.ascontiguousarray(generation.points[left])
    near, records, _ = nearest_others(points, min(len(left) - 1, NEIGHBOURS * k))
    program = ColumnGeneration(points, k, near, records)
    master, n = generation.master, len(labels)
    position = np.full(n, -1, np.int64)
    position[left] = np.arange(len(left))
    inside = np.logical_and.reduceat(labels[master.members] < 0, master.offsets[:-1])
    members, offsets = select_groups(master.members, master.offsets, np.flatnonzero(inside))
    program.know(position[members].astype(np.int32), offsets)
    fixed = np.flatnonzero(labels >= 0)
    fixed = fixed[np.argsort(labels[fixed], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels[fixed]))]).astype(np.int64)
    program.master.cuts = master.cuts.of_the_rest(position, fixed, starts, NOTHING_LEFT)
    return program


def _solved(program: ColumnGeneration, stop: Stop) -> Solution | None:
    """Return a solution once pricing finds little; None if `stop` interrupted it."""
    solution = None
    for _ in range(ROUNDS):
        solution = program.master.solve(TOLERANCE, stop)
        if solution is None:
            return None
        new, _ = program.find(solution.prices, stop)
        if stop():
            return None
        if not program.master.loosen(solution) and new < FEW * len(program.points):
            break
    return solution


def _nearly_whole(
    shares: np.ndarray, members: np.ndarray, offsets: np.ndarray, n: int
) -> list[int]:
    """Return disjoint groups: those of high shares, and others up to a part of the records."""
    taken, chosen = np.zeros(n, np.bool_), []
    for g in np.argsort(-shares, kind="stable").tolist():
        if shares[g] < WHOLE and taken.sum() >= PART * n:
            break
        records = members[offsets[g] : offsets[g + 1]]
        if not taken[records].any():
            taken[records] = True
            chosen.append(g)
    return chosen


def _join_nearest(points: np.ndarray, labels: np.ndarray, left: np.ndarray) -> None:
    """Let records that are too few for a group join the nearest one."""
    counts = np.bincount(labels[labels >= 0]).astype(np.float64)
    for i in left.tolist():
        inside = labels >= 0
        totals = np.stack(
            [np.bincount(labels[inside], column[inside]) for column in points.T], axis=1
        )
        squares = ((totals / counts[:, None] - points[i]) ** 2).sum(axis=1)
        best = int(np.argmin(squares * counts / (counts + 1.0)))
        labels[i] = best
        counts[best] += 1.0
