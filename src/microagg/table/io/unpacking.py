"""How much a packed file may unpack to: a small file can be made that fills any memory."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from microagg.errors import InputError

LEAST = 1 << 30


def largest_table() -> int:
    """How many bytes a file may unpack to: half of this machine's memory, and a gigabyte where that is not known.

    >>> largest_table() >= 1 << 30
    True
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return max(LEAST, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    return LEAST


def refuse_larger(path: Path, held: int, most: int) -> None:
    """Refuse a file that has unpacked to more bytes than it may."""
    if held > most:
        raise InputError(
            f"{str(path)!r} unpacks to more than {most / 2**30:.3g} GB, half of this machine's memory; "
            "split it, or use a larger machine."
        )
