"""Every command with --json prints one document and nothing else on standard output, also where it
fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

import tables
from microagg.cli.app import as_json
from microagg.cli.commands import app
from running import Outcome

Microagg = Callable[..., Outcome]
COMMANDS: dict[str, Any] = {
    name: command
    for name, command in typer.main.get_command(app).commands.items()  # pyright: ignore
    if name != "studio"  # a server, which answers in pages until it is stopped
}
QUICKLY = ["--effort", "quick"]
ROLES = [*tables.ROLES, *QUICKLY]
QUASI = ["--quasi", "income,debt"]
WORKING: dict[str, list[list[str]]] = {
    "anonymize": [
        ["in.csv", "out.csv", "--k", "4", *ROLES],
        ["in.csv", "o.csv", "--k", "4", *ROLES, "--report", "r.html"],
        ["in.csv", "none.csv", "--k", "4", *ROLES, "--dry-run"],
    ],
    "propose": [["in.csv"]],
    "schema": [[]],
    "repeat": [["made.csv.internal.json", "in.csv", "again.csv"]],
    "demo": [["--folder", "demo"]],
    "clean": [["."]],
    "check": [
        ["made.csv", *QUASI, "--k", "4"],
        ["in.csv", *QUASI, "--k", "4", "--confidential", "disease", "--l", "2"],
    ],
    "assess": [["in.csv", "made.csv", *QUASI, "--key", "code"]],
    "compare": [["in.csv", *QUASI, "--k", "4", "--methods", "mdav"]],
    "bound": [["in.csv", *QUASI, "--k", "4", "--time-limit", "1", "--save", "proof.json"]],
    "verify-bound": [["proof.json", "in.csv"], ["proof.json", "other.csv"]],
    "attack": [["in.csv", "--k", "4", *ROLES]],
    "evidence": [["made.csv"], ["made.csv.evidence.public.zip", "--verify"]],
    "methods": [[], ["mdav"]],
    "reproduce": [["--method", "mst"]],
}
"""A command that works, or ends with 3 for what it finds, for each that there is."""
FAILING: dict[str, list[list[str]]] = {
    "anonymize": [
        ["nowhere.csv", "out.csv", "--k", "4", *ROLES],
        ["in.csv", "out.csv", "--k", "4"],
        ["in.csv", "out.csv", "--quasi", "income"],
        ["in.csv"],
        ["in.csv", "out.csv", "--nonsense"],
        ["in.csv", "out.csv", "--k", "99", *ROLES],
        ["in.csv", "in.csv", "--k", "4", *ROLES],
        ["in.csv", "out.csv", "--k", "4", *ROLES, "--l", "9"],
        ["in.csv", "out.csv", "--config", "nowhere.toml"],
        ["in.csv", "none.csv", "--k", "99", *ROLES, "--dry-run"],
    ],
    "propose": [["nowhere.csv"], [], ["in.csv", "--k", "x"]],
    "schema": [["more"]],
    "repeat": [
        ["in.csv", "in.csv", "again.csv"],
        ["made.csv.internal.json", "other.csv", "again.csv"],
    ],
    "demo": [["--k", "1"]],
    "clean": [["nowhere"]],
    "check": [["in.csv", "--quasi", "nothing", "--k", "4"], ["in.csv", *QUASI]],
    "assess": [["in.csv", "made.csv", *QUASI]],
    "compare": [
        ["in.csv", *QUASI, "--methods", "mdav"],
        ["in.csv", *QUASI, "--k", "4", "--methods", "nonsense"],
    ],
    "bound": [["in.csv", "--k", "4"]],
    "verify-bound": [["in.csv", "in.csv"]],
    "attack": [["nowhere.csv", "--k", "4", *ROLES], ["in.csv", "--k", "4", *ROLES, "--known", "x"]],
    "evidence": [["in.csv"], ["in.csv", "--verify"]],
    "methods": [["nonsense"]],
    "reproduce": [["--method", "nonsense"]],
}


@pytest.fixture
def folder(microagg: Microagg, tmp_path: Path) -> Path:
    tables.write(tables.people(60), tmp_path / "in.csv")
    tables.write(tables.people(44), tmp_path / "other.csv")
    assert microagg("anonymize", "in.csv", "made.csv", "--k", "4", *ROLES).code == 0
    return tmp_path


def test_every_command_takes_json_and_is_walked_here() -> None:
    assert set(COMMANDS) == set(WORKING) == set(FAILING), "give a new command its lines here"
    for name, command in COMMANDS.items():
        assert "--json" in {option for parameter in command.params for option in parameter.opts}, (
            name
        )


def document(done: Outcome) -> Any:
    """The one document on standard output; NaN is none of JSON's."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    assert done.out.endswith("\n")
    return json.loads(done.out, parse_constant=refuse)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_what_works_is_one_document(name: str, microagg: Microagg, folder: Path) -> None:
    if name == "verify-bound":
        microagg("bound", "in.csv", *QUASI, "--k", "4", "--time-limit", "1", "--save", "proof.json")
    for arguments in WORKING[name]:
        done = microagg(name, *arguments, "--json")
        content = document(done)
        assert done.code in (0, 3) or (name == "reproduce" and "error" in content), done
        if done.code in (0, 3) and isinstance(content, dict):
            assert "error" not in content
        usual = microagg(name, *arguments)
        assert usual.code == done.code, "the same exit code without --json"


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_what_fails_is_one_document(name: str, microagg: Microagg, folder: Path) -> None:
    before = tables.snapshot(folder)
    for arguments in FAILING[name]:
        done = microagg(name, *arguments, "--json")
        error = document(done)["error"]
        assert error["exit_code"] == done.code, arguments
        assert done.code in (2, 3), (arguments, done)
        assert done.err.splitlines()[-1] == f"error: {error['sentence']}"
        done.silent_about({cell for cell in tables.cells(tables.people(60)) if len(cell) > 4})
        usual = microagg(name, *arguments)
        assert usual.code == done.code
        assert usual.err == done.err
    assert tables.snapshot(folder) == before


def test_a_proposal_goes_with_the_error(microagg: Microagg, folder: Path) -> None:
    done = microagg("anonymize", "in.csv", "out.csv", "--k", "4", "--json")
    error = document(done)["error"]
    assert [column["name"] for column in error["proposal"]["columns"]] == [
        "name",
        "income",
        "debt",
        "disease",
        "code",
    ]
    assert error["proposal"]["settings"]["k"] == 4


def test_nothing_of_the_inside_is_told(microagg: Microagg, folder: Path) -> None:
    done = microagg("anonymize", "in.csv", "out.csv", "--k", "4", *ROLES, "--json")
    content = document(done)
    inside = json.loads((folder / "out.csv.internal.json").read_text())
    assert content["loss"] == inside["loss"]
    assert content["written"]["table"] == "out.csv"
    for secret in (
        str(inside["settings"]["seed"]),
        inside["input"]["digest"],
        inside["output"]["digest"],
    ):
        assert secret not in done.out
    done.silent_about({cell for cell in tables.cells(tables.people(60)) if len(cell) > 4})


def test_numbers_that_json_does_not_have() -> None:
    import numpy as np

    text = as_json(
        {"a": [np.float64("nan"), np.inf, np.int32(3)], 1: np.array([True]), "p": Path("x")}
    )
    assert json.loads(text) == {"a": [None, None, 3], "1": [True], "p": "x"}
    assert json.loads(as_json("\ud800\x9b")) == "\ud800\x9b"
