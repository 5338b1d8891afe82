"""Excel files (.xlsx): one sheet, names of columns in its first row; read by calamine, written by `xlsx_writing.py`."""

from __future__ import annotations

import datetime
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.table.io.format import Format
from microagg.table.io.text_parameters import HEADER
from microagg.table.io.xlsx_sizes import refuse_large_workbook

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"PK\x03\x04"
OLD = b"\xd0\xcf\x11\xe0"
"""How files of the old format begin, and those with a password."""


@dataclass(frozen=True)
class SheetName:
    """A parameter that takes the name of a sheet.

    >>> SheetName("sheet", "").parse("wave 2")
    'wave 2'
    """

    name: str
    help: str
    default: None = None
    describes: str = "the name of a sheet"
    json_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    metavar: str = "NAME"

    def parse(self, value: Any) -> str | None:
        """The name; None for the first sheet."""
        if value is None or (isinstance(value, str) and value):
            return value
        raise InputError(f"{self.name} must be the name of a sheet.")


SHEET = SheetName("sheet", "The sheet of an Excel file to read; the first one if not given.")


def read(path: Path, sheet: str | None = None, header: bool | None = None) -> pa.Table:
    """The cells of one sheet; a column that mixes numbers, dates and texts becomes text."""
    import pyarrow as pa

    from microagg.table.io.marks import with_notes

    _refuse_other_files(path)
    rows, others = _rows(path, sheet)
    if not rows or not rows[0]:
        raise InputError(f"{str(path)!r} is empty; it needs columns and at least one record.")
    names, records = _names(path, rows, header)
    columns = [_column([row[place] for row in records]) for place in range(len(names))]
    table = pa.Table.from_arrays(columns, names=names)
    if not others:
        return table
    more = "one more sheet" if others == 1 else f"{others} more sheets"
    return with_notes(
        table, [f"the Excel file has {more} besides the one that was read; name another with sheet"]
    )


def _refuse_other_files(path: Path) -> None:
    """Look into the file before it is read: what it is, and how much it unpacks to."""
    with path.open("rb") as file:
        beginning = file.read(8)
    if not beginning:
        raise InputError(f"{str(path)!r} is empty; it needs columns and at least one record.")
    if beginning.startswith(OLD):
        raise InputError(
            f"{str(path)!r} has a password or is of Excel's old format; save it as .xlsx without a password."
        )
    try:
        with zipfile.ZipFile(path) as packed:
            entries = packed.infolist()
            if any(entry.flag_bits & 1 for entry in entries):
                raise InputError(f"{str(path)!r} is encrypted; save it without a password.")
            if "xl/workbook.xml" not in packed.namelist():
                raise _unreadable(path)
            refuse_large_workbook(path, packed, entries)
    except InputError:  # which is a ValueError, too
        raise
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError):
        raise _unreadable(path) from None


def _rows(path: Path, sheet: str | None) -> tuple[list[list[Any]], int]:
    """The cells of a sheet row by row, and how many other sheets there are."""
    import python_calamine

    try:
        book = python_calamine.CalamineWorkbook.from_path(str(path))
        names = [
            each.name for each in book.sheets_metadata if each.typ == python_calamine.SheetTypeEnum.WorkSheet
        ]
        if not names:
            raise InputError(f"{str(path)!r} has no sheet with a table; write it anew.")
        if sheet is not None and sheet not in names:
            raise InputError(f"{str(path)!r} has no sheet {sheet!r}; it has {', '.join(map(repr, names))}.")
        rows = book.get_sheet_by_name(sheet or names[0]).to_python(skip_empty_area=False)
    except (MemoryError, InputError):
        raise
    except BaseException as error:  # a panic of Rust is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise _unreadable(path) from None
    return rows, len(names) - 1


def _unreadable(path: Path) -> InputError:
    return InputError(f"{str(path)!r} is not a readable Excel file; write it anew.")


def _names(path: Path, rows: list[list[Any]], header: bool | None) -> tuple[list[str], list[list[Any]]]:
    """The names of the columns, and the records."""
    first = rows[0]
    if header is False:
        return [str(number) for number in range(1, len(first) + 1)], rows
    if header is None and not all(isinstance(cell, str) for cell in first):
        raise InputError(
            f"the first row of {str(path)!r} looks like a record, not like names of columns; say --no-header (in Python "
            "header=False) if it is a record, --header (header=True) if it holds names."
        )
    for place, cell in enumerate(first, 1):
        if cell == "":
            raise InputError(f"column {place} of {str(path)!r} has no name; write one into its first row.")
    return [_as_text(cell) for cell in first], rows[1:]


def _column(cells: Iterable[Any]) -> pa.Array:
    """The cells of a column as one type; an empty cell is missing."""
    import pyarrow as pa

    values = [None if cell == "" else cell for cell in cells]
    held = {type(value) for value in values if value is not None}
    if held <= {int, float}:
        return _numbers(values)
    if held == {bool}:
        return pa.array(values, pa.bool_())
    if held == {datetime.date}:
        return pa.array(values, pa.date32())
    if held <= {datetime.date, datetime.datetime}:
        moments = [
            datetime.datetime.combine(value, datetime.time()) if type(value) is datetime.date else value
            for value in values
        ]
        return pa.array(moments, pa.timestamp("ms"))
    if held == {datetime.time}:
        return pa.array(values, pa.time64("us"))
    if held == {datetime.timedelta}:
        return pa.array(values, pa.duration("us"))
    return pa.array([None if value is None else _as_text(value) for value in values], pa.string())


def _numbers(values: list[Any]) -> pa.Array:
    """Whole numbers if all are and float64 tells them apart; nothing at all is text, as in other files."""
    import pyarrow as pa

    there = [value for value in values if value is not None]
    if not there:
        return pa.array(values, pa.string())
    if all(abs(value) < 2.0**53 and value == int(value) for value in there if value == value):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    return pa.array(values, pa.float64())


def _as_text(cell: Any) -> str:
    """A cell that is no text among texts, as a spreadsheet shows it."""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2.0**53:
        return str(int(cell))
    return str(cell)


def write(table: pa.Table, path: Path) -> None:
    """Write a table as a workbook of one sheet."""
    from microagg.table.io.xlsx_writing import write_workbook

    write_workbook(table, path)


def recognise(beginning: bytes) -> bool:
    """Whether a file begins as workbooks do."""
    return beginning.startswith(MAGIC)


XLSX = Format(
    name="Excel",
    suffixes=(".xlsx",),
    read=read,
    write=write,
    typed=True,
    nested=False,
    empties=False,
    article="an",
    recognise=recognise,
    reading=(HEADER, SHEET),
    read_back={"header": True},
    needs=("python_calamine",),
    extra="excel",
)
