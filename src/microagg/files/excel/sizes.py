"""Memory that the cells of a workbook take, counted by unpacking it in pieces before it is read."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from microagg.files.unpacking import check_larger, memory_limit

BYTES_A_CELL = 80
"""Bytes that calamine and Python need for one cell, also for an empty one between others."""
BYTES_A_STRING = 40
"""Bytes that calamine needs for one shared string, besides its letters."""
AT_ONCE = 1 << 20
PLACE = re.compile(rb"""r\s*=\s*["']([A-Z]{0,3})(\d{1,7})["']""")
STRING = re.compile(rb"<(?:\w+:)?si[\s/>]")
SHARED = re.compile(rb"""t\s*=\s*["']s["'][^>]*>\s*<(?:\w+:)?v>\s*(\d+)""")
LONGEST_TAG = 1 << 10
LONGEST_BEGINNING = 32
INSTEAD = "as a csv file"
STRINGS, SHEETS = "xl/sharedStrings.xml", "xl/worksheets/"


def check_large_workbook(
    path: Path, packed: zipfile.ZipFile, entries: Sequence[zipfile.ZipInfo]
) -> None:
    """Refuse a workbook too large for memory, by counting: its stated size may be wrong."""
    most, held, strings, cells = memory_limit(path), 0, _Strings(), 0
    for entry in entries:
        if not entry.filename.endswith((".xml", ".rels", ".bin")):
            continue
        sheet = _Sheet()
        for piece in _pieces(packed, entry):
            held += len(piece)
            if entry.filename == STRINGS:
                strings.take(piece)
            elif entry.filename.startswith(SHEETS):
                sheet.take(piece)
            counted = BYTES_A_CELL * (cells + sheet.cells) + BYTES_A_STRING * len(strings.lengths)
            check_larger(path, held + counted, most, INSTEAD)
        cells += sheet.cells
        check_larger(path, BYTES_A_CELL * sheet.reach, most, INSTEAD)
    strings.end()
    if cells * max(strings.lengths, default=0) > most:  # the same long string for many cells
        shared = sum(_letters_shared(packed, entry, strings.lengths) for entry in entries)
        check_larger(path, held + BYTES_A_CELL * cells + shared, most, INSTEAD)


def _pieces(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    with packed.open(entry) as content:
        while piece := content.read(AT_ONCE):
            yield piece


class _Sheet:
    """Counter of the cells of a sheet, and of their extent."""

    def __init__(self) -> None:
        self.cells = 0
        self._widest, self._lowest, self._rest = 0, 0, b""

    @property
    def reach(self) -> int:
        """Number of cells of the smallest rectangle that holds all of them."""
        return self._widest * self._lowest

    def take(self, piece: bytes) -> None:
        self.cells += piece.count(b"<c") + piece.count(b":c")
        letters, numbers = set(), set()
        for column, row in PLACE.findall(self._rest + piece):
            letters.add(column)
            numbers.add(row)
        self._rest = piece[-32:]
        for column in letters:
            number = 0
            for letter in column:
                number = 26 * number + letter - 64
            self._widest = max(self._widest, number)
        self._lowest = max(self._lowest, max(map(int, numbers), default=0))


class _Strings:
    """Largest possible lengths of the strings that cells share."""

    def __init__(self) -> None:
        self.lengths: list[int] = []
        self._done, self._begun, self._rest = 0, -1, b""

    def take(self, piece: bytes) -> None:
        content, first = self._rest + piece, self._done - len(self._rest)
        self._done += len(piece)
        whole = max(0, len(content) - LONGEST_BEGINNING)  # what begins after may be cut off
        self._find(content, first, whole)
        self._rest = content[whole:]

    def end(self) -> None:
        self._find(self._rest, self._done - len(self._rest), len(self._rest))
        if self._begun >= 0:
            self.lengths.append(self._done - self._begun)

    def _find(self, content: bytes, first: int, whole: int) -> None:
        for match in STRING.finditer(content):
            if match.start() >= whole:
                return
            if self._begun >= 0:
                self.lengths.append(first + match.start() - self._begun)
            self._begun = first + match.start()


def _letters_shared(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, lengths: Sequence[int]) -> int:
    """Return the number of letters of all shared strings that cells of a sheet show."""
    if not entry.filename.startswith(SHEETS):
        return 0
    total, rest = 0, b""
    for piece in _pieces(packed, entry):
        content = rest + piece
        cut = max(content.rfind(b"<c"), len(content) - LONGEST_TAG)
        rest = content[cut:]
        total += sum(_length(lengths, match[1]) for match in SHARED.finditer(content[:cut]))
    return total + sum(_length(lengths, match[1]) for match in SHARED.finditer(rest))


def _length(lengths: Sequence[int], number: bytes) -> int:
    index = int(number)
    return lengths[index] if index < len(lengths) else 0
