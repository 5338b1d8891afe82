"""Cells of a sheet: one type for a column, dates before 1900, and the bytes that cells take."""

from __future__ import annotations

import datetime
import io
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import microagg as ma
from microagg.files import unpacking
from microagg.files.excel import cells, sizes

DAY, MOMENT = datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 12, 30)
PRECISE = datetime.datetime(2024, 1, 31, 12, 30, 0, 250_000)
CLOCK, LASTS = datetime.time(8, 15), datetime.timedelta(hours=30)


@pytest.mark.parametrize(
    ("column", "kind", "expected"),
    [
        ([1, 2.0, ""], pa.int64(), [1, 2, None]),
        ([1, 2.5, ""], pa.float64(), [1.0, 2.5, None]),
        ([-(2.0**53) + 1, 1], pa.int64(), [1 - 2**53, 1]),
        ([-(2.0**53), 1], pa.float64(), [-(2.0**53), 1.0]),
        (["", ""], pa.string(), [None, None]),
        (["a", ""], pa.string(), ["a", None]),
        ([True, "", False], pa.bool_(), [True, None, False]),
        ([DAY, ""], pa.date32(), [DAY, None]),
        ([DAY, MOMENT, ""], pa.timestamp("ms"), [datetime.datetime(2024, 1, 31), MOMENT, None]),
        ([MOMENT, ""], pa.timestamp("ms"), [MOMENT, None]),
        ([CLOCK, ""], pa.time64("us"), [CLOCK, None]),
        ([LASTS, ""], pa.duration("us"), [LASTS, None]),
    ],
)
def test_cells_of_one_type_keep_it(
    column: list[Any], kind: pa.DataType, expected: list[Any]
) -> None:
    array, mixed = cells.array_of_cells(column)
    assert (array.type, array.to_pylist(), mixed) == (kind, expected, False)


@pytest.mark.parametrize(
    ("column", "options", "expected"),
    [
        ([True, 1, False], {}, ["TRUE", "1", "FALSE"]),
        ([31.0, 1.5, "1.5", ""], {}, ["31", "1.5", "1.5", None]),
        ([31.0, 1.5, "1.5", ""], {"decimal": ","}, ["31", "1,5", "1.5", None]),
        ([2.0**53 - 1, "x"], {}, [str(2**53 - 1), "x"]),
        ([2.0**53, "x"], {}, [str(2.0**53), "x"]),
        ([DAY, "x"], {}, ["2024-01-31", "x"]),
        ([DAY, MOMENT, "x"], {}, ["2024-01-31 00:00:00", "2024-01-31 12:30:00", "x"]),
        ([DAY, PRECISE, "x"], {}, ["2024-01-31 00:00:00.000", "2024-01-31 12:30:00.250", "x"]),
        ([DAY, "x"], {"dates": "%d.%m.%Y"}, ["31.01.2024", "x"]),
        ([DAY, MOMENT, "x"], {"dates": "%d.%m.%Y"}, ["2024-01-31 00:00:00", str(MOMENT), "x"]),
        ([DAY, "x"], {"dates": "%d.%m.%Y %H:%M"}, ["2024-01-31", "x"]),
        ([DAY, MOMENT], {"dates": "%d.%m.%Y %H:%M"}, None),
        (
            [DAY, MOMENT, "x"],
            {"dates": "%d.%m.%Y %H:%M"},
            ["31.01.2024 00:00", "31.01.2024 12:30", "x"],
        ),
        ([CLOCK, 1.5], {"decimal": ","}, ["08:15:00", "1,5"]),
    ],
)
def test_cells_of_several_types_are_spelled_as_in_a_text_file(
    column: list[Any], options: dict[str, str], expected: list[str | None] | None
) -> None:
    array, mixed = cells.array_of_cells(column, **options)
    if expected is None:
        assert (array.type, mixed) == (pa.timestamp("ms"), False)
    else:
        assert (array.to_pylist(), mixed) == (expected, True)


def test_a_midnight_is_a_lost_date_only_among_dates() -> None:
    midnight = datetime.time()
    assert cells.first_lost_date([midnight, CLOCK, None]) is None
    assert cells.first_lost_date([CLOCK, DAY, None]) is None
    assert cells.first_lost_date([CLOCK, midnight, MOMENT, midnight]) == 1


