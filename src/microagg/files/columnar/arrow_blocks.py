"""What the record batches of an Arrow file claim to hold, read from its footer without unpacking
any of them.

Arrow makes room for whatever a file claims before it looks at the data, so that a damaged file of
some kilobytes ends in "out of memory", and a small one can be made that unpacks to any size. The
layout is that of Arrow's Message.fbs and File.fbs.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"ARROW1"
_FOOTER_DICTIONARIES, _FOOTER_BATCHES = 2, 3
_MESSAGE_KIND, _MESSAGE_HEADER = 1, 2
_DICTIONARY, _BATCH = 2, 3
_DATA_OF_DICTIONARY = 1
_LENGTH, _NODES, _BUFFERS, _COMPRESSION = 0, 1, 2, 3
_MOST_TIMES = {0: 256, 1: 1 << 16}
"""How many times its own size data packed with LZ4, or ZSTD, can have: more is a damaged file."""


class DamagedError(ValueError):
    """A file whose parts do not lie where it says."""


@dataclass(frozen=True)
class Claim:
    """What one record batch, or the values of one dictionary, claims to hold."""

    records: int
    bytes: int
    """Of all buffers, once they are unpacked."""


def claims_of(path: Path) -> tuple[list[Claim], list[Claim]]:
    """Return what the record batches and the dictionaries of an Arrow file claim; raises
    DamagedError.
    """
    with path.open("rb") as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return _Reader(content).claims()
        except (struct.error, ValueError, IndexError, OverflowError):
            raise DamagedError from None


class _Reader:
    """Reads tables of FlatBuffers in a file that may be damaged: every place is checked before it
    is read.
    """

    def __init__(self, content: mmap.mmap) -> None:
        self._content, self._end = content, len(content)

    def claims(self) -> tuple[list[Claim], list[Claim]]:
        if self._content[self._end - 6 :] != MAGIC:
            raise DamagedError
        length = self._number("<i", self._end - 10)
        footer = self._root(self._end - 10 - length)
        return (
            [self._claim(*block) for block in self._blocks(footer, _FOOTER_BATCHES)],
            [self._claim(*block) for block in self._blocks(footer, _FOOTER_DICTIONARIES)],
        )

    def _number(self, kind: str, place: int) -> int:
        if place < 0:
            raise DamagedError
        return struct.unpack_from(kind, self._content, place)[0]

    def _root(self, place: int) -> int:
        return place + self._number("<I", place)

    def _field(self, table: int, number: int) -> int:
        """The place of a field of a table; 0 if it is not there."""
        entries = table - self._number("<i", table)
        if 4 + 2 * number >= self._number("<H", entries):
            return 0
        offset = self._number("<H", entries + 4 + 2 * number)
        return table + offset if offset else 0

    def _table(self, table: int, number: int) -> int:
        place = self._field(table, number)
        if not place:
            raise DamagedError
        return place + self._number("<I", place)

    def _vector(self, table: int, number: int, width: int) -> tuple[int, int]:
        """The place of the first of so many elements, and how many there are."""
        place = self._field(table, number)
        if not place:
            return 0, 0
        start = place + self._number("<I", place)
        count = self._number("<I", start)
        if start + 4 + count * width > self._end:
            raise DamagedError
        return start + 4, count

    def _blocks(self, footer: int, number: int) -> list[tuple[int, int, int]]:
        """Where each message begins, and how long its description and its body are."""
        first, count = self._vector(footer, number, 24)
        places = range(first, first + 24 * count, 24)
        return [struct.unpack_from("<qi4xq", self._content, place) for place in places]

    def _claim(self, start: int, described: int, body: int) -> Claim:
        if min(start, described, body) < 0 or start + described + body > self._end:
            raise DamagedError
        prefix = 8 if self._number("<I", start) == 0xFFFFFFFF else 4
        message = self._root(start + prefix)
        kind = self._field(message, _MESSAGE_KIND)
        what = self._number("<B", kind) if kind else 0
        header = self._table(message, _MESSAGE_HEADER)
        if what == _DICTIONARY:
            header = self._table(header, _DATA_OF_DICTIONARY)
        elif what != _BATCH:
            raise DamagedError
        records = self._field(header, _LENGTH)
        length = self._number("<q", records) if records else 0
        self._check_long_columns(header, length)
        return Claim(length, self._unpacked(header, start + described, body))

    def _check_long_columns(self, header: int, length: int) -> None:
        first, count = self._vector(header, _NODES, 16)
        nodes = [self._number("<q", place) for place in range(first, first + 16 * count, 16)]
        if length < 0 or any(node < 0 for node in nodes):
            raise DamagedError

    def _unpacked(self, header: int, body: int, length: int) -> int:
        """How many bytes all buffers have once they are unpacked."""
        packing = self._field(header, _COMPRESSION)
        most = 1
        if packing:
            codec = self._field(packing + self._number("<I", packing), 0)
            most = _MOST_TIMES.get(self._number("<b", codec) if codec else 0, 1)
        first, count = self._vector(header, _BUFFERS, 16)
        total = 0
        for place in range(first, first + 16 * count, 16):
            start, size = struct.unpack_from("<qq", self._content, place)
            if min(start, size) < 0 or start + size > length:
                raise DamagedError
            if not packing or size < 8:
                total += size
                continue
            claimed = self._number("<q", body + start)
            if claimed > most * size or claimed < -1:
                raise DamagedError
            total += size - 8 if claimed == -1 else claimed
        return total
