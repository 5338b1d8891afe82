"""Identity of the files of a table: detects if they were changed or replaced while being read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import CancelledError, InputError, LostWorkersError, MicroaggError
from microagg.files.chunks import files_of
from microagg.files.stores.locations import Url, parse_location, shown
from microagg.table.columns.digests import digest_of

CHANGED = (
    "{} was changed or replaced while it was read, so nothing was written; start again when "
    "it is complete."
)


@dataclass
class InputIdentity:
    """Names, sizes, modification times and inodes of the files of a table before it was read.

    In a store these are sizes and modification times. Files that cannot be listed have no identity;
    reading them raises the error.
    """

    path: str | Path | Url
    files: dict[str, Any] | None
    is_checked: bool = field(default=False, init=False)
    """True after the last check: later changes of the files make no difference."""

    @staticmethod
    def of(path: str | Path | Url) -> InputIdentity:
        """Return the current identity of the files of a table."""
        return InputIdentity(path, _states(path))

    def has_changed(self) -> bool:
        """Check if the files have changed."""
        return _states(self.path) != self.files

    def check_changed(self) -> None:
        """Raise if the files have changed."""
        if self.has_changed():
            raise self.error()

    def check_last(self) -> None:
        """Raise if the files have changed. Called after all has been read, before anything is put
        in place.
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
    except (CancelledError, LostWorkersError):
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
    """Return the state of each file of a table; None if they cannot be listed."""
    try:
        return {str(file): _state(file) for file in files_of(parse_location(path))}
    except (MicroaggError, OSError):
        return None


def _state(file: Path | Url) -> Any:
    if isinstance(file, Url):
        return file.state()
    seen = os.stat(file)
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns
