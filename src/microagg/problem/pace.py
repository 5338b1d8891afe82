"""Time left of long work, from the shares of it that were reported as done."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

LEAST_ELAPSED = 0.5  # seconds before anything can be said
MOST_SAMPLES = 256


class Pace:
    """Estimate of the time left, at the pace of the latter half of the time so far.

    >>> clock = iter([0.0, 1.0, 2.0])
    >>> pace = Pace(clock.__next__)
    >>> pace.seconds_left(0.25), pace.seconds_left(0.5)
    (3.0, 2.0)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._begun = clock, clock()
        self._samples: deque[tuple[float, float]] = deque([(0.0, 0.0)])

    def seconds_left(self, share: float) -> float | None:
        """Return the seconds left when this share is done; None as long as nothing can be said."""
        elapsed = self._clock() - self._begun
        samples = self._samples
        if elapsed - samples[-1][0] >= elapsed / MOST_SAMPLES:
            samples.append((elapsed, share))
        while len(samples) > 2 and samples[1][0] <= elapsed / 2.0:
            samples.popleft()
        since, before = samples[0]
        if elapsed < LEAST_ELAPSED or share <= 0.0:
            return None
        if share <= before:  # nothing was reported for long: take the whole time
            since, before = 0.0, 0.0
        return (1.0 - share) * (elapsed - since) / (share - before)
