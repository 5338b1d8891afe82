"""Labels and sheets on the command line."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

import labelled
from cli.conftest import Microagg
from microagg.files.commit.writing import write_table

ROLES = [
    "--k",
    "3",
    "--quasi",
    ",".join(labelled.QUASI),
    "--rest",
    "drop",
    "--method",
    "mdav",
    "--seed",
    "1",
]


@pytest.mark.parametrize(
    ("target", "beside"), [("out.csv", True), ("out.sav", False), ("out.dta", True)]
)
def test_what_labels_told_and_where_they_are(
    microagg: Microagg, tmp_path: Path, target: str, beside: bool
) -> None:
    write_table(labelled.made_table(3, 60), tmp_path / "in.sav")
    done = microagg("anonymize", "in.sav", target, *ROLES)
    assert done.code == 0, done
    assert "sex: taken for nominal, as measure levels and labels say" in done.out
    assert (
        "wage: codes that the file declares missing are kept, and no mean includes them" in done.out
    )
    assert (f"{target}.labels.json" in done.out) == beside
    assert (tmp_path / f"{target}.labels.json").exists() == beside
    done.silent_about({"refused", "nobody has this"})
    again = microagg("repeat", f"{target}.internal.json", "in.sav", f"again{target[3:]}")
    assert again.code == 0, again
    assert (tmp_path / f"again{target[3:]}").read_bytes() == (tmp_path / target).read_bytes()


def test_a_sheet(microagg: Microagg, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(["nothing"])
    sheet = book.create_sheet("wave 2")
    for row in [["age"], *([30 + number] for number in range(9))]:
        sheet.append(row)
    book.save(tmp_path / "in.xlsx")
    done = microagg(
        "anonymize",
        "in.xlsx",
        "out.xlsx",
        "--sheet",
        "wave 2",
        "--k",
        "3",
        "--quasi",
        "age",
        "--seed",
        "1",
    )
    assert done.code == 0, done
    assert "one more sheet besides the one that was read" in done.out
    microagg("check", "in.xlsx", "--sheet", "wave 3", "--k", "3", "--quasi", "age").refused(
        "has no sheet 'wave 3'"
    )
    again = microagg("repeat", "out.xlsx.internal.json", "in.xlsx", "again.xlsx")
    assert again.code == 0, again
    assert (tmp_path / "again.xlsx").read_bytes() == (tmp_path / "out.xlsx").read_bytes()


def test_a_target_that_cannot_be_written(microagg: Microagg, tmp_path: Path) -> None:
    write_table(labelled.made_table(3, 60), tmp_path / "in.sav")
    microagg("anonymize", "in.sav", "out.sas7bdat", *ROLES).refused(
        "can be read and not written; name a .xpt file"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["in.sav"]
