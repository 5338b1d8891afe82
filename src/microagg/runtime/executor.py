"""Where the tasks of a plan are done: the one seam between the passes and whoever does the work.

A task is a function of a module, with small arguments that can be pickled (paths, numbers, cuts,
facts), pure but for the files it writes under names of its own. So it can be done by a thread here
or by a process elsewhere, and done again if that one dies.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

_here = threading.local()


class CancellationToken(Protocol):
    """Signal that the result of a running task is no longer needed."""

    def is_set(self) -> bool:
        """Return True once the task should stop."""
        ...


def is_cancelled() -> bool:
    """Return whether the running task is cancelled; long tasks check this now and then."""
    stop = getattr(_here, "stop", None)
    return stop is not None and stop.is_set()


Tell = Callable[[int], None]
"""Told how many records are done."""


class Executor(Protocol):
    """Does tasks, several at once, and hands back what they return in the order in which they were
    given.
    """

    def map_ordered(
        self,
        task: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        at_once: int | None = None,
        needs: Iterable[int] = (),
    ) -> Iterator[Any]:
        """Yield `task(*args)` for each of the arguments; one process runs at most `at_once` at a
        time.

        `needs` holds the peak bytes of each task, for executors with several machines.
        """
        ...

    def run_exclusive(
        self, task: Callable[..., Any], *arguments: Any, tell: Tell, needs: int = 0
    ) -> Any:
        """Return `task(threads, tell, *arguments)`: run on one machine, with its threads."""
        ...


class ThreadExecutor:
    """ThreadExecutor of this process. They share its memory, so that only how many work at once
    decides how much is taken.

    >>> list(ThreadExecutor(2).map_ordered(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def map_ordered(
        self,
        task: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        at_once: int | None = None,
        needs: Iterable[int] = (),
    ) -> Iterator[Any]:
        """Yield `task(*args)` for each of the arguments, in their order."""
        width = min(self.threads, at_once or self.threads)
        if width <= 1:
            for args in arguments:
                yield task(*args)
            return
        stop = threading.Event()
        pool = ThreadPoolExecutor(width, initializer=_remember, initargs=(stop,))
        waiting: deque[Future[Any]] = deque()
        try:
            for args in arguments:
                waiting.append(pool.submit(task, *args))
                if len(waiting) >= 2 * width:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)

    def run_exclusive(
        self, task: Callable[..., Any], *arguments: Any, tell: Tell, needs: int = 0
    ) -> Any:
        """Return `task(self, tell, *arguments)`."""
        return task(self, tell, *arguments)


@contextlib.contextmanager
def cancel_scope(stop: CancellationToken) -> Iterator[None]:
    """While a task is done by this thread, `is_cancelled` asks this one."""
    _here.stop = stop
    try:
        yield
    finally:
        _here.stop = None


def _remember(stop: CancellationToken) -> None:
    _here.stop = stop
