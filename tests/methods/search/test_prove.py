"""Search and proof together: the optimum, found and proven."""

import numpy as np
import pytest

import plain
from microagg.bounds import lower
from microagg.errors import InputError
from microagg.guarantees.promise import Guarantees
from microagg.kernels.random import seeded
from microagg.methods.search import prove as proving
from microagg.methods.search.prove import improve_by_set_partitioning, prove
from microagg.problem.problem import Problem
from microagg.problem.watch import Watch
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind
from microagg.verify_bound import check_certificate
from optima import best_loss, proves, tiny_problem


def any_labels(n, k):
    return np.minimum(np.arange(n) // k, max(n // k - 1, 0)).astype(np.int32)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "last"),
    [(0, 30), *(pytest.param(x, x + 90, marks=pytest.mark.nightly) for x in (30, 120, 210))],
)
def test_three_hundred_optima(first, last):
    for seed in range(first, last):
        points, k = tiny_problem(seed)
        labels, bound = prove(Problem.of(points, k), any_labels(len(points), k), rng=seeded(0))
        optimum = best_loss(points, k)
        assert bound.optimal, seed
        assert bound.sse <= optimum * (1.0 + 1e-12), seed
        assert bound.sse == pytest.approx(optimum, rel=1e-9, abs=1e-300), seed
        assert plain.sse(points, labels) == pytest.approx(
            optimum, rel=1e-9, abs=1e-12 * np.abs(points).max() ** 2
        ), seed
        assert np.bincount(labels).min() >= k
        assert proves(points, bound)


def test_stopped_runs_are_valid_and_repeatable():
    points = np.random.default_rng(1).normal(size=(12, 2))
    optimum = best_loss(points, 3)
    for stop_after in (1, 2, 3, 5):
        runs = [
            prove(
                Problem.of(points, 3),
                any_labels(12, 3),
                rng=seeded(0),
                watch=Watch(stop_after=stop_after),
            )
            for _ in range(2)
        ]
        assert np.array_equal(runs[0][0], runs[1][0])
        for labels, bound in runs:
            assert bound.sse <= optimum * (1.0 + 1e-12)
            assert proves(points, bound)
            assert np.bincount(labels).min() >= 3


def test_a_search_is_asked_and_only_believed_if_better():
    points = np.random.default_rng(6).normal(size=(40, 2))
    turns = []

    def search(labels, rng, turn):
        turns.append(turn)
        return any_labels(40, 2)[::-1].copy()

    labels, bound = prove(Problem.of(points, 2), any_labels(40, 2), rng=seeded(0), search=search)
    assert turns[0] == 0
    assert bound.optimal
    assert bound.gap(labels) < 1e-6


def test_many_records_get_more_than_the_instant_bound(monkeypatch):
    monkeypatch.setattr(lower, "LARGE", 50)
    points = np.random.default_rng(2).normal(size=(80, 2))
    instant = lower.lower_bound(points, 3, watch=Watch(stop_after=0))
    _, bound = prove(Problem.of(points, 3), any_labels(80, 3), rng=seeded(0))
    assert bound.method == "columns"
    assert bound.sse > 1.05 * instant.sse
    assert check_certificate(bound.certificate(), points).holds


def test_groups_that_are_not_accepted_are_not_formed():
    points = np.random.default_rng(3).normal(size=(30, 2))
    attributes = (Attribute("side", Kind.NOMINAL, np.arange(30) % 2),)
    accept = Guarantees.of(l=2).accept(attributes)
    assert accept is not None
    start = any_labels(30, 3)
    free, _ = prove(Problem.of(points, 3), start, rng=seeded(0))
    assert not all(accept(np.flatnonzero(free == g)) for g in range(free.max() + 1)), (
        "it would not matter"
    )
    problem = Problem.of(
        points, 3, accept=accept
    )  # which stays far from the bound, so the programs would take minutes
    labels, bound = prove(problem, start, rng=seeded(0), watch=Watch(stop_after=25))
    assert all(accept(np.flatnonzero(labels == g)) for g in range(labels.max() + 1))
    assert plain.sse(points, labels) <= plain.sse(points, start)
    assert bound.sse <= plain.sse(points, labels)


def test_weights_are_refused():
    with pytest.raises(InputError):
        prove(Problem.of(np.ones((4, 1)), 2, weights=np.ones(4)), any_labels(4, 2), rng=seeded(0))


@pytest.mark.slow
def test_programs_over_known_groups_never_do_harm_and_mostly_find_the_optimum():
    missed = []
    for seed in range(60):
        points, k = tiny_problem(seed)
        start = any_labels(len(points), k)
        labels = improve_by_set_partitioning(Problem.of(points, k), start, Watch())
        assert np.bincount(labels).min() >= k
        loss, optimum = plain.sse(points, labels), best_loss(points, k)
        assert loss <= plain.sse(points, start) * (1.0 + 1e-12)
        if loss > optimum * (1.0 + 1e-9) + 1e-12 * np.abs(points).max() ** 2:
            missed.append(seed)
    assert len(missed) <= 6, missed


@pytest.mark.slow
def test_a_program_that_did_not_end_never_makes_an_optimum(monkeypatch):
    honest = proving.best_cover

    def cut_short(*args, **options):
        chosen, bound, _ = honest(*args, **options)
        return chosen, bound, False

    calls = 0
    for seed in range(40):
        points = np.random.default_rng(seed).normal(size=(24, 2))
        labels, bound = prove(Problem.of(points, 3), any_labels(24, 3), rng=seeded(0))
        assert bound.optimal
        total = float(((points - points.mean(axis=0)) ** 2).sum())
        if bound.certified_sse > plain.sse(points, labels) - 2e-9 * total:
            continue  # the prices prove it by themselves
        calls += 1
        with monkeypatch.context() as patch:
            patch.setattr(proving, "best_cover", cut_short)
            labels, unsure = prove(Problem.of(points, 3), any_labels(24, 3), rng=seeded(0))
        assert not unsure.optimal
        assert unsure.sse < plain.sse(points, labels)
    assert calls > 0
