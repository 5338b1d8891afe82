"""The bytes of a text file as UTF-8, whatever its encoding and however it is packed: never more of
them than memory has room for.
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from microagg.errors import InputError
from microagg.files.unpacking import check_larger, memory_limit, memory_of_text
from microagg.table.columns.text_options import UTF8, UTF8_WITH_MARK

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 1 << 20
UNPACKED = "without packing it"
BEGINNING = 1 << 16
LONGEST_SKIPPED = 1 << 20
MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
ENDINGS = {"gzip": ".gz", "zstd": ".zst"}
OTHERS = {
    b"PK\x03\x04": "a zip or Excel file",
    b"PAR1": "a parquet file",
    b"ARROW1": "an Arrow file",
    b"%PDF": "a PDF",
    b"\xd0\xcf\x11\xe0": "an old Excel file",
    b"$FL2": "an SPSS file",
    b"$FL3": "an SPSS file",
    b"<stata_dta>": "a Stata file",
    b"SQLite format 3": "a database",
    b"7z\xbc\xaf": "a 7z file",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
}
MARKS = {
    codecs.BOM_UTF8: UTF8_WITH_MARK,
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
UNUSED_IN_CP1252 = "\udc81\udc8d\udc8f\udc90\udc9d"
"""Bytes without a letter in CP1252, as a decoder for UTF-8 hands on bytes that it cannot read."""


@dataclass(frozen=True)
class Source:
    """A text file as Arrow can read it."""

    content: Path | pa.Buffer
    """In UTF-8: the file itself, or what it unpacks and decodes to."""
    encoding: str
    """That of the file."""
    skipped: int = 0
    """Bytes at its beginning that are passed over."""
    lines: int = 0
    """How many there are at most, where that was counted: of text that was unpacked or decoded."""

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self.content.stat().st_size if isinstance(self.content, Path) else self.content.size

    def check_larger(self, path: Path, columns: int) -> None:
        """Refuse a file of so many columns for whose records memory has no room."""
        needed = memory_of_text(self.size, self.lines, columns)
        check_larger(path, needed, memory_limit(path), UNPACKED)

    def without_rows(self, count: int) -> Source | None:
        """Return the text after so many rows; None where it has no more of them in its first
        bytes.
        """
        if not count:
            return self
        begin = codecs.BOM_UTF8 if _begins_with_mark(self.content) else b""
        ends = re.finditer(rb"\r\n|\n|\r", self.beginning(LONGEST_SKIPPED))
        end = next(itertools.islice(ends, count - 1, None), None)
        return None if end is None else replace(self, skipped=len(begin) + end.end())

    def beginning(self, most: int) -> bytes:
        """The first bytes, without a byte order mark."""
        if isinstance(self.content, Path):
            with self.content.open("rb") as file:
                file.seek(self.skipped)
                first = file.read(most)
        else:
            first = memoryview(self.content)[self.skipped : self.skipped + most].tobytes()
        return first.removeprefix(codecs.BOM_UTF8)

    def ending(self, most: int) -> bytes:
        """The last bytes."""
        if isinstance(self.content, Path):
            with self.content.open("rb") as file:
                file.seek(max(0, self.content.stat().st_size - most))
                return file.read()
        return memoryview(self.content)[-most:].tobytes()

    def has_quotes(self) -> bool:
        """Whether there are double quotes after the first line: without, no value goes over several
        lines, and reading is faster.
        """
        begun = False
        for block in _blocks(self.content, self.skipped):
            if block.find(b'"', 0 if begun else max(0, block.find(b"\n"))) >= 0:
                return True
            begun = True
        return False

    def to_read(self) -> Any:
        """What Arrow reads."""
        import pyarrow as pa

        if not isinstance(self.content, Path):
            return pa.BufferReader(self.content.slice(self.skipped))
        if not self.skipped:
            return self.content
        file = pa.OSFile(str(self.content))
        file.seek(self.skipped)
        return file


def open_text(
    path: Path, packing: str = "", encoding: str | None = None, aside: Path | None = None
) -> Source:
    """The text of a file in UTF-8. Unless its `encoding` is told, it is found out among UTF-8,
    UTF-16 and CP1252 (Latin-1).

    A file that is no text, or not in that encoding, raises InputError, which names the place and
    quotes nothing. Zero bytes are letters only where somebody says that the file is in UTF-8. What
    is unpacked or decoded lies in memory, or in the folder `aside`.
    """
    try:
        content, lines = path, 0
        if packing:
            kept = _Kept.of(path, aside, "unpacked")
            content, lines = _unpacked(path, packing, kept), kept.lines
        found = encoding or _encoding_of(path, content)
        if found in (UTF8, UTF8_WITH_MARK):
            if encoding is not None:
                _check_unless_utf8(path, content)
            return Source(
                content, UTF8_WITH_MARK if _begins_with_mark(content) else UTF8, lines=lines
            )
        kept = _Kept.of(path, aside, "decoded")
        decoded = _decoded(path, content, found, kept)
        return Source(decoded, "utf-16-le" if found == "utf-16" else found, lines=kept.lines)
    except OSError:
        raise InputError(f"{str(path)!r} cannot be read; check its permissions.") from None


class _Kept:
    """Where bytes are kept: in memory, as far as there is room, or in a file that only its owner
    reads.
    """

    def __init__(self, path: Path, place: Path | None) -> None:
        import pyarrow as pa

        self._path, self._place = path, place
        self._sink: Any = pa.BufferOutputStream()
        if place is not None:
            with _explain_full_disk(place):
                self._sink = os.fdopen(
                    os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb"
                )
        self._most, self._held = None if place is not None else memory_limit(path), 0
        self.lines = 0

    @staticmethod
    def of(path: Path, folder: Path | None, name: str) -> _Kept:
        return _Kept(path, None if folder is None else folder / name)

    def write(self, block: bytes) -> None:
        self._held += len(block)
        self.lines += max(block.count(b"\n"), block.count(b"\r"))
        if self._most is not None:
            check_larger(self._path, memory_of_text(self._held, self.lines), self._most, UNPACKED)
        with _explain_full_disk(self._place):
            self._sink.write(block)

    def content(self) -> Path | pa.Buffer:
        if self._place is None:
            return self._sink.getvalue()
        with _explain_full_disk(self._place):
            self._sink.close()
        return self._place


@contextlib.contextmanager
def _explain_full_disk(place: Path | None) -> Iterator[None]:
    """A disk that takes no more is no fault of the file that is read."""
    try:
        yield
    except OSError as error:
        if place is None:
            raise
        raise InputError(
            "what a text file holds could not be set aside "
            f"({os.strerror(error.errno or 0)}); nothing was put in place. Make room, or "
            "name "
            "another folder with spill."
        ) from None


def _blocks(content: Path | pa.Buffer, skipped: int = 0) -> Iterator[bytes]:
    if isinstance(content, Path):
        with content.open("rb") as file:
            file.seek(skipped)
            while block := file.read(BLOCK):
                yield block
    else:
        whole = memoryview(content)
        for start in range(skipped, len(whole), BLOCK):
            yield whole[start : start + BLOCK].tobytes()


def _begins_with_mark(content: Path | pa.Buffer) -> bool:
    return next(_blocks(content), b"").startswith(codecs.BOM_UTF8)


def _unpacked(path: Path, packing: str, kept: _Kept) -> Path | pa.Buffer:
    """What a packed file holds, as far as there may be of it."""
    import pyarrow as pa

    with path.open("rb") as file:
        first = file.read(4)
    if first and not first.startswith(MAGIC[packing]):
        raise InputError(
            f"{str(path)!r} is not packed with {packing}; name it without "
            f"{ENDINGS[packing]} if it is plain text, or pack it anew."
        )
    held = 0
    try:
        with pa.OSFile(str(path)) as file, pa.CompressedInputStream(file, packing) as stream:
            while block := stream.read(BLOCK):
                held += len(block)
                # no text in any encoding: what is made to fill memory is mostly so
                if b"\0" * 64 in block:
                    _check_zeros(path, held - len(block) + block.index(b"\0"))
                if (
                    len(block) == BLOCK and block.isspace()
                ):  # readers keep the blocks before a record in memory
                    raise InputError(
                        f"{str(path)!r} has a megabyte of nothing but empty lines and "
                        "blanks; remove them."
                    )
                kept.write(block)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError):
        raise InputError(
            f"{str(path)!r} is damaged: it cannot be unpacked to its end; pack it anew."
        ) from None
    return kept.content()


def _encoding_of(path: Path, content: Path | pa.Buffer) -> str:
    """The encoding of a file that begins, and goes on, as only one of those looked for does."""
    first = next(_blocks(content), b"")
    _check_other_files(path, first)
    if first.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise InputError(f"{str(path)!r} is in UTF-32; say encoding='utf-32'.")
    for mark, name in MARKS.items():
        if first.startswith(mark) and name != UTF8_WITH_MARK:
            return name
    if evident := _evident_utf16(first[:BEGINNING]):
        return evident
    decoder, done, plain = codecs.getincrementaldecoder(UTF8)(), 0, True
    for block in _blocks(content):
        if b"\0" in block:
            _check_zeros(path, done + block.index(b"\0"))
        try:
            if not (plain and block.isascii()):
                plain = False
                decoder.decode(block)
        except UnicodeDecodeError:
            return _not_utf8(path, content)
        done += len(block)
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return _not_utf8(path, content)
    return UTF8


def _check_unless_utf8(path: Path, content: Path | pa.Buffer) -> None:
    """Make sure of a file that is said to be in UTF-8."""
    first = next(_blocks(content), b"")
    _check_other_files(path, first)
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _evident_utf16(
        first[:BEGINNING]
    ):
        raise InputError(f"{str(path)!r} is not in UTF-8 but in UTF-16; say encoding='utf-16'.")
    decoder, done = codecs.getincrementaldecoder(UTF8)(), 0
    for block in (*_blocks(content), b""):
        try:
            decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            _check_encoding(path, content, UTF8, done + error.start)
        done += len(block)


def _evident_utf16(first: bytes) -> str | None:
    """UTF-16 without a mark shows by its zeros: every other byte, on one side, where text is mostly
    of Latin letters.
    """
    low, high = first[0::2].count(0), first[1::2].count(0)
    half = len(first) // 2
    if half < 2 or max(low, high) < 0.4 * half or min(low, high) > 0.01 * half:
        return None
    return "utf-16-le" if high > low else "utf-16-be"


def _not_utf8(path: Path, content: Path | pa.Buffer) -> str:
    """CP1252, unless the file has bytes that it has no letters for, or is in UTF-8 but for some of
    its bytes.
    """
    decoder = codecs.getincrementaldecoder(UTF8)(
        errors="surrogateescape"
    )  # a wrong byte becomes half a letter
    letters, wrong, first_wrong, unused, done = 0, 0, -1, False, 0
    for block in _blocks(content):
        if b"\0" in block:
            _check_zeros(path, done + block.index(b"\0"))
        text = decoder.decode(block)
        right = text.encode(UTF8, errors="ignore")
        letters += len(text) - len(text.encode("ascii", errors="ignore"))
        unused = unused or any(letter in text for letter in UNUSED_IN_CP1252)
        if len(right) < len(text.encode(UTF8, errors="surrogateescape")) and first_wrong < 0:
            first_wrong = done + _first_wrong(text)
        wrong += len(text.encode(UTF8, errors="surrogateescape")) - len(right)
        done += len(block)
    if letters > 2 * wrong:  # the wrong ones were counted as letters, too
        raise InputError(
            f"{str(path)!r} is in UTF-8 but for some bytes "
            f"({_place(content, first_wrong)}); mend it, or say encoding='cp1252' if it "
            "is that."
        )
    if unused:
        raise InputError(
            f"{str(path)!r} is neither in UTF-8 nor in UTF-16 nor in CP1252 "
            f"({_place(content, first_wrong)}); "
            "say encoding='…' with the one that it is in."
        )
    return "cp1252"


def _first_wrong(text: str) -> int:
    """How many bytes lie before the first wrong one."""
    for place, letter in enumerate(text):
        if "\udc80" <= letter <= "\udcff":
            return len(text[:place].encode(UTF8))
    return 0


def _decoded(path: Path, content: Path | pa.Buffer, encoding: str, kept: _Kept) -> Path | pa.Buffer:
    """The text in UTF-8, from another encoding."""
    _check_other_files(path, next(_blocks(content), b""))
    decoder, done, begun = codecs.getincrementaldecoder(encoding)(), 0, False
    try:
        for block in _blocks(content):
            text = decoder.decode(block)
            if not begun and text:
                text, begun = text.removeprefix("\ufeff"), True
            if "\0" in text:
                _check_zeros(path, done)
            kept.write(text.encode(UTF8))
            done += len(block)
        decoder.decode(b"", final=True)
    except UnicodeError as error:
        _check_encoding(path, content, encoding, done + max(0, getattr(error, "start", 0)))
    return kept.content()


def _check_encoding(path: Path, content: Path | pa.Buffer, encoding: str, offset: int) -> NoReturn:
    raise InputError(
        f"{str(path)!r} is not in {encoding} ({_place(content, offset)}); say "
        "encoding='…' with the one that it is in."
    ) from None


def _check_other_files(path: Path, first: bytes) -> None:
    """Say of a file that is no text what it is, where its first bytes tell."""
    for packing, magic in MAGIC.items():
        if first.startswith(magic):
            raise InputError(
                f"{str(path)!r} is packed with {packing}; let its name end in "
                f"{ENDINGS[packing]}, or unpack it first."
            )
    for magic, what in OTHERS.items():
        if first.startswith(magic):
            raise InputError(
                f"{str(path)!r} is {what} and no text; give it the ending of its format, "
                "or save it as text."
            )


def _check_zeros(path: Path, offset: int) -> NoReturn:
    raise InputError(
        f"{str(path)!r} has zero bytes (about byte {offset + 1:,}), so it is damaged or "
        "no text; mend it, or say its encoding='…'."
    )


def _place(content: Path | pa.Buffer, offset: int) -> str:
    """Where a byte lies, as an editor shows it."""
    line, left = 1, offset
    for block in _blocks(content):
        line += block[:left].count(b"\n")
        left -= len(block)
        if left <= 0:
            break
    return f"line {line:,}, byte {offset + 1:,} of the file"
