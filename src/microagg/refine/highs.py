"""HiGHS, the solver of linear and integer programs, as this package uses it: one thread, silent,
and never deaf.

Every call answers with a status, and a refused batch of columns raises nothing: `must` looks at it.
A solve runs beside the calling thread, which goes on listening to Ctrl-C and to its own clock. What
a solve that was stopped has found is thrown away, so that no result depends on when that was.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

Stop = Callable[[], bool]
"""Whether to stop now. Asked every twentieth of a second while the solver works."""

WAIT = 0.05


class SolverError(RuntimeError):
    """HiGHS refused something it should not have: a bug, or memory ran out."""


def new_solver(**options: Any) -> Any:
    """A silent HiGHS for one thread, with the given options."""
    import highspy

    solver = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, "random_seed": 1, **options}.items():
        must(solver.setOptionValue(name, value), f"the option {name}")
    return solver


def must(status: Any, what: str) -> None:
    """Raise if HiGHS refused something; a warning is not a refusal."""
    import highspy

    if status == highspy.HighsStatus.kError:
        raise SolverError(f"HiGHS refused {what}")


def run_solver(solver: Any, stop: Stop | None = None) -> bool:
    """Solve; False if `stop` said so before the end. An exception in the calling thread stops
    the solver too.
    """
    stop_requested, ended = threading.Event(), threading.Event()
    failure: list[BaseException] = []

    def ask(event: Any) -> None:
        if stop_requested.is_set():
            event.interrupt()

    def work() -> None:
        try:
            solver.run()
        except BaseException as error:
            failure.append(error)
        finally:
            ended.set()

    interrupts = (solver.cbSimplexInterrupt, solver.cbIpmInterrupt, solver.cbMipInterrupt)
    for interrupt in interrupts:
        interrupt.subscribe(ask)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while not ended.wait(WAIT):
            if stop is not None and stop():
                stop_requested.set()
    finally:
        stop_requested.set()
        with contextlib.suppress(
            KeyboardInterrupt
        ):  # a second Ctrl-C: the solver is on its way out already
            thread.join()
        for interrupt in interrupts:
            interrupt.unsubscribe(ask)
    if failure:
        raise failure[0]
    return not _interrupted(solver)


def _interrupted(solver: Any) -> bool:
    import highspy

    status: Any = highspy.HighsModelStatus  # its types do not know all of its names
    return solver.getModelStatus() in (status.kInterrupt, status.kHighsInterrupt, status.kUnknown)
