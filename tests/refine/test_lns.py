"""Annealing: valid, never worse, repeatable, and the optimum of small problems (against brute
force).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import plain
import promised
from microagg.guarantees.promise import AcceptanceTest, Guarantees
from microagg.kernels.annealing import near_lists, waiting_times
from microagg.kernels.blend import blend, costs_by_label
from microagg.kernels.random import seeded
from microagg.problem.problem import Problem
from microagg.problem.watch import Watch
from microagg.refine import lns, lns_regions
from microagg.refine.lns import BY_MEANS, FAST, Schedule, anneal
from microagg.refine.lns_regions import REGION, distances_between, regions_of
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind

Predicate = Callable[[list[int]], bool]


def in_order(points: np.ndarray, k: int) -> np.ndarray:
    """Groups of k along the record numbers, the rest in the last one: valid, and bad."""
    return np.minimum(np.arange(len(points)) // k, max(len(points) // k, 1) - 1).astype(np.int32)


def weighted_sse(points: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    terms = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        w = weights[members]
        mean = (w[:, None] * points[members]).sum(axis=0) / w.sum()
        terms += (w[:, None] * (points[members] - mean) ** 2).ravel().tolist()
    return math.fsum(terms)


def partitions(records: tuple[int, ...], k: int) -> Iterator[list[tuple[int, ...]]]:
    """All partitions into groups of k to 2k - 1."""
    if not records:
        yield []
        return
    first, rest = records[0], records[1:]
    for size in range(k, 2 * k):
        for others in itertools.combinations(rest, size - 1):
            left = tuple(record for record in rest if record not in others)
            if not left or len(left) >= k:
                for further in partitions(left, k):
                    yield [(first, *others), *further]


def optimum(
    points: np.ndarray, k: int, weights: np.ndarray, accept: Predicate | None = None
) -> float:
    costs: dict[tuple[int, ...], float] = {}

    def cost(group: tuple[int, ...]) -> float:
        if group not in costs:
            some = np.array(group)
            costs[group] = weighted_sse(points[some], np.zeros(len(some), int), weights[some])
            if accept is not None and not accept(list(group)):
                costs[group] = math.inf
        return costs[group]

    return min(sum(map(cost, groups)) for groups in partitions(tuple(range(len(points))), k))


def tiny_problem(seed: int) -> tuple[np.ndarray, int]:
    """At most twelve records in one to six columns, with duplicates, constant columns and equal
    distances.
    """
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(4, 13)), int(rng.integers(1, 7)), int(rng.integers(2, 6))
    points = rng.normal(size=(n, d)) if seed % 3 else rng.integers(0, 4, (n, d)).astype(float)
    if seed % 4 == 1:
        points = points[rng.integers(0, n, n)]
    if seed % 5 == 2:
        points[:, int(rng.integers(d))] = 1.5
    return points, min(k, n)


def check(labels: np.ndarray, k: int) -> None:
    sizes = np.bincount(labels)
    n = len(labels)
    assert labels.dtype == np.int32
    assert sizes.min() >= k
    assert sizes.max() <= max(2 * k - 1, 0 if n >= 2 * k else n)
    groups = [np.flatnonzero(labels == g).tolist() for g in range(len(sizes))]
    assert np.array_equal(labels, plain.labels_from_groups(n, groups))


@pytest.mark.parametrize("seed", range(56))
def test_valid_and_never_worse_on_hard_inputs(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    start = in_order(points, k)
    kept = points.copy(), start.copy()
    labels = anneal(Problem.of(points, k, threads=1), start, steps=200, rng=seeded(seed))
    check(labels, k)
    assert plain.sse(points, labels) <= plain.sse(points, start)
    assert np.array_equal(points, kept[0])
    assert np.array_equal(start, kept[1])


@pytest.mark.slow
def test_tiny_problems_are_solved() -> None:
    missed = []
    for seed in range(100):
        points, k = tiny_problem(seed)
        start = in_order(points, k)
        labels = anneal(
            Problem.of(points, k, threads=1), start, steps=100 * len(points), rng=seeded(seed)
        )
        check(labels, k)
        best = optimum(points, k, np.ones(len(points)))
        loss = plain.sse(points, labels)
        assert loss >= best * (1.0 - 1e-9) - 1e-12
        if loss > best * (1.0 + 1e-9) + 1e-12:
            missed.append(seed)
    assert len(missed) <= 3, missed


@pytest.mark.slow
def test_weights_decide() -> None:
    for seed in range(30):
        points, k = tiny_problem(seed)
        weights = np.random.default_rng(seed).lognormal(0.0, 1.5, len(points))
        problem = Problem.of(points, k, weights=weights, threads=1)
        labels = anneal(problem, in_order(points, k), steps=2000, rng=seeded(seed))
        check(labels, k)
        best = optimum(points, k, weights)
        assert weighted_sse(points, labels, weights) <= best * (1.0 + 1e-9) + 1e-12, seed


def promise_on(values: np.ndarray, **guarantee: Any) -> AcceptanceTest:
    accept = Guarantees.of(**guarantee).accept(
        (Attribute("ill", Kind.NOMINAL, values.astype(np.int64)),)
    )
    assert accept is not None
    return accept


@pytest.mark.slow
@pytest.mark.parametrize(
    "guarantee", [{"l": 2}, {"t": 0.4}, {"l": 2, "diversity": "recursive", "c": 2.5}], ids=str
)
def test_only_accepted_groups(guarantee: dict[str, Any]) -> None:
    tried = 0
    for seed in range(40):
        points, k = tiny_problem(seed)
        start = in_order(points, k)
        values = np.random.default_rng(seed).integers(0, 2, len(points))

        def allowed(records: list[int], values: np.ndarray = values) -> bool:
            return promised.is_kept(values.tolist(), records, nominal=True, **guarantee)

        if not all(allowed(np.flatnonzero(start == g).tolist()) for g in range(start.max() + 1)):
            continue
        tried += len(points) >= 2 * k
        problem = Problem.of(points, k, accept=promise_on(values, **guarantee), threads=1)
        labels = anneal(problem, start, steps=2000, rng=seeded(seed))
        check(labels, k)
        assert all(allowed(np.flatnonzero(labels == g).tolist()) for g in range(labels.max() + 1))
        best = optimum(points, k, np.ones(len(points)), allowed)
        assert plain.sse(points, labels) <= best * 1.05 + 1e-12, seed
    assert tried > 5


def test_a_promise_that_any_group_keeps_changes_nothing() -> None:
    points = np.random.default_rng(1).normal(size=(80, 3))
    start = in_order(points, 3)
    free = anneal(Problem.of(points, 3, threads=1), start, steps=300, rng=seeded(1))
    accept = promise_on(np.arange(80), l=2)
    bound = anneal(Problem.of(points, 3, accept=accept, threads=1), start, steps=300, rng=seeded(1))
    assert np.array_equal(free, bound)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", [FAST, replace(BY_MEANS, one_region=1000)])
def test_same_labels_on_repetition_and_with_any_number_of_threads(schedule: Schedule) -> None:
    points = np.random.default_rng(2).lognormal(size=(6000, 3))
    start = in_order(points, 4)

    def run(threads: int, seed: int) -> np.ndarray:
        problem = Problem.of(points, 4, threads=threads)
        return anneal(problem, start, steps=12_000, rng=seeded(seed), schedule=schedule)

    runs = [run(threads, seed=5) for threads in (1, 2, 4, 1)]
    check(runs[0], 4)
    assert plain.sse(points, runs[0]) < 0.5 * plain.sse(points, start)
    assert all(np.array_equal(runs[0], other) for other in runs[1:])
    assert not np.array_equal(runs[0], run(1, seed=6))


@pytest.mark.parametrize("several_regions", [False, True])
def test_a_stopped_run_can_be_repeated(
    monkeypatch: pytest.MonkeyPatch, several_regions: bool
) -> None:
    schedule = replace(FAST, one_region=100 if several_regions else 10_000)
    monkeypatch.setattr(lns, "BATCH", 500)
    points = np.random.default_rng(3).normal(size=(2000, 2))
    start, problem = in_order(points, 3), Problem.of(points, 3, threads=1)

    def run(watch: Watch) -> np.ndarray:
        return anneal(problem, start, steps=6000, rng=seeded(9), watch=watch, schedule=schedule)

    calls: list[int] = []
    whole = Watch(lambda done, total: calls.append(done))
    best = run(whole)
    assert calls == sorted(calls)
    assert whole.passed > 4
    assert whole.stopped is None
    first, again = Watch(stop_after=3), Watch(stop_after=3)
    stopped = run(first)
    assert first.passed == 3
    assert np.array_equal(stopped, run(again))
    check(stopped, 3)
    assert plain.sse(points, best) < plain.sse(points, stopped) < 0.3 * plain.sse(points, start)


def test_lot_that_is_late_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of time within a lot of regions: the same groups as if stopped at the last checkpoint."""
    points = np.random.default_rng(3).normal(size=(2000, 2))
    start, problem = in_order(points, 3), Problem.of(points, 3, threads=1)
    schedule = replace(FAST, one_region=100)
    monkeypatch.setattr(lns_regions, "REGION", 400)
    monkeypatch.setattr(lns, "TOGETHER", 4)

    def run(watch: Watch) -> np.ndarray:
        return anneal(problem, start, steps=20_000, rng=seeded(9), watch=watch, schedule=schedule)

    for looks in (0, 1, 30, 31, 32, 33, 40):
        watch = Watch(time_limit=1000.0)
        left = iter([10.0] * looks)
        monkeypatch.setattr(watch, "seconds_left", lambda left=left: next(left, 0.0))
        stopped = run(watch)
        assert watch.stopped == "time limit"
        assert np.array_equal(stopped, run(Watch(stop_after=watch.passed)))
        if looks:
            check(stopped, 3)


