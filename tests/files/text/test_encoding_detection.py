"""The encoding of a text file, and where it stops being in it; files that are no text."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

import pyarrow as pa
import pytest

import microagg as ma
from holding import Hold
from microagg.files.reading import read_table
from microagg.files.text import encoding_detection as detection

NAME = Path("in.csv")


@pytest.mark.parametrize("wrong", [0x80, 0x81, 0xBF, 0xC3, 0xFE, 0xFF])
def test_the_first_wrong_byte_is_named(tmp_path: Path, wrong: int) -> None:
    before = b"name\n" + "Zürich\n".encode() * 30 + b"Bern "
    (tmp_path / "in.csv").write_bytes(before + bytes([wrong]) + b"\nGenf\n\xff\n")
    line, byte = 32, len(before) + 1
    with pytest.raises(ma.InputError, match=re.escape(f"line {line}, byte {byte} of the file")):
        read_table(tmp_path / "in.csv")


@pytest.fixture(params=[3, 8, 1 << 20])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Files are looked at in blocks; where these begin makes no difference."""
    monkeypatch.setattr(detection, "BLOCK", request.param)
    return request.param


def encoding(content: Path | pa.Buffer) -> str:
    return detection.encoding_of(NAME, content)


def test_blocks_are_the_bytes_after_those_skipped(block: int, hold: Hold) -> None:
    content = bytes(range(256)) * 2
    for skipped in (0, 1, block, 511, 512):
        blocks = list(detection.blocks_of(hold(content), skipped))
        assert b"".join(blocks) == content[skipped:]
        assert all(len(one) == block for one in blocks[:-1])
        assert all(0 < len(one) <= block for one in blocks)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "utf-8"),
        (b"name\nUlm\n", "utf-8"),
        ("name\nZürich €\n".encode(), "utf-8"),
        (codecs.BOM_UTF8 + "Zürich\n".encode(), "utf-8"),
        ("name\nZürich\n".encode("cp1252"), "cp1252"),
        ("name\nZürich".encode() + b"\xfc\xfc", "cp1252"),
        ("name\nUlm ü".encode()[:-1], "cp1252"),
        (codecs.BOM_UTF16_LE + "ab".encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + "ab".encode("utf-16-be"), "utf-16-be"),
    ],
)
def test_the_encoding_of_text(block: int, hold: Hold, content: bytes, expected: str) -> None:
    assert encoding(hold(content)) == expected


@pytest.mark.parametrize("zeros", [0, 1])
def test_a_zero_byte_is_named_by_its_place(block: int, hold: Hold, zeros: int) -> None:
    """Also where the file is no UTF-8 before it."""
    start = b"name\n" + (b"\xfc" if zeros else b"u") + b"ber und\n" * 3
    with pytest.raises(ma.InputError, match=f"zero bytes \\(about byte {len(start) + 1}\\)"):
        encoding(hold(start + b"\0" + b"x" * 30))


def test_utf8_but_for_some_bytes(block: int, hold: Hold) -> None:
    """More than half of the letters beyond ASCII are right: the first wrong byte is named."""
    start = "name\nüü\n".encode()
    with pytest.raises(ma.InputError, match=rf"line 3, byte {len(start) + 2:,} of the file"):
        encoding(hold(start + b"x\xffy\n"))
    assert encoding(hold("ü".encode() + b"x\xffy\n")) == "cp1252"
    with pytest.raises(ma.InputError, match=rf"line 3, byte {len(start) + 1:,} of the file"):
        encoding(hold(start + "ü".encode()[:1]))


@pytest.mark.parametrize("unused", [0x81, 0x8D, 0x8F, 0x90, 0x9D])
def test_bytes_that_no_encoding_tried_has(block: int, hold: Hold, unused: int) -> None:
    content = b"name\nuber\nM\xfc" + bytes([unused]) + b"n\n"
    with pytest.raises(ma.InputError, match=r"nor in CP1252 \(line 3, byte 12 of the file\)"):
        encoding(hold(content))


def test_a_declared_encoding_is_held_to(block: int, hold: Hold) -> None:
    content = "name\nZürich\n".encode()
    detection.check_utf8(NAME, hold(content))
    with pytest.raises(ma.InputError, match=r"is not in utf-8 \(line 3, byte 14 of the file\)"):
        detection.check_utf8(NAME, hold(content + b"\xfc\n"))
    with pytest.raises(ma.InputError, match=r"is not in utf-8 \(line 3, byte 15 of the file\)"):
        detection.check_utf8(NAME, hold(content + b"a\xc3"))


@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be"])
def test_utf16_shows_by_its_zeros(tmp_path: Path, coding: str) -> None:
    text = "name\nZürich\nŁódź\n".encode(coding)
    assert detection.encoding_of(NAME, pa.py_buffer(text)) == coding
    assert detection.encoding_of(NAME, pa.py_buffer("ab".encode(coding))) == coding
    with pytest.raises(ma.InputError, match="in UTF-16"):
        detection.check_utf8(NAME, pa.py_buffer(text))
    mark = codecs.BOM_UTF16_LE if coding == "utf-16-le" else codecs.BOM_UTF16_BE
    with pytest.raises(ma.InputError, match="in UTF-16"):
        detection.check_utf8(NAME, pa.py_buffer(mark + "Łó".encode(coding)))
    with pytest.raises(ma.InputError, match="zero bytes"):
        detection.encoding_of(NAME, pa.py_buffer("a".encode(coding)))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 400, "utf-16-le"),
        (0, 399, None),
        (10, 400, "utf-16-le"),
        (11, 400, None),
        (400, 10, "utf-16-be"),
        (400, 11, None),
    ],
)
def test_so_many_zeros_on_one_side_are_utf16(low: int, high: int, expected: str | None) -> None:
    pairs = bytearray(b"ab" * 1000)
    pairs[0 : 2 * low : 2] = bytes(low)
    pairs[1 : 2 * high : 2] = bytes(high)
    assert detection._evident_utf16(bytes(pairs)) == expected


def test_lines_and_bytes_are_counted_from_one(block: int, hold: Hold) -> None:
    content = hold(b"a\nbb\n\nc")
    positions = [detection.position_of(content, offset) for offset in range(7)]
    assert positions == [
        f"line {line}, byte {byte} of the file"
        for byte, line in enumerate([1, 1, 2, 2, 2, 3, 4], start=1)
    ]


@pytest.mark.parametrize(("magic", "kind"), detection.OTHERS.items())
def test_files_that_are_no_text(magic: bytes, kind: str) -> None:
    for check in (detection.encoding_of, detection.check_utf8):
        with pytest.raises(ma.InputError, match=f"is {re.escape(kind)} and no text"):
            check(NAME, pa.py_buffer(magic + b" and more"))
    assert encoding(pa.py_buffer(b"x" + magic.replace(b"\0", b"")[:1])) in ("utf-8", "cp1252")


@pytest.mark.parametrize("packing", detection.MAGIC)
def test_packed_text_is_named_by_its_ending(packing: str) -> None:
    content = pa.py_buffer(detection.MAGIC[packing] + b"...")
    with pytest.raises(ma.InputError, match=rf"packed with {packing}; let its name end in \.\w+"):
        encoding(content)


@pytest.mark.parametrize("mark", [codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE])
def test_utf32_has_to_be_declared(mark: bytes) -> None:
    with pytest.raises(ma.InputError, match="UTF-32"):
        encoding(pa.py_buffer(mark + b"\0\0\0a"))
