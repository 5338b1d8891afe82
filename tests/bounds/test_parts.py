"""Bounds from parts of a table, and pricing that keeps no matrix of distances."""

from __future__ import annotations

import time

import numpy as np
import pytest

from microagg.bounds import lower, parts
from microagg.bounds.chains import ChainPricing
from microagg.bounds.cuts import Cuts
from microagg.bounds.lower import lower_bound
from microagg.bounds.pricing import Prices
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
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "LARGE", 50)
    monkeypatch.setattr(parts, "CORE", 20)
    monkeypatch.setattr(parts, "AROUND", 30)


@pytest.mark.parametrize("k", [2, 3])
def test_a_bound_from_parts_is_confirmed_and_near_that_of_the_whole(
    k: int, small_parts: None
) -> None:
    points = np.random.default_rng(k).normal(size=(90, 2))
    bound = lower_bound(points, k, time_limit=None)
    assert bound.method == "parts"
    verdict = check_certificate(bound.certificate(), points)
    assert verdict.holds, verdict.reason
    instant = lower_bound(points, k, watch=Watch(stop_after=0))
    assert instant.sse < 0.95 * bound.sse
    again = lower_bound(points, k, time_limit=None)
    assert again.sse == bound.sse
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lower, "LARGE", 100)
        whole = lower_bound(points, k, time_limit=None)
    assert 0.8 * whole.sse < bound.sse <= whole.sse * (1.0 + 1e-9)


def test_parts_that_are_stopped_early_leave_the_instant_bound(small_parts: None) -> None:
    points = np.random.default_rng(0).normal(size=(90, 2))
    bound = lower_bound(points, 2, watch=Watch(stop_after=3))
    assert bound.method == "instant"
    assert check_certificate(bound.certificate(), points).holds


def test_many_parts_are_brought_to_their_end(
    small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit on all rounds together left the instant bound where parts were many."""
    points = np.random.default_rng(0).normal(size=(90, 2))
    monkeypatch.setattr(lower, "ROUNDS", 3)
    done: list[int] = []
    bound = lower_bound(points, 2, time_limit=None, progress=lambda now, _: done.append(now))
    assert bound.method == "parts"
    assert max(done) <= 1000, "progress goes to its end, not beyond"
    monkeypatch.setattr(parts, "ROUNDS", 2)
    hasty = lower_bound(points, 2, time_limit=None)
    assert hasty.method == "parts"
    assert check_certificate(hasty.certificate(), points).holds


@pytest.mark.slow
def test_time_limits_are_kept_and_what_was_proven_until_then_too() -> None:
    points = np.random.default_rng(1).normal(size=(700, 4))
    lower_bound(points[:60], 5, time_limit=None)  # so that everything is compiled
    started, worked = time.monotonic(), time.process_time()
    bound = lower_bound(points, 5, time_limit=6.0)
    seconds, cpu = time.monotonic() - started, time.process_time() - worked
    assert seconds < 8.0 or cpu < 6.2, "another process may take the clock, but not our work"
    assert check_certificate(bound.certificate(), points).holds
