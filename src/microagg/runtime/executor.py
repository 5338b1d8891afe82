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
    """Knows whether somebody still waits for what is done."""

    def is_set(self) -> bool:
        """Whether nobody does."""
        ...


def is_cancelled() -> bool:
    """Whether what a task is doing is no longer wanted: long ones look now and then."""
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
        """What `task(*each)` returns for each of the arguments; no more than `at_once` are worked
        on at a time by one process.

        `needs` says how many bytes each takes at the peak, for those who hand tasks to several
        machines.
        """
        ...

    def run_exclusive(
        self, task: Callable[..., Any], *arguments: Any, tell: Tell, needs: int = 0
    ) -> Any:
        """What `task(threads, tell, *arguments)` returns: one that must be done in one place, with
        the threads of that place.
        """
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
        """What `task(*each)` returns for each of the arguments, in their order."""
        width = min(self.threads, at_once or self.threads)
        if width <= 1:
            for each in arguments:
                yield task(*each)
            return
        stop = threading.Event()
        pool = ThreadPoolExecutor(width, initializer=_remember, initargs=(stop,))
        waiting: deque[Future[Any]] = deque()
        try:
            for each in arguments:
                waiting.append(pool.submit(task, *each))
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
        """What `task(self, tell, *arguments)` returns."""
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
