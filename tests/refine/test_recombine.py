"""The best cover against trying all."""

import numpy as np
import pytest

from microagg.refine.highs import SolverError, must, new_solver, run_solver
from microagg.refine.recombine import best_cover


def some_groups(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 11))
    groups = [
        tuple(sorted(rng.choice(n, int(rng.integers(2, min(n, 5) + 1)), replace=False).tolist()))
        for _ in range(int(rng.integers(3, 40)))
    ]
    if seed % 2:
        order = rng.permutation(n)
        groups += [tuple(sorted(order[:2].tolist())), tuple(sorted(order[2:].tolist()))]
    costs = rng.integers(1, 9, len(groups)) * 10.0 ** rng.integers(-80, 80)
    return n, groups, costs


def cheapest(n, groups, costs, covered=frozenset()):
    if len(covered) == n:
        return 0.0
    first = min(set(range(n)) - covered)
    totals = [
        cost + cheapest(n, groups, costs, covered | set(group))
        for group, cost in zip(groups, costs, strict=True)
        if first in group and not covered & set(group)
    ]
    return min(totals, default=np.inf)


def flat(groups):
    members = np.concatenate([np.array(g, np.int32) for g in groups])
    return members, np.concatenate([[0], np.cumsum([len(g) for g in groups])])


@pytest.mark.slow
def test_it_is_the_cheapest():
    for seed in range(120):
        n, groups, costs = some_groups(seed)
        best = cheapest(n, groups, costs)
        start = np.array([len(groups) - 2, len(groups) - 1]) if seed % 2 else None
        chosen, bound, optimal = best_cover(n, *flat(groups), costs, start=start)
        assert optimal
        if best == np.inf:
            assert len(chosen) == 0
            assert bound == np.inf
            continue
        assert sorted(i for g in chosen for i in groups[g]) == list(range(n))
        assert costs[chosen].sum() == pytest.approx(best, rel=1e-12, abs=0.0)
        assert bound <= best * (1.0 + 1e-9)
        assert bound == pytest.approx(best, rel=1e-6, abs=0.0)
        below, _, _ = best_cover(n, *flat(groups), costs, upper=0.5 * best)
        assert len(below) == 0


def test_stopped_it_gives_back_the_start():
    n, groups, costs = some_groups(1)
    start = np.array([len(groups) - 1, len(groups) - 2])
    chosen, bound, optimal = best_cover(n, *flat(groups), costs, start=start, seconds=0.0)
    assert chosen.tolist() == sorted(start.tolist())
    assert not optimal
    assert bound <= cheapest(n, groups, costs)


def test_a_start_must_cover():
    n, groups, costs = some_groups(1)
    with pytest.raises(ValueError, match="no cover"):
        best_cover(n, *flat(groups), costs, start=np.array([0]))


def test_no_groups_at_all():
    chosen, _, optimal = best_cover(3, np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0))
    assert len(chosen) == 0
    assert not optimal


def hard_program(n=60, seed=0):
    rng = np.random.default_rng(seed)
    groups = [np.sort(rng.choice(n, 3, replace=False)) for _ in range(6000)]
    return n, *flat(groups), rng.integers(50, 100, len(groups)).astype(float)


@pytest.mark.slow
def test_it_can_be_stopped_and_interrupted():
    calls = []

    def stop():
        calls.append(1)
        return len(calls) > 2

    chosen, _, optimal = best_cover(*hard_program(), stop=stop)
    assert len(calls) > 2
    assert not optimal
    assert len(chosen) == 0

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        best_cover(*hard_program(), stop=interrupt)


@pytest.mark.slow
def test_the_same_again():
    n, members, offsets, costs = hard_program(n=24, seed=3)
    first, second = (
        best_cover(n, members[:900], offsets[:301], costs[:300], node_limit=5) for _ in range(2)
    )
    assert np.array_equal(first[0], second[0])
    assert first[1:] == second[1:]


def test_a_refusal_is_noticed():
    solver = new_solver()
    with pytest.raises(SolverError):
        must(
            solver.addCols(
                1,
                np.ones(1),
                np.zeros(1),
                np.ones(1),
                1,
                np.zeros(1, np.int32),
                np.full(1, 99, np.int32),
                np.ones(1),
            ),
            "a column",
        )
    assert run_solver(solver)
