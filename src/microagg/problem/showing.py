"""Progress as people see it: a bar in a notebook or a terminal, and what Ctrl-C means while it is
there.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from html import escape
from typing import Any, Protocol

from microagg.errors import InputError
from microagg.formatting import duration
from microagg.problem.pace import Pace
from microagg.problem.problem import Progress
from microagg.problem.watch import STOPPED_BY_HAND, StopSearch, on_first_interrupt

OFTEN = 0.1
"""Seconds between two looks of a bar."""
WIDTH = 30
STOPPING = "stopping at the next checkpoint; interrupt again to stop at once"


class Surface(Protocol):
    """Where a bar is shown."""

    def show(self, text: str, share: float) -> None:
        """Show a line of text, and how much of the work is done, in the place of what was shown
        before.
        """

    def close(self) -> None:
        """Nothing more is shown."""


@contextlib.contextmanager
def shown(progress: Progress | bool | None, what: str) -> Iterator[Progress | None]:
    """Return the progress callback of long work: the given function, a bar for True, or None.

    >>> with shown(None, "grouping") as progress:
    ...     progress is None
    True
    """
    if progress is None or progress is False:
        yield None
    elif progress is True:
        surface = surface_here()
        if surface is None:
            yield None
            return
        from microagg.kernels.compiling import on_first_compile

        with ShownBar(what, surface) as bar:
            on_first_compile(bar.announce_compiling)
            try:
                yield bar
            finally:
                on_first_compile(None)
    elif callable(progress):
        yield progress
    else:
        raise InputError(
            "progress must be True, or a function that is called as progress(done, total)."
        )


def surface_here() -> Surface | None:
    """Return a notebook display, if this runs in one, else the terminal; None without either."""
    if _in_notebook():
        return Notebook()
    return Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


class ShownBar:
    """Progress callback that shows the progress and the best result of a search.

    During a search, the first Ctrl-C (in a notebook: the interrupt of the kernel) ends it at its
    next checkpoint with the best result so far. The second ends it at once.

    >>> class Lines:
    ...     def show(self, text, share):
    ...         print(f"{text} {share:.0%}")
    ...
    ...     def close(self):
    ...         print("closed")
    >>> with ShownBar("grouping", Lines()) as bar:
    ...     bar(10, 10)
    grouping 0%
    grouping 100%
    closed
    """

    def __init__(self, what: str, surface: Surface) -> None:
        self._what, self._surface = what, surface
        self._telling, self._share, self._next = "", 0.0, 0.0
        self._asked_to_stop, self._pace = False, Pace()

    def __enter__(self) -> ShownBar:
        self._show()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._telling = "stopped"
            self._show()
        self._surface.close()

    def __call__(self, done: int, total: int) -> None:
        if self._asked_to_stop and done < total:  # at the end there is nothing left to stop
            self._asked_to_stop = False
            raise StopSearch(STOPPED_BY_HAND)
        self._share = done / total if total else 1.0
        if done >= total or time.monotonic() >= self._next:
            self._show()

    def tell(self, telling: str) -> None:
        """Show what a search has found so far."""
        self._telling = telling

    def announce_compiling(self) -> None:
        """Show why this run takes longer than later ones."""
        self._telling = "compiling for this machine, once"
        self._show()

    def searching(self) -> contextlib.AbstractContextManager[None]:
        """While there is something to keep, the first Ctrl-C keeps it."""
        return on_first_interrupt(self._ask_to_stop)

    def _ask_to_stop(self) -> None:
        self._asked_to_stop = True
        self._telling = STOPPING
        self._show()

    def _show(self) -> None:
        self._next = time.monotonic() + OFTEN
        left = self._pace.seconds_left(self._share) if self._share < 1.0 else None
        said_left = None if left is None else f"about {duration(left)} left"
        parts = (self._what, self._telling, said_left)
        self._surface.show(", ".join(part for part in parts if part), self._share)


class Terminal:
    """One line of standard error, which is gone when the work is done."""

    def __init__(self) -> None:
        self._longest = 0

    def show(self, text: str, share: float) -> None:
        """Write the line anew."""
        filled = round(share * WIDTH)
        line = f"{'█' * filled}{'░' * (WIDTH - filled)} {share:4.0%}  {text}"
        self._write(line)

    def close(self) -> None:
        """Leave an empty line."""
        self._write("")
        print("\r", end="", file=sys.stderr, flush=True)

    def _write(self, line: str) -> None:
        self._longest = max(self._longest, len(line))
        with contextlib.suppress(UnicodeError):  # a terminal that has no such letters shows no bar
            print(f"\r{line.ljust(self._longest)}", end="", file=sys.stderr, flush=True)


class Notebook:
    """One output of a cell, replaced in its place; what was shown last stays."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str, share: float) -> None:
        """Replace the output."""
        display: Any = sys.modules["IPython"].display
        content = {
            "text/plain": f"{text}: {share:.0%}",
            "text/html": f'<progress value="{share:.4f}" max="1" style="width:16em"></progress> '
            f"{share:.0%} {escape(text)}",
        }
        if self._handle is None:
            self._handle = display.display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)

    def close(self) -> None:
        """Leave the last output in place."""


def _in_notebook() -> bool:
    """Return whether a Jupyter kernel runs this; IPython in a terminal has none."""
    library: Any = sys.modules.get("IPython")
    shell = None if library is None else library.get_ipython()
    return getattr(shell, "kernel", None) is not None
