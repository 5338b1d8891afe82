"""Bounds of many records: without a matrix of distances, and without a factor."""

from __future__ import annotations

import time

import numpy as np
import pytest

from microagg.bounds import columns, lower
from microagg.bounds.chains import ChainPricing
from microagg.bounds.columns import Budget
from microagg.bounds.cuts import Cuts
from microagg.bounds.first_order import FirstOrder
from microagg.bounds.interior import SparseColumns, solve_interior
from microagg.bounds.large import sets_around
from microagg.bounds.listening import Listener
from microagg.bounds.lower import Proof, lower_bound
from microagg.bounds.neighbours import nearest_others
from microagg.bounds.pricing import Prices
from microagg.kernels.chain_pricing import squared_distances
from microagg.kernels.heuristic_sets import heuristic_sets
from microagg.problem.watch import Watch
from microagg.verify_bound import check_certificate


@pytest.mark.parametrize("seed", range(8))
def test_pricing_without_a_matrix_lists_the_same_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(6, 20)), int(rng.integers(2, 5))
    points, prices = rng.normal(size=(n, 3)), Prices(rng.random(n), np.empty(0))
    if seed % 2:
        points = points.round()
    for limit in (-1e-9, 0.3):
        stored = ChainPricing(points, k).sets(prices, Cuts(n, []), limit)
        computed = ChainPricing(points, k, stored=False).sets(prices, Cuts(n, []), limit)
        assert computed.complete
        assert stored.complete
        listed = [
            sorted(
                tuple(sets.members[sets.offsets[g] : sets.offsets[g + 1]].tolist())
                for g in range(len(sets))
            )
            for sets in (stored, computed)
        ]
        assert listed[0] == listed[1]
    assert len(listed[0]) > 0


@pytest.fixture
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "LARGE", 50)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_bound_of_many_records_is_confirmed_and_nearly_that_of_a_program_without_cuts(
    k: int, all_are_large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = np.random.default_rng(k).normal(size=(90, 2))
    bound = lower_bound(points, k, time_limit=None)
    assert bound.method == "columns"
    verdict = check_certificate(bound.certificate(), points)
    assert verdict.holds, verdict.reason
    instant = lower_bound(points, k, watch=Watch(stop_after=0))
    assert instant.sse < 0.95 * bound.sse
    again = lower_bound(points, k, time_limit=None)
    assert again.pi.tobytes() == bound.pi.tobytes()
    monkeypatch.setattr(lower, "LARGE", 100)
    proof = Proof(points, k, Listener(), Budget(cut_rounds=0))
    while not proof.finished:
        proof.step()
    whole = proof.bound()
    assert 0.999 * whole.sse < bound.sse <= whole.sse * (1.0 + 1e-3)


def test_what_a_first_order_method_begins_ends_as_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = np.random.default_rng(4).normal(size=(90, 3))
    alone = lower_bound(points, 4, time_limit=None)
    monkeypatch.setattr(columns, "MANY", 50)
    begun = lower_bound(points, 4, time_limit=None)
    assert begun.sse == pytest.approx(alone.sse, rel=5e-3)
    verdict = check_certificate(begun.certificate(), points)
    assert verdict.holds, verdict.reason
    assert lower_bound(points, 4, time_limit=None).pi.tobytes() == begun.pi.tobytes()
    early = lower_bound(points, 4, watch=Watch(stop_after=2))
    assert check_certificate(early.certificate(), points).holds


def test_duplicates_and_outliers_among_many_records(all_are_large: None) -> None:
    rng = np.random.default_rng(0)
    points = np.repeat(rng.normal(size=(25, 3)), 4, axis=0)
    points[:3] += 1e6
    bound = lower_bound(points, 3, time_limit=None)
    assert check_certificate(bound.certificate(), points).holds


def test_what_is_stopped_early_leaves_the_instant_bound(all_are_large: None) -> None:
    points = np.random.default_rng(0).normal(size=(90, 2))
    bound = lower_bound(points, 2, watch=Watch(stop_after=3))
    assert bound.method == "instant"
    assert check_certificate(bound.certificate(), points).holds


def test_progress_ends_at_its_end(all_are_large: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "ROUNDS", 3)
    points = np.random.default_rng(0).normal(size=(90, 2))
    seen: list[int] = []
    lower_bound(points, 2, time_limit=None, progress=lambda done, _: seen.append(done))
    assert 0 < max(seen) <= 1000


def test_a_program_is_solved_as_by_interior_points() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, count = 40, 600
        members = np.concatenate([np.sort(rng.choice(n, 3, replace=False)) for _ in range(count)])
        starts, costs = np.arange(0, 3 * count + 1, 3), rng.random(count) * 3.0
        method, shares = FirstOrder(np.ones(n), np.full(n, 9.0)), np.zeros(count)
        for _ in range(60):
            shares = method.run(members, starts, costs, shares)
        rows = np.concatenate([members, np.arange(n)])
        matrix = SparseColumns(
            np.concatenate([starts, 3 * count + 1 + np.arange(n)]), rows, np.ones(len(rows))
        )
        all_costs = np.concatenate([costs, np.full(n, 9.0)])
        exact = solve_interior(matrix, all_costs, np.ones(n), 1e-9, np.arange(n))
        assert exact is not None
        assert method.prices.sum() == pytest.approx(exact.value, rel=5e-3)
        excess = costs - method.prices[members].reshape(count, 3).sum(axis=1)
        assert excess.min() > -0.02
        assert float(shares @ costs) == pytest.approx(exact.value, rel=1e-2)


def test_sets_grown_around_records_are_those_of_the_whole_matrix() -> None:
    rng = np.random.default_rng(0)
    points, prices = rng.normal(size=(40, 3)), rng.random(40) * 3.0
    _, records, _ = nearest_others(points, 12)
    near = records.astype(np.int64)
    second = rng.integers(-1, 12, 40)
    none, starts = np.empty(0, np.int64), np.zeros(14, np.int64)
    members, excess = np.empty((40, 4), np.int32), np.empty(40)
    count = sets_around(points, near, prices, 4, second, 0.0, starts, none, 0, 40, members, excess)
    whole, of_whole = np.empty((40, 4), np.int32), np.empty(40)
    cuts = Cuts(40, [])
    expected = heuristic_sets(
        squared_distances(points), near, prices, 4, second, 0.0,
        *cuts.of_records, *cuts.members, np.empty(0), cuts.parts, 0, 40, whole, of_whole, 0,
    )  # fmt: skip
    assert count == expected > 0
    np.testing.assert_array_equal(members[:count], whole[:count])
    np.testing.assert_array_equal(excess[:count], of_whole[:count])


@pytest.mark.slow
def test_time_limits_are_kept_and_what_was_proven_until_then_too() -> None:
    points = np.random.default_rng(1).normal(size=(700, 4))
    lower_bound(points[:60], 5, time_limit=None)  # so that everything is compiled
    started, worked = time.monotonic(), time.process_time()
    bound = lower_bound(points, 5, time_limit=6.0)
    seconds, cpu = time.monotonic() - started, time.process_time() - worked
    assert seconds < 8.0 or cpu < 6.2, "another process may take the clock, but not our work"
    assert check_certificate(bound.certificate(), points).holds
