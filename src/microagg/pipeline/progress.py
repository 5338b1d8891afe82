"""Progress over all passes of an out-of-core run."""

from __future__ import annotations

import time
from dataclasses import dataclass

from microagg.problem.problem import Progress

COSTS = {
    "scanning": 2,
    "counting": 1,
    "measuring": 1,
    "turning": 1,
    "sampling": 1,
    "routing": 3,
    "grouping": 60,
    "mending borders": 20,
    "writing": 4,
    "verifying": 4,
    "looking up": 4,
}
"""What a record costs in each pass, about, as a progress bar sees it."""


@dataclass
class PassProgress:
    """Progress over passes, by records and the cost of each pass."""

    progress: Progress | None
    records: int
    done: int = 0
    of_pass: int = 0
    what: str = ""
    begun: float = 0.0

    def __call__(self, what: str, records: int) -> None:
        """One more chunk or block of a pass is done."""
        now = time.monotonic()
        if what != self.what:
            self.what, self.of_pass, self.begun = what, 0, now
        else:  # the first of a pass began before anybody looked at the clock
            self.of_pass += records
        self.done += records * COSTS[what]
        if self.progress is None:
            return
        tell = getattr(self.progress, "tell", None)
        if tell is not None:
            seconds = now - self.begun
            tell(
                f"{what}, {self.of_pass / seconds:,.0f} rows a second"
                if self.of_pass and seconds >= 1.0
                else what
            )
        whole = sum(COSTS.values()) * self.records
        self.progress(min(self.done, whole - 1), whole)
