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

from microagg.kernels.block_mdav import group_by_mdav
from microagg.kernels.blocks import kd_order
from microagg.kernels.sums import number_by_first_record
from microagg.problem.problem import Problem, Progress

WHOLE = 4096  # so many records at most are one block
# what larger tables are cut into: no worse a start for the local search, and four times faster
BLOCK = 1024
GROUPS_A_BLOCK = 40  # a block for large k holds at least half as many groups as this


def block_groups(
    problem: Problem,
    *,
    block: int | None = None,
    fewest: int | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Group by MDAV within blocks of at most `block` records, or `fewest` groups of k where that
    is more.

    By default up to 4,096 records are one block, which is MDAV itself; more are cut into blocks of
    at most 1,024.

    >>> block_groups(Problem.of([[0.0], [0.1], [5.0], [5.1]], k=2)).tolist()
    [0, 0, 1, 1]
    """
    points, k = problem.points, problem.k
    if block is None:
        block = WHOLE if len(points) <= WHOLE else BLOCK
    order, starts = kd_order(points, max(block, (GROUPS_A_BLOCK if fewest is None else fewest) * k))
    labels = np.empty(len(points), np.int32)

    def groups_of(b: int) -> tuple[np.ndarray, np.ndarray, int]:
        records = np.sort(
            order[starts[b] : starts[b + 1]]
        )  # so that ties go to the lower record number
        columns = np.ascontiguousarray(points[records].T)
        n, d = len(records), len(columns)
        groups, heap, rows = np.empty(n, np.int32), np.empty(k, np.int64), np.empty(n, np.int64)
        count = group_by_mdav(
            columns, k, groups, rows, np.empty(n), heap, np.zeros((3, d)), np.empty(d)
        )
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
