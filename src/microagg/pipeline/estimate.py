"""Expected time of a search: the method itself runs on a few of the records, and their time is
scaled up.

An estimate and no promise: memory that is farther away, and groups that are harder to find among
many records, are not in it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from microagg.errors import MicroaggError
from microagg.kernels import random
from microagg.kernels.compiling import seconds_compiling
from microagg.methods.lns.effort import WORDS, work_of
from microagg.methods.method import Method
from microagg.methods.search.auto import plan
from microagg.methods.search.enforce import work_with_promise
from microagg.pipeline.run_method import run_method
from microagg.problem.problem import Problem

SMALLEST = 400  # records of the first sample
ENOUGH = 0.25  # seconds that a run must take before it says something about a longer one
LARGEST = 1 << 15
STEPS = 20.0  # of annealing for each record of a sample
STEEPEST = 2.0  # no method takes more than the square of the records
STEEPEST_OF_SEARCHES = 1.2  # which work within blocks and neighbourhoods


@dataclass(frozen=True)
class Estimate:
    """Seconds that a search is expected to take."""

    seconds: float | None
    """None where nobody can tell."""
    sample: int
    """The number of records that the method was run on."""
    open_end: str = ""
    """Work that comes on top and whose time is unknown, in words."""
    efforts: tuple[tuple[str, float], ...] = ()
    """Seconds for each word of effort, of a method that has them."""


def search_estimate(
    method: Method, problem: Problem, params: dict[str, Any], *, seed: int, refine: bool = False
) -> Estimate:
    """Return the time that a method takes on these points, from runs on samples of them, under the
    same guarantees.

    >>> problem = Problem.of(np.arange(900.0).reshape(-1, 3), 3)
    >>> estimate = search_estimate(_named("mdav"), problem, {"leftovers": "block"}, seed=0)
    >>> estimate.sample, estimate.seconds < 60
    (300, True)
    """
    trial = _Trial(method, problem, seed, refine)
    limit = params.get("time_limit")
    if "effort" not in params:
        base = trial.reckoned(params)
        return Estimate(base if limit is None else min(base, limit), trial.sample)
    if params["effort"] == "prove":
        return Estimate(
            limit,
            0,
            ""
            if limit is not None
            else "a proof takes whatever time it takes; time_limit bounds it",
        )
    without = {**params, "effort": 0.0, "time_limit": None, "stop_after": None}
    base, a_step = trial.reckoned(without), 0.0
    works = {word: _steps(method, problem, word) for word in (*WORDS, params["effort"])}
    if any(steps for steps, _ in works.values()):
        a_step = trial.seconds_a_step(without)
    steps, programs = works[params["effort"]]
    seconds = base + steps * a_step
    open_end = ""
    if programs and limit is None:
        open_end = "integer programs follow the search; the time that they take is unknown"
    return Estimate(
        seconds if limit is None else min(seconds, limit),
        trial.sample,
        open_end,
        tuple((word, base + works[word][0] * a_step) for word in WORDS),
    )


def _steps(method: Method, problem: Problem, effort: str | float) -> tuple[int, bool]:
    """Return the steps of annealing that an effort means for all records, and whether integer
    programs follow them.
    """
    if method.name != "auto":
        return work_of(len(problem.points), effort, problem.of_records).steps, False
    chosen = plan(problem, effort)
    if not chosen.way.startswith("search"):
        return 0, False
    groups = np.arange(len(problem.points), dtype=np.int32) // problem.k
    return work_with_promise(problem, groups, chosen.work, effort).steps, "programs" in chosen.way


class _Trial:
    """Runs of a method on ever more of the records, until one of them takes long enough to be
    reckoned from.
    """

    def __init__(self, method: Method, problem: Problem, seed: int, refine: bool) -> None:
        self._method, self._problem, self._seed, self._refine = method, problem, seed, refine
        self._order = random.permutation(random.seeded(seed, "estimate"), len(problem.points))
        self.sample = 0

    def reckoned(self, params: dict[str, Any]) -> float:
        """The seconds for all records: those of the largest sample, grown as they grew from the one
        before.
        """
        n = len(self._problem.points)
        least = max(SMALLEST, 4 * self._problem.k)
        sizes = [
            size for size in (least << step for step in range(20)) if size < min(n, LARGEST)
        ] or [n]
        self._seconds(sizes[0], params)  # compiles, and fetches what is compiled
        times: list[tuple[int, float]] = []
        for size in sizes:
            times.append((size, self._seconds(size, params)))
            if times[-1][1] >= ENOUGH:
                break
        (size, last), (first_size, first) = times[-1], times[max(0, len(times) - 3)]
        self.sample = size
        grown = (
            math.log(max(last, 1e-6) / max(first, 1e-6)) / math.log(size / first_size)
            if size > first_size
            else 1.0
        )
        steepest = STEEPEST_OF_SEARCHES if "effort" in params else STEEPEST
        return last * (n / size) ** min(max(grown, 1.0), steepest)

    def seconds_a_step(self, without: dict[str, Any]) -> float:
        """Return the seconds of a step of annealing."""
        some = {**without, "effort": STEPS}
        self._seconds(min(self.sample, SMALLEST), some)
        took = self._seconds(self.sample, some) - self._seconds(self.sample, without)
        return max(took, 0.0) / (STEPS * self.sample)

    def _seconds(self, size: int, params: dict[str, Any]) -> float:
        part = self._problem.part(np.sort(self._order[:size]))
        try:
            return self._timed(part, params)
        except MicroaggError:  # so few records cannot keep what all of them can
            return self._timed(replace(part, accept=None), params)

    def _timed(self, part: Problem, params: dict[str, Any]) -> float:
        """By the clock, or by the processors where others keep them busy: the clock would tell of
        those.
        """
        compiling, clock, work = seconds_compiling(), time.perf_counter(), time.process_time()
        run_method(self._method, part, params, seed=self._seed, refine=self._refine)
        took = min(time.perf_counter() - clock, time.process_time() - work)
        return max(0.0, took - (seconds_compiling() - compiling))


def _named(name: str) -> Method:
    from microagg.methods.registry import method_named

    return method_named(name)
