"""Files that a command has written by the time it stops, found by comparing the file system."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from microagg.cli.options import as_option
from microagg.errors import (
    ClusterWarning,
    CodesWarning,
    MicroaggError,
    ReadingWarning,
    SavingWarning,
)
from microagg.sentences import rendered

SHOWN = (SavingWarning, ReadingWarning, ClusterWarning, CodesWarning)
"""Warnings that a command shows as notes."""
_before: dict[Path, object] = {}
_verified: set[Path] = set()


def forget() -> None:
    """Begin a command."""
    _before.clear()
    _verified.clear()


def watch(*places: Path | None, verified: bool = False) -> None:
    """Remember the state of the paths that a command may write; `verified` if their content is
    verified first.
    """
    for path in places:
        if path is not None:
            _before[path] = _seen(path)
            if verified:
                _verified.add(path)


def what_was_written() -> str:
    """Return the files that the command wrote before it stopped, as the end of a sentence."""
    from microagg.files.commit.journal import settle
    from microagg.files.stores.locations import parse_location

    for path in _before:
        with contextlib.suppress(MicroaggError):
            settle(path)  # a stop while files were moved
    written = [path for path, before in _before.items() if _seen(path) != before]
    if not written:
        return "nothing was written"
    parts = [
        f"{', '.join(str(parse_location(path)) for path in some)} had been {how} before"
        for some, how in (
            ([path for path in written if path in _verified], "verified and written"),
            ([path for path in written if path not in _verified], "written"),
        )
        if some
    ]
    return ", ".join(parts)


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Warnings about files, codes and clusters become sentences on standard error."""
    with warnings.catch_warnings():
        usual = warnings.showwarning
        shown: set[str] = set()  # a file may be read more than once

        def show(
            message: Warning | str, category: type[Warning], *location: Any, **more: Any
        ) -> None:
            if issubclass(category, SHOWN):
                from microagg.formatting import printable

                note = f"note: {printable(rendered(message, as_option))}."
                if note not in shown or issubclass(category, SavingWarning):
                    print(note, file=sys.stderr)
                shown.add(note)
            else:
                usual(message, category, *location, **more)

        warnings.showwarning = show
        for category in SHOWN:
            warnings.simplefilter("always", category)
        yield


def _seen(path: Path) -> object:
    from microagg.files.stores.locations import Url, parse_location

    location = parse_location(path)
    if isinstance(location, Url):
        with contextlib.suppress(MicroaggError):
            return location.state()
        return None
    try:
        stat = path.stat()
    except (OSError, ValueError):
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
