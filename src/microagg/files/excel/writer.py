"""Writer of a table as a workbook of one sheet.

It omits what a library would add: author, time and program. It needs no temporary file, which a
kill would leave behind with released values before they are verified. Equal tables give equal
bytes.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow as pa

from microagg.errors import InputError
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text

ROWS, COLUMNS, LETTERS = 1 << 20, 1 << 14, 32_767
"""What a sheet can hold: rows with the header, columns, letters in a cell."""
LARGEST_WHOLE = 1 << 53
DAY = 86_400_000
FIRST_DAY = -25_508
"""1 March 1900: before, Excel has a day that never was. Counted from 1970."""
LAST_DAY = 2_932_896
ORIGIN = 25_569
"""1970-01-01 as Excel counts days."""
AT_ONCE = 1 << 12
TIME = (1980, 1, 1, 0, 0, 0)
FORBIDDEN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{fffe}\x{ffff}]"
CODE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
"""Text that a spreadsheet would decode as a character code."""

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_DOCUMENT}/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_DOCUMENT}">'
    '<sheets><sheet name="table" '
    f'sheetId="1" r:id="rId1"/>'
    "</sheets></workbook>",
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_DOCUMENT}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_DOCUMENT}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><numFmts count="3"><numFmt numFmtId="164" '
    f'formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss.000"/><numFmt '
    'numFmtId="166" formatCode="hh:mm:ss"/></numFmts>'
    '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills '
    'count="2"><fill><patternFill patternType="none"/>'
    '</fill><fill><patternFill patternType="gray125"/></fill></fills><borders '
    'count="1"><border><left/><right/><top/><bottom/>'
    '<diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" '
    'fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    + "".join(
        f'<xf numFmtId="{number}" fontId="0" fillId="0" borderId="0" xfId="0" '
        f'applyNumberFormat="1"/>'
        for number in (164, 165, 166)
    )
    + '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" '
    'builtinId="0"/></cellStyles></styleSheet>',
}
"""All of a workbook but its sheet; styles 1 to 3 are dates, moments and times of day."""

Cell = Callable[[object], str]


def write_workbook(table: pa.Table, path: Path) -> None:
    """Write a table as a workbook whose only sheet has the names of the columns in its first
    row.
    """
    if table.num_rows >= ROWS or table.num_columns > COLUMNS:
        raise InputError(
            f"an Excel sheet has {ROWS:,} rows and {COLUMNS:,} columns at most; write a "
            f"file of another format."
        )
    check_texts(pa.chunked_array([table.column_names], pa.string()), "the names of the columns")
    columns = [
        prepared(field.name, column)
        for field, column in zip(table.schema, table.columns, strict=True)
    ]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
        for name, content in PARTS.items():
            packed.writestr(_entry(name), _HEAD + content)
        with packed.open(_entry("xl/worksheets/sheet1.xml"), "w", force_zip64=True) as sheet:
            for piece in _sheet(table.column_names, columns, table.num_rows):
                sheet.write(piece.encode("utf-8"))


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 0  # the same bytes on every system
    entry.external_attr = 0
    return entry


def _sheet(
    names: list[str], columns: list[tuple[pa.ChunkedArray, Cell]], rows: int
) -> Iterator[str]:
    yield f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>'
    yield f'<row r="1">{"".join(map(_text, names))}</row>'
    for start in range(0, rows, AT_ONCE):
        pieces = [
            [
                "<c/>" if value is None else cell(value)
                for value in column.slice(start, AT_ONCE).to_pylist()
            ]
            for column, cell in columns
        ]
        for number, cells in enumerate(zip(*pieces, strict=True), start + 2):
            # readers leave out rows with nothing in them
            has_values = any(cell != "<c/>" for cell in cells)
            shown = cells if has_values else (_text(""), *cells[1:])
            yield f'<row r="{number}">{"".join(shown)}</row>'
    yield "</sheetData></worksheet>"


def _text(value: object) -> str:
    """Return a text cell; it is never a formula, whatever it begins with."""
    shown = escape(CODE.sub("_x005F_", str(value)), {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"})
    return f'<c t="inlineStr"><is><t xml:space="preserve">{shown}</t></is></c>'


def _styled(style: int) -> Cell:
    return lambda value: f'<c s="{style}"><v>{value!r}</v></c>'


def _number(value: object) -> str:
    return f"<c><v>{value!r}</v></c>"


def _yes_or_no(value: object) -> str:
    return f'<c t="b"><v>{int(bool(value))}</v></c>'


def prepared(name: str, column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, Cell]:
    """Return a column of printable values, and the function that makes a cell of one.

    Values that Excel cannot hold are refused.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return prepared(name, pc.cast(column, kind.value_type))
    if is_text(kind):
        check_texts(column, f"column {name!r}")
        return column, _text
    if pa.types.is_boolean(kind):
        return column, _yes_or_no
    if pa.types.is_null(kind):
        return column, _text
    if pa.types.is_date(kind):
        days = pc.cast(pc.cast(column, pa.date32()), pa.int32())
        _check_days(name, days)
        return pc.add(days, ORIGIN), _styled(1)
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return _moments(name, column), _styled(2)
    if pa.types.is_time(kind):
        return _parts_of_day(name, column), _styled(3)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return exact_numbers(name, column, "Excel"), _number
    raise pa.ArrowNotImplementedError(f"no Excel file holds {kind}")


