"""What a command has written by the time it stops: found by a look at what is there, not by what
was meant to be done.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from microagg.cli.options import as_typed
from microagg.errors import ClusterWarning, MicroaggError, ReadingWarning, SavingWarning

_before: dict[Path, object] = {}
_verified: set[Path] = set()


def forget() -> None:
    """Begin a command."""
    _before.clear()
    _verified.clear()


def watch(*places: Path | None, verified: bool = False) -> None:
    """Remember what lies at the places that a command may write; `verified` if it is verified
    before it is put there.
    """
    for place in places:
        if place is not None:
            _before[place] = _seen(place)
            if verified:
                _verified.add(place)


def what_was_written() -> str:
    """What the command wrote before it stopped, as the end of a sentence."""
    from microagg.files.commit.journal import settle
    from microagg.files.stores.locations import parse_location

    for place in _before:
        with contextlib.suppress(MicroaggError):
            settle(place)  # a stop while files were moved
    written = [place for place, before in _before.items() if _seen(place) != before]
    if not written:
        return "nothing was written"
    told = [
        f"{', '.join(str(parse_location(place)) for place in some)} had been {how} before"
        for some, how in (
            ([place for place in written if place in _verified], "verified and written"),
            ([place for place in written if place not in _verified], "written"),
        )
        if some
    ]
    return ", ".join(told)


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Warnings about files and clusters become sentences on standard error."""
    with warnings.catch_warnings():
        usual = warnings.showwarning
        told: set[str] = set()  # a file may be read more than once

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, SavingWarning | ReadingWarning | ClusterWarning):
                from microagg.formatting import printable

                note = f"note: {printable(as_typed(str(message)))}."
                if note not in told or issubclass(category, SavingWarning):
                    print(note, file=sys.stderr)
                told.add(note)
            else:
                usual(message, category, *place, **more)

        warnings.showwarning = show
        warnings.simplefilter("always", SavingWarning)
        warnings.simplefilter("always", ReadingWarning)
        warnings.simplefilter("always", ClusterWarning)
        yield


def _seen(place: Path) -> object:
    from microagg.files.stores.locations import Url, parse_location

    there = parse_location(place)
    if isinstance(there, Url):
        with contextlib.suppress(MicroaggError):
            return there.state()
        return None
    try:
        found = place.stat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