@pytest.mark.parametrize(
    ("reference", "number"),
    [("A1", 0), ("B7", 1), ("Z1", 25), ("AA1", 26), ("AZ1", 51), ("BA1", 52), ("ZZ1", 701)]
    + [("AAA1", 702), ("XFD1", 16_383), (None, 9), ("", 9), ("7", 9)],
)
def test_the_number_of_a_column(reference: str | None, number: int) -> None:
    assert cells._column_number(reference, 9) == number


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        (-1.0, datetime.date(1899, 12, 29)),
        (-1.75, datetime.datetime(1899, 12, 28, 6)),
        (-0.5, datetime.datetime(1899, 12, 29, 12)),
        (-1000.0 / 86_400_000, datetime.datetime(1899, 12, 29, 23, 59, 59)),
        (-(10.0**9), datetime.time()),
    ],
)
def test_the_moment_of_a_negative_number(number: float, moment: Any) -> None:
    result = cells._moment_of(number, cells.EPOCH)
    assert (type(result), result) == (type(moment), moment)


def test_cells_without_references_come_one_after_another() -> None:
    sheet = (
        '<s:worksheet xmlns:s="x"><s:sheetData><s:row><s:c><s:v>-1</s:v></s:c><s:c/>'
        '<s:c><s:v>-2.5</s:v></s:c></s:row><s:row r="4"><s:c r="C4"><s:v>-3</s:v></s:c>'
        "<s:c><s:v>-4</s:v></s:c><s:c><s:v>5</s:v></s:c></s:row><s:row><s:c><s:f>-6</s:f></s:c>"
        "<s:c><s:v>-7</s:v></s:c><s:c><s:v>-8e2</s:v></s:c></s:row></s:sheetData></s:worksheet>"
    )
    assert list(cells._negative_numbers(io.BytesIO(sheet.encode()))) == [
        (0, 0, -1.0),
        (0, 2, -2.5),
        (3, 2, -3.0),
        (3, 3, -4.0),
        (4, 1, -7.0),
    ]


def package(path: Path, sheets: dict[str, tuple[str, str]], *, properties: str = "") -> Path:
    """A workbook of sheets with the target of their relation, and their content."""
    relation = cells.RELATION[1:-3]
    book = "".join(
        f'<sheet name="{name}" r:id="r{number}"/>' for number, name in enumerate(sheets, 1)
    )
    relations = "".join(
        f'<Relationship Id="r{number}" Target="{target}"/>'
        for number, (target, _) in enumerate(sheets.values(), 1)
    )
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns:r="{relation}"><workbookPr {properties}/>'
            f"<sheets>{book}</sheets></workbook>",
        )
        packed.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{relations}</Relationships>")
        for target, content in sheets.values():
            if content:
                packed.writestr(f"xl/{target.removeprefix('/xl/')}", content)
    return path


def sheet_of(*numbers: float) -> str:
    rows = "".join(f"<row><c><v>{number}</v></c><c><v>1</v></c></row>" for number in numbers)
    return f"<worksheet><sheetData>{rows}</sheetData></worksheet>"


@pytest.mark.parametrize("properties", ["", 'date1904="0"', 'date1904="1"', 'date1904="true"'])
@pytest.mark.parametrize("target", ["sheets/b.xml", "/xl/sheets/b.xml"])
def test_early_dates_are_those_of_the_sheet_and_of_its_epoch(
    tmp_path: Path, properties: str, target: str
) -> None:
    sheets = {"a": ("sheets/a.xml", sheet_of(-9)), "b": (target, sheet_of(-1, 5, -2))}
    path = package(tmp_path / "in.xlsx", sheets, properties=properties)
    rows: list[list[Any]] = [[CLOCK, CLOCK], [CLOCK, "x"], ["x", "y"]]
    cells.restore_early_dates(path, "b", rows)
    epoch = datetime.date(1904, 1, 1) if "1" in properties[9:] or "true" in properties else None
    first = (epoch or datetime.date(1899, 12, 30)) - datetime.timedelta(days=1)
    assert rows == [[first, CLOCK], [CLOCK, "x"], ["x", "y"]]


def test_rows_and_sheets_that_are_not_there_are_passed_over(tmp_path: Path) -> None:
    sheets = {"a": ("a.xml", sheet_of(-1, -1, -1)), "lost": ("lost.xml", "")}
    path = package(tmp_path / "in.xlsx", sheets)
    for name in ("lost", "other"):
        rows: list[list[Any]] = [[CLOCK]]
        cells.restore_early_dates(path, name, rows)
        assert rows == [[CLOCK]]
    rows = [[], [CLOCK]]
    cells.restore_early_dates(path, "a", rows)
    assert rows == [[], [datetime.date(1899, 12, 29)]]


