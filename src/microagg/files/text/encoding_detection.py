"""Detection of the encoding of a text file, and refusal of files that are no text."""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from microagg.errors import InputError
from microagg.sentences import Assignment, sentence
from microagg.table.columns.text_options import UTF8, UTF8_WITH_MARK

if TYPE_CHECKING:
    import pyarrow as pa


BLOCK = 1 << 20
BEGINNING = 1 << 16
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


def blocks_of(content: Path | pa.Buffer, skipped: int = 0) -> Iterator[bytes]:
    """Yield the bytes of a file or buffer in blocks, after those that are skipped."""
    if isinstance(content, Path):
        with content.open("rb") as file:
            file.seek(skipped)
            while block := file.read(BLOCK):
                yield block
    else:
        whole = memoryview(content)
        for start in range(skipped, len(whole), BLOCK):
            yield whole[start : start + BLOCK].tobytes()


def encoding_of(path: Path, content: Path | pa.Buffer) -> str:
    """Detect the encoding of a file by its first bytes and its content."""
    first = next(blocks_of(content), b"")
    check_other_files(path, first)
    if first.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise InputError(
            sentence(f"{str(path)!r} is in UTF-32; say ", Assignment("encoding", "utf-32"), ".")
        )
    for mark, name in MARKS.items():
        if first.startswith(mark) and name != UTF8_WITH_MARK:
            return name
    if evident := _evident_utf16(first[:BEGINNING]):
        return evident
    decoder, done, plain = codecs.getincrementaldecoder(UTF8)(), 0, True
    for block in blocks_of(content):
        if b"\0" in block:
            check_zeros(path, done + block.index(b"\0"))
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


def check_utf8(path: Path, content: Path | pa.Buffer) -> None:
    """Check that a file declared as UTF-8 is valid."""
    first = next(blocks_of(content), b"")
    check_other_files(path, first)
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _evident_utf16(
        first[:BEGINNING]
    ):
        raise InputError(
            sentence(
                f"{str(path)!r} is not in UTF-8 but in UTF-16; say ",
                Assignment("encoding", "utf-16"),
                ".",
            )
        )
    decoder, done = codecs.getincrementaldecoder(UTF8)(), 0
    for block in itertools.chain(blocks_of(content), [b""]):
        begun = done - len(decoder.getstate()[0])  # a letter may begin in the block before
        try:
            decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            check_encoding(path, content, UTF8, begun + error.start)
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
    for block in itertools.chain(blocks_of(content), [b""]):
        if b"\0" in block:
            check_zeros(path, done + block.index(b"\0"))
        begun = done - len(decoder.getstate()[0])
        text = decoder.decode(block, final=not block)
        right = text.encode(UTF8, errors="ignore")
        letters += len(text) - len(text.encode("ascii", errors="ignore"))
        unused = unused or any(letter in text for letter in UNUSED_IN_CP1252)
        if len(right) < len(text.encode(UTF8, errors="surrogateescape")) and first_wrong < 0:
            first_wrong = begun + _first_wrong(text)
        wrong += len(text.encode(UTF8, errors="surrogateescape")) - len(right)
        done += len(block)
    if letters > 2 * wrong:  # the wrong ones were counted as letters, too
        raise InputError(
            sentence(
                f"{str(path)!r} is in UTF-8 but for some bytes "
                f"({position_of(content, first_wrong)}); correct it, or say ",
                Assignment("encoding", "cp1252"),
                " if it is that.",
            )
        )
    if unused:
        raise InputError(
            sentence(
                f"{str(path)!r} is neither in UTF-8 nor in UTF-16 nor in CP1252 "
                f"({position_of(content, first_wrong)}); say ",
                Assignment("encoding", "…"),
                " with the one that it is in.",
            )
        )
    return "cp1252"


def _first_wrong(text: str) -> int:
    """Return the number of bytes before the first invalid one."""
    for index, letter in enumerate(text):
        if "\udc80" <= letter <= "\udcff":
            return len(text[:index].encode(UTF8))
    return 0


def check_encoding(path: Path, content: Path | pa.Buffer, encoding: str, offset: int) -> NoReturn:
    """Refuse a file whose bytes at an offset are not in its encoding."""
    raise InputError(
        sentence(
            f"{str(path)!r} is not in {encoding} ({position_of(content, offset)}); say ",
            Assignment("encoding", "…"),
            " with the one that it is in.",
        )
    ) from None


def check_other_files(path: Path, first: bytes) -> None:
    """Refuse a file that is no text, and name its format if its first bytes identify it."""
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


def check_zeros(path: Path, offset: int) -> NoReturn:
    """Refuse a file with zero bytes."""
    raise InputError(
        sentence(
            f"{str(path)!r} has zero bytes (about byte {offset + 1:,}), so it is damaged or "
            "no text; correct it, or say its ",
            Assignment("encoding", "…"),
            ".",
        )
    )


def position_of(content: Path | pa.Buffer, offset: int) -> str:
    """Return the line and column of a byte, as an editor shows them."""
    line, left = 1, offset
    for block in blocks_of(content):
        line += block[:left].count(b"\n")
        left -= len(block)
        if left <= 0:
            break
    return f"line {line:,}, byte {offset + 1:,} of the file"
