"""Options that do not fit the columns, through `anonymize`: one sentence, exit code 2, nothing
written, no value told.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tables
from running import Outcome

Microagg = Callable[..., Outcome]

VALUES = {"Xanten", "Yburg", "Zwiesel", "lowest", "middle", "highest", "31.75", "42.25", "53.5"}
TABLE = """age,school,town,wage
31.75,lowest,Xanten,2000
42.25,middle,Yburg,2100
53.5,highest,Xanten,2300
31.75,lowest,Zwiesel,
42.25,middle,Yburg,2100
,highest,,2500
"""
ROLES = ["--quasi", "age,school,town,wage", "--seed", "0"]
FILES = {
    "short.csv": "Xanten;west;*\nYburg;east;*\n",
    "two-parents.csv": "Xanten;west;all;*\nYburg;west;none;*\nZwiesel;east;all;*\n",
    "one-value-twice.csv": "Xanten;west;*\nYburg;east;*\nZwiesel;east;*\nXanten;east;*\n",
    "uneven.csv": "Xanten;west;*\nYburg;*\nZwiesel;east;*\n",
    "whole.csv": "Xanten;west;*\nYburg;east;*\nZwiesel;east;*\n",
    "levels.txt": "lowest\nmiddle\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table, files about its columns, and an older release, which must stay as it is."""
    (tmp_path / "in.csv").write_text(TABLE)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "out.csv").write_text("an older release\n")
    return tmp_path


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--ordinal", "school=lowest<middle"], "the order of column 'school' lacks values"),
        (["--ordinal", "school=@levels.txt"], "the order of column 'school' lacks values"),
        (["--ordinal", "school=@nowhere.txt"], "cannot be read from 'nowhere.txt'"),
        (
            ["--hierarchy", "town=short.csv"],
            "the hierarchy of column 'town' lacks one value of the column",
        ),
        (
            ["--hierarchy", "town=two-parents.csv"],
            "line 1 and line 2 of the hierarchy 'two-parents.csv' give a node of level 2 "
            "two parents",
        ),
        (["--hierarchy", "town=one-value-twice.csv"], "line 4"),
        (["--hierarchy", "town=uneven.csv"], "line 2"),
        (["--hierarchy", "town=nowhere.csv"], "there is no file 'nowhere.csv'"),
        (["--special", "town=Xanten"], "special names 'town', which is nominal"),
        (["--nominal", "wage", "--special", "wage=2000"], "special names 'wage', which is nominal"),
        (["--importance", "age=0"], "importance of column 'age' must be a number above 0"),
        (["--importance", "age=-1"], "importance of column 'age' must be a number above 0"),
        (["--importance", "age=inf"], "importance of column 'age' must be a number above 0"),
        (["--aggregate", "town=mean"], "'town' is nominal, and mean is no aggregate for that"),
        (["--aggregate", "town=median"], "'town' is nominal, and median is no aggregate for that"),
        (["--aggregate", "town=range"], "'town' is nominal, and range is no aggregate for that"),
        (["--aggregate", "age=mode"], "'age' is numeric, and mode is no aggregate for that"),
        (
            ["--aggregate", "school=mean", "--ordinal", "school=lowest<middle<highest"],
            "'school' is ordinal, and mean is no aggregate for that",
        ),
        (["--aggregate", "town=generalise"], "'town' cannot be generalised without a hierarchy"),
        (["--aggregate", "town=average"], "aggregate of column 'town' must be one of mean"),
        (["--kind", "height=nominal"], "names 'height', but there is no such column"),
        (["--nominal", "height"], "names 'height', but there is no such column"),
        (["--ordinal", "height=low<high"], "names 'height', but there is no such column"),
        (["--special", "height=97"], "names 'height', but there is no such column"),
        (["--importance", "height=2"], "names 'height', but there is no such column"),
        (["--aggregate", "height=median"], "names 'height', but there is no such column"),
        (["--hierarchy", "height=whole.csv"], "names 'height', but there is no such column"),
        (
            ["--kind", "town=numeric"],
            "column 'town', row 1 (header not counted): text where a number is needed",
        ),
        (["--missing", "error"], "1 in 'age', 1 in 'town', 1 in 'wage'"),
        (["--missing", "drop", "--k", "5"], "--missing drop leaves 4 of 6 records, fewer than k"),
    ],
)
def test_what_does_not_fit_gets_its_sentence(
    microagg: Microagg, folder: Path, options: list[str], says: str
) -> None:
    before = tables.snapshot(folder)
    least = [] if "--k" in options else ["--k", "2"]
    done = microagg("anonymize", "in.csv", "out.csv", *least, *ROLES, *options)
    done.refused(says)
    done.silent_about(VALUES)
    assert tables.snapshot(folder) == before


def test_what_fits_is_taken(microagg: Microagg, folder: Path) -> None:
    (folder / "out.csv").unlink()
    fitting = [
        "--ordinal",
        "school=lowest<middle<highest",
        "--hierarchy",
        "town=whole.csv",
        "--aggregate",
        "town=generalise",
    ]
    done = microagg("anonymize", "in.csv", "out.csv", "--k", "2", *ROLES, *fitting)
    assert done.code == 0, done
    assert (folder / "out.csv").exists()
