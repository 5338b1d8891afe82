"""Calls to the operating system that fail when a test wants them to."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from microagg.files.commit import system


class Killed(BaseException):
    """Stands for the end of the process: from here on nothing of the run is done any more."""


KINDS: dict[str, Callable[[], BaseException]] = {
    "disk full": lambda: OSError(errno.ENOSPC, "No space left on device"),
    "denied": lambda: PermissionError(errno.EACCES, "Permission denied"),
    "no memory": MemoryError,
    "Ctrl-C": KeyboardInterrupt,
    "killed": Killed,
}
WHEN = ("before", "half", "after")


class Failing:
    """Counts the calls of saving, and lets the one numbered `at` (from 0) fail: before it did
    anything, half way, or after it.

    `remain` of the calls after it that are of the same name fail as well.
    """

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        kind: str = "",
        call: int = -1,
        when: str = "before",
        remain: int = 0,
    ) -> None:
        self.made: list[str] = []
        self.failed = ""
        self._kind, self._at, self._when, self._remain = kind, call, when, remain
        for name in system.CALLS:
            patch.setattr(system, name, self._wrapped(name, getattr(system, name)))

    def _wrapped(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any) -> Any:
            number = len(self.made)
            self.made.append(name)
            if self._kind == "killed" and self.failed:
                raise Killed
            again = name == self.failed and self._remain > 0
            if number != self._at and not again:
                return call(*arguments)
            self._remain -= bool(again)
            self.failed = name
            if self._when == "half" and name == "fill":
                arguments[0].write_bytes(b"income,debt\n4815162,")
            elif self._when == "half" and name == "append":
                call(arguments[0], arguments[1][: len(arguments[1]) // 2])
            elif self._when == "after":
                _done(name, call, arguments)
            raise KINDS[self._kind]()

        return wrapper


def _done(name: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Make a call whose answer is lost."""
    import os

    result = call(*arguments)
    if name in ("create", "open_lock"):
        os.close(result)  # as the end of a process would


def others_can_read(path: Path) -> bool:
    """Return True if anybody but the owner may read a file."""
    return bool(path.lstat().st_mode & 0o077)
