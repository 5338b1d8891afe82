"""Local search against brute force: what comes out is valid, never worse, and no move that was to
be found is left.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plain
import promised
from microagg.datasets.reference import load_reference
from microagg.guarantees.promise import AcceptanceTest, Guarantees
from microagg.kernels.local_groups import weighted_error
from microagg.methods.mdav.mdav import MDAV
from microagg.problem.problem import Problem
from microagg.problem.watch import StopSearch, Watch
from microagg.refine import local, local_near
from microagg.refine.construct import block_groups
from microagg.refine.local import improve
from microagg.refine.local_near import nearest_centroids
from microagg.refine.merging import repair
from microagg.table.confidential import Attribute
from microagg.table.encoder import Space
from microagg.table.schema import Kind


def weighted_sse(points: np.ndarray, weights: np.ndarray, members: list[int]) -> float:
    """The squared error of one group around its weighted mean, measured from its first member."""
    x = points[members] - points[members[0]]
    w = weights[members]
    mean = [math.fsum((w * column).tolist()) / math.fsum(w.tolist()) for column in x.T]
    return math.fsum((w[:, None] * (x - mean) ** 2).ravel().tolist())


def random_partition(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Any valid partition: group sizes from k to 2k - 1, or one group larger than that."""
    groups = max(1, n // k - int(rng.integers(0, 3)))
    labels = np.concatenate(
        [np.repeat(np.arange(groups), k), rng.integers(0, groups, n - groups * k)]
    )
    return rng.permutation(labels)


def neighbours(
    groups: list[list[int]], k: int
) -> Iterator[tuple[list[list[int]], list[list[int]]]]:
    """(groups before, groups after) of every shift and every swap."""
    for A, B in itertools.permutations(groups, 2):
        if len(A) > k and len(B) < 2 * k - 1:
            for x in A:
                yield [A, B], [[r for r in A if r != x], [*B, x]]
    for A, B in itertools.combinations(groups, 2):
        for x, y in itertools.product(A, B):
            yield [A, B], [[r for r in A if r != x] + [y], [r for r in B if r != y] + [x]]


def groups_of(labels: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(labels == g).tolist() for g in range(int(labels.max()) + 1)]


def check_valid(labels: np.ndarray, n: int, k: int) -> None:
    sizes = np.bincount(labels)
    assert labels.shape == (n,)
    assert labels.dtype == np.int32
    assert sizes.min() >= k
    assert sizes.max() < 2 * k or len(sizes) == 1
    assert labels.tolist() == plain.labels_from_groups(n, groups_of(labels)).tolist()


@pytest.mark.parametrize("seed", range(98))
def test_hard_points_from_any_partition(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    rng = np.random.default_rng(seed)
    start = random_partition(rng, len(points), k)
    before = points.copy(), start.copy()
    labels = improve(Problem.of(points, k), start)
    check_valid(labels, len(points), k)
    assert plain.sse(points, labels) <= plain.sse(points, start)
    assert np.array_equal(points, before[0])
    assert np.array_equal(start, before[1])
    numbered_otherwise = improve(Problem.of(points, k), 10 * len(points) - 7 * start)
    assert np.array_equal(labels, numbered_otherwise)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_one_round_leaves_no_shift_or_swap(
    seed: int, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "FEWEST_COSTLIEST", 1)
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(8, 45)), int(rng.integers(1, 7)), int(rng.integers(2, 5))
    points = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d) + 10.0 ** rng.integers(0, 6)
    weights = rng.lognormal(0.0, 1.0, n) if weighted else np.ones(n)
    start = random_partition(rng, n, k)
    labels = improve(Problem.of(points, k, weights=weights if weighted else None), start, rounds=1)
    check_valid(labels, n, k)
    groups = groups_of(labels)
    assert len(groups) <= local.CANDIDATES + 1, "all groups must be candidates of each other here"
    total = sum(weighted_sse(points, weights, group) for group in groups)
    assert total <= sum(weighted_sse(points, weights, group) for group in groups_of(start))
    for old, new in neighbours(groups, k):
        gain = sum(weighted_sse(points, weights, g) for g in old) - sum(
            weighted_sse(points, weights, g) for g in new
        )
        assert gain <= 1e-7 * total


