"""Other systems, as far as they can be had here: this one without what they lack, and with what
they refuse.
"""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from microagg.files.commit import system


def as_on_windows(patch: pytest.MonkeyPatch) -> None:
    """No modes, owners, links that are not followed or folders that are opened; open files are
    neither renamed nor removed.
    """
    patch.setattr(system, "WINDOWS", True)
    patch.setattr(system, "fcntl", None)
    patch.setattr(system, "msvcrt", Locks())
    for name in (
        "fchmod",
        "geteuid",
        "getuid",
        "sysconf",
        "O_NOFOLLOW",
        "O_DIRECTORY",
        "sched_getaffinity",
    ):
        patch.delattr(os, name, raising=False)
    patch.delattr(signal, "SIGHUP", raising=False)
    patch.setattr(os, "O_BINARY", 0, raising=False)
    for name in ("replace", "rename", "unlink", "remove"):
        patch.setattr(os, name, _of_closed_files(getattr(os, name)))
    patch.setattr(os, "open", _of_files(os.open))


def as_on_macos(patch: pytest.MonkeyPatch, flushed: list[int]) -> None:
    """A call of its own to flush a file, no count of processors that may be used, no way to ask for
    memory.
    """
    real = system.fcntl

    def fcntl(descriptor: int, what: int) -> None:
        assert what == 51
        os.fstat(descriptor)
        flushed.append(descriptor)

    patch.setattr(
        system,
        "fcntl",
        SimpleNamespace(
            flock=real.flock,
            LOCK_EX=real.LOCK_EX,
            LOCK_NB=real.LOCK_NB,
            F_FULLFSYNC=51,
            fcntl=fcntl,
        ),
    )
    for name in ("sched_getaffinity", "sysconf"):
        patch.delattr(os, name, raising=False)


class Locks:
    """Locks as msvcrt has them: one descriptor at a time has a file's byte, until it is closed."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], int] = {}

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        assert (mode, count) == (self.LK_NBLCK, 1)
        status = os.fstat(descriptor)
        file = (status.st_dev, status.st_ino)
        holder = self._held.get(file)
        if holder is not None and holder != descriptor and _is_open(holder, file):
            raise PermissionError(errno.EACCES, "Permission denied")
        self._held[file] = descriptor


def _is_open(descriptor: int, file: tuple[int, int]) -> bool:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == file


def _of_closed_files(call: Any) -> Any:
    """A call that fails on files which this process has open, as Windows lets it."""

    def refused(*paths: Any, **more: Any) -> Any:
        wanted = {_identity(path) for path in paths} - {None}
        if wanted & {_identity(int(entry.name)) for entry in Path("/proc/self/fd").iterdir()}:
            raise PermissionError(
                errno.EACCES, "The process cannot access the file because it is being used"
            )
        return call(*paths, **more)

    return refused


def _identity(file: Any) -> tuple[int, int] | None:
    """Identify a file, whatever its name."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


def _of_files(call: Any) -> Any:
    """A call that opens no folder, as on Windows."""

    def refused(path: Any, *flags: Any, **more: Any) -> int:
        if not isinstance(path, int) and os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied")
        return call(path, *flags, **more)

    return refused
