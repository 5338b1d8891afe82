"""Temporary directory of an out-of-core run: mode 0700, locked while the run is alive, removed when
it ends, however it ends.

Its name is random, so nobody can plant anything under it. A record beside the target (mode 0600,
locked, too) holds the name, so that `resume` finds what a killed run left. The system takes the
locks from a process that dies: what a kill leaves is recognised by a lock that is free, and removed
by the next run beside the same target or by `microagg clean`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import InputError, LostWorkersError
from microagg.files.commit import system
from microagg.files.commit.locking import reason
from microagg.runtime.spill_record import (
    ANOTHER_RUN,
    FOLDER,
    RECORD,
    SpillRecord,
    close_record,
    folder_in,
    in_use,
    is_own_folder,
    is_private,
    open_record,
)

LOCK = "lock"
TOLD = b"told"
LEFT = ".told"
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


class SpillFolder:
    """A folder of a run.

    >>> import tempfile
    >>> with SpillFolder(Path(tempfile.mkdtemp())) as spill:
    ...     there = spill.folder
    ...     oct(there.stat().st_mode & 0o777)
    '0o700'
    >>> there.exists()
    False
    """

    folder: Path
    """Where it lies, once the run has begun."""

    def __init__(
        self,
        parent: Path,
        target: Path | None = None,
        *,
        resume: bool = False,
        spare: Path | None = None,
        records: Path | None = None,
    ) -> None:
        """Prepare a folder below `parent`.

        For a `target` it is recorded in the folder `records` (by default that of the target). With
        `resume`, it is the folder that a killed run for the same target left. Folders of other
        killed runs are removed, except `spare`.
        """
        parent = Path(os.path.abspath(parent))
        self.parent, self._resume, self._spare = parent, resume, spare
        self._record = (
            None if target is None else SpillRecord.of(target, parent, records or target.parent)
        )

    def __enter__(self) -> SpillFolder:
        if not self.parent.is_dir():
            raise InputError(f"the folder {str(self.parent)!r} does not exist; create it first.")
        _check_open_folder(self.parent)
        with contextlib.ExitStack() as undo:
            left = None
            if self._record is not None:
                undo.enter_context(self._record)
                left = self._record.left() if self._resume else None
            spared = [folder for folder in (left, self._spare) if folder is not None]
            for where in {
                self.parent,
                self.parent if self._record is None else self._record.path.parent,
            }:
                remove_left_spill(where, spared)
            self.folder = left or self.parent / f".microagg-{secrets.token_hex(8)}.spill"
            self._lock = self._locked_folder(is_new=left is None)
            undo.callback(os.close, self._lock)
            in_use.add(str(self.folder))
            if self._record is not None:
                with explain_full_disk("while temporary files were written"):
                    self._record.write(self.folder)
            undo.pop_all()
        return self

    def _locked_folder(self, *, is_new: bool) -> int:
        """Make the folder where it is new, see that it is private, and return the descriptor of its
        lock.
        """
        descriptor = None
        try:
            if is_new:
                system.create_folder(self.folder)
            if not is_private(self.folder):
                raise InputError(
                    f"temporary files cannot be kept private in the folder "
                    f"{str(self.parent)!r}; name another with spill."
                )
            descriptor = system.open_lock(self.folder / LOCK)
            system.set_mode(descriptor, 0o600)
            if system.take_lock(descriptor) is False:
                raise InputError(ANOTHER_RUN)
            return descriptor
        except BaseException as error:
            if descriptor is not None:
                os.close(descriptor)
            if is_new:
                shutil.rmtree(self.folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise InputError(
                    f"temporary files cannot be written to the folder {str(self.parent)!r} "
                    f"({reason(error)}); name another with spill."
                ) from None
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if self._record is None or not isinstance(error, LostWorkersError):
                _remove(self.folder)
        finally:
            in_use.discard(str(self.folder))
            os.close(self._lock)
            if self._record is not None:
                self._record.close(is_needed=self.folder.exists())

    def room(self, key: str) -> Path:
        """A folder within for what was made by one key (of settings, cuts and input); those of
        other keys go.
        """
        room = self.folder / key[:32]
        for other in self.folder.iterdir():
            if other.is_dir() and other != room:
                shutil.rmtree(other, ignore_errors=True)
        room.mkdir(mode=0o700, exist_ok=True)
        for left in room.glob("*.part"):
            left.unlink(missing_ok=True)
        return room

    def check_full(self, needed: int) -> None:
        """Raise unless the disk has so many bytes free."""
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise InputError(
                f"the work needs about {needed / 1e9:.3g} GB of disk in "
                f"{str(self.parent)!r}, and {free / 1e9:.3g} GB are free; "
                "make room, or name another folder with spill."
            )


def _check_open_folder(parent: Path) -> None:
    """Raise where everybody may put another folder in the place of ours."""
    mode = os.stat(parent).st_mode
    if hasattr(os, "geteuid") and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise InputError(
            f"other users can rename temporary files in the folder {str(parent)!r}; name "
            f"another with spill, or give it the sticky "
            "bit (chmod +t)."
        )


def _remove(folder: Path) -> None:
    """Remove such a folder; under another name, for what others still do in it must not put
    anything there in between.
    """
    gone = folder.with_name(f".microagg-{secrets.token_hex(8)}.spill")
    try:
        os.rename(folder, gone)
    except OSError:
        gone = folder
    shutil.rmtree(gone, ignore_errors=True)


def remove_left_spill(parent: Path, but: Collection[Path] = ()) -> list[str]:
    """Remove what killed runs of this user have left in a folder, or elsewhere for targets in it;
    returns what was done.
    """
    parent = Path(os.path.abspath(parent))
    folders, done = {parent}, []
    names = _names_in(parent)
    for name in names:
        if RECORD.fullmatch(name) and str(parent / name) not in in_use:
            with contextlib.suppress(OSError):  # somebody else's
                descriptor = open_record(parent / name)
                if descriptor is not None:
                    folder = folder_in(descriptor)
                    is_needed = folder in but
                    if folder is not None and not is_needed:
                        folders.add(folder.parent)
                    close_record(descriptor, parent / name, is_needed=is_needed)
    for directory in sorted(folders):
        for name in names if directory == parent else _names_in(directory):
            if (
                FOLDER.fullmatch(name)
                and directory / name not in but
                and _removed(directory / name)
            ):
                done.append(
                    f"removed {str(directory / name)!r}, which a run that was stopped had left"
                )
    return done


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _removed(folder: Path) -> bool:
    """Remove a folder of this user if its run has ended; return whether it did."""
    if str(folder) in in_use or not is_own_folder(folder):
        return False
    with contextlib.suppress(OSError):
        descriptor = system.open_lock(folder / LOCK)
        try:
            if system.take_lock(descriptor) is not False:
                _remove(folder)
                return True
        finally:
            os.close(descriptor)
    return False


@contextlib.contextmanager
def explain_full_disk(where: str) -> Iterator[None]:
    """One sentence in place of what the system or Arrow says where a disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL or "No space left" in str(error):
            raise InputError(
                f"the disk is full ({where}); nothing was put in place. Make room, or "
                f"name another folder with spill."
            ) from None
        raise