@pytest.mark.parametrize("weighted", [False, True])
def test_a_group_that_belongs_to_others_is_dissolved(weighted: bool) -> None:
    points = np.array(
        [[0.0], [0.1], [0.2], [9.0], [9.1], [9.2], [18.0], [18.1], [18.2], [0.3], [9.3], [18.3]]
    )
    start = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3])
    weights = np.linspace(1.0, 2.0, 12) if weighted else None
    labels = improve(Problem.of(points, 3, weights=weights), start)
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 1, 2]


def test_two_members_of_a_dissolved_group_may_go_to_one_place() -> None:
    points = np.array([[0.0], [0.1], [9.0], [9.1], [0.05], [0.06], [9.05]])
    labels = improve(Problem.of(points, 3), np.array([0, 0, 1, 1, 0, 1, 1]))
    assert labels.tolist() == [0, 0, 1, 1, 0, 0, 1]


@pytest.mark.parametrize("seed", range(20))
def test_one_group_of_all_is_split(seed: int) -> None:
    points, k = plain.hard_problem(14 * seed + 1)
    labels = improve(Problem.of(points, k), np.zeros(len(points), np.int64))
    check_valid(labels, len(points), k)
    assert len(points) < 2 * k or labels.max() > 0


def promise_on(values: list[int] | np.ndarray, **guarantee: Any) -> AcceptanceTest:
    """Return the acceptance test of groups, by the categories of the records."""
    accept = Guarantees.of(**guarantee).accept(
        (Attribute("ill", Kind.NOMINAL, np.asarray(values, np.int64)),)
    )
    assert accept is not None
    return accept


@pytest.mark.parametrize(
    "guarantee", [{"l": 2}, {"l": 2, "diversity": "recursive", "c": 4.0}, {"t": 0.45}], ids=str
)
@pytest.mark.parametrize("seed", range(12))
def test_every_group_is_accepted_and_no_accepted_move_is_left(
    seed: int, guarantee: dict[str, Any]
) -> None:
    rng = np.random.default_rng(seed)
    k, values = int(rng.integers(2, 4)), np.where(rng.random(36) < 0.6, 0, 1)
    points = rng.normal(size=(36, 2))

    def allowed(group: list[int]) -> bool:
        return promised.is_kept(values.tolist(), group, nominal=True, **guarantee)

    problem = Problem.of(points, k, accept=promise_on(values, **guarantee), threads=2)
    start = repair(problem, random_partition(rng, 36, k).astype(np.int32))
    labels = improve(problem, start)
    groups = groups_of(labels)
    assert len(groups) > 1
    assert all(map(allowed, groups))
    assert min(map(len, groups)) >= k
    total = plain.sse(points, labels)
    assert total < plain.sse(points, start)
    small = [group for group in groups if len(group) < 2 * k]
    ones = np.ones(36)
    for old, new in neighbours(small, k):
        if all(map(allowed, new)):
            gain = sum(weighted_sse(points, ones, g) for g in old) - sum(
                weighted_sse(points, ones, g) for g in new
            )
            assert gain <= 1e-7 * total


def test_the_next_best_move_is_tried_where_the_best_is_refused() -> None:
    points = np.array([[0.0], [0.1], [10.0], [10.1], [10.2], [0.2], [0.3]])
    start = np.array([0, 0, 0, 1, 1, 1, 1])
    free = improve(Problem.of(points, 3), start)
    assert free.tolist() == [0, 0, 1, 1, 1, 0, 0]
    accept = promise_on(
        [0, 0, 1, 1, 1, 0, 1], l=2
    )  # so that 0, 1 and 5 may not be a group, and 2, 3 and 4 neither
    apart = improve(Problem.of(points, 3, accept=accept), start)
    assert apart.tolist() == [0, 0, 1, 1, 1, 1, 0]


