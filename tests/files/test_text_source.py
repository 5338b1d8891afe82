"""The bytes of a text file: beginning, ending, skipped rows, quotes, packing and decoding, wherever
its blocks begin and whether it is a file or in memory.
"""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import pyarrow as pa
import pytest

import microagg as ma
from holding import Hold
from microagg.files import unpacking
from microagg.files.text import decoding, encoding_detection
from microagg.files.text.csv_header import delimiter_in, line_end_of, names_in
from microagg.files.text.decoding import Source, open_text

MARK = codecs.BOM_UTF8


@pytest.fixture(params=[5, 1 << 20])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    for module in (encoding_detection, decoding):
        monkeypatch.setattr(module, "BLOCK", request.param)
    return request.param


def whole(source: Source) -> bytes:
    """Return what Arrow reads."""
    return b"".join(encoding_detection.blocks_of(source.content, source.skipped))


@pytest.mark.parametrize("mark", [b"", MARK])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_rows_are_skipped_by_their_ends(hold: Hold, mark: bytes, end: bytes) -> None:
    content = mark + end.join([b"one", b"", b"three", b"four"])
    source = Source(hold(content), "utf-8")
    assert source.size == len(content)
    assert source.without_rows(0) is source
    for count, rest in ((1, end + b"three" + end + b"four"), (2, b"three" + end + b"four")):
        skipped = source.without_rows(count)
        assert skipped is not None
        assert whole(skipped) == rest
        assert skipped.beginning(99) == rest
        assert skipped.beginning(4) == rest[:4]
        read = skipped.to_read()
        with pa.input_stream(str(read)) if isinstance(read, Path) else read as stream:
            assert stream.read() == rest
    last = source.without_rows(3)
    assert last is not None
    assert whole(last) == b"four"
    assert source.without_rows(4) is None


def test_beginning_and_ending(hold: Hold) -> None:
    source = Source(hold(MARK + b"abcdef"), "utf-8")
    assert source.beginning(5) == b"ab"
    assert [source.ending(most) for most in (1, 3, 99)] == [b"f", b"def", MARK + b"abcdef"]


@pytest.mark.parametrize(
    ("content", "quotes"),
    [
        (b'a,b\n1,"2"\n', True),
        (b'a,b\n1,2\n3,4\n5,6\n"7",8\n', True),
        (b"a,b\n1,2\n", False),
        (b'a,b\n"', True),
        (b"", False),
    ],
)
def test_quotes_after_the_header(block: int, hold: Hold, content: bytes, quotes: bool) -> None:
    assert Source(hold(content), "utf-8").has_quotes() == quotes


def test_quotes_of_the_header_do_not_count(hold: Hold) -> None:
    assert not Source(hold(b'"a",b\n1,2\n'), "utf-8").has_quotes()
    assert Source(hold(b'"a",b\n1,"2"\n'), "utf-8").has_quotes()


@pytest.mark.parametrize("aside", [False, True])
@pytest.mark.parametrize("packing", ["", "gzip"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("declared", [False, True])
def test_every_text_comes_out_in_utf8(
    tmp_path: Path, block: int, aside: bool, packing: str, encoding: str, declared: bool
) -> None:
    text = "town,age\nKöln,31\nŁódź,32\n" if encoding != "cp1252" else "town\nKöln\n\nUlm\n"
    content = text.encode(encoding)
    path = tmp_path / "in.csv"
    path.write_bytes(gzip.compress(content) if packing else content)
    folder = tmp_path / "aside" if aside else None
    if folder is not None:
        folder.mkdir()
    source = open_text(path, packing, encoding if declared else None, folder)
    mark = MARK if encoding == "utf-8-sig" else b""
    assert whole(source).removeprefix(mark) == text.encode()
    kept = packing or encoding not in ("utf-8", "utf-8-sig")
    assert isinstance(source.content, Path) == (aside or not kept)
    assert (source.lines > 0) == bool(kept)
    if kept:
        assert source.lines >= text.count("\n")
    if folder is not None and kept:
        assert all(file.stat().st_mode & 0o777 == 0o600 for file in folder.iterdir())


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_of_unpacked_text_are_counted(tmp_path: Path, end: str) -> None:
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(end.join("abcdefg").encode()))
    assert open_text(tmp_path / "in.csv.gz", "gzip").lines == 6


def test_text_is_unpacked_as_far_as_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(b"12\n" * 50))
    needed = unpacking.memory_of_text(150, 50)
    monkeypatch.setattr(decoding, "memory_limit", lambda path: needed)
    open_text(tmp_path / "in.csv.gz", "gzip")
    monkeypatch.setattr(decoding, "memory_limit", lambda path: needed - 1)
    with pytest.raises(ma.InputError, match="unpacks to a table"):
        open_text(tmp_path / "in.csv.gz", "gzip")
    open_text(tmp_path / "in.csv.gz", "gzip", None, tmp_path)


