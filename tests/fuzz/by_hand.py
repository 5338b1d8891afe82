"""Some 300 files that somebody would make to break a reader: odd text, every type of Arrow, claims
that are not true, small files that unpack to gigabytes.
"""

from __future__ import annotations

import datetime
import decimal
import gzip
import io
import json
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

import malformed
from microagg.files.commit.writing import write_table

AGES = "age,name\n" + "".join(f"{31 + number % 3},x{number % 2}\n" for number in range(24))
ROW = "31,x\n"
TEXT_ENDINGS = (".csv", ".txt", ".csv.gz", ".tsv.zst")


def files() -> Iterator[tuple[str, bytes]]:
    """The name and the content of each file."""
    for number, (name, content, _) in enumerate(malformed.cases()):
        yield f"case-{number:02d}-{name}", content
    yield from _texts()
    yield from _typed()
    yield from _packages()
    yield from _bombs()
    yield from _settings()


def _texts() -> Iterator[tuple[str, bytes]]:
    for name, content in odd_texts().items():
        for ending in TEXT_ENDINGS:
            plain = content.replace(b",", b"\t") if ending.startswith(".tsv") else content
            packed = {"gz": lambda text: gzip.compress(text, mtime=0), "zst": _zstd}.get(
                ending.rpartition(".")[2], bytes
            )
            yield f"text-{name}{ending}", packed(plain)


def odd_texts() -> dict[str, bytes]:
    """Contents of text files, by what is odd about them."""
    lines = AGES.splitlines(keepends=True)
    table = AGES.encode()
    return {
        "blank": b"\n\n\n",
        "spaces": b"   \n  \n",
        "mark-alone": b"\xef\xbb\xbf",
        "mark-twice": b"\xef\xbb\xbf\xef\xbb\xbf" + table,
        "header-alone": b"age,name",
        "header-and-end": b"age,name\n",
        "one-cell": b"age\n31",
        "one-letter": b"a",
        "delimiters": b",,,\n,,,\n,,,\n",
        "same-names": b"age,age\n" + b"31,2\n" * 9,
        "no-names": b",\n" + b"31,2\n" * 9,
        "numbers-as-names": b"31,2\n" * 9,
        "ragged-first": b"age,name\n31\n" + b"31,x\n" * 9,
        "ragged-last": table + b"31\n",
        "ragged-long": table + b"31,x,y,z\n" * 3,
        "open-quote": table + b'31,"x\n' + ROW.encode() * 9,
        "open-quote-in-header": b'age,"name\n31,x\n',
        "quote-within": b'age,name\n31,x"y\n' * 9,
        "quotes-only": b'""""""\n' * 9,
        "quoted-quotes": b'age,name\n31,"a""b"\n' * 9,
        "cr": table.replace(b"\n", b"\r"),
        "crlf": table.replace(b"\n", b"\r\n"),
        "mixed-ends": table.replace(b"\n", b"\r\n", 5).replace(b"\n", b"\r", 3),
        "lf-cr": table.replace(b"\n", b"\n\r"),
        "form-feed": table.replace(b"\n", b"\f\n"),
        "vertical-tab": table.replace(b"31", b"31\v"),
        "zero": table.replace(b"x1", b"x\0", 1),
        "zeros": bytes(5000),
        "zero-at-end": table + b"\0",
        "escape": table.replace(b"name", b"na\x1b[31mme"),
        "utf-16": AGES.encode("utf-16"),
        "utf-16-be": AGES.encode("utf-16-be"),
        "utf-16-odd": AGES.encode("utf-16") + b"\n",
        "utf-32": AGES.encode("utf-32"),
        "latin": AGES.replace("name", "größe").encode("latin-1"),
        "half-letter": table + "é".encode()[:1],
        "surrogate": table.replace(b"x1", b"\xed\xa0\x80", 1),
        "too-long-utf-8": table.replace(b"x1", b"\xc0\xaf", 1),
        "utf-7": b"+AGE-,name\n" + table,
        "json": json.dumps([{"age": 31}] * 9).encode(),
        "html": b"<html><table><tr><td>age</td></tr></table></html>",
        "pdf": b"%PDF-1.4\n" + table,
        "shell": b"#!/bin/sh\nrm x\n" * 9,
        "formula": table.replace(b"x1", b"=1+1"),
        "long-numbers": table.replace(b"31", b"9" * 500),
        "exponents": table.replace(b"31", b"1e400"),
        "infinite": table.replace(b"31", b"inf", 1),
        "nan": table.replace(b"31", b"NaN"),
        "dates": table.replace(b"31", b"2020-02-30"),
        "long-cell": b"age,name\n31," + b"x" * 3_000_000 + b"\n" + ROW.encode() * 9,
        "long-header": b"age," + b"x" * 2_000_000 + b"\n31,x\n",
        "many-columns": b",".join(b"c%d" % i for i in range(3000))
        + b"\n"
        + b",".join([b"1"] * 3000),
        "many-more-columns": b",".join(b"%d" % i for i in range(400_000))
        + b"\n"
        + b",".join([b"1"] * 400_000),
        "comment": b"# made by hand\n" + table,
        "sep": b"sep=,\n" + table,
        "semicolons": table.replace(b",", b";"),
        "pipes": table.replace(b",", b"|"),
        "blanks-between": table.replace(b",", b" "),
        "last-comma": table.replace(b"\n", b",\n"),
        "blank-lines": table.replace(b"\n", b"\n\n"),
        "newlines": lines[0].encode() + b"\n" * 3_000_000,
        "arabic": table.replace(b"31", "٣١".encode()),
        "right-to-left": table.replace(b"name", "\u202ename".encode()),
        "no-break": table.replace(b"31", "31\u00a0".encode()),
        "quoted-line-ends": b"age,name\n" + b'31,"x\ny"\n' * 30,
        "crcrlf": table.replace(b"\n", b"\r\r\n"),
    }