def test_blending_takes_the_better_of_each_part() -> None:
    points = np.array([[0.0], [0.1], [1.0], [1.1], [10.0], [10.1], [11.0], [11.1]])
    ours = np.array([0, 0, 1, 1, 2, 3, 2, 3], np.int32)
    theirs = np.array([0, 1, 0, 1, 2, 2, 3, 3], np.int32)
    masses = np.ones(8)
    costs = [costs_by_label(points, masses, labels, 4) for labels in (ours, theirs)]
    mixed = blend(ours, theirs, *costs)
    assert np.unique(mixed, return_inverse=True)[1].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_group_costs_are_those_of_the_oracle() -> None:
    for seed in range(28):
        points, k = plain.hard_problem(seed)
        points = points - points.mean(axis=0)
        labels = in_order(points, k)
        costs = costs_by_label(points, np.ones(len(points)), labels, int(labels.max()) + 1)
        expected = plain.sse(points, labels)
        assert math.fsum(costs) == pytest.approx(
            expected, rel=1e-9, abs=1e-20 + 1e-14 * np.square(points).max()
        )


def in_their_order(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.int32)


def test_near_lists_hold_the_nearest() -> None:
    points = np.random.default_rng(4).normal(size=(60, 3))
    near, spread = near_lists(distances_between(points), in_their_order(60), 7, 4)
    for i in range(60):
        others = [record for record in range(60) if record != i]
        nearest = plain.nearest(points, others, points[i], 7)
        assert near[i].tolist() == nearest
        apart = plain.squared_distances(points, nearest[:3], points[i])
        assert spread[i] == pytest.approx(apart.mean())


