"""Without --quasi the columns are looked at, and a command is proposed that works."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
import tables
from microagg.cli.options import names_in
from microagg.proposal.column_text import shell_list
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
    (line,) = [
        line for line in outcome.out.splitlines() if line.startswith("  microagg anonymize ")
    ]
    return shlex.split(line)[1:]


def survey(n: int = 60) -> pa.Table:
    """Made-up persons whose columns tell by their names what they are for; every value is a
    canary.
    """
    rng = np.random.default_rng(n)
    people = tables.people(n)
    return pa.table(
        {
            "name": people.column("name"),
            "kilometres": people.column("income"),
            "litres": people.column("debt"),
            "housing": 8_123_400 + rng.integers(0, 3, n),
            "town": [f"town-{'xyz'[number]}" for number in rng.integers(0, 3, n)],
            "disease": people.column("disease"),
            "code": people.column("code"),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_proposed_command_works(microagg: Microagg, tmp_path: Path, ending: str) -> None:
    source = tables.write(survey(), tmp_path / f"in{ending}")
    before = tables.snapshot(tmp_path)
    outcome = microagg("anonymize", source, "out.csv", "--k", "3")
    outcome.refused("nothing was written")
    outcome.silent_about(tables.cells(survey()))
    assert tables.snapshot(tmp_path) == before
    command = proposed_command(outcome)
    assert command[command.index("--quasi") + 1] == "kilometres,litres,housing,town"
    assert command[command.index("--identifier") + 1] == "name,code"
    assert command[command.index("--confidential") + 1] == "disease"
    assert "Numbers or codes: 'housing'?" in outcome.out
    assert "say --nominal asked" in outcome.out
    assert "Amounts, or numbers of persons: 'kilometres'?" in outcome.out
    assert microagg(*command).code == 0
    assert (tmp_path / "out.csv").exists()


@pytest.mark.slow
def test_asked_settles_the_columns_in_question(microagg: Microagg, tmp_path: Path) -> None:
    tables.write(survey(), tmp_path / "in.csv")
    command = proposed_command(
        microagg("anonymize", "in.csv", "out.csv", "--k", "3", "--nominal", "asked")
    )
    assert command[command.index("--nominal") + 1] == "housing"
    plain = [word for word in command if word not in ("--nominal", "housing")]
    assert microagg(*plain, "--nominal", "asked").code == 0
    assert nominal_of(tmp_path) == ["housing"]
    assert microagg(*plain, "--nominal", "town,asked", "--kind", "housing=numeric").code == 0
    assert nominal_of(tmp_path) == ["town"], "what was settled by hand was settled again"


@pytest.mark.slow
def test_asked_is_a_column_where_there_is_one(microagg: Microagg, tmp_path: Path) -> None:
    rows = "".join(f"{i % 2},{i % 3},{i % 5}.5\n" for i in range(60))
    (tmp_path / "in.csv").write_text(f"asked,told,size\n{rows}")
    arguments = ["anonymize", "in.csv", "out.csv", "--k", "3", "--quasi", "asked,told,size"]
    refused = microagg(*arguments, "--nominal", "asked")
    assert refused.code == 2
    assert "numbers or codes: 'told'?" in refused.err
    assert microagg(*arguments, "--nominal", "asked", "--numeric", "told").code == 0
    assert nominal_of(tmp_path) == ["asked"]


def nominal_of(folder: Path) -> list[str]:
    """Return the columns that the release took for nominal."""
    return json.loads((folder / "out.csv.public.json").read_text())["settings"]["nominal"]


@pytest.mark.slow
def test_units_and_weights_in_the_proposed_command(microagg: Microagg, tmp_path: Path) -> None:
    table = ma.datasets.households(400)
    names = ["sampling_weight" if name == "weight" else name for name in table.column_names]
    tables.write(table.rename_columns(names), tmp_path / "in.csv")
    command = proposed_command(microagg("anonymize", "in.csv", "out.csv", "--k", "3"))
    assert command[command.index("--unit") + 1] == "household"
    assert command[command.index("--weight") + 1] == "sampling_weight"
    done = microagg(*command, "--effort", "quick")
    assert done.code == 0, done


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


def test_nothing_but_names(microagg: Microagg, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("town,street\nA,b\nC,d\n")
    outcome = microagg("anonymize", "in.csv", "out.csv", "--k", "2")
    outcome.refused("none can be proposed")
    assert "microagg anonymize" not in outcome.out


@pytest.mark.slow
def test_columns_that_cannot_be_counted(microagg: Microagg, tmp_path: Path) -> None:
    table = survey(12).append_column("visits", pa.array([[1, 2]] * 12))
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
