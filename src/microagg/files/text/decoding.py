"""Text files as UTF-8, decoded and unpacked within the limits of memory."""

from __future__ import annotations

import codecs
import contextlib
import itertools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.files.text.encoding_detection import (
    BLOCK,
    ENDINGS,
    MAGIC,
    blocks_of,
    check_encoding,
    check_other_files,
    check_utf8,
    check_zeros,
    encoding_of,
)
from microagg.files.unpacking import check_larger, memory_limit, memory_of_text
from microagg.table.columns.text_options import UTF8, UTF8_WITH_MARK

if TYPE_CHECKING:
    import pyarrow as pa

UNPACKED = "without packing it"
LONGEST_SKIPPED = 1 << 20


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
    """Largest possible number of lines, if counted: only of text that was unpacked or decoded."""

    @property
    def size(self) -> int:
        """Number of bytes."""
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
        """Return the first bytes, without a byte order mark."""
        if isinstance(self.content, Path):
            with self.content.open("rb") as file:
                file.seek(self.skipped)
                first = file.read(most)
        else:
            first = memoryview(self.content)[self.skipped : self.skipped + most].tobytes()
        return first.removeprefix(codecs.BOM_UTF8)

    def ending(self, most: int) -> bytes:
        """Return the last bytes."""
        if isinstance(self.content, Path):
            with self.content.open("rb") as file:
                file.seek(max(0, self.content.stat().st_size - most))
                return file.read()
        return memoryview(self.content)[-most:].tobytes()

    def has_quotes(self) -> bool:
        """Check if there are double quotes after the first line.

        Without them no value spans several lines, and reading is faster.
        """
        begun = False
        for block in blocks_of(self.content, self.skipped):
            if block.find(b'"', 0 if begun else max(0, block.find(b"\n"))) >= 0:
                return True
            begun = True
        return False

    def to_read(self) -> Any:
        """Return the argument for Arrow's reader."""
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
    """Open the text of a file in UTF-8; `encoding` is detected among UTF-8, UTF-16 and CP1252
    (Latin-1).

    A file that is no text, or not in that encoding, raises InputError, which names the position and
    quotes nothing. Zero bytes are letters only if the encoding is given as UTF-8. Text that is
    unpacked or decoded is kept in memory, or in the folder `aside`.
    """
    try:
        content, lines = path, 0
        if packing:
            kept = _Kept.of(path, aside, "unpacked")
            content, lines = _unpacked(path, packing, kept), kept.lines
        detected = encoding or encoding_of(path, content)
        if detected in (UTF8, UTF8_WITH_MARK):
            if encoding is not None:
                check_utf8(path, content)
            return Source(
                content, UTF8_WITH_MARK if _begins_with_mark(content) else UTF8, lines=lines
            )
        kept = _Kept.of(path, aside, "decoded")
        decoded = _decoded(path, content, detected, kept)
        return Source(decoded, "utf-16-le" if detected == "utf-16" else detected, lines=kept.lines)
    except OSError:
        raise InputError(f"{str(path)!r} cannot be read; check its permissions.") from None


class _Kept:
    """Where bytes are kept: in memory, as far as there is room, or in a file that only its owner
    reads.
    """

    def __init__(self, path: Path, target: Path | None) -> None:
        import pyarrow as pa

        self._path, self._place = path, target
        self._sink: Any = pa.BufferOutputStream()
        if target is not None:
            with _explain_full_disk(target):
                self._sink = os.fdopen(
                    os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb"
                )
        self._most, self._held = None if target is not None else memory_limit(path), 0
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
def _explain_full_disk(target: Path | None) -> Iterator[None]:
    """Replace the error of a full disk by one that does not blame the file being read."""
    try:
        yield
    except OSError as error:
        if target is None:
            raise
        raise InputError(
            "a temporary copy of the text could not be written "
            f"({os.strerror(error.errno or 0)}); nothing was put in place. Make room, or "
            "name "
            "another folder with spill."
        ) from None


def _begins_with_mark(content: Path | pa.Buffer) -> bool:
    return next(blocks_of(content), b"").startswith(codecs.BOM_UTF8)


def _unpacked(path: Path, packing: str, kept: _Kept) -> Path | pa.Buffer:
    """Unpack a packed file, within the limit of memory."""
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
                    check_zeros(path, held - len(block) + block.index(b"\0"))
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


def _decoded(path: Path, content: Path | pa.Buffer, encoding: str, kept: _Kept) -> Path | pa.Buffer:
    """Decode a text from another encoding to UTF-8."""
    check_other_files(path, next(blocks_of(content), b""))
    decoder, done, begun = codecs.getincrementaldecoder(encoding)(), 0, False
    try:
        for block in blocks_of(content):
            text = decoder.decode(block)
            if not begun and text:
                text, begun = text.removeprefix("\ufeff"), True
            if "\0" in text:
                check_zeros(path, done)
            kept.write(text.encode(UTF8))
            done += len(block)
        decoder.decode(b"", final=True)
    except UnicodeError as error:
        check_encoding(path, content, encoding, done + max(0, getattr(error, "start", 0)))
    return kept.content()