def _typed() -> Iterator[tuple[str, bytes]]:
    for name, column in odd_columns().items():
        table = pa.table({"age": [31 + number % 3 for number in range(24)], "other": column})
        for ending in (".parquet", ".arrow"):
            content = _written(table, ending)
            if content:
                yield f"type-{name}{ending}", content


def odd_columns() -> dict[str, Any]:
    """Columns of 24 records, by their type."""
    numbers, moment = list(range(24)), datetime.datetime(2020, 1, 1)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([8, 24], pa.int32()), pa.array(["a", "b"]))
    points = [{"x": number, "y": None} for number in numbers]
    return {
        "null": pa.nulls(24),
        "bool": [True, None] * 12,
        "int8": pa.array(numbers, pa.int8()),
        "uint64": pa.array([2**64 - 1] * 24, pa.uint64()),
        "half": pa.array(numbers, pa.float32()).cast(pa.float16()),
        "nan": [float("nan")] * 24,
        "infinite": [float("inf")] * 24,
        "decimal": pa.array([decimal.Decimal("1.5")] * 24, pa.decimal128(38, 10)),
        "wide-decimal": pa.array([decimal.Decimal("1.5")] * 24, pa.decimal256(70, 3)),
        "date64": pa.array([moment.date()] * 24, pa.date64()),
        "time": pa.array(numbers, pa.time64("ns")),
        "moment": pa.array(numbers, pa.timestamp("ns")),
        "far-moment": pa.array([2**62] * 24, pa.timestamp("s")),
        "zone": pa.array(numbers, pa.timestamp("us", "Europe/Berlin")),
        "unknown-zone": pa.array(numbers, pa.timestamp("us", "Mars/Olympus")),
        "odd-zone": pa.array(numbers, pa.timestamp("us", "+25:99")),
        "empty-zone-name": pa.array(numbers, pa.timestamp("us", " ")),
        "duration": pa.array(numbers, pa.duration("ns")),
        "interval": pa.array([pa.MonthDayNano([1, 2, 3])] * 24),
        "bytes": [b"\xff\xfe"] * 24,
        "fixed-bytes": pa.array([b"abc"] * 24, pa.binary(3)),
        "large-text": pa.array(["x"] * 24, pa.large_string()),
        "view": pa.array(["x" * 20] * 24, pa.string_view()),
        "list": [[number] for number in numbers],
        "list-of-lists": [[[number], None] for number in numbers],
        "fixed-list": pa.array([[1, 2]] * 24, pa.list_(pa.int32(), 2)),
        "struct": points,
        "empty-struct": pa.array([{}] * 24, pa.struct([])),
        "map": pa.array([[("a", 1)]] * 24, pa.map_(pa.string(), pa.int64())),
        "dictionary": pa.array(["a", "b"] * 12).dictionary_encode(),
        "dictionary-of-numbers": pa.array([1.5, 2.5] * 12).dictionary_encode(),
        "runs": runs,
        "runs-of-numbers": pa.RunEndEncodedArray.from_arrays(
            pa.array([24], pa.int64()), pa.array([7])
        ),
        "zero-in-text": ["a\0b"] * 24,
        "not-utf-8": _not_utf8(),
        "union": pa.UnionArray.from_sparse(pa.array([0] * 24, pa.int8()), [pa.array(numbers)]),
        "uuid": pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([b"x" * 16] * 24, pa.binary(16))
        ),
        "long-text": ["x" * 100_000] * 24,
    }


def _not_utf8() -> pa.Array:
    offsets = pa.array(range(25), pa.int32()).buffers()[1]
    return pa.Array.from_buffers(pa.string(), 24, [None, offsets, pa.py_buffer(b"\xff" * 24)])


