"""Cells of an Excel sheet as Arrow columns, and the dates before 1900 that calamine does not
read.
"""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from xml.etree import ElementTree

from microagg.table.columns.text_options import has_clock

if TYPE_CHECKING:
    import pyarrow as pa

MIDNIGHT = datetime.time()
EPOCH, EPOCH_OF_MAC = datetime.datetime(1899, 12, 30), datetime.datetime(1904, 1, 1)
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def array_of_cells(
    cells: Sequence[Any], decimal: str = ".", dates: str | None = None
) -> tuple[pa.Array, bool]:
    """Return the cells of a column as one type, and whether they were of several; an empty cell is
    missing.

    Cells of several types are spelled as a text file has them, so that the rules for text files
    tell what the column is: with this decimal sign and, where it fits, in this pattern of dates.

    >>> array_of_cells([31.0, "NA", ""])[0].to_pylist(), array_of_cells([31.0, ""])[0].to_pylist()
    (['31', 'NA', None], [31, None])
    """
    import pyarrow as pa

    values = [None if cell == "" else cell for cell in cells]
    held = {type(value) for value in values if value is not None}
    if held <= {int, float}:
        return _numbers(values), False
    if held == {str}:
        return pa.array(values, pa.string()), False
    if held == {bool}:
        return pa.array(values, pa.bool_()), False
    if held == {datetime.date}:
        return pa.array(values, pa.date32()), False
    if held <= {datetime.date, datetime.datetime}:
        moments = [_as_moment(value) for value in values]
        return pa.array(moments, pa.timestamp("ms")), False
    if held == {datetime.time}:
        return pa.array(values, pa.time64("us")), False
    if held == {datetime.timedelta}:
        return pa.array(values, pa.duration("us")), False
    return pa.array(_spelled_alike(values, held, decimal, dates), pa.string()), True


def cell_as_text(cell: Any) -> str:
    """Spell a cell that is no text as a text file has it."""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2.0**53:
        return str(int(cell))
    return str(cell)


def first_lost_date(cells: Sequence[Any]) -> int | None:
    """Return the place of the first midnight among dates: a day before 1900 whose number the file
    does not tell.

    >>> first_lost_date([datetime.date(1999, 1, 1), datetime.time()])
    1
    """
    if not any(isinstance(cell, datetime.date) for cell in cells):
        return None
    return next((place for place, cell in enumerate(cells) if cell == MIDNIGHT), None)


def restore_early_dates(path: Path, sheet: str, rows: list[list[Any]]) -> None:
    """Put dates before 1900 into the rows of a sheet: calamine reads a negative serial number as a
    time of day.
    """
    if not any(isinstance(cell, datetime.time) for row in rows for cell in row):
        return
    with zipfile.ZipFile(path) as packed:
        part, epoch = _part_of_sheet(packed, sheet)
        if part is None:
            return
        with packed.open(part) as content:
            for row, column, number in _negative_numbers(content):
                cell = rows[row][column] if row < len(rows) and column < len(rows[row]) else None
                if isinstance(cell, datetime.time):
                    rows[row][column] = _moment_of(number, epoch)


def _spelled_alike(
    values: list[Any], held: set[type], decimal: str, dates: str | None
) -> list[str | None]:
    """Spell cells of several types; days get a time of day where one of the others has it."""
    fraction = any(isinstance(value, datetime.datetime) and value.microsecond for value in values)
    unit = "milliseconds" if fraction else "seconds"
    clock = datetime.datetime in held
    pattern = dates if dates is not None and has_clock(dates) == clock else None

    def spell(value: Any) -> str | None:
        if value is None:
            return None
        if isinstance(value, datetime.date) and pattern is not None:
            return _as_moment(value).strftime(pattern)
        if isinstance(value, datetime.date) and clock:
            return _as_moment(value).isoformat(" ", unit)
        text = cell_as_text(value)
        return text.replace(".", decimal) if type(value) is float else text

    return [spell(value) for value in values]


def _as_moment(value: Any) -> Any:
    return datetime.datetime.combine(value, MIDNIGHT) if type(value) is datetime.date else value


def _numbers(values: list[Any]) -> pa.Array:
    """Whole numbers if all are and float64 tells them apart; nothing at all is text, as in other
    files.
    """
    import pyarrow as pa

    there = [value for value in values if value is not None]
    if not there:
        return pa.array(values, pa.string())
    if all(abs(value) < 2.0**53 and value == int(value) for value in there if value == value):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    return pa.array(values, pa.float64())


def _part_of_sheet(packed: zipfile.ZipFile, sheet: str) -> tuple[str | None, datetime.datetime]:
    """Return the name of the file in the package that holds a sheet, and the day that the workbook
    counts from.
    """
    book = ElementTree.fromstring(packed.read("xl/workbook.xml"))
    relations = ElementTree.fromstring(packed.read("xl/_rels/workbook.xml.rels"))
    epoch, wanted = EPOCH, None
    for element in book.iter():
        if _tag(element) == "workbookPr" and element.get("date1904") in ("1", "true"):
            epoch = EPOCH_OF_MAC
        if _tag(element) == "sheet" and element.get("name") == sheet:
            wanted = element.get(RELATION)
    targets = [each.get("Target", "") for each in relations if each.get("Id") == wanted]
    if wanted is None or not targets:
        return None, epoch
    part = targets[0].lstrip("/") if targets[0].startswith("/") else f"xl/{targets[0]}"
    return (part if part in packed.namelist() else None), epoch


def _negative_numbers(content: IO[bytes]) -> Iterator[tuple[int, int, float]]:
    """Yield row, column (both from 0) and value of each cell of a sheet that holds a negative
    number.
    """
    row, column = -1, -1
    for event, element in ElementTree.iterparse(content, ("start", "end")):
        tag = _tag(element)
        if event == "start" and tag == "row":
            row, column = int(element.get("r", row + 2)) - 1, -1
        elif event == "start" and tag == "c":
            column = _column_number(element.get("r"), column + 1)
        elif event == "end" and tag == "c":
            text = next((each.text for each in element if _tag(each) == "v"), None) or ""
            if re.fullmatch(r"-\d+(\.\d+)?", text):
                yield row, column, float(text)
        if event == "end" and tag == "row":
            element.clear()


def _column_number(reference: str | None, default: int) -> int:
    letters = re.match(r"[A-Z]+", reference or "")
    if letters is None:
        return default
    number = 0
    for letter in letters[0]:
        number = 26 * number + ord(letter) - 64
    return number - 1


def _moment_of(number: float, epoch: datetime.datetime) -> Any:
    """Return the day, or the moment, that a serial number counts; midnight where the calendar does
    not reach so far.
    """
    try:
        moment = epoch + datetime.timedelta(milliseconds=round(number * 86_400_000))
    except OverflowError:
        return MIDNIGHT
    return moment.date() if moment.time() == MIDNIGHT else moment


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]
