"""Claimed sizes of the record batches of an Arrow file, read from its footer without unpacking.

Arrow allocates whatever a file claims before it looks at the data. A damaged file of some kilobytes
ends in "out of memory", and a small file can be made that unpacks to any size. The layout follows
Arrow's Message.fbs and File.fbs.
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
"""Largest ratio of unpacked to packed size of LZ4 and of ZSTD; a larger one means a damaged file.
"""


class DamagedError(ValueError):
    """Raised for a file whose parts are not where its footer says."""


@dataclass(frozen=True)
class Claim:
    """Claimed size of one record batch, or of the values of one dictionary."""

    records: int
    bytes: int
    """Bytes of all buffers, unpacked."""


def claims_of(path: Path) -> tuple[list[Claim], list[Claim]]:
    """Return the claims of the record batches and of the dictionaries of an Arrow file.

    Raises DamagedError.
    """
    with path.open("rb") as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return _Reader(content).claims()
        except (struct.error, ValueError, IndexError, OverflowError):
            raise DamagedError from None


class _Reader:
    """Reader of FlatBuffers tables that may be damaged: checks every offset before reading it."""

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

    def _number(self, kind: str, offset: int) -> int:
        if offset < 0:
            raise DamagedError
        return struct.unpack_from(kind, self._content, offset)[0]

    def _root(self, offset: int) -> int:
        return offset + self._number("<I", offset)

    def _field(self, table: int, number: int) -> int:
        """Return the offset of a field of a table; 0 if the field is absent."""
        entries = table - self._number("<i", table)
        if 4 + 2 * number >= self._number("<H", entries):
            return 0
        offset = self._number("<H", entries + 4 + 2 * number)
        return table + offset if offset else 0

    def _table(self, table: int, number: int) -> int:
        offset = self._field(table, number)
        if not offset:
            raise DamagedError
        return offset + self._number("<I", offset)

    def _vector(self, table: int, number: int, width: int) -> tuple[int, int]:
        """Return the offset of the first element of a vector, and the number of elements."""
        offset = self._field(table, number)
        if not offset:
            return 0, 0
        start = offset + self._number("<I", offset)
        count = self._number("<I", start)
        if start + 4 + count * width > self._end:
            raise DamagedError
        return start + 4, count

    def _blocks(self, footer: int, number: int) -> list[tuple[int, int, int]]:
        """Return offset, length of metadata and length of body of each message."""
        first, count = self._vector(footer, number, 24)
        places = range(first, first + 24 * count, 24)
        return [struct.unpack_from("<qi4xq", self._content, offset) for offset in places]

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
        nodes = [self._number("<q", offset) for offset in range(first, first + 16 * count, 16)]
        if length < 0 or any(node < 0 for node in nodes):
            raise DamagedError

    def _unpacked(self, header: int, body: int, length: int) -> int:
        """Return the total bytes of all buffers, unpacked."""
        packing = self._field(header, _COMPRESSION)
        most = 1
        if packing:
            codec = self._field(packing + self._number("<I", packing), 0)
            most = _MOST_TIMES.get(self._number("<b", codec) if codec else 0, 1)
        first, count = self._vector(header, _BUFFERS, 16)
        total = 0
        for offset in range(first, first + 16 * count, 16):
            start, size = struct.unpack_from("<qq", self._content, offset)
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