@pytest.mark.parametrize("refused", [False, True])
def test_a_dissolved_group_needs_consent_for_every_place(refused: bool) -> None:
    points = np.array([0.0, 0.1, 0.2, 9.0, 9.1, 9.2, 18.0, 18.1, 18.2, 0.3, 9.3, 18.3])
    start = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3])
    # 2 of one value and 1 of another may be a group, 3 and 1 may not
    values = [0, 0, 1, 0, 0, 1, 0, 1, 1, 0 if refused else 1, 1, 1 if refused else 0]
    accept = promise_on(values, l=2, diversity="recursive", c=2.5)
    assert accept(np.array([0, 1, 2, 9])) != refused
    assert all(accept(np.flatnonzero(start == group)) for group in range(4))
    labels = improve(Problem.of(points, 3, accept=accept), start)
    assert all(accept(np.array(group)) for group in groups_of(labels))
    assert (labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 1, 2]) != refused


def test_what_turned_out_worse_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.arange(40.0).reshape(-1, 1)
    start = 7 - np.arange(40) // 5
    monkeypatch.setattr(
        local._Search, "run", lambda self, rounds, watch: (np.arange(40) % 8).astype(np.int32)
    )
    assert improve(Problem.of(points, 5), start).tolist() == (7 - start).tolist()


def test_a_promise_that_any_group_keeps_changes_nothing() -> None:
    points, start = np.random.default_rng(1).normal(size=(400, 3)), np.arange(400) // 4
    labels = improve(Problem.of(points, 4, accept=promise_on(np.arange(400), l=2)), start)
    assert np.array_equal(labels, improve(Problem.of(points, 4), start))


def test_a_large_group_that_may_not_be_split_stays() -> None:
    points = np.random.default_rng(2).normal(size=(30, 2))
    start = np.where(np.arange(30) < 20, 0, 1 + np.arange(30) // 25)
    points[20:] += 100.0
    values = [*([0, 1] * 10), *([0, 1, 2, 0, 1] * 2)]
    values[3] = 2  # the only one among the first 20: either part of them would miss it
    accept = promise_on(values, l=3)
    labels = improve(Problem.of(points, 5, accept=accept), start)
    assert labels[:20].tolist() == [0] * 20
    assert set(labels[20:].tolist()) == {1, 2}


def jobs_of(monkeypatch: pytest.MonkeyPatch, n: int) -> tuple[np.ndarray, np.ndarray]:
    monkeypatch.setattr(local, "JOB", 500)
    points = np.random.default_rng(3).lognormal(size=(n, 3))
    return points, block_groups(Problem.of(points, 4))


@pytest.mark.parametrize("rounds", [1, 2, None])
def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch, rounds: int | None) -> None:
    points, start = jobs_of(monkeypatch, 6000)
    one, three, again = (
        improve(Problem.of(points, 4, threads=threads), start, rounds=rounds)
        for threads in (1, 3, 3)
    )
    check_valid(one, 6000, 4)
    assert plain.sse(points, one) < 0.9 * plain.sse(points, start)
    assert np.array_equal(one, three)
    assert np.array_equal(one, again)


def test_more_rounds_are_no_worse() -> None:
    points = np.random.default_rng(4).lognormal(size=(3000, 4))
    problem = Problem.of(points, 3)
    start = block_groups(problem, block=200)
    errors = [
        plain.sse(points, improve(problem, start, rounds=rounds)) for rounds in (1, 2, 4, None)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] < plain.sse(points, start)


@pytest.mark.slow
@pytest.mark.parametrize("many", [False, True])
def test_stopped_at_a_checkpoint_it_is_repeatable(
    monkeypatch: pytest.MonkeyPatch, many: bool
) -> None:
    points, start = jobs_of(monkeypatch, 3000 if many else 400)
    monkeypatch.setattr(local, "WORK", 20_000)
    whole = Watch()
    improve(Problem.of(points, 4), start, rounds=2, watch=whole)
    assert whole.passed >= 5
    errors = [plain.sse(points, start)]
    for stop in range(1, whole.passed + 1):
        runs = [
            improve(
                Problem.of(points, 4, threads=threads),
                start,
                rounds=2,
                watch=Watch(stop_after=stop),
            )
            for threads in (1, 2)
        ]
        check_valid(runs[0], len(points), 4)
        assert np.array_equal(*runs)
        errors.append(plain.sse(points, runs[0]))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[1]


