"""Between two checkpoints: a long step asks here whether it should break off, in which case it
leaves no trace.
"""

from __future__ import annotations

from microagg.problem.watch import Watch


class Listener:
    """Passes checkpoints on to a watch, and answers at any moment whether the time is over or
    the user said stop.

    A step that is broken off keeps nothing of what it was doing. So the state is that of the last
    checkpoint passed, and a run repeated up to that checkpoint ends in the same state.

    >>> listener = Listener(Watch(stop_after=1))
    >>> listener(), listener.checkpoint(1, 10), listener()
    (False, True, True)
    """

    def __init__(self, watch: Watch | None = None) -> None:
        self.watch = watch if watch is not None else Watch()
        self._done, self._total = 0, 1

    def __call__(self) -> bool:
        """Return whether to break off."""
        return self.watch.interrupted(self._done, self._total)

    def seconds_left(self) -> float | None:
        """Return the seconds left; None if there is no limit."""
        return self.watch.seconds_left()

    def checkpoint(self, done: int, total: int, telling: str = "") -> bool:
        """Keep what was done so far; True if it has to end here."""
        self._done, self._total = done, total
        return self.watch.checkpoint(done, total, telling)
