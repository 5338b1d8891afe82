"""The calls by which files come to be. Each can fail; whoever saves makes them through here, so
that tests can let each of them fail.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

CALLS = (
    "create",
    "fill",
    "append",
    "flush",
    "set_mode",
    "read_back",
    "digest",
    "flush_folder",
    "link",
    "rename",
    "remove",
    "make_folder",
    "create_folder",
    "open_lock",
    "take_lock",
)
"""Every call below that may fail."""

WINDOWS = os.name == "nt"
"""Whether files that are open can be neither renamed nor removed, folders cannot be flushed, and
some names are those of devices.
"""

_OF_A_FOLDER = re.compile(r"part-\d{5,}\.parquet(\.[0-9a-f]+\.part)?")
_BUSY = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


def _if_there(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


fcntl: Any = _if_there("fcntl")  # not on Windows
msvcrt: Any = _if_there("msvcrt")  # only there


def _plain() -> int:
    """Flags, where there are such: no link on the way, no other ends of lines."""
    return getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def create(path: Path) -> int:
    """Make a file that was not there, for its owner's eyes only."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _plain(), 0o600)


def fill(part: Path, write: Callable[[Path], object]) -> None:
    """Let a writer write to a file that was created."""
    write(part)


def append(descriptor: int, content: bytes) -> None:
    """Write all of these bytes."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def flush(descriptor: int) -> None:
    """Bring what was written to a file to the disk, whoever wrote it."""
    if hasattr(fcntl, "F_FULLFSYNC"):  # macOS, where fsync leaves it in the memory of the drive
        with contextlib.suppress(OSError):  # a drive that cannot do so
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def set_mode(descriptor: int, mode: int) -> None:
    """Say who may read a file, where the platform knows of that."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)


def read_back(part: Path, inspect: Callable[[Path], object]) -> None:
    """Let an inspector read what was written."""
    inspect(part)


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes, or of the names and bytes of a folder's files."""
    if path.is_dir():
        return digest_of_files({each.name: digest(each) for each in path.iterdir()})
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_files(digests: Mapping[str, str]) -> str:
    """What `digest` says of a folder, from what it says of its files."""
    return hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()


def flush_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    if WINDOWS:  # which has no such call, and keeps a journal of its own
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def link(there: Path, also: Path) -> None:
    """Give a file a second name."""
    if there.is_symlink():  # platforms differ in what they would link to
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))
    os.link(there, also)


def rename(old: Path, new: Path) -> None:
    """Give a file another name, in the place of whatever had it."""
    os.replace(old, new)


def remove(path: Path) -> None:
    """Remove a file, a link itself, or a folder with parts of a table and nothing else; if it is
    gone already, that is well.
    """
    if path.is_dir() and not path.is_symlink():
        for each in path.iterdir():
            if _OF_A_FOLDER.fullmatch(each.name):
                each.unlink(missing_ok=True)
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def create_folder(folder: Path) -> None:
    """Make a folder that was not there, for its owner's eyes only."""
    folder.mkdir(0o700)
    folder.chmod(0o700)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless it is there."""
    folder.mkdir(parents=True, exist_ok=True)


def open_lock(path: Path) -> int:
    """Open the file that stands for a lock; whoever may write to the folder may wait for it."""
    return os.open(path, os.O_RDWR | os.O_CREAT | _plain(), 0o666)


def take_lock(descriptor: int) -> bool | None:
    """Take a lock that the system gives back when this process ends, however it ends; None where
    there are no locks.
    """
    if fcntl is None and msvcrt is None:
        return None
    try:
        if fcntl is None:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        if error.errno in _NO_LOCKS:
            return None
        raise
    return True


def usual_mode() -> int:
    """Who may read a file that is for everybody, as the user has decided for all files."""
    # the only way to ask; what other threads make in between is rather too private
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


DEVICES = {
    "CON",
    "PRN",
    "AUX",
    "NUL",
    "CONIN$",
    "CONOUT$",
    *(f"{port}{n}" for port in ("COM", "LPT") for n in "123456789¹²³"),
}


def is_taken_by_windows(name: str) -> bool:
    """Whether Windows has no file of this name: it is that of a device, holds a letter with a
    meaning, or ends with what is cut off.

    >>> [is_taken_by_windows(name) for name in ("con.csv", "out?.csv", "out.csv ", "out.csv")]
    [True, True, True, False]
    """
    device = name.partition(".")[0].rstrip(" ").upper() in DEVICES
    return (
        device
        or name.endswith((".", " "))
        or any(each in '<>:"/\\|?*' or each < " " for each in name)
    )


def is_at(descriptor: int, path: Path) -> bool:
    """Whether a name stands for the very file that is open."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    return False