def test_progress_moves_and_may_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "WORK", 100_000)
    points = np.random.default_rng(5).normal(size=(900, 3))
    start, calls = np.arange(900) // 3, []
    improve(Problem.of(points, 3), start, progress=lambda done, total: calls.append((done, total)))
    assert calls == sorted(calls)
    assert len(set(calls)) > 3
    assert all(0 <= done <= total for done, total in calls)

    def enough(done: int, total: int) -> None:
        raise StopSearch

    kept = improve(Problem.of(points, 3), start, progress=enough)
    assert plain.sse(points, kept) < plain.sse(points, start)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        improve(Problem.of(points, 3), start, progress=interrupt)


@pytest.mark.parametrize("scale", [2.0**-300, 2.0**300])
def test_units_do_not_matter(scale: float) -> None:
    points = np.random.default_rng(6).normal(size=(300, 4))
    start = np.arange(300) // 3
    assert np.array_equal(
        improve(Problem.of(points, 3), start), improve(Problem.of(points * scale, 3), start)
    )


@pytest.mark.parametrize("spread", [1e-9, 1e-3, 1.0, 1e6])
def test_far_clusters_end_and_are_not_mixed(spread: float) -> None:
    """Clusters a billion apart: what is left after rounding must not keep the search busy."""
    rng = np.random.default_rng(7)
    clusters = np.repeat(1e9 * rng.normal(size=(4, 3)), 25, axis=0)
    points = clusters + spread * rng.integers(0, 3, (100, 3))
    labels = improve(Problem.of(points, 3), rng.permutation(100) // 4)
    check_valid(labels, 100, 3)
    assert all(len({record // 25 for record in group}) == 1 for group in groups_of(labels))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_fewer_than_two_groups(n: int) -> None:
    assert improve(Problem.of(np.arange(float(n)), n // 2 + 1), np.full(n, 5)).tolist() == [0] * n


@pytest.mark.parametrize("seed", range(40))
def test_nearest_centroids_equal_brute_force(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    n, d, wanted = int(rng.integers(2, 900)), int(rng.integers(1, 6)), int(rng.integers(1, 25))
    centroids = rng.lognormal(size=(n, d))
    monkeypatch.setattr(local_near, "VISITS", 10**6)
    result = nearest_centroids(centroids, wanted, threads=1 + seed % 2)
    for i in range(0, n, 7):
        others = [j for j in range(n) if j != i]
        nearest = plain.nearest(centroids, others, centroids[i], min(wanted, n - 1))
        assert result[i].tolist() == nearest + [-1] * (wanted - len(nearest))


def test_few_visits_still_give_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_near, "VISITS", 4)
    result = nearest_centroids(np.random.default_rng(8).normal(size=(3000, 12)), 20)
    assert result.min() >= 0
    assert (np.diff(np.sort(result, axis=1), axis=1) > 0).all()
    assert (result != np.arange(3000)[:, None]).all()


def test_weighted_error_is_exact() -> None:
    rng = np.random.default_rng(9)
    points, weights = rng.normal(size=(50, 3)), rng.lognormal(size=50)
    labels, means = (np.arange(50) % 7).astype(np.int32), np.empty((7, 3))
    error = weighted_error(points, weights, labels, means)
    assert error == pytest.approx(
        sum(weighted_sse(points, weights, g) for g in groups_of(labels)), rel=1e-14
    )
    assert means[2] == pytest.approx(
        np.average(points[labels == 2], axis=0, weights=weights[labels == 2])
    )


@pytest.mark.reference
@pytest.mark.parametrize(
    ("name", "least", "most"), [("Tarragona", 14.4588, 15.05), ("Census", 4.6644, 5.30)]
)
def test_reference_data_from_mdav(
    reference_data: Path, name: str, least: float, most: float
) -> None:
    values = load_reference(name, folder=reference_data)
    points = Space.fit(values, "zscore").points(values)
    problem = Problem.of(points, 3)
    labels = improve(problem, MDAV.run(problem, rng=np.zeros(1, np.uint64)))
    assert least <= plain.information_loss(points, labels) <= most
