"""Binary files that are damaged, cut off, of another kind, or made to fill a machine: by name, with
what is said of each.
"""

from __future__ import annotations

import io
import random
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet

import sas7bdat
from microagg.files.excel.writer import PARTS

ENDINGS = (".xlsx", ".sav", ".zsav", ".dta", ".xpt", ".sas7bdat", ".parquet", ".arrow")
MAGIC = {
    ".xlsx": 4,
    ".sav": 4,
    ".zsav": 4,
    ".dta": 11,
    ".xpt": 28,
    ".sas7bdat": 32,
    ".parquet": 4,
    ".arrow": 8,
}
UNREADABLE = "is not a readable"
NO_BLOCK = "one block of this table needs about"
TOO_LARGE = "unpacks to a table that takes more than"


def good(ending: str) -> bytes:
    """A file that is well, and long enough to be cut."""
    from microagg.files.commit.writing import write_table

    numbers = [31 + number % 40 for number in range(900)]
    texts = [f"canary {number}" for number in range(900)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"in{ending}"
        if ending == ".sas7bdat":
            sas7bdat.write({"age": [float(number) for number in numbers], "name": texts}, path)
        else:
            write_table(pa.table({"age": numbers, "name": texts}), path)
        return path.read_bytes()


def cases() -> Iterator[tuple[str, bytes, str]]:
    """The name of each file, what is in it, and part of the sentence that refuses it."""
    rng = random.Random(17)
    for ending in ENDINGS:
        whole, kind = good(ending), ending[1:]
        yield f"empty-{kind}{ending}", b"", "is empty"
        yield f"third-{kind}{ending}", whole[: len(whole) // 3], UNREADABLE
        yield f"cut-{kind}{ending}", whole[:-40], UNREADABLE
        yield f"beginning-{kind}{ending}", whole[: MAGIC[ending]], UNREADABLE
        yield f"zeros-{kind}{ending}", bytes(len(whole)), UNREADABLE
        yield f"csv-{kind}{ending}", b"age,name\n31,canary\n32,canary\n", UNREADABLE
        noise = whole[: MAGIC[ending]] + rng.randbytes(5000)
        yield f"noise-{kind}{ending}", noise, UNREADABLE
    yield from _of_excel()
    yield from _of_packages()
    yield from _bombs()


def _workbook(
    sheet: str, *, names: dict[str, str | None] | None = None, method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as packed:
        parts: dict[str, str | None] = {**PARTS, "xl/worksheets/sheet1.xml": sheet, **(names or {})}
        for name, text in parts.items():
            if text is not None:
                packed.writestr(name, text)
    return content.getvalue()


def sheet_of(*rows: str) -> str:
    """A sheet of these rows of cells."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return (
        "<worksheet "
        f'xmlns="{main}"><sheetData>{"".join(f"<row>{row}</row>" for row in rows)}</sheetData>'
        "</worksheet>"
    )


def text(value: str) -> str:
    """A cell of text."""
    return f'<c t="inlineStr"><is><t>{value}</t></is></c>'


def _of_excel() -> Iterator[tuple[str, bytes, str]]:
    table = sheet_of(text("age"), "<c><v>31</v></c>", "<c><v>32</v></c>")
    yield (
        "password.xlsx",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4000),
        "has a password or is of Excel's old format",
    )
    locked = bytearray(_workbook(table))
    for offset in (
        offset
        for offset in range(len(locked))
        if locked[offset : offset + 4] in (b"PK\x03\x04", b"PK\x01\x02")
    ):
        locked[offset + (6 if locked[offset + 2] == 3 else 8)] |= 1
    yield "encrypted.xlsx", bytes(locked), "is encrypted"
    yield (
        "document.xlsx",
        _workbook(table, names={"xl/workbook.xml": None, "word/document.xml": "<a/>"}),
        UNREADABLE,
    )
    yield "no-sheet.xlsx", _workbook(table, names={"xl/worksheets/sheet1.xml": None}), UNREADABLE
    yield "broken-xml.xlsx", _workbook(table[:-30] + "<c><v>31</d></row>"), UNREADABLE
    yield "no-cells.xlsx", _workbook(sheet_of()), "is empty"
    yield "no-records.xlsx", _workbook(sheet_of(text("age"))), "has a header but no records"
    yield (
        "no-name.xlsx",
        _workbook(sheet_of(text("age") + text("") + text("zip"), text("a") * 3)),
        "column 2 of",
    )
    yield "same-names.xlsx", _workbook(sheet_of(text("age") * 2, text("1") * 2)), "the same name"
    yield (
        "no-header.xlsx",
        _workbook(sheet_of("<c><v>31</v></c>", "<c><v>32</v></c>")),
        "looks like a record",
    )


def _of_packages() -> Iterator[tuple[str, bytes, str]]:
    sav = bytearray(good(".sav"))
    sav[80:84] = struct.pack("<i", 2_000_000_000)
    yield "claims-many.sav", bytes(sav), UNREADABLE
    latin = good(".sav").replace(b"canary 1", b"caf\xe9\xff\xfe 1")
    yield "codepage.sav", latin, "not in the encoding"
    wide = bytearray(good(".sav"))
    wide[68:72] = struct.pack("<i", 2**31 - 1)
    yield "claims-wide.sav", bytes(wide[:170]), UNREADABLE
    dta = bytearray(good(".dta"))
    offset = dta.index(b"<N>") + 3
    dta[offset : offset + 8] = struct.pack("<q", 2**31 - 1)
    yield "claims-many.dta", bytes(dta), UNREADABLE
    yield "no-end.dta", good(".dta")[:-12], UNREADABLE
    xpt = good(".xpt")
    yield "one-more.xpt", xpt + b" ", UNREADABLE
    yield "fewer-records.xpt", xpt[:-800], UNREADABLE
    yield "swapped.sav", good(".dta"), UNREADABLE
    yield "swapped.dta", good(".sav"), UNREADABLE
    yield "swapped.xpt", good(".sas7bdat"), UNREADABLE
    yield "swapped.sas7bdat", good(".xpt"), UNREADABLE
    yield "swapped.xlsx", good(".sav"), UNREADABLE
    yield "swapped.parquet", good(".arrow"), UNREADABLE
    yield "swapped.arrow", good(".parquet"), UNREADABLE


def _bombs() -> Iterator[tuple[str, bytes, str]]:
    """Small files that unpack to more than the 128 MB that the test says are free."""
    blank = sheet_of(text("age"), text(" " * 100_000)).replace(
        "</row>", "</row>" + " " * (110 << 20), 1
    )
    yield "bomb.xlsx", _workbook(blank), TOO_LARGE
    lying = bytearray(_workbook(blank))
    for offset in (
        offset for offset in range(len(lying) - 4) if lying[offset : offset + 4] == b"PK\x01\x02"
    ):
        lying[offset + 24 : offset + 28] = struct.pack("<I", 1000)
    yield "bomb-that-lies.xlsx", bytes(lying), UNREADABLE
    far = sheet_of(text("age")).replace(
        "<sheetData>", '<sheetData><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    )
    yield "far-cell.xlsx", _workbook(far), TOO_LARGE
    laughs = (
        '<!DOCTYPE a [<!ENTITY a "ha">'
        + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' if n else "" for n in range(12))
        + "]>"
    )
    yield "laughs.xlsx", _workbook(laughs + sheet_of(text("age&a11;"), text("1"))), ""
    rows = io.BytesIO()
    parquet.write_table(
        pa.table({"age": pa.nulls(20_000_000, pa.int64())}), rows, row_group_size=20_000_000
    )
    yield "bomb.parquet", rows.getvalue(), NO_BLOCK
    texts = io.BytesIO()
    long = pa.DictionaryArray.from_arrays(
        pa.array([0] * 3000, pa.int32()), pa.array(["x" * 1_000_000])
    )
    parquet.write_table(pa.table({"name": long}), texts, store_schema=False)
    yield "bomb-of-text.parquet", texts.getvalue(), TOO_LARGE
    zeros = io.BytesIO()
    feather.write_feather(
        pa.table({"age": pa.repeat(7, 12_000_000)}),
        zeros,
    )
    yield "bomb.arrow", zeros.getvalue(), NO_BLOCK
    yield "bomb.zsav", packed_bomb(), TOO_LARGE


def packed_bomb() -> bytes:
    """A compressed SPSS file of equal records."""
    from microagg.files.commit.writing import write_table

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.zsav"
        columns = {
            f"v{number}": pa.repeat(pa.scalar(None, pa.float64()), 40_000) for number in range(240)
        }
        write_table(pa.table(columns), path)
        return path.read_bytes()