def exact_numbers(name: str, column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """Return numbers as float64, or as whole numbers that it holds; refuse others."""
    kind = column.type
    if pa.types.is_integer(kind):
        ends = pc.min_max(column).as_py()
        if ends["min"] is not None and max(-ends["min"], ends["max"]) > LARGEST_WHOLE:
            raise InputError(
                f"column {name!r} holds whole numbers of more than 15 digits, which "
                f"{what} files round; make it text, or write a file "
                "of another format."
            )
        return column
    numbers = pc.cast(column, pa.float64(), safe=False)
    if pa.types.is_decimal(kind) and not _same_decimals(column, numbers):
        raise InputError(
            f"column {name!r} holds decimals of more than 15 digits, which {what} files "
            f"round; make it text, or write a file of "
            "another format."
        )
    if pc.any(pc.is_inf(numbers)).as_py():
        raise InputError(
            f"column {name!r} holds infinite numbers, which {what} files do not know; "
            f"correct it, or write a file of another format."
        )
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)


def _same_decimals(column: pa.ChunkedArray, numbers: pa.ChunkedArray) -> bool:
    from decimal import Decimal

    scale = Decimal(1).scaleb(-column.type.scale)
    return all(
        value is None or Decimal(repr(number)).quantize(scale) == value
        for value, number in zip(column.to_pylist(), numbers.to_pylist(), strict=True)
    )


def _check_days(name: str, days: pa.ChunkedArray) -> None:
    ends = pc.min_max(days).as_py()
    if ends["min"] is not None and (ends["min"] < FIRST_DAY or ends["max"] > LAST_DAY):
        raise InputError(
            f"column {name!r} holds dates before March 1900 or after 9999, which Excel "
            f"does not know; write a file of another format."
        )


def _moments(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return days since Excel's epoch as float64, exact to a thousandth of a second."""
    try:
        counts = pc.cast(pc.cast(column, pa.timestamp("ms")), pa.int64())
    except pa.ArrowInvalid:
        raise _too_fine(name) from None
    days = pc.cast(pc.floor(pc.divide(pc.cast(counts, pa.float64()), float(DAY))), pa.int64())
    _check_days(name, days)
    return pc.add(pc.divide(pc.cast(counts, pa.float64()), float(DAY)), float(ORIGIN))


def _parts_of_day(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        counts = pc.cast(pc.cast(column, pa.time32("ms")), pa.int32())
    except pa.ArrowInvalid:
        raise _too_fine(name) from None
    return pc.divide(pc.cast(counts, pa.float64()), float(DAY))


def _too_fine(name: str) -> InputError:
    return InputError(
        f"column {name!r} holds moments finer than thousandths of a second, which Excel "
        f"does not tell apart; write a file of another "
        "format."
    )


def check_texts(column: pa.ChunkedArray, what: str) -> None:
    """Refuse text that a sheet cannot hold to the letter."""
    if pc.any(pc.match_substring_regex(column, FORBIDDEN)).as_py():
        raise InputError(
            f"{what} hold control characters, which no Excel file can hold; remove them, "
            f"or write a file of another format."
            if what.startswith("the ")
            else f"{what} holds control characters, which no Excel file can hold; remove "
            f"them, or write a file of another format."
        )
    longest = max((len(value.encode("utf-16-le")) // 2 for value in _long(column)), default=0)
    if longest > LETTERS:
        raise InputError(
            f"{what}: a cell of an Excel file holds {LETTERS:,} letters at most; write a "
            f"file of another format."
        )


def _long(column: pa.ChunkedArray) -> list[str]:
    """Return the texts that may be too long; characters outside the basic plane count twice."""
    lengths = pc.fill_null(pc.utf8_length(column), 0)
    return column.filter(pc.greater(lengths, LETTERS // 2)).to_pylist()
