"""Identity of the files of a table: tells whether somebody changed or replaced them while they were
read.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import Cancelled, InputError, LostWorkers, MicroaggError
from microagg.files.chunks import files_of
from microagg.files.stores.locations import Url, parse_location, shown
from microagg.table.columns.digests import digest_of

CHANGED = (
    "{} was changed or replaced while it was read, so nothing was written; start again when "
    "it is complete."
)


@dataclass
class InputIdentity:
    """Names, sizes, times of change and inodes of the files of a table, as they were before it was
    read.

    In a store it is the size and the time of change. Where the files cannot be listed, whoever
    reads them says why.
    """

    path: str | Path | Url
    files: dict[str, Any] | None
    is_checked: bool = field(default=False, init=False)
    """Whether the last check was passed: what happens to the files later makes no difference."""

    @staticmethod
    def of(path: str | Path | Url) -> InputIdentity:
        """Return the identity of the files that lie there now."""
        return InputIdentity(path, _states(path))

    def has_changed(self) -> bool:
        """Return whether other files lie there now."""
        return _states(self.path) != self.files

    def check_changed(self) -> None:
        """Raise if other files lie there now."""
        if self.has_changed():
            raise self.error()

    def check_last(self) -> None:
        """Raise if other files lie there now; to be called when all has been read, before anything
        is put in place.
        """
        self.check_changed()
        self.is_checked = True

    def error(self) -> InputError:
        """Return the error to raise where the files were changed."""
        return InputError(CHANGED.format(repr(shown(self.path))))


@contextlib.contextmanager
def watched_input(path: str | Path | Url) -> Iterator[InputIdentity]:
    """Blame errors of the block on the change where the files were changed meanwhile: what they say
    would mislead.

    The block calls `check_last` when it has read all.
    """
    identity = InputIdentity.of(path)
    try:
        yield identity
    except (Cancelled, LostWorkers):
        raise
    except Exception:
        if not identity.is_checked and identity.has_changed():
            raise identity.error() from None
        raise


def digest_of_chunk(table: pa.Table, names: tuple[str, ...]) -> str:
    """Return the digest of some columns of a chunk: the first pass over a table and the last must
    agree on it.

    >>> chunk = pa.table({"age": [30, 31], "town": ["a", "b"]})
    >>> digest_of_chunk(chunk, ("age",)) == digest_of_chunk(pa.table({"age": [30, 31]}), ("age",))
    True
    """
    return digest_of(table.select(list(names)))


def check_other_chunk(expected: str | None, digest: str) -> None:
    """Raise if a chunk is not what it was in the first pass; `expected` is None where nothing is
    known of that.
    """
    if expected is not None and digest != expected:
        raise InputError(CHANGED.format("the table"))


def _states(path: str | Path | Url) -> dict[str, Any] | None:
    """Return what tells the files of a table from others; None where they cannot be listed."""
    try:
        return {str(file): _state(file) for file in files_of(parse_location(path))}
    except (MicroaggError, OSError):
        return None


def _state(file: Path | Url) -> Any:
    if isinstance(file, Url):
        return file.state()
    seen = os.stat(file)
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns
