"""Rows above the header: passed over when somebody says how many, and again when a release is
repeated.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import microagg as ma
import small_blocks
from beyond import in_passes
from microagg.files.reading import read_table
from microagg.pipeline.files import anonymize_file
from microagg.proposal.proposal import propose_for_file
from microagg.studies.assess import assess_files
from microagg.studies.repeating import repeat_file

ABOVE = ["Survey 2024, first wave", "", 'made by "us"']
ROWS = [["age", "wage"], *([20 + j, 1000 + 37 * j] for j in range(12))]


def text_of(end: str = "\n", rows: list[list[Any]] = ROWS) -> str:
    return end.join([*ABOVE, *(",".join(map(str, row)) for row in rows)]) + end


def workbook(path: Path) -> Path:
    book = openpyxl.Workbook()
    for row in (*([line] for line in ABOVE), *ROWS):
        book.worksheets[0].append(row)
    book.save(path)
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_rows_of_text_are_skipped(tmp_path: Path, end: str, encoding: str) -> None:
    (tmp_path / "in.csv").write_bytes(text_of(end).replace("first", "fürst").encode(encoding))
    table = read_table(tmp_path / "in.csv", quasi=["age"], skip_rows=3, encoding=encoding)
    assert table.column_names == ["age", "wage"]
    assert table.column("age").to_pylist() == [row[0] for row in ROWS[1:]]


def test_rows_of_a_sheet_are_skipped(tmp_path: Path) -> None:
    table = read_table(workbook(tmp_path / "in.xlsx"), skip_rows=3)
    assert table.to_pylist() == [dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]
    assert read_table(tmp_path / "in.xlsx", skip_rows=4, header=False).num_rows == 12


def test_without_a_word_it_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(text_of())
    with pytest.raises(ma.InputError, match="skip_rows"):
        read_table(tmp_path / "in.csv")
    with pytest.raises(ma.InputError, match="skip_rows"):
        read_table(workbook(tmp_path / "in.xlsx"))


@pytest.mark.parametrize("name", ["in.csv", "in.xlsx"])
@pytest.mark.parametrize(
    ("rows", "says"),
    [(99, "no more than skip_rows=99 rows"), (-1, "0 or more"), ("x", "whole number")],
)
def test_other_numbers_are_refused(tmp_path: Path, name: str, rows: Any, says: str) -> None:
    (tmp_path / "in.csv").write_text(text_of())
    workbook(tmp_path / "in.xlsx")
    with pytest.raises(ma.InputError, match=says):
        read_table(tmp_path / name, skip_rows=rows)


@pytest.mark.parametrize("name", ["in.csv", "in.xlsx"])
def test_a_release_keeps_and_repeats_it(tmp_path: Path, name: str) -> None:
    source, target = tmp_path / name, tmp_path / "out.csv"
    (tmp_path / "in.csv").write_text(text_of())
    workbook(tmp_path / "in.xlsx")
    anonymize_file(
        source, target, 3, quasi=["age"], confidential=["wage"], seed=1, reading={"skip_rows": 3},
        keep_order=True, effort="quick",
    )  # fmt: skip
    manifest = json.loads((tmp_path / "out.csv.internal.json").read_text())
    assert manifest["settings"]["reading"] == {"skip_rows": 3}
    repeat_file(tmp_path / "out.csv.internal.json", source, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == target.read_bytes()
    assert (
        assess_files(source, target, quasi=["age"], k=3, reading={"skip_rows": 3}).smallest_class
        >= 3
    )


def test_a_proposed_command_has_it(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(text_of())
    proposal = propose_for_file(tmp_path / "in.csv", skip_rows=3)
    assert proposal.command("in.csv", "out.csv", 3, skip_rows=3).endswith("--skip-rows 3")
    assert "skip_rows = 3" in proposal.to_toml(3, skip_rows=3)


@pytest.mark.slow
def test_beyond_memory_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    rows = [["age", "wage"], *([20 + 7 * j % 51, 1000 + 37 * j % 977] for j in range(1200))]
    (tmp_path / "in.csv").write_bytes(text_of(rows=rows).encode("utf-8-sig"))
    settings: dict[str, Any] = {"k": 3, "quasi": ["age", "wage"], "seed": 1, "effort": "quick"}
    settings["reading"] = {"skip_rows": 3}
    anonymize_file(tmp_path / "in.csv", tmp_path / "memory.csv", **settings)
    in_passes(monkeypatch, tmp_path / "in.csv", tmp_path / "beyond.csv", 640, **settings)
    assert (tmp_path / "beyond.csv").read_bytes() == (tmp_path / "memory.csv").read_bytes()
