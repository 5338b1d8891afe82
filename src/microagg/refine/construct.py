"""A first partition for the search: MDAV within spatially compact blocks, by plain scans.

Domingo-Ferrer and Torra's MDAV (see `methods/mdav`), block by block: what crosses the border of a
block is left to the local search that follows. Weights and `accept` play no part here. O(n · block
· d / k) time, O(n) memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from microagg.kernels.blocks import kd_order
from microagg.kernels.compiling import kernel, part
from microagg.kernels.sums import add_exactly, number_by_first_record, rounded
from microagg.problem.problem import Problem, Progress

WHOLE = 4096  # so many records at most are one block
# what larger tables are cut into: no worse a start for the local search, and four times faster
BLOCK = 1024
STRETCH = 256  # rows whose distances are worked out together
GROUPS_A_BLOCK = 40  # a block for large k holds at least half as many groups as this


def block_groups(
    problem: Problem, *, block: int | None = None, progress: Progress | None = None
) -> np.ndarray:
    """Labels of MDAV within blocks of at most `block` records (more where k is large).

    By default up to 4,096 records are one block, which is MDAV itself; more are cut into blocks of
    at most 1,024.

    >>> block_groups(Problem.of([[0.0], [0.1], [5.0], [5.1]], k=2)).tolist()
    [0, 0, 1, 1]
    """
    points, k = problem.points, problem.k
    if block is None:
        block = WHOLE if len(points) <= WHOLE else BLOCK
    order, starts = kd_order(points, max(block, GROUPS_A_BLOCK * k))
    labels = np.empty(len(points), np.int32)

    def groups_of(b: int) -> tuple[np.ndarray, np.ndarray, int]:
        records = np.sort(
            order[starts[b] : starts[b + 1]]
        )  # so that ties go to the lower record number
        columns = np.ascontiguousarray(points[records].T)
        n, d = len(records), len(columns)
        groups, heap, rows = np.empty(n, np.int32), np.empty(k, np.int64), np.empty(n, np.int64)
        count = _mdav(columns, k, groups, rows, np.empty(n), heap, np.zeros((3, d)), np.empty(d))
        return records, groups, count

    formed = 0
    for records, groups, count in in_order(groups_of, len(starts) - 1, problem.threads):
        labels[records] = groups + formed
        formed += count
        if progress is not None:
            progress(int(formed * k), len(points))
    return number_by_first_record(labels)


def in_order(work: Callable[[int], Any], jobs: int, threads: int) -> Iterator[Any]:
    """work(0), work(1), ... on some threads; the results come in this order, and no job starts
    far ahead of them.
    """
    if threads == 1 or jobs == 1:
        yield from map(work, range(jobs))
        return
    pool = ThreadPoolExecutor(threads)
    try:
        ahead = [pool.submit(work, job) for job in range(min(2 * threads, jobs))]
        for job in range(jobs):
            result = ahead.pop(0).result()
            if job + 2 * threads < jobs:
                ahead.append(pool.submit(work, job + 2 * threads))
            yield result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@kernel
def _mdav(columns, k, labels, records, distances, heap, sums, q):
    """Label the points given column by column, in ascending order of their records; returns the
    number of groups.

    The rows that are left stay together at the front: distances are worked out column by column, as
    vector code. The other arrays are room to work in: making them here would take longer to compile
    than all the rest.
    """
    d, n = columns.shape
    for i in range(n):
        records[i] = i
        labels[i] = -1
        for j in range(d):
            add_exactly(sums, columns[j, i], j)
    left, groups = n, 0
    while left >= 2 * k:
        for j in range(d):
            q[j] = rounded(sums, j) / left
        _measure(columns, left, q, distances)
        for _ in range(2):
            at = _farthest(distances, records, left)
            for j in range(d):
                q[j] = columns[j, at]
            _measure(columns, left, q, distances)
            _choose_nearest(distances, records, left, heap)
            _take(heap, np.int32(groups), columns, records, distances, labels, sums, left)
            left -= k
            groups += 1
    if left >= k or groups == 0:
        for i in range(left):
            labels[records[i]] = groups
        groups += 1
    elif left > 0:
        for j in range(d):
            q[j] = rounded(sums, j) / left
        nearest = _nearest_group(columns, records, left, labels, np.int64(groups), sums, q)
        for i in range(left):
            labels[records[i]] = nearest
    return groups


@part
def _measure(columns, left, q, distances):
    """Squared distances of the rows that are left to q."""
    for first in range(0, left, STRETCH):
        end = min(first + STRETCH, left)
        stretch = distances[first:end]  # views from 0 on are what gets compiled to vector code
        for i in range(stretch.shape[0]):
            stretch[i] = 0.0
        for j in range(columns.shape[0]):
            column, y = columns[j, first:end], q[j]
            for i in range(stretch.shape[0]):
                x = column[i] - y
                stretch[i] += x * x


@part
def _farthest(distances, records, left):
    """The row with the largest distance; of several the one with the lowest record."""
    largest, best = -1.0, 0
    for i in range(left):
        x = distances[i]
        if x >= largest and (x > largest or records[i] < records[best]):
            largest, best = x, i
    return best


@part
def _choose_nearest(distances, records, left, heap):
    """Fill `heap` with the rows of the smallest (distance, record), the largest of them on top."""
    k = heap.shape[0]
    for i in range(k):
        at = i
        while at > 0 and _nearer(distances, records, heap[(at - 1) // 2], i):
            heap[at] = heap[(at - 1) // 2]
            at = (at - 1) // 2
        heap[at] = i
    worst = distances[heap[0]]
    for i in range(k, left):
        if distances[i] <= worst and _nearer(distances, records, i, heap[0]):
            at = 0
            while 2 * at + 1 < k:
                child = 2 * at + 1
                if child + 1 < k and _nearer(distances, records, heap[child], heap[child + 1]):
                    child += 1
                if not _nearer(distances, records, i, heap[child]):
                    break
                heap[at] = heap[child]
                at = child
            heap[at] = i
            worst = distances[heap[0]]


@part
def _nearer(distances, records, a, b):
    return distances[a] < distances[b] or (distances[a] == distances[b] and records[a] < records[b])


@part
def _take(chosen, group, columns, records, distances, labels, sums, left):
    """Give the chosen rows to a group and bring them to the end of those that are left."""
    for t in range(chosen.shape[0]):
        labels[records[chosen[t]]] = group
        for j in range(columns.shape[0]):
            add_exactly(sums, -columns[j, chosen[t]], j)
    end = left
    for t in range(chosen.shape[0]):
        while end > 0 and labels[records[end - 1]] == group:
            end -= 1
        at = chosen[t]
        if at < end:
            end -= 1
            records[at], records[end] = records[end], records[at]
            distances[at] = distances[end]
            for j in range(columns.shape[0]):
                columns[j, at], columns[j, end] = columns[j, end], columns[j, at]


@part
def _nearest_group(columns, records, left, labels, groups, sums, q):
    """The group with the mean nearest to q; of several the one formed first. Rows behind those
    left lie group by group.
    """
    d, n = columns.shape
    nearest, chosen = np.inf, 0
    end = n
    for group in range(groups):
        first = end
        for j in range(3 * d):
            sums[j // d, j % d] = 0.0
        while first > left and labels[records[first - 1]] == group:
            first -= 1
            for j in range(d):
                add_exactly(sums, columns[j, first], j)
        total = 0.0
        for j in range(d):
            x = rounded(sums, j) / (end - first) - q[j]
            total += x * x
        if total < nearest:
            nearest, chosen = total, group
        end = first
    return chosen
