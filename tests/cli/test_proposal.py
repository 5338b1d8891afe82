"""Without --quasi the columns are looked at, and a command is proposed that works."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tables
from microagg.cli.options import names_in
from microagg.cli.show import shell_list
from running import Outcome

Microagg = Callable[..., Outcome]
ODD_NAMES = [
    "net income",
    "rent, cold",
    'so "called"',
    " lead",
    "trail ",
    "it's",
    "[red]",
    ":heart:",
    "$HOME",
    "a;b",
]


def proposed_command(outcome: Outcome) -> list[str]:
    """The words of the command that a proposal ends with."""
    (line,) = [line for line in outcome.out.splitlines() if line.startswith("  microagg anonymize ")]
    return shlex.split(line)[1:]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_proposed_command_works(microagg: Microagg, tmp_path: Path, ending: str) -> None:
    source = tables.write(tables.people(), tmp_path / f"in{ending}")
    before = tables.snapshot(tmp_path)
    outcome = microagg("anonymize", source, "out.csv", "--k", "3")
    outcome.refused("nothing was written")
    outcome.silent_about(tables.cells(tables.people()))
    assert tables.snapshot(tmp_path) == before
    command = proposed_command(outcome)
    assert command[command.index("--quasi") + 1] == "income,debt"
    assert command[command.index("--identifier") + 1] == "name,code"
    assert command[command.index("--confidential") + 1] == "disease"
    assert microagg(*command).code == 0
    assert (tmp_path / "out.csv").exists()


def test_odd_names_of_columns_and_files(microagg: Microagg, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pa.table({name: rng.integers(0, 99, 8) for name in ["", *ODD_NAMES]})
    source = tmp_path / "odd [name] it's.parquet"
    tables.write(table, source)
    outcome = microagg("anonymize", source, "out put.csv", "--k", "2")
    command = proposed_command(outcome)
    done = microagg(*command)
    assert done.code == 0, done
    for name in ODD_NAMES:
        assert name in done.out, "the summary does not show the name as it is"


def test_an_unnamed_first_column_as_pandas_writes_it(microagg: Microagg, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(",age\n0,31\n1,33\n2,64\n3,68\n")
    command = proposed_command(microagg("anonymize", "in.csv", "out.csv", "--k", "2"))
    assert microagg(*command).code == 0


def test_no_column_of_numbers(microagg: Microagg, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("town,street\nA,b\nC,d\n")
    outcome = microagg("anonymize", "in.csv", "out.csv", "--k", "2")
    outcome.refused("none holds numbers only")
    assert "microagg anonymize" not in outcome.out


def test_columns_that_cannot_be_counted(microagg: Microagg, tmp_path: Path) -> None:
    table = tables.people().append_column("visits", pa.array([[1, 2]] * 12))
    tables.write(table, tmp_path / "in.parquet")
    command = proposed_command(microagg("anonymize", "in.parquet", "out.parquet", "--k", "2"))
    assert microagg(*command).code == 0


@pytest.mark.parametrize(
    "names", [["age"], ["age", "net income"], ODD_NAMES, ["", ""], ['"', ","], ["a\nb", "ü"]]
)
def test_listed_names_are_read_back(names: list[str]) -> None:
    (word,) = shlex.split(shell_list(names))
    assert names_in([word]) == names


def test_lists_are_comma_separated_and_repeatable() -> None:
    assert names_in(["age,income", "zip"]) == ["age", "income", "zip"]
    assert names_in(["age, income"]) == ["age", "income"]
    assert names_in(None) == []
