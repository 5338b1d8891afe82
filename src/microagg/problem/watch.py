"""When a search ends before it is through: at a checkpoint, so that the run can be repeated."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from microagg.errors import CancelledError
from microagg.problem.problem import Progress

STOPPED_BY_HAND = "stopped by hand; nothing was released."


class StopSearch(CancelledError):
    """Raised by a progress callback: stop, and keep the best so far where there is one."""


@contextlib.contextmanager
def handle_interrupt() -> Iterator[None]:
    """Within, Ctrl-C is Ctrl-C: one that arrives while compiled code hands over its result comes as
    an error of Python's own.

    >>> with contextlib.suppress(KeyboardInterrupt), handle_interrupt():
    ...     raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
    """
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            cause = cause.__cause__ or cause.__context__
        raise


@contextlib.contextmanager
def on_first_interrupt(heard: Callable[[], None]) -> Iterator[None]:
    """Within, the first Ctrl-C calls `heard`, and the next one is what it was before. Only the main
    thread hears of Ctrl-C.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Any = signal.getsignal(signal.SIGINT)

    def once(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        heard()

    signal.signal(signal.SIGINT, once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Watch:
    """Counts the checkpoints of a search and says at each whether to go on.

    A search calls `checkpoint` at moments that depend on its work alone, never on the clock. So a
    run that was stopped early, by a time limit or by hand, is repeated by giving the number of its
    last checkpoint as `stop_after`.

    >>> watch = Watch(stop_after=2)
    >>> [watch.checkpoint(done, 10) for done in (1, 2, 3)]
    [False, True, True]
    >>> watch.passed, watch.stopped
    (2, 'checkpoint')
    """

    def __init__(
        self,
        progress: Progress | None = None,
        parts: int = 1000,
        *,
        time_limit: float | None = None,
        stop_after: int | None = None,
    ) -> None:
        self._progress = progress
        self._parts = parts  # the whole work, as the callback sees it
        self._ends = (
            None if time_limit is None or stop_after is not None else time.monotonic() + time_limit
        )
        self._stop_after = stop_after
        self._low, self._high, self._shown = 0.0, 1.0, 0.0
        self._reserve = 0.0
        self.passed = 0
        """How many checkpoints have been passed."""
        self.stopped: str | None = None if stop_after != 0 else "checkpoint"
        """Why the search had to end early: "time limit", "interrupted" or "checkpoint"; None if it
        did not.
        """

    @property
    def stop_after(self) -> int | None:
        """The checkpoint to end at, where one was given."""
        return self._stop_after

    def take_over(self, passed: int, *, ended: bool = False) -> None:
        """Count checkpoints that searches with watches of their own have passed; `ended`: the last
        of them was the end.

        >>> watch = Watch(stop_after=2)
        >>> watch.take_over(2, ended=True)
        >>> watch.passed, watch.stopped
        (2, 'checkpoint')
        """
        self.passed += passed
        if ended and self.stopped is None:
            self.stopped = "checkpoint"

    def interrupted(self, done: int, total: int) -> bool:
        """Return whether a long step should break off between two checkpoints: cancelled or out of
        time.

        The step must then leave no trace, so that the state is that of the last checkpoint passed.
        """
        if self.stopped is None:
            try:
                self.tell(done, total)
            except StopSearch:
                self.stopped = "interrupted"
        if self.stopped is None and self.seconds_left() == 0.0:
            self.stopped = "time limit"
        return self.stopped is not None

    def seconds_left(self) -> float | None:
        """Return the seconds left for the search; None without a limit."""
        if self._ends is None:
            return None
        return max(self._ends - self._reserve - time.monotonic(), 0.0)

    def reserve(self, seconds: float) -> None:
        """Keep so much of the time for what a search that was stopped still has to do."""
        self._reserve = seconds

    def checkpoint(self, done: int, total: int, telling: str = "") -> bool:
        """Report progress; return True if the search has to end here. Later calls do not count."""
        if self.stopped is not None:
            return True
        self.passed += 1
        try:
            self.tell(done, total, telling)
        except StopSearch:
            self.stopped = "interrupted"
        if self._stop_after is not None and self.passed >= self._stop_after:
            self.stopped = "checkpoint"
        elif self.stopped is None and self.seconds_left() == 0.0:
            self.stopped = "time limit"
        return self.stopped is not None

    def tell(self, done: int, total: int, telling: str = "") -> None:
        """Report progress without checking whether to stop."""
        if self._progress is None:
            return
        if telling and (tell := getattr(self._progress, "tell", None)) is not None:
            tell(telling)
        share = self._low + (self._high - self._low) * (done / total if total else 1.0)
        self._shown = max(self._shown, share)  # a search may begin anew, a bar does not
        self._progress(int(self._parts * self._shown), self._parts)

    def stage(self, low: float, high: float) -> None:
        """Map the progress reported from now on to this share of the whole work."""
        self._low, self._high = low, high

    def searching(self) -> contextlib.AbstractContextManager[None]:
        """While there is a best so far to keep; a progress that can ask whether to keep it does so
        on Ctrl-C.
        """
        return getattr(self._progress, "searching", contextlib.nullcontext)()