@pytest.mark.parametrize("size", [32, 40, 10_000])
def test_cells_and_their_extent_are_counted_over_all_pieces(size: int) -> None:
    content = b"".join(
        b'<row r="%d"><c r="B%d" t="n"><v>1</v></c><x:c r = \'AB%d\'/></row>' % (row, row, row)
        for row in (2, 30, 12)
    )
    sheet = sizes._Sheet()
    for start in range(0, len(content), size):
        sheet.take(content[start : start + size])
    assert sheet.reach == 28 * 30
    if size > len(content):
        assert sheet.cells == 6


@pytest.mark.parametrize("size", [33, 50, 10_000])
def test_lengths_of_shared_strings_are_counted_over_all_pieces(size: int) -> None:
    strings = [b"<si><t>age</t></si>", b"<x:si ><t>" + b"n" * 90 + b"</t></x:si>", b"<si/>"]
    content = b"<sst>" + b"".join(strings) + b"</sst>"
    counted = sizes._Strings()
    for start in range(0, len(content), size):
        counted.take(content[start : start + size])
    counted.end()
    assert counted.lengths == [*map(len, strings[:2]), len(strings[2]) + len(b"</sst>")]


@pytest.mark.parametrize("at_once", [600, 1 << 20])
def test_letters_of_shared_strings_are_counted_for_each_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(sizes, "AT_ONCE", at_once)
    monkeypatch.setattr(sizes, "LONGEST_TAG", 200)
    shown = [0, 1, 1, 2, 0, 7] * 30
    content = "".join(f'<c r="A{row}" t="s"><v>{index}</v></c>' for row, index in enumerate(shown))
    with zipfile.ZipFile(tmp_path / "in.xlsx", "w") as packed:
        packed.writestr("xl/worksheets/a.xml", content + "<c><v>1</v></c>")
        packed.writestr("xl/styles.xml", content)
    with zipfile.ZipFile(tmp_path / "in.xlsx") as packed:
        letters = [
            sizes._letters_shared(packed, entry, (10, 100, 1000)) for entry in packed.infolist()
        ]
    assert letters == [30 * (10 + 100 + 100 + 1000 + 10), 0]


def _refused(path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> bool:
    monkeypatch.setattr(sizes, "memory_limit", lambda path: most)
    with zipfile.ZipFile(path) as packed:
        try:
            sizes.check_large_workbook(path, packed, packed.infolist())
        except ma.InputError:
            return True
    return False


def test_a_workbook_is_refused_from_the_byte_on_that_has_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "available_memory", lambda: 1 << 40)
    sheet = '<c r="A1"><v>1</v></c><c r="A2"><v>2</v></c>'
    strings = "<sst><si>a</si><si>b</si><si>c</si></sst>"
    with zipfile.ZipFile(tmp_path / "in.xlsx", "w") as packed:
        packed.writestr("xl/worksheets/1.xml", sheet)
        packed.writestr("xl/worksheets/2.xml", sheet)
        packed.writestr("xl/sharedStrings.xml", strings)
        packed.writestr("xl/media/picture.png", "x" * 9999)
    needed = 2 * len(sheet) + len(strings) + 4 * sizes.BYTES_A_CELL + 3 * sizes.BYTES_A_STRING
    # the last of the strings counts only when the file has ended
    assert not _refused(tmp_path / "in.xlsx", monkeypatch, needed)
    assert _refused(tmp_path / "in.xlsx", monkeypatch, needed - 2 * sizes.BYTES_A_STRING - 200)


def test_a_far_cell_takes_the_rectangle_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "available_memory", lambda: 1 << 40)
    with zipfile.ZipFile(tmp_path / "in.xlsx", "w") as packed:
        packed.writestr("xl/worksheets/1.xml", '<row r="500"><c r="CV500"/></row>')
    assert not _refused(tmp_path / "in.xlsx", monkeypatch, 100 * 500 * sizes.BYTES_A_CELL)
    assert _refused(tmp_path / "in.xlsx", monkeypatch, 100 * 500 * sizes.BYTES_A_CELL - 1)


def test_a_long_string_in_many_cells_takes_its_letters_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "available_memory", lambda: 1 << 40)
    sheet = "".join(f'<c r="A{row}" t="s"><v>0</v></c>' for row in range(1, 51))
    strings = f"<sst><si>{'x' * 9000}</si><si/></sst>"
    with zipfile.ZipFile(tmp_path / "in.xlsx", "w") as packed:
        packed.writestr("xl/sharedStrings.xml", strings)
        packed.writestr("xl/worksheets/1.xml", sheet)
    letters = strings.index("<si/>") - strings.index("<si>")
    needed = len(sheet) + len(strings) + 50 * sizes.BYTES_A_CELL + 50 * letters
    assert not _refused(tmp_path / "in.xlsx", monkeypatch, needed)
    assert _refused(tmp_path / "in.xlsx", monkeypatch, 50 * letters - 1)
