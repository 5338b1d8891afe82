"""Between two checkpoints: a long step asks here whether it should break off, in which case it leaves no trace."""

from __future__ import annotations

import time

from microagg.watch import Enough, Watch


class Listener:
    """Passes checkpoints on to a watch, and answers at any moment whether the time is over or the user said stop.

    A step that is broken off keeps nothing of what it was doing. So the state is that of the last checkpoint passed, and a
    run repeated up to that checkpoint ends in the same state.

    >>> listener = Listener(Watch(stop_after=1))
    >>> listener(), listener.checkpoint(1, 10), listener()
    (False, True, True)
    """

    def __init__(self, watch: Watch | None = None) -> None:
        self.watch = watch if watch is not None else Watch()
        self._done, self._total = 0, 1

    def __call__(self) -> bool:
        """Whether to break off."""
        watch = self.watch
        if watch.stopped is None:
            try:
                watch.tell(self._done, self._total)
            except Enough:
                watch.stopped = "interrupted"
        if watch.stopped is None and watch._ends is not None and time.monotonic() >= watch._ends:
            watch.stopped = "time limit"
        return watch.stopped is not None

    def seconds_left(self) -> float | None:
        """How long it may still take; None if there is no limit."""
        ends = self.watch._ends
        return None if ends is None else max(ends - time.monotonic(), 0.0)

    def checkpoint(self, done: int, total: int, telling: str = "") -> bool:
        """What was done so far is kept; True if it has to end here."""
        self._done, self._total = done, total
        return self.watch.checkpoint(done, total, telling)
