"""Excel files (.xlsx): one sheet with column names in its first row; read by calamine, written by
`writer.py`.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.errors import InputError
from microagg.files.excel.cells import (
    array_of_cells,
    cell_as_text,
    first_lost_date,
    restore_early_dates,
)
from microagg.files.excel.sizes import check_large_workbook
from microagg.files.format import EMPTY, Format
from microagg.files.text.headers import LOOKED_AT, FirstRow, check_unclear_names
from microagg.sentences import Assignment, sentence
from microagg.table.columns.text_options import (
    DATES,
    DECIMAL,
    HEADER,
    SKIP_ROWS,
    THOUSANDS,
    check_same_signs,
)
from microagg.table.declared import Declared, Schema

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"PK\x03\x04"
OLD = b"\xd0\xcf\x11\xe0"
"""First bytes of files of the old format, and of those with a password."""


@dataclass(frozen=True)
class SheetName(Declared):
    """A parameter that takes the name of a sheet.

    >>> SheetName("sheet", "").parse("wave 2")
    'wave 2'
    """

    name: str
    help: str
    default: None = None
    describes: str = "the name of a sheet"

    @property
    def json_schema(self) -> Schema:
        """Return the JSON Schema of the value."""
        return {"type": "string"}

    @property
    def metavar(self) -> str:
        """Return the word that help shows."""
        return "NAME"

    def parse(self, value: Any) -> str | None:
        """Return the name; None for the first sheet."""
        if value is None or (isinstance(value, str) and value):
            return value
        raise InputError(f"{self.name} must be the name of a sheet.")


SHEET = SheetName("sheet", "The sheet of an Excel file to read; the first one if not given.")


def read(
    path: Path,
    sheet: str | None = None,
    header: bool | None = None,
    skip_rows: int | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    dates: str | None = None,
) -> pa.Table:
    """Read the cells of one sheet.

    A column that mixes numbers, dates and texts becomes text and is marked as mixed: `read_table`
    types it by the rules for text files. `decimal`, `thousands` and `dates` describe its texts.
    """
    import pyarrow as pa

    from microagg.table.columns.field_metadata import field_metadata, with_file_fact

    check_same_signs({"decimal": decimal, "thousands": thousands})
    _check_other_files(path)
    rows, others = _rows(path, sheet)
    if not rows or not rows[0]:
        raise InputError(EMPTY.format(str(path)))
    if skip_rows and skip_rows >= len(rows):
        raise InputError(
            sentence(
                f"{str(path)!r} has no more than ",
                Assignment("skip_rows", skip_rows),
                " rows; skip fewer.",
            )
        )
    rows = rows[skip_rows or 0 :]
    names, records = _names(path, rows, header)
    point = decimal or ("," if thousands == "." else ".")
    fields, columns = [], []
    for index, name in enumerate(names):
        cells = [row[index] for row in records]
        _check_lost_date(name, first_lost_date(cells))
        column, mixed = array_of_cells(cells, point, dates)
        fields.append(pa.field(name, column.type, metadata=field_metadata(mixed=mixed)))
        columns.append(column)
    table = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    if not others:
        return table
    return with_file_fact(table, "more-sheets", sheets=others)


def _check_lost_date(name: str, row: int | None) -> None:
    if row is not None:
        raise InputError(
            f"column {name!r}, row {row + 1} (header not counted): a date before 1900, "
            f"which this Excel "
            "file does not hold; write it as text, such as 1899-12-31, or save the table as csv."
        )


def _check_other_files(path: Path) -> None:
    """Look into the file before it is read: what it is, and how much it unpacks to."""
    with path.open("rb") as file:
        beginning = file.read(8)
    if not beginning:
        raise InputError(EMPTY.format(str(path)))
    if beginning.startswith(OLD):
        raise InputError(
            f"{str(path)!r} has a password or is of Excel's old format; save it as .xlsx "
            f"without a password."
        )
    try:
        with zipfile.ZipFile(path) as packed:
            entries = packed.infolist()
            if any(entry.flag_bits & 1 for entry in entries):
                raise InputError(f"{str(path)!r} is encrypted; save it without a password.")
            if "xl/workbook.xml" not in packed.namelist():
                raise _unreadable(path)
            check_large_workbook(path, packed, entries)
    except InputError:  # which is a ValueError, too
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        OSError,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
    ):
        raise _unreadable(path) from None


def _rows(path: Path, sheet: str | None) -> tuple[list[list[Any]], int]:
    """Return the cells of a sheet row by row, and the number of other sheets."""
    import python_calamine

    try:
        book = python_calamine.CalamineWorkbook.from_path(str(path))
        names = [
            entry.name
            for entry in book.sheets_metadata
            if entry.typ == python_calamine.SheetTypeEnum.WorkSheet
        ]
        if not names:
            raise InputError(f"{str(path)!r} has no sheet with a table; write it anew.")
        if sheet is not None and sheet not in names:
            raise InputError(
                f"{str(path)!r} has no sheet {sheet!r}; it has {', '.join(map(repr, names))}."
            )
        rows = book.get_sheet_by_name(sheet or names[0]).to_python(skip_empty_area=False)
        restore_early_dates(path, sheet or names[0], rows)
    except (MemoryError, InputError):
        raise
    except BaseException as error:  # a panic of Rust is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise _unreadable(path) from None
    return rows, len(names) - 1


def _unreadable(path: Path) -> InputError:
    return InputError(f"{str(path)!r} is not a readable Excel file; write it anew.")


def _names(
    path: Path, rows: list[list[Any]], header: bool | None
) -> tuple[list[str], list[list[Any]]]:
    """Return the names of the columns, and the records."""
    first = rows[0]
    if header is False:
        return [str(number) for number in range(1, len(first) + 1)], rows
    names = [cell_as_text(cell) for cell in first]
    if header is None:
        _judged(names, first, rows[1:]).check_record(path)
    for column, cell in enumerate(first, 1):
        if cell == "":
            raise InputError(
                f"column {column} of {str(path)!r} has no name; write one into its first "
                f"row, or say "
                "skip_rows if the names come later."
            )
    check_unclear_names(names, path)
    return names, rows[1:]


def _judged(names: list[str], first: list[Any], records: list[list[Any]]) -> FirstRow:
    """Return the first row with evidence of the cells below it; a cell that is no text counts as a
    value.
    """
    row = FirstRow(names, [j for j, cell in enumerate(first) if not isinstance(cell, str)])
    few = records[:LOOKED_AT]
    heads = [[cell_as_text(record[j]) for record in few] for j in range(len(names))]
    recurring = [
        j
        for j, cell in enumerate(first)
        if cell != "" and any(record[j] == cell for record in records)
    ]
    row.add(heads, recurring)
    return row


def write(table: pa.Table, path: Path) -> None:
    """Write a table as a workbook of one sheet."""
    from microagg.files.excel.writer import write_workbook

    write_workbook(table, path)


def recognise(beginning: bytes) -> bool:
    """Check if a file begins as workbooks do."""
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
    reading=(HEADER, SHEET, SKIP_ROWS, DECIMAL, THOUSANDS, DATES),
    mixed=True,
    read_back={"header": True},
    needs=("python_calamine",),
    extra="excel",
)
