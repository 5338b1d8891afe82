"""Names of columns on the command line: -k, patterns, renames ready to paste, nearest names,
extras.
"""

from __future__ import annotations

import importlib.util
import shlex
from pathlib import Path

import pyarrow as pa
import pytest

from cli.conftest import Microagg
from microagg.files.commit.writing import write_table
from microagg.files.reading import read_table

ROWS = 24


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    columns = {
        "q.1": [i % 7 for i in range(ROWS)],
        "q 2": [i % 5 for i in range(ROWS)],
        "town": ["A", "B"] * 12,
    }
    write_table(pa.table(columns), tmp_path / "in.csv")
    return tmp_path / "in.csv"


def test_short_k_and_patterns(microagg: Microagg, survey: Path) -> None:
    done = microagg(
        "anonymize", "in.csv", "out.csv", "-k", "3", "--quasi", "q*", "--keep", "t*", "--seed", "1"
    )
    assert done.code == 0, done.err
    assert read_table(survey.with_name("out.csv")).column_names == ["q.1", "q 2", "town"]
    assert microagg("check", "out.csv", "-k", "3", "--quasi", "q*").code == 0
    assert (
        microagg("compare", "in.csv", "-k", "3,4", "--quasi", "q*", "--methods", "mdav").code == 0
    )
    refused = microagg(
        "anonymize", "in.csv", "other.csv", "-k", "3", "--quasi", "z*", "--rest", "drop"
    )
    refused.refused("quasi names 'z*', but no column fits that pattern")
    microagg("propose", "in.csv", "-k", "4")


def test_the_proposed_rename_is_pasted(microagg: Microagg, survey: Path) -> None:
    command = [
        "anonymize",
        "in.csv",
        "out.dta",
        "-k",
        "3",
        "--quasi",
        "q*",
        "--keep",
        "town",
        "--seed",
        "1",
    ]
    refused = microagg(*command)
    refused.refused("no Stata file can have a column called 'q.1'")
    options = refused.err[refused.err.index("--rename") : refused.err.index(", or write")]
    assert options == "--rename q.1=q_1 --rename 'q 2=q_2'"
    done = microagg(*command, *shlex.split(options))
    assert done.code == 0, done.err
    assert read_table(survey.with_name("out.dta")).column_names == ["q_1", "q_2", "town"]
    again = microagg("repeat", "out.dta.internal.json", "in.csv", "again.dta")
    assert again.code == 0, again.err
    assert survey.with_name("again.dta").read_bytes() == survey.with_name("out.dta").read_bytes()


def test_a_missing_extra_is_told_with_its_command(
    microagg: Microagg, survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name == "pyreadstat" else find_spec(name, *more),
    )
    done = microagg("anonymize", "in.csv", "out.sav", "-k", "3", "--quasi", "q*", "--rest", "drop")
    done.refused(
        "SPSS files need pyreadstat, which is not there; pip install 'microagg[stats]' installs it"
    )


@pytest.mark.parametrize("rows", ["x,a\n", "y,x\nx,a\n"])
def test_a_value_that_occurs_again_is_named_by_its_place(
    microagg: Microagg, tmp_path: Path, rows: str
) -> None:
    (tmp_path / "in.csv").write_text(f"who,canary\n{rows}z,canary\nz,b\n")
    done = microagg("anonymize", "in.csv", "out.csv", "-k", "2", "--quasi", "who", "--rest", "drop")
    record = len(rows.splitlines()) + 1
    done.refused(f"a value that occurs again below it (column 2, first in record {record})")
    assert "canary" not in done.err
