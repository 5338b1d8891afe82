"""How much memory the cells of a workbook take, found by unpacking it piece by piece before it is
read.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from microagg.files.unpacking import check_larger, memory_limit

BYTES_A_CELL = 80
"""What calamine and Python need for one cell, also for an empty one between others."""
BYTES_A_STRING = 40
"""What calamine needs for one of the strings that cells share, besides its letters."""
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
    """Refuse a workbook for which there is no room in memory; what it says of its own size may be
    wrong, so it is counted.
    """
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
    """Cells of a sheet: how many there are, and how far they reach."""

    def __init__(self) -> None:
        self.cells = 0
        self._widest, self._lowest, self._rest = 0, 0, b""

    @property
    def reach(self) -> int:
        """How many cells the smallest rectangle has that holds them all."""
        return self._widest * self._lowest

    def take(self, piece: bytes) -> None:
        self.cells += piece.count(b"<c") + piece.count(b":c")
        letters, numbers = set(), set()
        for column, row in PLACE.findall(self._rest + piece):
            letters.add(column)
            numbers.add(row)
        self._rest = piece[-32:]
        for column in letters:
            place = 0
            for letter in column:
                place = 26 * place + letter - 64
            self._widest = max(self._widest, place)
        self._lowest = max(self._lowest, max(map(int, numbers), default=0))


class _Strings:
    """The strings that cells share, by how long they are at most."""

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
        for found in STRING.finditer(content):
            if found.start() >= whole:
                return
            if self._begun >= 0:
                self.lengths.append(first + found.start() - self._begun)
            self._begun = first + found.start()


def _letters_shared(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, lengths: Sequence[int]) -> int:
    """How many letters the shared strings have that cells of a sheet show."""
    if not entry.filename.startswith(SHEETS):
        return 0
    total, rest = 0, b""
    for piece in _pieces(packed, entry):
        content = rest + piece
        cut = max(content.rfind(b"<c"), len(content) - LONGEST_TAG)
        rest = content[cut:]
        total += sum(_length(lengths, found[1]) for found in SHARED.finditer(content[:cut]))
    return total + sum(_length(lengths, found[1]) for found in SHARED.finditer(rest))


def _length(lengths: Sequence[int], number: bytes) -> int:
    place = int(number)
    return lengths[place] if place < len(lengths) else 0
