"""Text files as input beyond memory: about how large their tables are, and those tables, taken
in.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from microagg.errors import FitsInMemoryError
from microagg.files.chunks import is_in_parts
from microagg.files.formats import format_of
from microagg.files.stores.locations import Url, parse_location
from microagg.pipeline.block_plan import needs_plan
from microagg.pipeline.text_intake import TextIntake, TextSettings, intake_text
from microagg.release.settings import Settings
from microagg.runtime.spill import SpillFolder, explain_full_disk
from microagg.table.schema import Role

LOOKED_AT = 1 << 20
UNPACKED_AT_ONCE = 1 << 16
COUNTED = 1 << 33
"""Bytes after which it is plain that a file is large."""
IN_TIMES = 2.2  # what is set aside of a text file, in times of its own bytes, unpacked


@dataclass(frozen=True)
class SizeEstimate:
    """About how large the table of a text file is."""

    records: int
    columns: int
    bytes: int


def is_text_file(path: str | Path | Url) -> bool:
    """Return True if this is the path of a text file on this machine."""
    location = parse_location(path)
    return (
        isinstance(location, Path)
        and not is_in_parts(location)
        and not format_of(location).typed
        and "encoding" in format_of(location).options
    )


def estimate_size(path: Path) -> SizeEstimate | None:
    """Estimate the size of a table from the first lines of its text file; None where they do not
    tell.
    """
    size = path.stat().st_size
    packing = format_of(path).packing
    try:
        with path.open("rb") as raw:
            first = raw.read(LOOKED_AT)
        if packing and first:
            first, size = _unpacked_beginning(first, size, packing)
    except (OSError, pa.ArrowException):
        return None
    lines = first.replace(b"\0", b"").splitlines()
    if len(lines) < 2:
        return None
    records = int(max(size / len(first), 1.0) * len(lines))
    columns = 1 + max(lines[0].count(mark) for mark in (b",", b";", b"\t", b"|"))
    return SizeEstimate(records, columns, size)


def _unpacked_beginning(first: bytes, size: int, packing: str) -> tuple[bytes, int]:
    """The first bytes that a packed file of this size unpacks to, and about how many there are in
    all.

    `first` is how the file begins. What that unpacks to is counted and not kept, for it may be any
    number of bytes.
    """
    beginning, count = bytearray(), 0
    with (
        pa.CompressedInputStream(pa.BufferReader(first), packing) as stream,
        contextlib.suppress(OSError, pa.ArrowException),  # where it is cut off
    ):
        while count < COUNTED and (block := stream.read(UNPACKED_AT_ONCE)):
            count += len(block)
            if len(beginning) < LOOKED_AT:
                beginning += block
    return bytes(beginning), int(count * size / len(first))


def intake_text_file(path: Path, settings: Settings, kept: SpillFolder, memory: int) -> TextIntake:
    """The table of a text file; one that is a single block is left to the way in memory."""
    guess = estimate_size(path) if path.is_file() else None
    if guess is not None:
        kept.check_full(int(IN_TIMES * guess.bytes))
    text_settings = TextSettings(settings.reading, frozenset(settings.numbers), settings.columns)
    with explain_full_disk("while the text file was taken in"):
        taken = intake_text(path, text_settings, kept.folder, memory, lambda records: None)
    if not needs_plan(taken.source.records, len(settings.roles[Role.QUASI]), settings.k):
        raise FitsInMemoryError("the table is one block and was processed in memory.")
    return taken
