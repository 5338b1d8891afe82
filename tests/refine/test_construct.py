"""Groups within blocks against a plain transcription of MDAV."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import plain
from microagg.kernels.blocks import kd_order
from microagg.problem.problem import Problem
from microagg.refine import construct
from microagg.refine.construct import block_groups, in_order


def mdav(points: np.ndarray, k: int) -> list[plain.Group]:
    """Domingo-Ferrer and Torra 2005 as printed by Chettri and Borah 2012, algorithm 1."""
    remaining, groups = list(range(len(points))), []
    while len(remaining) >= 2 * k:
        start = plain.centroid(points, remaining)
        for _ in range(2):
            r = plain.farthest(points, remaining, start)
            groups.append(plain.nearest(points, remaining, points[r], k))
            remaining = plain.without(remaining, groups[-1])
            start = points[r]
    if len(remaining) >= k or not groups:
        groups.append(remaining)
    else:
        plain.join_as_block(points, groups, remaining)
    return groups


@pytest.mark.parametrize("seed", range(140))
def test_few_records_are_grouped_by_mdav(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    before = points.copy()
    labels = block_groups(Problem.of(points, k))
    assert labels.dtype == np.int32
    assert labels.tolist() == plain.labels_from_groups(len(points), mdav(points, k)).tolist()
    assert np.array_equal(points, before)


@pytest.mark.parametrize("seed", range(14))
def test_each_block_is_grouped_by_mdav(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(construct, "GROUPS_A_BLOCK", 8)
    rng = np.random.default_rng(seed)
    points, k = np.round(rng.normal(size=(300, 3)), seed % 2 + 1), int(rng.integers(2, 5))
    order, starts = kd_order(points, 70)
    assert len(starts) > 4
    groups = []
    for first, end in itertools.pairwise(starts):
        block = np.sort(order[first:end])
        groups += [block[group].tolist() for group in mdav(points[block], k)]
    expected = plain.labels_from_groups(len(points), groups)
    for threads in (1, 3):
        labels = block_groups(Problem.of(points, k, threads=threads), block=70)
        assert labels.tolist() == expected.tolist()


def test_blocks_grow_with_k() -> None:
    points = np.random.default_rng(0).normal(size=(9000, 2))
    sizes = np.bincount(block_groups(Problem.of(points, 400), block=500))
    assert sizes.min() >= 400
    assert sizes.max() < 800


def test_many_records_are_cut_by_themselves() -> None:
    points = np.random.default_rng(0).normal(size=(5000, 2))
    problem, calls = Problem.of(points, 3), []
    labels = block_groups(problem, progress=lambda done, total: calls.append((done, total)))
    assert labels.tolist() == block_groups(problem, block=construct.BLOCK).tolist()
    assert len(calls) == 8
    assert calls == sorted(calls)
    assert calls[-1][0] <= calls[-1][1] == 5000


def test_progress_can_cancel() -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        block_groups(Problem.of(np.zeros((6000, 1)), 3, threads=2), progress=stop)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_jobs_come_in_order_and_not_far_ahead(threads: int) -> None:
    started, lock = [], threading.Lock()

    def work(job: int) -> int:
        with lock:
            started.append(job)
        return job * job

    results = in_order(work, 30, threads)
    assert next(results) == 0
    assert len(started) <= 2 * threads + 1
    assert [0, *results] == [job * job for job in range(30)]
    assert sorted(started) == list(range(30))
