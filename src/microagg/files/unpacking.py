"""Limits on the memory that the table of a file may take, against decompression bombs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from microagg.errors import InputError
from microagg.files.memory import available_memory

ALWAYS = 1 << 30
"""Bytes of memory that a file of any size may take."""
RATIO = 100
"""Memory that a larger file may take, in multiples of its size."""
TABLE_TIMES = 4
"""Peak memory of reading and profiling an Arrow table, in multiples of its bytes."""
BYTES_A_LETTER, BYTES_A_LINE, BYTES_A_CELL = 3, 12, 12
"""What reading a text file takes at its peak: for each of its bytes, its lines and its cells."""


def memory_limit(path: Path) -> int:
    """Return how many bytes of memory may be taken to read a file.

    That is three quarters of the free memory. A small file may take less, in proportion to its
    size: a gigabyte, or a hundred times its size if that is more.
    """
    return int(min(available_memory() * 3 // 4, _limit_by_size(path)))


@contextlib.contextmanager
def any_size() -> Iterator[None]:
    """Lift the limit by file size, for files of microagg whose records may be much alike."""
    before = _any_size.set(True)
    try:
        yield
    finally:
        _any_size.reset(before)


_any_size: ContextVar[bool] = ContextVar("any_size", default=False)


def _limit_by_size(path: Path) -> float:
    if _any_size.get():
        return math.inf
    size = 0
    with contextlib.suppress(OSError):
        size = path.stat().st_size
    return max(ALWAYS, RATIO * size)


def largest_table(path: Path) -> int:
    """Return how many bytes the Arrow table of a file may have."""
    return memory_limit(path) // TABLE_TIMES


def memory_of_text(letters: int, lines: int, columns: int = 1) -> int:
    """Estimate the bytes of memory that reading a text file takes.

    >>> memory_of_text(1_000_000, 50_000, columns=5)
    6600000
    """
    return BYTES_A_LETTER * letters + (BYTES_A_LINE + BYTES_A_CELL * columns) * lines


def check_larger(
    path: Path, held: int, most: int, instead: str = "as an Arrow file without compression"
) -> None:
    """Refuse a file that holds more bytes than allowed; `instead` is another way to write it."""
    if held <= most:
        return
    limit = memory_limit(path)
    what = f"{str(path)!r} unpacks to a table that takes more than {_size(limit)} of memory"
    if limit == _limit_by_size(path):
        raise InputError(
            f"{what}, too much for a file so small; if it is as it should be, write it {instead}."
        )
    raise InputError(f"{what}, more than is free here; split it, or use a larger machine.")


def _size(count: int) -> str:
    """Format a number of bytes for people.

    >>> _size(268_435_456), _size(3_000_000_000)
    ('268 MB', '3.0 GB')
    """
    return f"{count / 1e9:,.1f} GB" if count >= 10**9 else f"{count / 1e6:,.0f} MB"
