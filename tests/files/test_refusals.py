"""Checks of readers and writers that nothing else would make up for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest

import microagg as ma
from microagg.files.formats import format_of
from microagg.files.text import csv_format

SAME = {"decimal": ",", "thousands": ","}


def test_one_sign_for_decimals_and_thousands(tmp_path: Path) -> None:
    table = pa.table({"wage": [1.5]})
    out = format_of(tmp_path / "out.csv")
    with pytest.raises(ma.InputError, match="the same sign"):
        csv_format.write(table, tmp_path / "out.csv", **SAME)
    assert out.in_pieces is not None
    with (
        pytest.raises(ma.InputError, match="the same sign"),
        out.in_pieces(tmp_path / "out.csv", table.schema, **SAME),
    ):
        pass
    assert not (tmp_path / "out.csv").exists()
    (tmp_path / "in.csv").write_text("wage\n1,5\n")
    openpyxl.Workbook().save(tmp_path / "in.xlsx")
    for name in ("in.csv", "in.xlsx"):
        with pytest.raises(ma.InputError, match="the same sign"):
            format_of(tmp_path / name).read(tmp_path / name, **SAME)


@pytest.mark.parametrize("escape", [False, True])
@pytest.mark.parametrize("options", [{}, {"delimiter": ";", "line_end": "crlf"}])
def test_pieces_have_the_bytes_of_the_whole(
    tmp_path: Path, escape: bool, options: dict[str, Any]
) -> None:
    table = pa.table({"=a": ["=1+1", None, "", 'x"y', "u\nv"], "n": [1.5, None, 2.0, -3.0, 1e22]})
    options = {**options, "escape_formulas": escape, "decimal": ","}
    csv_format.write(table, tmp_path / "whole.csv", **options)
    with csv_format.in_pieces(tmp_path / "pieces.csv", table.schema, **options) as write_piece:
        for first, count in ((0, 2), (2, 0), (2, 3)):
            write_piece(table.slice(first, count))
    content = (tmp_path / "whole.csv").read_bytes()
    assert (tmp_path / "pieces.csv").read_bytes() == content
    assert (b"'=1+1" in content) == (b"'=a" in content) == escape


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([["age", "age"], [1, 2]], "the same name more than once"),
        ([["age", None, "town", None], [1, 2, "a", 3]], r"column 2 of .* has no name"),
        ([["age\x0b"], [1]], None),
    ],
)
def test_headers_of_sheets(tmp_path: Path, rows: list[list[Any]], says: str | None) -> None:
    if says is None:
        with pytest.raises(ma.InputError, match="the names of the columns hold control"):
            format_of(tmp_path / "out.xlsx").write(
                pa.table({rows[0][0]: [1]}), tmp_path / "out.xlsx"
            )
        return
    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(row)
    book.save(tmp_path / "in.xlsx")
    with pytest.raises(ma.InputError, match=says):
        format_of(tmp_path / "in.xlsx").read(tmp_path / "in.xlsx")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('a,b\n1,"x\n2,y\n', "a double quote is opened"),
        ("a,b\n1,x\n2\n", r"row 2 \(header not counted\) does not have the 2 columns"),
        ("a,b\n1,x\n2,y,z\n", r"row 2 \(header not counted\) does not have the 2 columns"),
        ("\na,b\n1,2\n", "begins with an empty line"),
        ("", "is empty"),
        ("a,a\n1,2\n", "the same name more than once"),
    ],
)
@pytest.mark.parametrize("name", ["in.csv", "in.txt"])
def test_broken_text_files(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text.replace(",", "\t") if name == "in.txt" else text)
    with pytest.raises(ma.InputError, match=says):
        format_of(tmp_path / name).read(tmp_path / name)
