"""The progress bar of the command line, which also asks what to keep when a search is stopped."""

from __future__ import annotations

import contextlib
import sys

from rich.console import Console
from rich.progress import (
    BarColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as RichProgress

from microagg.errors import CancelledError
from microagg.formatting import duration
from microagg.problem.pace import Pace
from microagg.problem.watch import StopSearch, on_first_interrupt


class Bar:
    """Progress bar of a command, with the best result of a search; a callback that a `Watch` can
    use.

    During a search, Ctrl-C does not end the command: at the next checkpoint the user is asked,
    once, whether to keep the best grouping so far. Without a terminal it is kept. Ctrl-C again ends
    the command at once.
    """

    def __init__(self, what: str, console: Console) -> None:
        self._what = what
        self._console = console
        self._shown = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            redirect_stdout=False,  # what a command has to say is no part of its progress
            disable=not console.is_terminal,
        )
        self._task = self._shown.add_task(what, total=None, left="")
        self._pace = Pace()
        self._asked_to_stop = False

    def __enter__(self) -> Bar:
        self._shown.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        if not self._shown.disable:  # older versions of rich end a line that they never began
            self._shown.stop()

    def __call__(self, done: int, total: int) -> None:
        if self._asked_to_stop:
            self._stop()
        left = self._pace.seconds_left(done / total) if 0 < done < total else None
        text = "" if left is None else f"about {duration(left)} left"
        self._shown.update(self._task, completed=done, total=total, left=text)

    def tell(self, telling: str) -> None:
        """Show what a search has found so far."""
        self._shown.update(self._task, description=f"{self._what}, {telling}")

    def searching(self) -> contextlib.AbstractContextManager[None]:
        """While there is something to keep, the first Ctrl-C is a question."""
        return on_first_interrupt(self._ask_to_stop)

    def _ask_to_stop(self) -> None:
        self._asked_to_stop = True
        self._console.print("stopping at the next checkpoint; Ctrl-C again to stop at once ...")

    def _stop(self) -> None:
        self._asked_to_stop = False
        if self._console.is_terminal and sys.stdin is not None and sys.stdin.isatty():
            self._end()
            answer = self._console.input("Keep the best grouping found so far? [Y/n] ")
            if answer.strip().lower() in ("n", "no"):
                raise CancelledError("stopped; nothing was written.")
        raise StopSearch("stopped; nothing was written.")
