"""Arrow tables to files: whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import InputError
from microagg.table.io.arrow import bare
from microagg.table.io.formats import PART, format_of_part, known_names, options_for


def refuse_unwritable(path: Path) -> None:
    """Find out before any work is done whether a file can be written there."""
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"the folder {str(folder)!r} does not exist; create it first.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; name a file.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"the folder {str(folder)!r} cannot be written to; check its permissions.")


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise InputError(f"the folder {str(folder)!r} cannot be made; name another.") from None


def write_table(table: pa.Table, path: Path, **options: Any) -> None:
    """Write a table in the format that the path's ending asks for; the ending of a part is looked through.

    `options` are those of the format, such as the delimiter of a csv file.
    """
    format = format_of_part(path)
    try:
        format.write(bare(table), path, **options_for(format, options))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists, bytes and the like
        advice = (
            "leave out those of odd types" if format.nested else f"write a {known_names(nested=True)} file"
        )
        raise InputError(f"a {format.name} file cannot hold all columns of this table; {advice}.") from None


def replace_whole(
    path: Path,
    write: Callable[[Path], None],
    inspect: Callable[[Path], object],
    before: Callable[[], None] = lambda: None,
) -> None:
    """Write beside `path`, flush to disk, inspect what was written, do what comes `before`, then put it in place.

    `inspect` raises if the file is not as it should be. Whatever happens in between, `path` holds either what it
    held before or the whole new file.
    """
    _clear_left_overs(path)
    part = path.with_name(f".{os.getpid()}.{path.name}{PART}")
    try:
        write(part)
        _flush(part)
        inspect(part)
        before()
        os.replace(part, path)
        _flush(path.parent)
    except OSError as error:
        raise InputError(f"{str(path)!r} could not be written ({error.strerror}); it is as it was.") from None
    finally:
        part.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _clear_left_overs(path: Path) -> None:
    """Remove the parts that killed runs left beside this path."""
    for part in path.parent.glob(f".*.{glob.escape(path.name)}{PART}"):
        process = part.name.split(".")[1]
        if process.isdigit() and not Path(f"/proc/{process}").exists() and Path("/proc").exists():
            with contextlib.suppress(OSError):
                part.unlink()