def write_spill_file(
    path: str, table: pa.Table, keys: np.ndarray, metadata: dict[str, Any]
) -> dict[str, Any]:
    """Write records as an Arrow file with a batch for each key, under a temporary name until
    complete.

    The file carries `metadata`, and "index": (key, count) of each batch. Both are returned, and
    `read_result` reads them again.
    """
    batches, index = sorted_batches(table, keys)
    metadata = {**metadata, "index": index}
    schema = table.schema.with_metadata({TOLD: json.dumps(metadata).encode()})
    part = Path(f"{path}.{secrets.token_hex(4)}.part")
    with explain_full_disk("while temporary files were written"):
        try:
            system.fill(part, lambda target: write_plainly(target, schema, batches))
            system.rename(part, Path(path))
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise
    return json.loads(json.dumps(metadata))


def read_result(path: str) -> dict[str, Any] | None:
    """Return the metadata of a complete file; None if there is none yet."""
    with contextlib.suppress(FileNotFoundError):
        return json.loads(Path(f"{path}{LEFT}").read_text("utf-8"))
    if not os.path.exists(path):
        return None
    with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
        return json.loads((reader.schema.metadata or {})[TOLD])


def discard_rows(path: str) -> None:
    """Remove a file of which the records are no longer needed; its metadata stays for a resumed
    run.
    """
    metadata = read_result(path)
    if metadata is not None and os.path.exists(path):
        write_result(f"{path}{LEFT}", json.dumps(metadata))
        with explain_full_disk("while temporary files were written"):
            system.remove(Path(path))


def write_result(path: str, text: str) -> None:
    """Put a little text into the spill, under a name of its own until it is whole."""
    part = Path(f"{path}.{secrets.token_hex(4)}.part")
    with explain_full_disk("while temporary files were written"):
        with os.fdopen(
            os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
        ) as file:
            file.write(text)
        system.rename(part, Path(path))


def write_plainly(part: Path, schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> None:
    """Write batches as an Arrow file, readable by the owner only (mode 0600)."""
    options = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with (
        os.fdopen(descriptor, "wb") as raw,
        pa.PythonFile(raw, "w") as file,
        pa.ipc.new_file(file, schema, options=options) as writer,
    ):
        for batch in batches:
            writer.write_batch(batch)


def read_batches(
    path: str, places: Sequence[int], names: Sequence[str] | None = None
) -> list[pa.RecordBatch]:
    """Some batches of such a file, of these columns or of all."""
    options = None
    if names is not None:
        with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
            fields = [reader.schema.get_field_index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=sorted(fields))
    with pa.OSFile(path) as file, pa.ipc.open_file(file, options=options) as reader:
        return [reader.get_batch(index) for index in places]


def sorted_batches(
    table: pa.Table, keys: np.ndarray
) -> tuple[list[pa.RecordBatch], list[tuple[int, int]]]:
    """A batch for each key that occurs, in ascending order, records as they were; and (key, how
    many) of each batch.

    >>> batches, index = sorted_batches(pa.table({"a": [1, 2, 3]}), np.array([1, 0, 1]))
    >>> [batch.to_pydict() for batch in batches], index
    ([{'a': [2]}, {'a': [1, 3]}], [(0, 1), (1, 2)])
    """
    order = np.argsort(keys, kind="stable")
    whole = table.take(pa.array(order)).combine_chunks()
    groups, counts = np.unique(keys, return_counts=True)
    starts = np.cumsum(counts) - counts
    batches = []
    for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
        batches.extend(whole.slice(start, count).combine_chunks().to_batches())
    return batches, list(zip(groups.tolist(), counts.tolist(), strict=True))