@pytest.mark.parametrize(
    ("content", "packing", "says"),
    [
        (b"age\n31\n", "gzip", "not packed with gzip; name it without .gz"),
        (b"age\n31\n", "zstd", "not packed with zstd; name it without .zst"),
        (gzip.compress(b"age\n" + b"31\n" * 999, mtime=0)[:-12], "gzip", "is damaged"),
        (gzip.compress(b"age\n1" + b"\0" * 64 + b"2", mtime=0), "gzip", r"about byte 6\)"),
        (gzip.compress(b" " * (1 << 20), mtime=0), "gzip", "nothing but empty lines"),
        (gzip.compress(b" " * ((1 << 20) - 1), mtime=0), "gzip", ""),
    ],
)
def test_what_cannot_be_unpacked(tmp_path: Path, content: bytes, packing: str, says: str) -> None:
    (tmp_path / "in").write_bytes(content)
    if not says:
        assert open_text(tmp_path / "in", packing).size == (1 << 20) - 1
        return
    with pytest.raises(ma.InputError, match=says):
        open_text(tmp_path / "in", packing)


@pytest.mark.parametrize(
    ("content", "encoding", "says"),
    [
        ("aŁ\n".encode("utf-16-le") + b"x", "utf-16-le", "is not in utf-16-le"),
        (b"name\nab\x81\n", "cp1252", r"is not in cp1252 \(line 2, byte 8 of the file\)"),
        ("a\0b".encode("utf-16-le"), "utf-16-le", "zero bytes"),
        (b"PAR1 and more", "cp1252", "a parquet file"),
    ],
)
def test_what_cannot_be_decoded(tmp_path: Path, content: bytes, encoding: str, says: str) -> None:
    (tmp_path / "in.csv").write_bytes(content)
    with pytest.raises(ma.InputError, match=says):
        open_text(tmp_path / "in.csv", "", encoding)


@pytest.mark.parametrize(
    ("header", "usual", "delimiter"),
    [
        ("a,b;c;d\n", ",", ";"),
        ("a;b\n", ",", ";"),
        ("a,b;c\n", ",", ","),
        ("a,b;c\n", ";", ";"),
        ("a\tb|c|d\n", ",", "|"),
        ('"a,b,c";d\n', ",", ";"),
        ("1,5;2,5;3\n", ",", ";"),
        ("1,5;2\n", ",", ";"),
        ("1,2,3\n", ";", ","),
        ("age\n", ";", ";"),
        ("age\n", "\t", "\t"),
    ],
)
def test_the_delimiter_of_a_header(header: str, usual: str, delimiter: str) -> None:
    assert delimiter_in(header, usual) == delimiter


def test_names_and_line_ends_of_headers() -> None:
    assert [line_end_of(end) for end in ("a\r\n", "a\n", "a\r", "a", "")] == [
        "crlf", "lf", "cr", "lf", "lf",
    ]  # fmt: skip
    assert names_in('"a ""x""",b\r\n', ",", Path("in.csv")) == ['a "x"', "b"]
    with pytest.raises(ma.InputError, match="not that of a csv file"):
        names_in("x" * 140_000 + ",b\n", ",", Path("in.csv"))
