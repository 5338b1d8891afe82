"""Columns of csv files become typed: markers, special codes, dates, text to the letter, and what is
written looks as it was read.
"""

from __future__ import annotations

import csv
import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

import microagg as ma
from microagg.files.commit.writing import write_table
from microagg.files.reading import read_table, read_written
from microagg.files.text import csv_writing
from microagg.guarantees.k import anonymity
from microagg.table.columns.arrow import means_numbers, strip_metadata
from microagg.table.columns.field_metadata import (
    columns_with_values_like_markers,
    missing_mark,
    with_metadata_of,
)
from microagg.table.columns.frames import column_facts, open_frame
from microagg.table.confidential import attributes_of
from microagg.table.kind_parameters import column_settings


def written(path: Path, cells: list[str], beside: str = "x") -> Path:
    """A csv file with these cells in column a, and a second column, so that no line is empty."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["a", "b"], *([cell, beside] for cell in cells)])
    return path


def read(tmp_path: Path, cells: list[str], **settings: Any) -> pa.Table:
    return read_table(
        written(tmp_path / "in.csv", cells), quasi=["a"], settings=column_settings(**settings)
    )


def cells_of_file(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row[0] for row in csv.reader(file)][1:]


@pytest.mark.parametrize(
    ("cells", "settings", "kind", "expected"),
    [
        (["30", "40"], {}, pa.int64(), [30, 40]),
        (["30", "", "40"], {}, pa.int64(), [30, None, 40]),
        (["30", " NA ", "n/a", "NaN", "null", ".", "  "], {}, pa.int64(), [30] + [None] * 6),
        (["3.5", "NA"], {}, pa.float64(), [3.5, None]),
        (["007", "+8"], {}, pa.int64(), [7, 8]),
        (["30", "-9", "-9.0"], {"na": -9}, pa.int64(), [30, None, None]),
        (["30", "gone"], {"na": "gone"}, pa.int64(), [30, None]),
        (["30", "97"], {"special": {"a": 97}}, pa.int64(), [30, 97]),
        (["30", "refused", "NA"], {"special": {"a": "refused"}}, pa.string(),
         ["30", "refused", None]),
        (["NA", "DE", "", "DE"], {}, pa.string(), ["NA", "DE", None, "DE"]),
        (["NA", "DE", "-9"], {"na": -9}, pa.string(), ["NA", "DE", None]),
        (["01", "10"], {"nominal": "a"}, pa.string(), ["01", "10"]),
        (["1", "10", "NA"], {"nominal": "a"}, pa.int64(), [1, 10, None]),
        (["1.50", "10", "NA"], {"ordinal": "a"}, pa.string(), ["1.50", "10", None]),
        (["low", "NA", "high"], {"ordinal": {"a": ["low", "high", "NA"]}}, pa.string(),
         ["low", "NA", "high"]),
        (["1", "NA", "2"], {"ordinal": {"a": ["1", "2", "NA"]}}, pa.string(), ["1", "NA", "2"]),
        (["1", "two", "three"], {}, pa.string(), ["1", "two", "three"]),
        (["NA", "NA"], {}, pa.string(), ["NA", "NA"]),
        (["", ""], {}, pa.string(), [None, None]),
        (["true", "false"], {}, pa.string(), ["true", "false"]),
        (["2024-01-31", "NA"], {}, pa.date32(), [datetime.date(2024, 1, 31), None]),
        (["2024-01-31", "2024-02-01"], {"nominal": "a"}, pa.string(), ["2024-01-31", "2024-02-01"]),
        (["2024-01-31T10:30"], {}, pa.timestamp("s"), [datetime.datetime(2024, 1, 31, 10, 30)]),
        (["2024-01-31 10:30:05.25"], {}, pa.timestamp("ms"),
         [datetime.datetime(2024, 1, 31, 10, 30, 5, 250000)]),
        (["2024-01-31T10:30:05+02:00"], {}, pa.timestamp("s"),
         [datetime.datetime(2024, 1, 31, 10, 30, 5)]),
        (["2024-01-31T10:30:05Z"], {}, pa.timestamp("s", "UTC"),
         [datetime.datetime(2024, 1, 31, 10, 30, 5, tzinfo=datetime.UTC)]),
    ],
)  # fmt: skip
def test_what_a_column_becomes(
    tmp_path: Path,
    cells: list[str],
    settings: dict[str, Any],
    kind: pa.DataType,
    expected: list[Any],
) -> None:
    column = read(tmp_path, cells, **settings).column("a")
    assert column.type == kind
    assert column.to_pylist() == expected


def test_text_that_means_numbers_is_numeric(tmp_path: Path) -> None:
    table = read(tmp_path, ["30", "refused", "NA"], special={"a": "refused"})
    assert means_numbers(table.schema.field("a"))
    assert column_facts(open_frame(table))[0].suggested.value == "numeric"
    nominal = read(tmp_path, ["1.50", "2"], nominal="a")
    assert not means_numbers(nominal.schema.field("a"))


def test_values_that_look_like_markers_are_told(tmp_path: Path) -> None:
    assert columns_with_values_like_markers(read(tmp_path, ["NA", "DE"])) == ["a"]
    for cells in (["NA", "30"], ["DE", ""], ["2024-01-31", "NA"]):
        assert columns_with_values_like_markers(read(tmp_path, cells)) == []


@pytest.mark.parametrize(
    ("cells", "settings", "says"),
    [
        (["30", "x", "40"], {},
         r"row 2 .*: text where a number is needed; correct it, or say what it is: "
         r"special=\{'a'"),
        (["30", "", "NA", "x"], {}, r"row 4 .*: text where a number is needed"),
        (["30", "x"], {}, "row 2"),
        (["30", "-", "-", "-"], {}, "row 2"),
        (["30", "None", "none", "#N/A"], {}, "row 2"),
        (["x", "y", "30"], {"kinds": {"a": "numeric"}}, "row 1"),
        (["30", "inf"], {}, "row 2 .*infinite value"),
        (["30", "1e999"], {}, "row 2 .*infinite value"),
        (["30", "refused", "x"], {"special": {"a": "refused"}}, "row 3"),
        (["2024-01-31", "soon"], {}, "row 2 .*text where a date is needed"),
        (["2024-01-31", "2024-01-31T10:30"], {}, "row 2 .*unlike the dates before"),
        (["2024-01-31T10:30Z", "2024-01-31T10:30+01:00"], {}, "row 2 .*unlike the dates before"),
        (["2024-01-31", "NA", "2024-02-30"], {}, "row 3 .*not a date of the calendar"),
        (["2024-01-31T10:30", "2024-01-31T25:30"], {}, "row 2 .*not a date of the calendar"),
        (["2024-01-31", "97"], {"special": {"a": 97}}, "row 2 .*special code in a column of dates"),
    ],
)  # fmt: skip
def test_what_is_refused(
    tmp_path: Path, cells: list[str], settings: dict[str, Any], says: str
) -> None:
    with pytest.raises(ma.InputError, match=says) as refused:
        read(tmp_path, cells, **settings)
    message = str(refused.value).replace("infinite", "")
    assert not [cell for cell in cells if len(cell) > 2 and cell in message], "a value is told"


def test_half_of_the_values_decide(tmp_path: Path) -> None:
    with pytest.raises(ma.InputError, match="row 2"):
        read(tmp_path, ["30", "x", "", "", ""])
    assert read(tmp_path, ["30", "x", "y", "", ""]).column("a").type == pa.string()


@pytest.mark.parametrize(
    ("cells", "settings"),
    [
        (["30", "NA", "NA", "40"], {}),
        (["30", "", "", "40"], {}),
        (["30", ".", "40.5"], {}),
        (["30", "-9"], {"na": -9}),
        (["30", "n/a", "refused"], {"special": {"a": "refused"}}),
        (["x", "gone", "y"], {"na": "gone"}),
        (["01", "NA", "02"], {"nominal": "a"}),
        (["1", "NA", "2"], {"ordinal": "a"}),
        (["1", 'so, "gone"', "2"], {"na": 'so, "gone"'}),
        (["2024-01-31", "NA"], {}),
        (["2024-01-31T10:30", "null", "1931-01-01T00:00"], {}),
        (["2024-01-31 10:30:05", "2024-01-31 10:30:59"], {}),
        (["2024-01-31T10:30:05.250", "2024-01-31T10:30:05.001"], {}),
        (["2024-01-31T10:30:05.2", "2024-01-31T10:30:05.0"], {}),
        (["2024-01-31T10:30:05.123456789", "2024-01-31T10:30:05.000000001"], {}),
        (["2024-01-31T10:30:05Z", "2024-07-31T10:30:05Z", "NA"], {}),
        (["2024-01-31T10:30+0200", "2024-07-31T10:30+0200"], {}),
        (["2024-01-31T10:30:05.5-03:30", "2024-07-31T10:30:05.0-03:30"], {}),
    ],
)
@pytest.mark.parametrize("options", [{}, {"delimiter": ";"}, {"escape_formulas": True}])
def test_what_is_written_looks_as_it_was_read(
    tmp_path: Path, cells: list[str], settings: dict[str, Any], options: dict[str, Any]
) -> None:
    table = read(tmp_path, cells, **settings)
    out = tmp_path / "out.csv"
    write_table(table, out, **options)
    again = read_table(out, quasi=["a"], settings=column_settings(**settings))
    assert again.equals(table)
    if options.get("delimiter", ",") == ",":
        assert cells_of_file(out) == cells
    back = read_written(out, **options)
    assert anonymity(back, ["a"], 1).sizes.tolist() == anonymity(table, ["a"], 1).sizes.tolist()


def test_the_most_frequent_marker_is_written(tmp_path: Path) -> None:
    table = read(tmp_path, ["30", "NA", ".", ".", ""])
    assert missing_mark(table.schema.field("a")) == "."
    write_table(table, tmp_path / "out.csv")
    assert cells_of_file(tmp_path / "out.csv") == ["30", ".", ".", ".", "."]
    assert (tmp_path / "out.csv").read_text().splitlines() == ['"a","b"', '30,"x"', *['.,"x"'] * 4]


def test_parquet_has_nulls_and_no_marks(tmp_path: Path) -> None:
    table = read(tmp_path, ["2024-01-31", "NA"])
    write_table(table, tmp_path / "out.parquet")
    field = (result := read_table(tmp_path / "out.parquet")).schema.field("a")
    assert result.column("a").to_pylist() == [datetime.date(2024, 1, 31), None]
    assert not {name for name in field.metadata or {} if name.startswith(b"microagg")}


def test_marks_are_kept_where_they_are_needed_only(tmp_path: Path) -> None:
    table = read(tmp_path, ["2024-01-31", "NA"])
    assert strip_metadata(table).schema.field("a").metadata is None
    assert (
        strip_metadata(table, marked=True).schema.field("a").metadata
        == table.schema.field("a").metadata
    )
    assert open_frame(table).select("a").to_native().schema.field("a").metadata, "lost on the way"
    released = pa.table({"a": pa.array([None, 19000], pa.date32()), "b": ["x", "x"]})
    write_table(with_metadata_of(released, table), tmp_path / "out.csv")
    assert cells_of_file(tmp_path / "out.csv") == ["NA", "2022-01-08"]
    coarse = pa.table({"a": ["2024-01-31..2024-02-01", None]})
    write_table(with_metadata_of(coarse, table), tmp_path / "out.csv")
    assert cells_of_file(tmp_path / "out.csv") == ["2024-01-31..2024-02-01", "NA"]


def test_other_columns_keep_their_text_and_tell_that_they_mean_numbers(tmp_path: Path) -> None:
    cells = ["2000.00", "NA", "", "3e2"]
    table = read_table(written(tmp_path / "in.csv", cells))
    assert table.column("a").to_pylist() == ["2000.00", "NA", None, "3e2"]
    assert means_numbers(table.schema.field("a"))
    assert attributes_of(table, ["a"])[0].codes.max() == 2, "two numbers, and what is missing"
    write_table(table, tmp_path / "out.csv")
    assert cells_of_file(tmp_path / "out.csv") == cells
    for settings in ({}, {"nominal": "a"}):
        path = written(tmp_path / "in.csv", ["007", "NA", "010"] if not settings else cells)
        column = read_table(path, settings=column_settings(**settings)).schema.field("a")
        assert not means_numbers(column)
    coded = read_table(
        written(tmp_path / "in.csv", ["1.0", "refused"]),
        settings=column_settings(special={"a": "refused"}),
    )
    assert means_numbers(coded.schema.field("a"))


def test_lines_are_those_of_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_writing, "LINES_AT_ONCE", 3)
    table = pa.table(
        {
            'a "name", quoted': ["x", None, "", 'say "no", twice'],
            "whole": pa.array([1, None, -3, 4], pa.int8()),
            "real": [1.0, 2.5e-7, None, 1e300],
            "flag": [True, None, False, True],
            "day": pa.array([0, None, 19000, -5], pa.date32()),
            "moment": pa.array([0, None, 19000, -5], pa.timestamp("ms")),
            "zoned": pa.array([0, None, 19000, -5], pa.timestamp("us", "UTC")),
            "town": pa.array(["Ulm", "Bonn", None, "Ulm"]).dictionary_encode(),
            "money": pa.array([None, "1.50", "2.00", "3.25"]).cast(pa.decimal128(9, 2)),
        }
    )
    many = pa.concat_tables([table.slice(1), table] * 5)
    for part, delimiter in ((table, ","), (table.slice(1, 2), ";"), (many, ",")):
        arrow_csv.write_csv(
            part, tmp_path / "arrow.csv", arrow_csv.WriteOptions(delimiter=delimiter)
        )
        with csv_writing.TextSink(tmp_path / "ours.csv", "", "utf-8") as sink:
            csv_writing.write_header(part.column_names, sink, delimiter, "\n")
            csv_writing.write_lines(part, sink, delimiter, set())
        assert (tmp_path / "ours.csv").read_bytes() == (tmp_path / "arrow.csv").read_bytes()


@pytest.mark.reference
@pytest.mark.parametrize("name", ["chile", "slid", "free1", "testdata"])
def test_real_tables_come_back_as_they_were(
    tmp_path: Path, reference_data: Path, name: str
) -> None:
    source = reference_data / "tables" / f"{name}.csv"
    with source.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    table = read_table(source, quasi=header)
    write_table(table, tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        first_line, *lines = csv.reader(file)
    assert first_line == header
    assert len(lines) == len(rows)
    numbers = [not pa.types.is_string(kind) for kind in table.schema.types]
    assert any(numbers)
    for row, line in zip(rows, lines, strict=True):
        for number, before, after in zip(numbers, row, line, strict=True):
            same = float(before) == float(after) if number and before and after else before == after
            assert same, "another value, or another spelling of a text or a gap"


@pytest.mark.parametrize(
    ("leading", "options"),
    [("", {}), ("NA", {}), (".", {}), ("k.A.", {"na": ["k.A."]}), ("-9", {"special": {"a": [-9]}}),
     ("-", {"na": ["-"]})],
)  # fmt: skip
@pytest.mark.parametrize("values", [["1019.0", "2.50"], ["7", "8"]])
def test_numbers_below_missing_cells_are_numbers(
    tmp_path: Path, leading: str, options: dict[str, Any], values: list[str]
) -> None:
    path = written(tmp_path / "in.csv", [leading, leading, *values])
    table = read_table(
        path, settings=column_settings(**options)
    )  # a column that is not protected keeps its text
    column = table.schema.field("a")
    assert means_numbers(column) or pa.types.is_integer(column.type)


def test_text_below_missing_cells_is_text(tmp_path: Path) -> None:
    path = written(tmp_path / "in.csv", ["", "NA", "Ulm", "7"])
    assert not means_numbers(read_table(path).schema.field("a"))
