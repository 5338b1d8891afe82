"""What lies at a place already: a file is replaced by one of its own kind only."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from microagg.errors import InputError
from microagg.files.columnar.parquet_folder import format_to_write

BEGINNING = 1 << 16


def check_other_kind(path: Path, kind: str, recognise: Callable[[bytes], object]) -> None:
    """Refuse a place that holds anything but a `kind` (such as "a report"), judged by how the
    file begins.

    An empty file is of any kind.

    >>> check_other_kind(Path("survey.html"), "a report", lambda beginning: False)  # nothing is there
    """
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
        beginning = b""
        if regular:
            with path.open("rb") as file:
                beginning = file.read(BEGINNING)
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError):
        raise InputError(f"{str(path)!r} is there and cannot be read; name another file.") from None
    if not regular:
        raise InputError(f"{str(path)!r} is not a file that can be replaced; name another.")
    if beginning and not recognise(beginning):
        raise InputError(
            f"{str(path)!r} is there and is not {kind}, so it is not replaced; name "
            f"another file, or remove it first."
        )


def check_other_than_table(path: Path) -> None:
    """Refuse a place that holds anything but a table of the format that its name asks for."""
    format = format_to_write(path)
    if format.read_only:
        raise InputError(f"a {format.suffixes[0]} file {format.read_only}")
    check_other_kind(path, format.one_file, format.recognise)


def is_png(beginning: bytes) -> bool:
    """Whether a file begins as a picture of pixels does."""
    return beginning.startswith(b"\x89PNG")


def is_svg(beginning: bytes) -> bool:
    """Whether a file begins as a drawing does."""
    return b"<svg" in beginning