def _written(table: pa.Table, ending: str) -> bytes:
    sink = io.BytesIO()
    try:
        if ending == ".parquet":
            parquet.write_table(table, sink)
        else:
            with pa.ipc.new_file(sink, table.schema) as file:
                file.write_table(table)
    except (pa.ArrowException, TypeError):  # a type that such a file cannot hold
        return b""
    return sink.getvalue()


def _packages() -> Iterator[tuple[str, bytes]]:
    """Files of statistical packages and workbooks with something missing, or claimed that is not
    there.
    """
    for ending, name, blank in (
        (".dta", b"\0\0name\0", b"\0\0\0\0\0\0\0"),
        (".xpt", b"name", b"    "),
        (".sas7bdat", b"name", b"    "),
        (".sav", b"NAME", b"    "),
        (".sav", b"NAME", b"\0\0\0\0"),
        (".sav", b"\tNAME=name", b"\tNAME=\0\0\0\0"),
        (".zsav", b"NAME", b"\xff\xff\xff\xff"),
        (".sav", b"AGE", b"NAM"),
        (".dta", b"<N>", b"<n>"),
        (".dta", b"</stata_dta>", b"</stata_xxx>"),
    ):
        yield (
            f"package-{name.strip(chr(0).encode()).hex()}-{blank.hex()}{ending}",
            malformed.good(ending).replace(name, blank),
        )
    for offset in range(64, 96, 4):
        content = bytearray(malformed.good(".sav"))
        content[offset : offset + 4] = struct.pack("<i", 2**31 - 1)
        yield f"package-claim-{offset}.sav", bytes(content)
    plain, text = malformed.sheet_of, malformed.text
    for name, sheet in {
        "no-cells": plain(""),
        "empty-cells": plain(text("age"), *["<c/>"] * 9),
        "errors": plain(text("age"), *['<c t="e"><v>#DIV/0!</v></c>'] * 9),
        "odd-kind": plain(text("age"), *['<c t="x"><v>3</v></c>'] * 9),
        "odd-place": plain('<c r="ZZZZ1" t="inlineStr"><is><t>age</t></is></c>'),
        "wrong-place": plain(text("age")).replace("<row>", '<row r="x">'),
        "same-place": plain(*['<c r="A1"><v>3</v></c>'] * 9),
        "lost-string": plain(text("age"), *['<c t="s"><v>99</v></c>'] * 9),
        "infinite": plain(text("age"), *["<c><v>inf</v></c>"] * 9),
        "long-number": plain(text("age"), *[f"<c><v>{'9' * 400}</v></c>"] * 9),
        "early-date": plain(text("age"), *['<c s="1"><v>-30000</v></c>'] * 9),
        "wide": plain(
            "".join(text(f"c{number}") for number in range(5000)), *["<c><v>1</v></c>" * 5000] * 3
        ),
    }.items():
        yield f"sheet-{name}.xlsx", malformed._workbook(sheet)


