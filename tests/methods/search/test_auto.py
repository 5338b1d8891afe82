"""auto: what it chooses, and that it keeps its promises whatever it chose."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import microagg as ma
import plain
from microagg.methods.lns.effort import default_work
from microagg.methods.method import Grouping
from microagg.methods.registry import method_named, methods
from microagg.methods.search.auto import plan
from microagg.pipeline.run_method import run_method
from microagg.problem.problem import Problem
from microagg.verify_bound import check_certificate
from optima import best_loss, tiny_problem


def search(points: Any, k: int, seed: int = 0, threads: int | None = 1, **params: Any) -> Grouping:
    method = method_named("auto")
    return run_method(
        method, Problem.of(points, k, threads=threads), method.checked(params), seed=seed
    )


def cloud(seed: int, n: int = 150, d: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.exp(0.6 * rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)))


def test_one_column_gets_its_optimum() -> None:
    x = np.random.default_rng(0).integers(0, 50, size=(80, 1)).astype(float)
    best = ma.information_loss(x, ma.partition(x, 4, method="hm"))
    for points in (x, np.hstack([np.full((80, 1), 7.0), x])):
        result = search(points, 4)
        assert result.chosen == ("one column varies: its optimal cut, which no grouping can beat",)
        assert ma.information_loss(points, result.labels) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_equal_records_are_grouped_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, counts = int(rng.integers(2, 7)), rng.integers(0, 40, 8)
    which = rng.permutation(np.repeat(np.arange(8), counts + k))
    points = rng.normal(size=(8, 3))[which]
    result = search(points, k)
    assert result.chosen == (
        f"every record has at least {k - 1} equals: groups of equal records, which lose nothing",
    )
    sizes = np.bincount(result.labels)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    assert all(len(set(which[result.labels == label])) == 1 for label in range(len(sizes)))
    first = [int(np.flatnonzero(result.labels == label)[0]) for label in range(len(sizes))]
    assert first == sorted(first)
    points[0] += 1.0  # one record without equals: nothing for free any more
    assert search(points, k, effort=1).chosen != result.chosen


def test_too_few_records_for_two_groups() -> None:
    result = search(cloud(0, n=9), 5)
    assert result.labels.tolist() == [0] * 9
    assert "one group" in result.chosen[0]


def test_the_plan_follows_the_effort() -> None:
    problem = Problem.of(cloud(1), 3)
    assert plan(problem, "quick").work.steps == 0
    assert plan(problem, 20.0).work.steps == 20 * 150
    balanced, thorough = plan(problem, "balanced").work, plan(problem, "thorough").work
    assert 0 < balanced.steps < thorough.steps
    assert plan(problem, "thorough").way == "search and programs"
    for other in (Problem.of(cloud(1), 6), Problem.of(cloud(1, n=3000), 3)):
        assert plan(other, "thorough").way == "search"
        assert plan(other, "thorough").work.steps == 10 * plan(other, "balanced").work.steps
    assert plan(problem, "prove").way == "prove"


def test_effort_is_affordable_at_any_size() -> None:
    sizes = [10, 1_000, 10_000, 100_000, 1_000_000, 10_000_000]
    steps = [default_work(n, 3, "balanced").steps for n in sizes]
    assert steps == sorted(steps)
    per_record = [s / n for s, n in zip(steps, sizes, strict=True)]
    assert per_record == sorted(per_record, reverse=True)
    assert per_record[-1] > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_it_loses_less_than_every_published_method(seed: int) -> None:
    points = cloud(seed)
    ours = ma.information_loss(points, search(points, 3, effort=200).labels)
    for method in methods():
        fits = method.scope == "record" and method.columns is None and not method.needs_confidential
        if method.family != "search" and fits:
            theirs = ma.information_loss(points, ma.partition(points, 3, method=method.name))
            assert ours < theirs, method.name


@pytest.mark.slow
def test_more_effort_loses_no_more() -> None:
    points = cloud(7, n=300)
    losses = [
        ma.information_loss(points, search(points, 4, effort=e).labels) for e in ("quick", 30, 600)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[2]


@pytest.mark.slow
def test_the_number_of_threads_does_not_matter() -> None:
    points = cloud(3, n=9500, d=3)
    one, two = (search(points, 3, threads=threads, effort=2).labels for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_another_seed_is_another_search_and_the_same_seed_the_same() -> None:
    points = cloud(4, n=400)
    first, again, other = (search(points, 3, seed=seed, effort=5).labels for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_stopped_search_is_repeated_by_its_checkpoint() -> None:
    points = cloud(5, n=400)
    stopped = search(points, 3, effort=10_000, time_limit=0.0)
    assert stopped.stopped == "time limit"
    again = search(points, 3, effort=10_000, **stopped.params)
    np.testing.assert_array_equal(stopped.labels, again.labels)
    later = search(points, 3, effort=10_000, stop_after=stopped.params["stop_after"] + 5)
    assert not np.array_equal(later.labels, again.labels)
    # each stop is cooled down on its own: both gain on the start, and either may gain more
    start = ma.information_loss(points, search(points, 3, effort="quick").labels)
    assert ma.information_loss(points, again.labels) < start
    assert ma.information_loss(points, later.labels) < start


@pytest.mark.parametrize("seed", range(4))
def test_prove_finds_the_optimum_of_small_data_and_says_so(seed: int) -> None:
    points = cloud(seed, n=24, d=2)
    result = search(points, 3, effort="prove")
    assert result.bound.optimal
    assert result.bound.gap(result.labels) == pytest.approx(0.0, abs=1e-6)
    assert result.bound.sse <= plain.sse(points, result.labels) * (1 + 1e-12)


def test_a_method_and_local_search_after_it() -> None:
    points = cloud(6)
    for name in ("mdav", "axis-pca", "v-mdav"):
        plainly = ma.partition(points, 3, method=name)
        refined = ma.partition(points, 3, method=name, refine=True)
        assert ma.information_loss(points, refined) < ma.information_loss(points, plainly)
        assert np.bincount(refined).min() >= 3


@pytest.mark.slow
@pytest.mark.parametrize("problems", [60, pytest.param(300, marks=pytest.mark.nightly)])
def test_thorough_finds_the_optimum_of_tiny_data(problems: int) -> None:
    missed = []
    for seed in range(problems):
        points, k = tiny_problem(seed)
        loss, optimum = (
            plain.sse(points, search(points, k, effort="thorough").labels),
            best_loss(points, k),
        )
        if loss > optimum * (1.0 + 1e-9) + 1e-12 * np.abs(points).max() ** 2:
            missed.append(seed)
    assert len(missed) <= problems / 60, missed


@pytest.fixture
def _time_is_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time limits count the seconds that this process works, so that a busy machine leaves as
    much room as a quiet one.
    """
    monkeypatch.setattr("microagg.problem.watch.time", SimpleNamespace(monotonic=time.process_time))


