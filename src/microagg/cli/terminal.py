"""The terminal: consoles for standard output and standard error, and a progress bar."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from microagg.cli.bar import Bar
from microagg.formatting import printable
from microagg.kernels.compiling import on_first_compile


class Terminal(Console):
    """A console that shows names of columns and files to the letter, but lets none of them steer
    the terminal.
    """

    def render_str(self, text: str, **options: Any) -> Any:
        return super().render_str(printable(text), **options)


out = Terminal(highlight=False, soft_wrap=True, markup=False, emoji=False)
err = Terminal(highlight=False, soft_wrap=True, markup=False, emoji=False, stderr=True)


FIRST_RUN = (
    "First run on this machine: compiling takes some 10 seconds, up to 40 with one core or for "
    "rare options. Later runs start at once."
)


def progress(what: str) -> Bar:
    """Show a progress bar on standard error during work; nothing without a terminal."""
    on_first_compile(lambda: err.print(FIRST_RUN))
    return Bar(what, err)


@contextlib.contextmanager
def on_standard_error() -> Iterator[None]:
    """Show on standard error what would be shown on standard output, which holds a table."""
    global out
    usual, out = out, err
    try:
        yield
    finally:
        out = usual
