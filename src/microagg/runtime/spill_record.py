"""Where the temporary directory of a run lies: a file beside its target that only its owner can
have written.

Everything here is checked before it is believed: links are not followed, and what belongs to
another user counts for nothing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import stat
from pathlib import Path

from microagg.errors import InputError
from microagg.files.commit import system
from microagg.files.commit.locking import reason

FOLDER = re.compile(r"\.microagg-[0-9a-f]{16}\.spill")
RECORD = re.compile(r"\.microagg-[0-9a-f]{16}\.resume")
LONGEST = 10_000  # bytes
in_use: set[str] = set()
"""Folders and records of this process: where a file system has no locks, nothing else tells that
they are in use.
"""

ANOTHER_RUN = "another run works on the same target; wait until it has ended."


class SpillRecord:
    """File beside a target that records the folder of its run; locked while the run is alive."""

    def __init__(self, path: Path, parent: Path) -> None:
        self.path, self._parent = path, parent

    @staticmethod
    def of(target: Path, parent: Path, folder: Path) -> SpillRecord:
        """The one of runs for `target` that work below `parent`, in a folder."""
        known_by = b"\0".join(
            os.fsencode(os.path.abspath(path)) for path in (target.resolve(), parent)
        )
        token = hashlib.sha256(known_by).hexdigest()[:16]
        return SpillRecord(Path(os.path.abspath(folder), f".microagg-{token}.resume"), parent)

    def __enter__(self) -> SpillRecord:
        try:
            descriptor = open_record(self.path, create=True)
        except OSError as error:
            raise InputError(
                f"{str(self.path)!r} cannot be written ({reason(error)}); look at it, or "
                f"name another folder with spill."
            ) from None
        if descriptor is None:
            raise InputError(ANOTHER_RUN)
        self._descriptor = descriptor
        in_use.add(str(self.path))
        return self

    def __exit__(self, *error: object) -> None:
        self.close(is_needed=self.left() is not None)

    def left(self) -> Path | None:
        """Return the folder that a killed run left, if it exists and only this user can have made
        it.
        """
        folder = folder_in(self._descriptor)
        if folder is None or folder.parent != Path(os.path.abspath(self._parent)):
            return None
        return folder if is_private(folder) else None

    def write(self, folder: Path) -> None:
        """Record the folder of the run."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.ftruncate(self._descriptor, 0)
        content = {"microagg": "spill", "folder": os.path.abspath(folder)}
        system.append(self._descriptor, json.dumps(content).encode())

    def close(self, *, is_needed: bool) -> None:
        """Let go of the file; it is removed where it is not needed for `resume`."""
        in_use.discard(str(self.path))
        close_record(self._descriptor, self.path, is_needed=is_needed)


def open_record(path: Path, *, create: bool = False) -> int | None:
    """Open and lock such a file if it is one of ours; None if a run holds the lock.

    Raises if it belongs to another user or does not exist.
    """
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    while True:
        descriptor = os.open(path, flags | (os.O_CREAT if create else 0), 0o600)
        try:
            seen = os.fstat(descriptor)
            if not stat.S_ISREG(seen.st_mode) or not _is_own(seen):
                raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
            system.set_mode(descriptor, 0o600)
            got = system.take_lock(descriptor)
            if got is not False and system.is_at(descriptor, path):
                return descriptor
        except BaseException:
            seen = os.fstat(descriptor)
            is_new = create and seen.st_size == 0 and stat.S_ISREG(seen.st_mode) and _is_own(seen)
            close_record(descriptor, path, is_needed=not is_new)
            raise
        os.close(descriptor)
        if got is False:
            return None


def folder_in(descriptor: int) -> Path | None:
    """The folder that such a file names; None where it names none."""
    with contextlib.suppress(OSError, ValueError, RecursionError, TypeError, KeyError):
        os.lseek(descriptor, 0, os.SEEK_SET)
        folder = Path(json.loads(os.read(descriptor, LONGEST))["folder"])
        if folder.is_absolute() and FOLDER.fullmatch(folder.name):
            return folder
    return None


def close_record(descriptor: int, path: Path, *, is_needed: bool) -> None:
    """Let go of such a file, and remove it where it is not needed any more."""
    if not is_needed:  # while it is locked: who opens it meanwhile finds out that it is gone
        with contextlib.suppress(OSError):
            system.remove(path)
    os.close(descriptor)
    if system.WINDOWS and not is_needed:  # where a file that is open cannot be removed
        with contextlib.suppress(OSError):
            system.remove(path)


def _is_own(seen: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or seen.st_uid == os.geteuid()


def is_own_folder(folder: Path) -> bool:
    """Return whether this is a folder of this user, and not a link to one."""
    with contextlib.suppress(OSError):
        seen = os.lstat(folder)
        return stat.S_ISDIR(seen.st_mode) and _is_own(seen)
    return False


def is_private(folder: Path) -> bool:
    """Return whether only this user can read a folder, where the platform supports that."""
    return is_own_folder(folder) and (
        not hasattr(os, "geteuid") or stat.S_IMODE(os.lstat(folder).st_mode) & 0o077 == 0
    )


def left_spill(target: Path, parent: Path) -> Path | None:
    """The folder below `parent` that a killed run for a target left, if there is one."""
    record = SpillRecord.of(target, parent, target.parent)
    with contextlib.suppress(OSError):
        descriptor = open_record(record.path)
        if descriptor is not None:
            try:
                return folder_in(descriptor)
            finally:
                os.close(descriptor)
    return None
