"""One process at a time for each file that is to be replaced."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from microagg.errors import InputError
from microagg.files.commit import system

LOCK = ".lock"
WAIT = 30.0
"""Seconds to wait for another process that writes the same file."""


def lock_of(target: Path) -> Path:
    """The file that stands for the lock on a target.

    >>> lock_of(Path("survey.csv")).name
    '.survey.csv.lock'
    """
    return target.with_name(f".{target.name}{LOCK}")


@contextlib.contextmanager
def locked(target: Path, wait: float | None = None) -> Iterator[list[str]]:
    """Keep other processes from writing `target`; yields what the user should be told about it.

    The system takes the lock from a process that dies, so none is ever stale. The lock's file goes
    with it.
    """
    notes: list[str] = []
    path = lock_of(target)
    descriptor = _taken(path, target, WAIT if wait is None else wait, notes)
    try:
        yield notes
    finally:
        try:  # while it is held: who waits for it finds out that this file is no longer the lock
            with contextlib.suppress(OSError):
                system.remove(path)
        finally:
            os.close(descriptor)
        # where a file that is open, by us or by who comes next, cannot be removed
        if system.WINDOWS:
            with contextlib.suppress(OSError):
                system.remove(path)


def _taken(path: Path, target: Path, wait: float, notes: list[str]) -> int:
    until = time.monotonic() + wait
    while True:
        try:
            descriptor = system.open_lock(path)
        except OSError as error:
            raise InputError(
                f"{str(target)!r} cannot be locked ({reason(error)}); it is as it was. "
                f"Look at {path.name} in its folder."
            ) from None
        try:
            got = system.take_lock(descriptor)
            if got is None:
                notes.append(
                    f"this folder cannot be locked: let no other run write "
                    f"{str(target)!r} meanwhile"
                )
            if got is None or (got and system.is_at(descriptor, path)):
                return descriptor
        except OSError as error:
            os.close(descriptor)
            raise InputError(
                f"{str(target)!r} cannot be locked ({reason(error)}); it is as it was."
            ) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if not got and time.monotonic() >= until:
            raise InputError(
                f"another run is writing {str(target)!r}, and this one left it alone; "
                f"try again when that one has ended."
            )
        if not got:
            time.sleep(0.02)


def reason(error: OSError) -> str:
    """Why the system refused, in a few words that quote no path and no data."""
    return os.strerror(error.errno) if error.errno else type(error).__name__
