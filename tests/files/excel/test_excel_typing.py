"""A column of an Excel file is typed by the rules for text files: the same kinds, gaps and
refusals.
"""

from __future__ import annotations

import csv
import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest

import microagg as ma
from microagg.files.reading import read_table
from microagg.pipeline.files import anonymize_file
from microagg.proposal.proposal import propose_for_file
from microagg.table.schema import ColumnSettings, Kind

DAY = datetime.date(1950, 1, 1)
AGES = list(range(20, 80))
INCOMES = [1000.25 + 17.5 * number for number in range(60)]
BORN = [DAY + datetime.timedelta(days=113 * number) for number in range(60)]
COLUMNS: dict[str, list[Any]] = {"age": AGES, "income": INCOMES, "born": BORN}


def as_both(folder: Path, columns: dict[str, list[Any]]) -> tuple[Path, Path]:
    """Write the same cells as csv and as Excel; None is an empty cell."""
    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    with (folder / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(row)
    book.save(folder / "in.xlsx")
    return folder / "in.csv", folder / "in.xlsx"


def with_cell(name: str, cell: Any) -> dict[str, list[Any]]:
    return {**COLUMNS, name: [*COLUMNS[name][:17], cell, *COLUMNS[name][18:]]}


def outcome(path: Path, settings: ColumnSettings, **reading: Any) -> Any:
    """Types and values of a file read for its quasi-identifiers, or the sentence that refuses
    it.
    """
    try:
        table = read_table(path, quasi=list(COLUMNS), settings=settings, **reading)
    except ma.InputError as error:
        return str(error)
    return table.schema.types, table.to_pydict()


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(
    ("cell", "settings"),
    [
        ("NA", ColumnSettings()),
        (None, ColumnSettings()),
        ("unknown", ColumnSettings()),
        ("k.A.", ColumnSettings(na=("k.A.",))),
        (" . ", ColumnSettings()),
        ("-", ColumnSettings()),
        ("inf", ColumnSettings()),
    ],
)
def test_one_text_among_numbers_or_dates_is_read_as_in_csv(
    tmp_path: Path, name: str, cell: Any, settings: ColumnSettings
) -> None:
    as_csv, as_xlsx = (outcome(path, settings) for path in as_both(tmp_path, with_cell(name, cell)))
    assert as_xlsx == as_csv
    if isinstance(as_xlsx, str):
        assert "row 18" in as_xlsx
    else:
        assert not any(pa.types.is_string(kind) for kind in as_xlsx[0])


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["31", "32.5", "NA"], pa.float64()),
        (["1950-01-01", "1950-02-01", "NA"], pa.date32()),
        (["Ulm", "Bonn", "NA"], pa.string()),
        ([1, "2", "3"], pa.int64()),
        ([True, "NA", "x"], pa.string()),
    ],
)
def test_texts_that_mean_numbers_or_dates(
    tmp_path: Path, column: list[Any], kind: pa.DataType
) -> None:
    for path in as_both(tmp_path, {"age": column}):
        assert read_table(path, quasi=["age"]).schema.field("age").type == kind, path.name


def test_texts_of_other_columns_stay(tmp_path: Path) -> None:
    _, path = as_both(tmp_path, {"code": ["007", "1"], "note": ["1", "2"], "mixed": [1, "x"]})
    assert read_table(path).to_pydict() == {
        "code": ["007", "1"],
        "note": ["1", "2"],
        "mixed": ["1", "x"],
    }


def test_numbers_and_dates_as_a_country_writes_them(tmp_path: Path) -> None:
    _, path = as_both(
        tmp_path, {"wage": ["1.200,50", 2.25, 900], "born": ["31.12.1999", DAY, "01.02.2000"]}
    )
    with pytest.raises(ma.InputError, match=r"'wage'.*text where a number|'wage'.*sign"):
        read_table(path, quasi=["wage"])
    table = read_table(path, quasi=["wage", "born"], decimal=",", thousands=".", dates="%d.%m.%Y")
    assert table.column("wage").to_pylist() == [1200.5, 2.25, 900.0]
    assert table.column("born").to_pylist() == [
        datetime.date(1999, 12, 31),
        DAY,
        datetime.date(2000, 2, 1),
    ]


def test_moments_among_texts(tmp_path: Path) -> None:
    moment = datetime.datetime(2024, 1, 31, 12, 30)
    _, path = as_both(tmp_path, {"seen": [moment, DAY, "NA"]})
    table = read_table(path, quasi=["seen"])
    assert table.column("seen").to_pylist() == [moment, datetime.datetime(1950, 1, 1), None]


def test_dates_before_1900(tmp_path: Path) -> None:
    days = [datetime.date(1895, 3, 1), datetime.date(1920, 1, 1), datetime.date(1700, 2, 28)]
    moments = [datetime.datetime(1895, 3, 1, 18, 0), datetime.datetime(1890, 1, 1), None]
    _, path = as_both(
        tmp_path, {"born": days, "seen": moments, "clock": [datetime.time(), None, None]}
    )
    table = read_table(path)
    assert table.column("born").to_pylist() == days
    assert table.column("seen").to_pylist() == moments
    assert table.column("clock").to_pylist() == [datetime.time(), None, None]
    _, path = as_both(tmp_path, {"born": [datetime.date(1899, 12, 31), datetime.date(1920, 1, 1)]})
    with pytest.raises(ma.InputError, match=r"'born', row 1 .*a date before 1900"):
        read_table(path)


def test_the_same_release_from_both(tmp_path: Path) -> None:
    released = []
    for path in as_both(tmp_path, with_cell("income", "NA")):
        release = anonymize_file(
            path, tmp_path / "out.csv", 5, quasi=list(COLUMNS), seed=1, effort="quick"
        )
        released.append(((tmp_path / "out.csv").read_text(), release.loss["IL"]))
    assert released[0] == released[1]
    assert released[0][1] < 50.0


def test_a_proposal_reads_alike(tmp_path: Path) -> None:
    columns = {"height": ["1.70", "1.80", "NA"] * 20, "zip": ["00123", "10115", "20095"] * 20}
    first, second = (propose_for_file(path).settings(5) for path in as_both(tmp_path, columns))
    assert second == first
    assert first["nominal"] == ["zip"]


def test_categories_of_numbers(tmp_path: Path) -> None:
    _, path = as_both(tmp_path, {"code": [1, 2, "x"]})
    settings = ColumnSettings(kinds={"code": Kind.NOMINAL})
    assert read_table(path, quasi=["code"], settings=settings).column("code").to_pylist() == [
        "1",
        "2",
        "x",
    ]


def test_numbers_that_are_not_exact_stay_floats(tmp_path: Path) -> None:
    """From 2^53 on the next whole number may be another cell's; infinite ones are no numbers."""
    book = openpyxl.Workbook()
    for row in (["below", "beyond"], [2**53 - 1, 2.0**53], [31, 31]):
        book.worksheets[0].append(row)
    book.save(tmp_path / "in.xlsx")
    table = read_table(tmp_path / "in.xlsx")
    assert table["below"].to_pylist() == [2**53 - 1, 31]
    assert table["below"].type == pa.int64()
    assert table["beyond"].type == pa.float64()