@pytest.mark.slow
@pytest.mark.usefixtures("_time_is_work")
def test_a_short_time_is_shared_between_search_and_bound() -> None:
    points = np.random.default_rng(0).normal(size=(800, 3))
    instant = ma.lower_bound(points, 3, time_limit=0.0)
    result = search(points, 3, effort="prove", time_limit=6.0)
    assert result.bound.sse > 1.05 * instant.sse


@pytest.mark.usefixtures("_time_is_work")
def test_where_a_proof_takes_long_it_begins_with_a_whole_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a large k or many records the bound takes all the time that is left, so the first
    search is the only one.
    """
    budgets: list[int] = []

    def ruins(problem: Problem, labels: np.ndarray, work: Any, *_: Any) -> np.ndarray:
        budgets.append(work.steps)
        return labels

    monkeypatch.setattr("microagg.methods.search.auto.through_ruins", ruins)
    for points, k, whole in (
        (cloud(2), 5, False),
        (cloud(2), 6, True),
        (cloud(2, n=2600), 3, True),
    ):
        budgets.clear()
        search(points, k, effort="prove", time_limit=0.2)
        steps = plan(Problem.of(points, k), "prove").work.steps
        assert budgets[0] == steps if whole else 0 < budgets[0] < steps / 10


@pytest.mark.parametrize(("n", "k", "columns"), [(40, 3, 1), (7, 4, 2), (9, 3, 0)], ids=str)
def test_prove_gives_a_bound_where_the_optimum_is_known(n: int, k: int, columns: int) -> None:
    points = np.full((n, 2), 4.0)
    points[:, :columns] = np.random.default_rng(0).normal(size=(n, columns))
    method = method_named("auto")
    result = run_method(method, Problem.of(points, k), method.checked({"effort": "prove"}), seed=0)
    quick = run_method(method, Problem.of(points, k), method.checked({"effort": "quick"}), seed=0)
    assert quick.bound is None
    assert np.array_equal(result.labels, quick.labels)
    assert result.bound.optimal
    assert result.bound.gap(result.labels) == pytest.approx(0.0, abs=1e-6)
    verdict = check_certificate(result.bound.certificate(), points)
    assert verdict.holds, verdict.reason
    with pytest.raises(ma.InputError, match="weighted"):
        run_method(
            method,
            Problem.of(points, k, weights=np.ones(n)),
            method.checked({"effort": "prove"}),
            seed=0,
        )


def test_a_release_of_one_column_or_one_group_states_its_bound() -> None:
    rng = np.random.default_rng(0)
    for n in (5, 30):
        table = pd.DataFrame({"age": rng.integers(20, 90, n), "rent": rng.normal(size=n)})
        quasi = ["age"] if n == 30 else ["age", "rent"]
        release = ma.anonymize(
            table, k=3, quasi=quasi, rest="drop", effort="prove", precision="full", seed=1
        )
        assert release.bound is not None
        assert release.bound.optimal
        assert release.loss["IL"] == pytest.approx(release.bound.il, rel=1e-9)


def test_axes_are_not_called_columns() -> None:
    problem = Problem.of(np.random.default_rng(0).normal(size=(50, 4)), k=3)
    assert "4 columns that vary" in plan(problem, "quick").why[0]
    assert "2 columns on 4 axes that vary" in plan(replace(problem, columns=2), "quick").why[0]
    one = replace(problem, points=np.ascontiguousarray(problem.points[:, :1]), columns=1)
    assert plan(one, "quick").why[0].startswith("one axis varies")
