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
from microagg.problem.problem import Progress
from microagg.problem.watch import StopSearch, on_first_interrupt

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
    """What long work is to call: the function given, a bar for True, or None.

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
        with ShownBar(what, surface) as bar:
            yield bar
    elif callable(progress):
        yield progress
    else:
        raise InputError(
            "progress must be True, or a function that is called as progress(done, total)."
        )


def surface_here() -> Surface | None:
    """A notebook, if this runs in one, else the terminal; None where nobody is looking."""
    if _in_notebook():
        return Notebook()
    return Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


class ShownBar:
    """A progress callback that shows how far the work is and what a search has found.

    While a search goes on, the first Ctrl-C (in a notebook: the interrupt of the kernel) ends it at
    its next checkpoint with the best so far, the second ends it at once.

    >>> class Lines:
    ...     def show(self, text, share): print(f"{text} {share:.0%}")
    ...     def close(self): print("closed")
    >>> with ShownBar("grouping", Lines()) as bar:
    ...     bar(10, 10)
    grouping 0%
    grouping 100%
    closed
    """

    def __init__(self, what: str, surface: Surface) -> None:
        self._what, self._surface = what, surface
        self._telling, self._share, self._next = "", 0.0, 0.0
        self._asked_to_stop = False

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
            raise StopSearch("stopped by hand; nothing was released.")
        self._share = done / total if total else 1.0
        if done >= total or time.monotonic() >= self._next:
            self._show()

    def tell(self, telling: str) -> None:
        """Show what a search has found so far."""
        self._telling = telling

    def searching(self) -> contextlib.AbstractContextManager[None]:
        """While there is something to keep, the first Ctrl-C keeps it."""
        return on_first_interrupt(self._ask_to_stop)

    def _ask_to_stop(self) -> None:
        self._asked_to_stop = True
        self._telling = STOPPING
        self._show()

    def _show(self) -> None:
        self._next = time.monotonic() + OFTEN
        self._surface.show(
            f"{self._what}, {self._telling}" if self._telling else self._what, self._share
        )


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
        """What was shown last stays."""


def _in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this: IPython in a terminal has none."""
    library: Any = sys.modules.get("IPython")
    shell = None if library is None else library.get_ipython()
    return getattr(shell, "kernel", None) is not None