def test_near_lists_see_beyond_duplicates() -> None:
    points = np.repeat([[0.0], [1.0], [5.0]], 20, axis=0)
    near, _ = near_lists(distances_between(points), in_their_order(60), 10, 3)
    for i in range(60):
        assert len(set(near[i].tolist())) == 10
        assert i not in near[i]
        assert (points[near[i], 0] == points[i, 0]).sum() == 3
    near, _ = near_lists(
        np.zeros((12, 12)), in_their_order(12), 11, 3
    )  # nothing but duplicates: all of them
    assert all(sorted([i, *near[i].tolist()]) == list(range(12)) for i in range(12))


def test_regions_are_complete_groups_and_move() -> None:
    points = np.random.default_rng(5).lognormal(size=(9000, 4))
    labels = in_order(points, 5)
    before = None
    for sweep in range(3):
        regions = regions_of(points, labels, sweep)
        assert np.array_equal(np.sort(np.concatenate(regions)), np.arange(9000))
        for records in regions:
            assert len(records) <= REGION
            assert np.array_equal(records, np.sort(records))
            assert np.isin(labels, labels[records]).sum() == len(records)
        first = {records.tobytes() for records in regions}
        assert first != before
        before = first


def test_a_search_stopped_while_warm_is_cooled_down(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(8).normal(size=(300, 3))
    problem, start = Problem.of(points, 3, threads=1), in_order(points, 3)

    def stopped_early() -> float:
        labels = anneal(problem, start, steps=300_000, rng=seeded(1), watch=Watch(stop_after=1))
        check(labels, 3)
        return plain.sse(points, labels)

    cooled = stopped_early()
    monkeypatch.setattr(lns, "_quench", lambda steps, n: 0)
    assert cooled < 0.9 * stopped_early()


def test_waiting_times_are_logarithms() -> None:
    expected = [-math.log((i + 0.5) / len(waiting_times())) for i in range(len(waiting_times()))]
    assert np.allclose(waiting_times(), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.reference
@pytest.mark.slow
@pytest.mark.parametrize(("k", "bar"), [(3, 4.80), (5, 7.45)])
def test_census_comes_near_the_best_known(reference_data: object, k: int, bar: float) -> None:
    from microagg.datasets.reference import load_reference

    values = load_reference("Census")
    points = (values - values.mean(axis=0)) / values.std(axis=0)
    start = in_order(points, k)
    labels = anneal(Problem.of(points, k, threads=1), start, steps=150 * len(points), rng=seeded(0))
    assert plain.information_loss(points, labels) < bar


def test_nothing_is_searched_where_every_group_is_of_equal_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not even where rounding leaves them an error above 0: 0.1 has none of its multiples in
    binary.
    """
    points = np.repeat([[0.1, 0.7], [0.3, 1.1], [9.7, 0.2]], 49, axis=0)
    labels = np.repeat(np.arange(3, dtype=np.int32), 49)

    def refuse(*_: object) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr(lns, "_anneal_whole", refuse)
    problem = Problem.of(points, 30)
    assert anneal(problem, labels, steps=100, rng=seeded(1)).tolist() == labels.tolist()
    mixed = labels.copy()
    mixed[[0, 49]] = mixed[[49, 0]]
    with pytest.raises(AssertionError, match="searched"):
        anneal(problem, mixed, steps=100, rng=seeded(1))


def test_a_search_ends_when_nothing_is_left_to_gain() -> None:
    points = np.repeat([[0.0, 0.0], [5.0, 1.0]], 4, axis=0)
    watch = Watch()
    labels = anneal(
        Problem.of(points, 4),
        np.array([0, 0, 0, 1, 0, 1, 1, 1], np.int32),
        steps=10**9,
        rng=seeded(1),
        watch=watch,
    )
    assert labels.tolist() == [0] * 4 + [1] * 4
