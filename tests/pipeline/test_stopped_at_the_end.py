"""A stop that arrives when the search is already over takes nothing away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from microagg.errors import Cancelled
from microagg.guarantees.promise import Guarantees
from microagg.methods.registry import method_named
from microagg.pipeline.run_method import problem_with, run_method
from microagg.problem.watch import StopSearch

POINTS = np.random.default_rng(5).normal(size=(60, 2))
STRATA = np.repeat([0, 1, 2], 20)


def run(name: str, progress: Any = None, **more: Any) -> Any:
    method = method_named(name)
    problem = problem_with(Guarantees.of(), method, POINTS, 3, (), threads=more.pop("threads", 1))
    params = {"effort": "quick"} if name == "auto" else {}
    return run_method(method, problem, params, seed=1, progress=progress, **more)


class LastCall:
    """Counts the reports of a run, and raises on the one with a given number."""

    def __init__(self, number: int = -1, error: type[Exception] = StopSearch) -> None:
        self.calls, self._number, self._error = 0, number, error

    def __call__(self, done: int, total: int) -> None:
        self.calls += 1
        if self.calls == self._number:
            raise self._error("stopped")


@pytest.mark.parametrize("strata", [None, STRATA], ids=["one table", "strata"])
@pytest.mark.parametrize("name", ["auto", "mdav"])
def test_enough_at_the_last_report_keeps_all_groups(name: str, strata: np.ndarray | None) -> None:
    counting = LastCall()
    whole = run(name, counting, strata=strata)
    last = LastCall(counting.calls)
    stopped = run(name, last, strata=strata)
    assert last.calls == counting.calls, "the stop was meant for the last report"
    assert np.array_equal(whole.labels, stopped.labels)
    assert stopped.stopped is None
    with pytest.raises(Cancelled):
        run(name, LastCall(counting.calls, Cancelled), strata=strata)


def test_every_moment_to_say_enough_gives_groups_or_cancels() -> None:
    """With strata and threads: whenever a search hears that it is enough, it ends with groups of k
    records.
    """

    class WhenDone(LastCall):
        def __call__(self, done: int, total: int) -> None:
            if done == total:
                super().__call__(done, total)

    reports = WhenDone()
    run("auto", reports, strata=STRATA, threads=2)
    for number in range(1, reports.calls + 1):
        result = run("auto", WhenDone(number), strata=STRATA, threads=2)
        assert np.bincount(result.labels).min() >= 3
