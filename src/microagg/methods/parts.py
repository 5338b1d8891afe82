"""Working on parts: a method within each of them, splitting large ones, applying a method again to
its own parts.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

import numpy as np

from microagg.errors import Cancelled, InputError
from microagg.kernels import random
from microagg.kernels.sums import number_by_first_record
from microagg.methods.heuristics import Heuristic, labels_by
from microagg.methods.method import Grouping, Method
from microagg.problem.problem import Problem, Progress
from microagg.problem.watch import StopSearch, Watch

LOOKING = 0.05  # seconds between two looks at parts that are worked on by other threads


def records_by_label(labels: np.ndarray) -> list[np.ndarray]:
    """The records of label 0, those of label 1, and so on, each in ascending order.

    >>> [records.tolist() for records in records_by_label(np.array([0, 1, 0, 1, 1]))]
    [[0, 2], [1, 3, 4]]
    """
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])


def in_parts(
    problem: Problem,
    parts: np.ndarray | Sequence[np.ndarray],
    method: Method,
    *,
    rng: np.ndarray,
    params: dict[str, Any] | None = None,
    along: Mapping[str, np.ndarray] | None = None,
    watch: Watch | None = None,
) -> Grouping:
    """What a method finds within each part, put together; `parts` are labels, or the records of
    each part.

    Every record is in one part, and a part has k records or more: the caller ensures it. Parts are
    worked on by as many threads as the problem allows; each has random numbers of its own, from its
    number, so that the result is the same with any number of threads. Weights, confidential values
    and the promise go with the records (`Problem.part`), and so do the arrays `along`, by name: the
    method gets its part of each as a further parameter.

    A search is stopped by `watch`, at a checkpoint that `stop_after` brings back. Checkpoints are
    counted part by part, in their order: those of the method within it, and one when the part is
    done. The parts before that point are searched to their end, the one it falls into up to there,
    and those behind it not at all (the method with `stop_after=0`). A method without checkpoints
    has nothing to keep before it is through: stopping it raises.

    Where each part has a bound, `least_within_parts` is their sum: no grouping *within these parts*
    loses less. One that mixes parts may, so it is a `bound` of the problem only where there is one
    part.

    >>> from microagg.methods.registry import method_named
    >>> problem = Problem.of([[0.0], [1.0], [9.0], [8.0], [0.5], [1.5]], k=2)
    >>> parts = np.array([0, 0, 1, 1, 0, 0])
    >>> in_parts(problem, parts, method_named("mdav"), rng=random.seeded(0)).labels.tolist()
    [0, 1, 2, 2, 0, 1]
    """
    watch = Watch() if watch is None else watch
    check_unfit(problem, method, watch)
    listed = _listed(parts, problem)
    found = _PartWork(problem, listed, method, rng, params or {}, along or {}, watch).run()
    labels, formed = np.empty(len(problem.points), np.int32), 0
    for records, part in zip(listed, found, strict=True):
        labels[records] = part.labels + formed
        formed += int(part.labels.max()) + 1
    labels = number_by_first_record(labels)
    settings = {} if watch.stopped is None else {"stop_after": watch.passed}
    if len(found) == 1:
        return replace(
            found[0], labels=labels, params=settings, stopped=watch.stopped, passed=watch.passed
        )
    sizes = [len(records) for records in listed]
    told = (
        f"{len(listed):,} parts of {min(sizes):,} to {max(sizes):,} records, {method.name} "
        f"within each"
    )
    bounds = [part.bound for part in found]
    least = None if any(bound is None for bound in bounds) else sum(bound.sse for bound in bounds)
    return Grouping(
        labels, (told,), settings, watch.stopped, least_within_parts=least, passed=watch.passed
    )


def rng_of_part(seed: int, number: int) -> np.ndarray:
    """The random numbers of a part, from its number and what `in_parts` drew for all of them.

    >>> bool(rng_of_part(7, 2)[0] == rng_of_part(7, 2)[0])
    True
    """
    return random.seeded(seed, "part", number)


def check_unfit(problem: Problem, method: Method, watch: Watch) -> None:
    """Raise unless the method can work on parts of this problem, and be stopped if that is asked
    for.
    """
    if method.scope != "record":
        raise InputError(
            f"method {method.name} groups each column on its own; it cannot work on parts."
        )
    method.check_unfit(problem)
    if not method.has_checkpoints and (
        watch.stop_after is not None or watch.seconds_left() is not None
    ):
        raise InputError(
            f"method {method.name} has no checkpoints to stop at; leave out time_limit "
            f"and stop_after."
        )


def _listed(parts: np.ndarray | Sequence[np.ndarray], problem: Problem) -> list[np.ndarray]:
    """The records of each part, checked."""
    n = len(problem.points)
    if isinstance(parts, np.ndarray) and parts.ndim == 1 and parts.dtype != object:
        listed = [records for records in records_by_label(parts) if len(records) > 0]
        covered = len(parts) == n
    else:
        listed = [np.asarray(records, np.int64) for records in parts]
        covered = np.array_equal(np.sort(np.concatenate(listed)), np.arange(n))
    if not covered:
        raise ValueError("every record must be in one part, and in one only")
    if min(len(records) for records in listed) < problem.k:
        raise ValueError("a part has fewer records than k: join it with another first")
    return listed


class _PartWork:
    """A method at work on some parts: who has come how far, and what has been found, in the order
    of the parts.
    """

    def __init__(
        self,
        problem: Problem,
        parts: list[np.ndarray],
        method: Method,
        rng: np.ndarray,
        params: dict[str, Any],
        along: Mapping[str, np.ndarray],
        watch: Watch,
    ) -> None:
        self._parts, self._method, self._along, self._watch = parts, method, along, watch
        self._params = method.checked(params)
        self._threads = min(problem.threads, len(parts))
        # one level of threads is enough: several parts at once, or all threads within one
        self._problem = replace(problem, threads=1) if self._threads > 1 else problem
        self._seed = int(random.next_integer(rng))
        self._sizes = np.array([len(records) for records in parts], np.float64)
        self._shares = np.zeros(len(parts))  # how far each part is
        self._stop, self._cancel = threading.Event(), threading.Event()
        self._hurried: set[int] = set()  # the parts that have heard that it is enough

    def run(self) -> list[Grouping]:
        """What is found in each part, up to where it was stopped, and what the method gives
        unsearched in the others.
        """
        found: list[Grouping] = []
        with self._watch.searching() if self._method.has_checkpoints else contextlib.nullcontext():
            results = self._results()
            try:
                for result in results:
                    found.append(self._kept(result, len(found)))
                    if self._stop.is_set():
                        break
            finally:
                results.close()
            return found + self._unsearched(range(len(found), len(self._parts)))

    def _kept(self, result: Grouping | None, number: int) -> Grouping:
        """The result of a part if it may stand; else that up to the checkpoint at which all is to
        end.
        """
        left = (
            math.inf
            if self._watch.stop_after is None
            else self._watch.stop_after - self._watch.passed
        )
        passed, stands = 0, False
        if result is not None:
            spoiled = self._is_spoiled(result, number)
            if result.stopped is None and result.passed < left and not spoiled:
                self._watch.take_over(result.passed + (1 if self._method.has_checkpoints else 0))
                return result
            passed = 0 if spoiled and result.stopped is None else result.passed
            stands = result.stopped is not None and passed <= left and not spoiled
        self._stop.set()
        end = int(min(passed, left))
        self._watch.take_over(end, ended=True)
        kept = result if stands else self._within(number, end)
        assert kept is not None
        return kept

    def _is_spoiled(self, result: Grouping, number: int) -> bool:
        """Whether a part heard that it is enough before its first checkpoint, while its search was
        being set up.

        Local search ends early then, and what follows starts from groups that no `stop_after`
        brings back.
        """
        return number in self._hurried and (result.stopped is None or result.passed <= 1)

    def _results(self) -> Generator[Grouping | None]:
        """What is found in each part, in order; None for one that was stopped with nothing to
        keep.
        """
        if self._threads == 1:
            for number in range(len(self._parts)):
                left = (
                    None
                    if self._watch.stop_after is None
                    else self._watch.stop_after - self._watch.passed
                )
                yield self._within(
                    number, left, lambda done, total, n=number: self._tell(n, done, total)
                )
            return
        with ThreadPoolExecutor(self._threads) as pool:
            waiting = [
                pool.submit(
                    self._within,
                    n,
                    self._watch.stop_after,
                    lambda done, total, n=n: self._note(n, done, total),
                )
                for n in range(len(self._parts))
            ]
            try:
                for future in waiting:
                    while not wait([future], LOOKING).done:
                        self._look()
                    self._look()
                    yield future.result()
            finally:
                self._cancel.set()
                for future in waiting:
                    future.cancel()

    def _unsearched(self, numbers: range) -> list[Grouping]:
        """What the method gives in some parts before it begins to search."""
        pool = ThreadPoolExecutor(self._threads)
        try:
            results = list(pool.map(lambda number: self._within(number, 0), numbers))
            return [result for result in results if result is not None]
        finally:
            pool.shutdown(cancel_futures=True)

    def _within(
        self, number: int, stop_after: int | None, progress: Progress | None = None
    ) -> Grouping | None:
        """What the method finds in one part; None if it was stopped with nothing to keep."""
        if progress is not None and (self._stop.is_set() or self._watch.stopped is not None):
            return None
        params = self._params if stop_after is None else {**self._params, "stop_after": stop_after}
        records, rng = self._parts[number], rng_of_part(self._seed, number)
        params = {**params, **{name: array[records] for name, array in self._along.items()}}
        try:
            part = self._problem.part(records)
            result = self._method.run(part, rng=rng, progress=progress, **params)
        except StopSearch:
            if not self._method.has_checkpoints or progress is None:
                raise
            return None
        self._shares[number] = 1.0
        return result if isinstance(result, Grouping) else Grouping(result)

    def _tell(self, number: int, done: int, total: int) -> None:
        """Progress of a part on the thread that was called."""
        self._shares[number] = done / total if total else 1.0
        self._look()
        self._pass_on(number)

    def _note(self, number: int, done: int, total: int) -> None:
        """Progress of a part on a thread of its own; the one that was called looks at it from time
        to time.
        """
        self._shares[number] = done / total if total else 1.0
        if self._cancel.is_set():
            raise Cancelled("stopped; nothing was kept.")
        self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        """Let a part hear that it is enough."""
        if self._stop.is_set():
            self._hurried.add(number)
            raise StopSearch("stopped; nothing was kept.")

    def _look(self) -> None:
        """Tell how far all parts together are, and hear whether that is enough."""
        done, total = int(self._shares @ self._sizes), len(self._problem.points)
        if not self._method.has_checkpoints:
            self._watch.tell(done, total)
        elif self._watch.interrupted(done, total):
            self._stop.set()


def split_oversized(
    points: np.ndarray,
    labels: np.ndarray,
    k: int,
    splitter: Heuristic,
    progress: Progress | None = None,
) -> np.ndarray:
    """Groups of 2k or more records, each partitioned on its own; labels numbered by first
    record.

    >>> from microagg.methods.mdav.mdav import mdav1
    >>> split_oversized(np.array([[0.0], [1.0], [9.0], [8.0]]), np.zeros(4, np.int32), 2, mdav1).tolist()
    [0, 0, 1, 1]
    """
    split, formed, done = labels.astype(np.int32), int(labels.max()) + 1, 0
    for records in records_by_label(labels):
        if len(records) >= 2 * k:
            split[records] = formed + labels_by(splitter, points[records], k)
            formed = int(split[records].max()) + 1
        done += len(records)
        if progress is not None:
            progress(done, len(labels))
    return number_by_first_record(split)


def applied_again(
    n: int, k: int, apply: Callable[[np.ndarray], np.ndarray], formed: Callable[[int], None]
) -> np.ndarray:
    """Split all records, then every part of 2k records or more, alone, until none is left.

    `apply` is given the records of a part and labels them, two labels or more; `formed` hears after
    each group how many records have theirs. Parts come in the order of their first records, each
    with all of its own parts before the next.

    >>> applied_again(6, 2, lambda records: np.arange(len(records)) // 2, lambda done: None).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    labels, groups, done = np.empty(n, np.int32), 0, 0
    waiting = [np.arange(n)]
    while waiting:
        records = waiting.pop()
        if len(records) < 2 * k:
            labels[records] = groups
            groups, done = groups + 1, done + len(records)
            formed(done)
        else:
            parts = number_by_first_record(apply(records))
            waiting.extend(records[part] for part in reversed(records_by_label(parts)))
    return number_by_first_record(labels)
