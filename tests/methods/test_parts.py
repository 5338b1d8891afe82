"""A method within each part: the groups it forms there alone, whatever the threads, and stopped
where it can be repeated.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import plain
from microagg.errors import Cancelled, InputError
from microagg.guarantees.promise import Guarantees
from microagg.kernels.random import next_integer, seeded
from microagg.methods.method import Grouping, Method
from microagg.methods.parts import in_parts, records_by_label
from microagg.methods.registry import method_named
from microagg.problem.problem import Problem, Progress
from microagg.problem.watch import StopSearch, Watch
from microagg.refine import local
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind


def four_parts(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points and parts of unequal sizes."""
    points = np.random.default_rng(seed).normal(size=(n, 2))
    return points, np.repeat([2, 0, 3, 1], [n // 8, n // 2, n // 8, n - 6 * (n // 8)])


def test_the_groups_are_those_of_each_part_alone():
    points, parts = four_parts()
    method = method_named("mdav")
    result = in_parts(Problem.of(points, 4), parts, method, rng=seeded(1))
    for records in records_by_label(parts):
        alone = method.run(Problem.of(points[records], 4), rng=seeded(0))
        assert np.array_equal(np.unique(result.labels[records], return_inverse=True)[1], alone)
        assert set(result.labels[records]).isdisjoint(np.delete(result.labels, records))
    groups = [np.flatnonzero(result.labels == g).tolist() for g in range(result.labels.max() + 1)]
    assert np.array_equal(result.labels, plain.labels_from_groups(len(points), groups))
    listed = in_parts(Problem.of(points, 4), records_by_label(parts), method, rng=seeded(1))
    assert np.array_equal(result.labels, listed.labels)
    assert result.chosen == ("4 parts of 30 to 120 records, mdav within each",)
    assert (result.stopped, result.params, result.bound, result.least_within_parts) == (
        None,
        {},
        None,
        None,
    )


@pytest.mark.parametrize("name", ["mdav", "kc", "lns", "auto", "t-first"])
@pytest.mark.parametrize("guarantee", [{}, {"t": 0.3}], ids=str)
def test_threads_do_not_matter(name: str, guarantee: dict[str, Any]):
    points, parts = four_parts()
    ill = (Attribute("ill", Kind.NOMINAL, np.arange(240) % 3),)
    method = method_named(name)
    params = {"effort": 5} if name in ("lns", "auto") else {}
    runs = []
    for threads in (1, 2, 3):
        problem = Problem.of(
            points,
            3,
            confidential=ill,
            accept=Guarantees.of(**guarantee).accept(ill),
            threads=threads,
        )
        runs.append(in_parts(problem, parts, method, rng=seeded(9), params=params).labels)
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[0], runs[2])


def test_a_search_keeps_the_promise_within_the_parts():
    points, parts = four_parts()
    ill = (Attribute("ill", Kind.NOMINAL, np.arange(240) % 3),)
    accept = Guarantees.of(l=3).accept(ill)
    assert accept is not None
    problem = Problem.of(points, 3, confidential=ill, accept=accept, threads=2)
    labels = in_parts(
        problem, parts, method_named("auto"), rng=seeded(9), params={"effort": 5}
    ).labels
    assert all(accept(np.flatnonzero(labels == group)) for group in range(labels.max() + 1))


def test_each_part_has_random_numbers_of_its_own():
    drawn: dict[int, list[int]] = {}

    def draw(problem: Problem, *, rng: np.ndarray, progress: Progress | None = None) -> np.ndarray:
        drawn.setdefault(int(problem.points[0, 0]), []).append(int(next_integer(rng)))
        return np.zeros(len(problem.points), np.int32)

    method = made_up(draw)
    problem = Problem.of(np.repeat([0.0, 1.0, 2.0], 4), 2, threads=3)
    for seed in (1, 1, 2):
        in_parts(problem, np.repeat([0, 1, 2], 4), method, rng=seeded(seed))
    assert all(first == again != other for first, again, other in drawn.values())
    assert len({values[0] for values in drawn.values()}) == 3


def made_up(run: Any, *parameters: Any, **options: Any) -> Method:
    return Method("made-up", "search", "nobody", "", "", run, "", parameters, **options)


class Stopped:
    """A progress that says enough once, after so much."""

    def __init__(self, share: float, raising: type[BaseException] = StopSearch) -> None:
        self.share, self.raising, self.heard = share, raising, list[float]()

    def __call__(self, done: int, total: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        before = max(self.heard, default=0.0)
        self.heard.append(done / total)
        if self.heard[-1] > self.share >= before:
            raise self.raising("stopped")


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("share", [0.0, 0.15, 0.5, 0.8])
def test_a_stopped_search_is_repeated(threads: int, share: float):
    points, parts = four_parts(400)
    method, params = method_named("lns"), {"effort": 120}

    def run(threads: int, watch: Watch) -> Grouping:
        return in_parts(
            Problem.of(points, 3, threads=threads),
            parts,
            method,
            rng=seeded(4),
            params=params,
            watch=watch,
        )

    progress = Stopped(share)
    stopped = run(threads, Watch(progress, 1000))
    assert progress.heard == sorted(progress.heard)
    assert stopped.stopped == "interrupted"
    assert stopped.params == {"stop_after": stopped.passed}
    assert np.bincount(stopped.labels).min() >= 3
    for other in (1, 2, 3):
        again = run(other, Watch(stop_after=stopped.passed))
        assert np.array_equal(stopped.labels, again.labels)
        assert (again.stopped, again.passed) == ("checkpoint", stopped.passed)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("effort", ["quick", 20])
def test_stopped_at_any_moment_it_is_repeated(
    threads: int, effort: Any, monkeypatch: pytest.MonkeyPatch
):
    """Also while a search is set up: local search then ends early, and what it leaves could not be
    had again.
    """
    monkeypatch.setattr(local, "WORK", 20_000)
    points, parts = four_parts(160)
    method, params = method_named("auto"), {"effort": effort}
    problem = Problem.of(points, 3, threads=threads)
    for calls in (1, 2, 3, 5, 8, 12, 17, 25, 40, 70):
        heard: list[int] = []

        def enough(done: int, total: int, heard: list[int] = heard, calls: int = calls) -> None:
            heard.append(done)
            if len(heard) == calls:
                raise StopSearch("stopped")

        stopped = in_parts(
            problem, parts, method, rng=seeded(4), params=params, watch=Watch(enough, 1000)
        )
        again = in_parts(
            problem, parts, method, rng=seeded(4), params=params, watch=Watch(**stopped.params)
        )
        assert np.array_equal(stopped.labels, again.labels), calls


def test_every_checkpoint_can_be_ended_at():
    """The parts before it are done, the one it falls into is stopped there, those behind it are not
    searched.
    """
    points, parts = four_parts(96)
    problem, method = Problem.of(points, 3, threads=1), method_named("lns")
    params = {"effort": 20}
    whole = in_parts(problem, parts, method, rng=seeded(4), params=params)
    assert whole.stopped is None
    errors = []
    for stop_after in (0, 1, 2, 30, 69, 70, 71, 72, 100, 200, whole.passed - 1, whole.passed):
        ended = [
            in_parts(
                Problem.of(points, 3, threads=threads), parts, method,
                rng=seeded(4), params=params, watch=Watch(stop_after=stop_after),
            )
            for threads in (1, 3)
        ]  # fmt: skip
        assert np.array_equal(ended[0].labels, ended[1].labels), stop_after
        assert ended[0].passed == ended[1].passed == stop_after
        errors.append(plain.sse(points, ended[0].labels))
    assert np.array_equal(ended[0].labels, whole.labels)
    assert ended[0].stopped is None
    assert errors[0] > errors[-1]


def test_the_time_limit_ends_it_where_it_can_be_repeated():
    points, parts = four_parts(400)
    method, problem = method_named("lns"), Problem.of(points, 3, threads=2)
    stopped = in_parts(
        problem, parts, method, rng=seeded(4), params={"effort": 1e5}, watch=Watch(time_limit=0.5)
    )
    assert stopped.stopped == "time limit"
    watch = Watch(stop_after=stopped.params["stop_after"])
    again = in_parts(problem, parts, method, rng=seeded(4), params={"effort": 1e5}, watch=watch)
    assert np.array_equal(stopped.labels, again.labels)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["mdav", "lns"])
def test_progress_never_goes_back_and_may_cancel(threads: int, name: str):
    points, parts = four_parts(2000)
    problem = Problem.of(points, 3, threads=threads)
    params = {"effort": 30} if name == "lns" else {}
    calls: list[tuple[int, int]] = []
    watch = Watch(lambda done, total: calls.append((done, total)), 2000)
    in_parts(problem, parts, method_named(name), rng=seeded(0), params=params, watch=watch)
    assert calls == sorted(calls)
    assert calls[-1] == (2000, 2000)
    # which may be through before anybody looks
    assert len(set(calls)) > 3 or (threads, name) == (2, "mdav")
    for error in (Cancelled, KeyboardInterrupt, *((StopSearch,) if name == "mdav" else ())):
        progress = Stopped(0.2, error)
        with pytest.raises(error):
            in_parts(
                problem,
                parts,
                method_named(name),
                rng=seeded(0),
                params=params,
                watch=Watch(progress, 2000),
            )


def test_an_error_in_one_part_ends_all():
    ended = []

    def fail(problem: Problem, *, rng: np.ndarray, progress: Progress | None = None) -> np.ndarray:
        assert progress is not None
        if problem.points[0, 0] == 1.0:
            raise ZeroDivisionError
        try:
            for done in range(600):
                progress(done, 600)
                time.sleep(0.05)
        finally:
            ended.append(done)
        return np.zeros(len(problem.points), np.int32)

    problem = Problem.of(np.repeat([1.0, 0.0], 4), 2, threads=2)
    with pytest.raises(ZeroDivisionError):
        in_parts(problem, np.repeat([0, 1], 4), made_up(fail), rng=seeded(0))
    assert all(done < 599 for done in ended)


def test_bounds_of_parts_add_up_and_hold_within_them_only():
    points, _ = four_parts(24)
    parts, method = np.arange(24) // 12, method_named("auto")
    problem = Problem.of(points, 3)
    result = in_parts(problem, parts, method, rng=seeded(0), params={"effort": "prove"})
    assert result.bound is None
    assert result.least_within_parts is not None
    assert result.least_within_parts <= plain.sse(points, result.labels) * (1 + 1e-9)
    alone = [
        method.run(problem.part(np.flatnonzero(parts == p)), rng=seeded(0), effort="prove")
        for p in (0, 1)
    ]
    assert result.least_within_parts == pytest.approx(
        sum(part.bound.sse for part in alone), rel=1e-6
    )
    free = method.run(problem, rng=seeded(0), effort="prove")
    assert plain.sse(points, free.labels) < result.least_within_parts, "parts cost something here"
    one = in_parts(
        problem, np.zeros(24, np.int64), method, rng=seeded(0), params={"effort": "prove"}
    )
    assert one.bound.sse == pytest.approx(free.bound.sse, rel=1e-6)


def test_what_cannot_be_is_refused():
    problem = Problem.of(np.arange(8.0), 2)
    with pytest.raises(ValueError, match="fewer records than k"):
        in_parts(problem, np.array([0] * 7 + [1]), method_named("mdav"), rng=seeded(0))
    with pytest.raises(ValueError, match="in one part"):
        in_parts(problem, [np.arange(4), np.arange(3, 8)], method_named("mdav"), rng=seeded(0))
    with pytest.raises(InputError, match="needs confidential"):
        in_parts(problem, np.zeros(8, int), method_named("t-first"), rng=seeded(0))
    with pytest.raises(InputError, match="cannot work on parts"):
        in_parts(problem, np.zeros(8, int), method_named("individual-ranking"), rng=seeded(0))
    with pytest.raises(InputError, match="no checkpoints to stop at"):
        in_parts(
            problem,
            np.zeros(8, int),
            method_named("mdav"),
            rng=seeded(0),
            watch=Watch(time_limit=1),
        )