def _bombs() -> Iterator[tuple[str, bytes]]:
    """Small files that unpack to gigabytes."""
    yield "bomb-newlines.csv.zst", _zstd_of(b"age,name\n", b"\n" * (1 << 20), 900)
    yield "bomb-blanks.csv.gz", _gzip_of(b"age,name\n", b" " * (1 << 20), 1000)
    yield "bomb-rows.csv.gz", _gzip_of(b"age\n", b"1\n" * (1 << 20), 48)
    yield "bomb-rows.tsv.zst", _zstd_of(b"age\n", b"1\n" * (1 << 20), 48)
    yield "bomb-line.csv.gz", _gzip_of(b"age,name\n", b"1" * (1 << 20), 2000)
    yield "bomb-line.txt.zst", _zstd_of(b"age,name\n", b"1" * (1 << 20), 2000)
    yield "bomb-quoted-line.csv.gz", _gzip_of(b'age,name\n31,"', b"x\n" * (1 << 19), 1000)
    yield "bomb-commas.csv.gz", _gzip_of(b"age,name\n", b"," * (1 << 20), 1000)
    yield (
        "bomb-utf-16.csv.gz",
        _gzip_of(
            "\ufeffage,name\n".encode("utf-16-le"), "31,x\n".encode("utf-16-le") * (1 << 17), 700
        ),
    )
    yield "bomb-latin.csv.gz", _gzip_of(b"age,name\n", b"31,\xe4\n" * (1 << 18), 700)
    yield "bomb-equal.parquet", _parquet(pa.table({"age": pa.repeat(31, 50_000_000)}))
    yield "bomb-null.parquet", _parquet(pa.table({"age": pa.nulls(60_000_000, pa.int64())}))
    for count in (20, 200):
        columns = {
            f"c{number}": pa.repeat(31, 400_000_000 // count // 8) for number in range(count)
        }
        yield f"bomb-wide-{count}.parquet", _parquet(pa.table(columns))
    long = pa.DictionaryArray.from_arrays(
        pa.array([0] * 5000, pa.int32()), pa.array(["x" * 1_000_000])
    )
    for ending, schema in ((".parquet", True), ("-plain.parquet", False)):
        yield f"bomb-dictionary{ending}", _parquet(pa.table({"age": long}), store_schema=schema)
    yield "bomb-dictionary.arrow", _written(pa.table({"age": long}), ".arrow")
    fixed = pa.DictionaryArray.from_arrays(
        pa.array([0] * 4000, pa.int32()), pa.array([b"x" * 100_000], pa.binary(100_000))
    )
    yield (
        "bomb-fixed.parquet",
        _parquet(pa.table({"age": fixed.cast(pa.binary(100_000))}), store_schema=False),
    )
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2**31 - 1], pa.int32()), pa.array([31]))
    yield "bomb-runs.arrow", _written(pa.table({"age": runs}), ".arrow")
    yield (
        "bomb-nulls.arrow",
        _written(pa.table({"age": pa.Array.from_buffers(pa.null(), 2**31 - 1, [None])}), ".arrow"),
    )
    for codec in ("lz4", "zstd"):
        sink = io.BytesIO()
        with pa.ipc.new_file(
            sink,
            pa.schema([("age", pa.int64())]),
            options=pa.ipc.IpcWriteOptions(compression=codec),
        ) as file:
            for _ in range(2):
                file.write_batch(pa.record_batch({"age": pa.repeat(31, 60_000_000)}))
        yield f"bomb-{codec}.arrow", sink.getvalue()
    yield "bomb-equal.zsav", _packed_package(240, 40_000)
    yield "bomb-long.zsav", _long_text_package()
    long_string = f"<si><t>{'x' * 32_000}</t></si>"
    strings = (
        f"<sst "
        f'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>age</t></si>{long_string}</sst>'
    )
    rows = ['<c t="s"><v>0</v></c>', *['<c t="s"><v>1</v></c>'] * 100_000]
    yield (
        "bomb-shared.xlsx",
        malformed._workbook(malformed.sheet_of(*rows), names={"xl/sharedStrings.xml": strings}),
    )
    yield (
        "bomb-cells.xlsx",
        malformed._workbook(malformed.sheet_of(malformed.text("age"), *["<c/>" * 100] * 150_000)),
    )


def _settings() -> Iterator[tuple[str, bytes]]:
    first = "microagg-settings = 1\n"
    for name, text in {
        "dotted": ".".join(["a"] * 35_000) + " = 1",
        "dotted-table": "[" + ".".join(['"a"'] * 35_000) + "]",
        "dotted-within": "x = {" + ".".join(["a"] * 35_000) + " = 1}",
        "brackets": "x = " + "[" * 100_000,
        "braces": "x = " + "{a=" * 100_000,
        "many": "".join(f"k{number} = 1\n" for number in range(100_000)),
        "tables": "".join(f"[a{number}.b.c.d.e.f.g]\n" for number in range(20_000)),
        "open-text": 'x = """' + "a" * 1_000_000,
        "arrays": "[[a]]\n" * 100_000,
        "empty": "",
        "unknown": "kk = 5",
        "wrong-kind": "k = []",
        "long-number": "k = " + "9" * 5000,
        "twice": "k = 5\nk = 6",
        "not-toml": "k: 5",
        "nan": "k = nan",
    }.items():
        yield f"settings-{name}.toml", (first + text).encode()
    yield "settings-deep.json", b'{"a":' * 100_000
    yield "settings-list.json", b"[" * 100_000


def _gzip_of(first: bytes, piece: bytes, times: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(
        [packer.compress(first), *(packer.compress(piece) for _ in range(times)), packer.flush()]
    )


def _zstd(content: bytes) -> bytes:
    return pa.compress(content, "zstd", asbytes=True)


def _zstd_of(first: bytes, piece: bytes, times: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "packed"
        with pa.OSFile(str(path), "wb") as file, pa.CompressedOutputStream(file, "zstd") as stream:
            stream.write(first)
            for _ in range(times):
                stream.write(piece)
        return path.read_bytes()


def _parquet(table: pa.Table, *, store_schema: bool = True) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(table, sink, store_schema=store_schema, row_group_size=1 << 26)
    return sink.getvalue()


def _packed_package(columns: int, records: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.zsav"
        write_table(
            pa.table({f"v{number}": pa.repeat(7.5, records) for number in range(columns)}), path
        )
        return path.read_bytes()


def _long_text_package() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.zsav"
        write_table(pa.table({"age": pa.repeat(pa.scalar("x" * 30_000), 5000)}), path)
        return path.read_bytes()
