"""Excel files: text is never a formula, sheets and headers are asked for, nothing of a trail; read
by openpyxl, too.
"""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest

import microagg as ma
from microagg.files.commit.writing import write_table
from microagg.files.reading import read_table
from microagg.pipeline.files import anonymize_file


def test_text_is_never_a_formula(tmp_path: Path) -> None:
    texts = [
        "=A1",
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=A1",
        "'=A1",
        "1",
        "TRUE",
        "2024-01-31",
        " x ",
        "_x0041_",
        "a\r\nb",
    ]
    write_table(pa.table({"text": texts}), tmp_path / "out.xlsx")
    assert read_table(tmp_path / "out.xlsx").column("text").to_pylist() == texts
    cells = [
        row[0]
        for row in openpyxl.load_workbook(tmp_path / "out.xlsx").worksheets[0].iter_rows(min_row=2)
    ]
    assert {cell.data_type for cell in cells} <= {"s", "inlineStr"}
    with zipfile.ZipFile(tmp_path / "out.xlsx") as packed:
        assert b"<f" not in packed.read("xl/worksheets/sheet1.xml")


def test_nothing_of_a_trail(tmp_path: Path) -> None:
    write_table(pa.table({"age": [31]}), tmp_path / "out.xlsx")
    with zipfile.ZipFile(tmp_path / "out.xlsx") as packed:
        assert {entry.date_time for entry in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert not [name for name in packed.namelist() if "docProps" in name]
    assert openpyxl.load_workbook(tmp_path / "out.xlsx").sheetnames == ["table"]


def _book(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_sheets(tmp_path: Path) -> None:
    ages = [["age"], *([number] for number in (31, 32, 33, 34))]
    path = _book(
        tmp_path / "in.xlsx",
        {"wave 1": ages, "wave 2": [["year"], *([n] for n in (1990, 1991, 1992, 1993))]},
    )
    assert read_table(path).column_names == ["age"]
    assert read_table(path, sheet="wave 2").column("year").to_pylist() == [1990, 1991, 1992, 1993]
    with pytest.raises(ma.InputError, match="has no sheet 'wave 3'; it has 'wave 1', 'wave 2'"):
        read_table(path, sheet="wave 3")
    release = anonymize_file(
        path, tmp_path / "out.csv", 2, quasi=["year"], reading={"sheet": "wave 2"}, seed=1
    )
    assert any("one more sheet besides the one that was read" in note for note in release.notes)
    assert release.manifest["settings"]["reading"] == {"sheet": "wave 2"}


def test_headers(tmp_path: Path) -> None:
    path = _book(tmp_path / "in.xlsx", {"one": [[31, "a"], [32, "b"]]})
    with pytest.raises(ma.InputError, match=r"looks like a record.*--no-header"):
        read_table(path)
    assert read_table(path, header=False).to_pydict() == {"1": [31, 32], "2": ["a", "b"]}
    assert read_table(path, header=True).to_pydict() == {"31": [32], "a": ["b"]}


def test_a_sheet_of_one_row(tmp_path: Path) -> None:
    path = _book(tmp_path / "in.xlsx", {"one": [["age", "town"]]})
    with pytest.raises(ma.InputError, match="has a header but no records"):
        read_table(path)
    assert read_table(path, header=False).to_pydict() == {"1": ["age"], "2": ["town"]}


def test_a_sheet_without_cells_is_empty(tmp_path: Path) -> None:
    with pytest.raises(ma.InputError, match="is empty"):
        read_table(_book(tmp_path / "in.xlsx", {"one": []}))


def test_what_others_wrote(tmp_path: Path) -> None:
    day, moment = datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 12, 30)
    rows: list[list[object]] = [
        ["whole", "number", "text", "yes", "day", "moment", "mixed"],
        [1, 0.5, "x", True, day, moment, 1],
        [2, 1, None, False, None, day, "n/a"],
    ]
    table = read_table(_book(tmp_path / "in.xlsx", {"one": rows}))
    kinds = [
        pa.int64(),
        pa.float64(),
        pa.string(),
        pa.bool_(),
        pa.date32(),
        pa.timestamp("ms"),
        pa.string(),
    ]
    assert table.schema.types == kinds
    assert table.column("mixed").to_pylist() == ["1", "n/a"]
    assert table.column("moment").to_pylist() == [moment, datetime.datetime(2024, 1, 31)]


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (pa.array(["x" * 32_768]), "32,767 letters at most"),
        (pa.array(["😀" * 16_384]), "32,767 letters at most"),
        (pa.array(["a\x01b"]), "control characters"),
        (pa.array([datetime.date(1900, 2, 28)]), "dates before March 1900"),
        (pa.array([2**53 + 2]), "more than 15 digits"),
        (pa.array([float("-inf")]), "infinite numbers"),
        (pa.array([1], pa.timestamp("us")), "finer than thousandths of a second"),
        (pa.array([1], pa.timestamp("s", "UTC")), "cannot hold all columns"),
        (pa.nulls(1 << 20), "1,048,576 rows"),
    ],
)
def test_what_a_sheet_cannot_hold_is_refused(tmp_path: Path, column: pa.Array, says: str) -> None:
    with pytest.raises(ma.InputError, match=says):
        write_table(pa.table({"probe": column}), tmp_path / "out.xlsx")


def test_records_with_nothing_in_them_stay(tmp_path: Path) -> None:
    table = pa.table({"age": [None, 31, None, None], "zip": [None, "x", None, None]})
    write_table(table, tmp_path / "out.xlsx")
    assert read_table(tmp_path / "out.xlsx").to_pydict() == table.to_pydict()


@pytest.mark.parametrize(
    ("stopped", "raised", "says"),
    [
        (KeyboardInterrupt, KeyboardInterrupt, "^$"),
        (SystemExit, SystemExit, "^$"),
        (MemoryError, ma.InputError, "memory"),
        (ValueError, ma.InputError, "is not a readable Excel file"),
    ],
)
def test_only_what_is_wrong_with_the_file_is_said_of_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stopped: type[BaseException],
    raised: type[BaseException],
    says: str,
) -> None:
    """Ctrl-C while a workbook is read ends the command; the workbook is not blamed for it."""
    write_table(pa.table({"age": [1, 2]}), tmp_path / "in.xlsx")

    class Workbook:
        @staticmethod
        def from_path(path: str) -> None:
            raise stopped

    monkeypatch.setattr("python_calamine.CalamineWorkbook", Workbook)
    with pytest.raises(raised, match=says):
        read_table(tmp_path / "in.xlsx")
