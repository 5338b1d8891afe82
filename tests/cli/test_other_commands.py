"""methods, demo, reproduce, --help and --version."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import microagg as ma
import tables
from microagg.datasets.residents import EDUCATION
from microagg.studies.demonstration import ASKED
from running import Outcome, run

Microagg = Callable[..., Outcome]


def test_version(microagg: Microagg) -> None:
    assert microagg("--version") == Outcome(0, f"{ma.__version__}\n", "")


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_help_lists_every_command_and_no_other(microagg: Microagg, arguments: list[str]) -> None:
    done = microagg(*arguments)
    words = {
        line.split()[0] for line in done.out.partition("Commands:")[2].splitlines() if line.strip()
    }
    assert {
        "anonymize",
        "repeat",
        "check",
        "bound",
        "verify-bound",
        "methods",
        "demo",
        "reproduce",
    } <= words
    assert {"assess", "compare", "attack", "evidence", "studio"} <= words


@pytest.mark.slow
def test_methods(microagg: Microagg) -> None:
    shown = microagg("methods")
    assert shown.code == 0
    as_data = json.loads(microagg("methods", "--json").out)
    assert [entry["name"] for entry in as_data] == [method.name for method in ma.methods()]
    for entry in as_data:
        assert entry["name"] in shown.out
        alone = microagg("methods", entry["name"])
        assert entry["source"] in alone.out
        for parameter in entry["parameters"]:
            assert parameter["name"] in alone.out
        assert json.loads(microagg("methods", entry["name"], "--json").out) == [entry]


@pytest.mark.slow
def test_demo(microagg: Microagg, tmp_path: Path) -> None:
    done = microagg("demo", "--folder", "a/b", "--k", "7")
    assert done.code == 0, done
    assert {path.name for path in (tmp_path / "a/b").iterdir()} == {
        "residents.csv",
        "residents-protected.csv",
        "residents-protected.csv.internal.json",
        "residents-protected.csv.public.json",
    }
    protected = tmp_path / "a/b/residents-protected.csv"
    assert microagg("check", protected, "--quasi", ",".join(ASKED["quasi"]), "--k", "7").code == 0
    released = pd.read_csv(protected, dtype=str, keep_default_na=False)
    assert "person" not in released
    assert set(released["education"]) <= {*EDUCATION, ""}
    assert released.groupby(ASKED["quasi"]).size().min() >= 7
    for text in (
        "5 columns (",
        "cells ",
        "filled",
        "levels",
        "days",
        "One group, before and after",
    ):
        assert text in done.out
    (command,) = [line for line in done.out.splitlines() if line.startswith("  microagg anonymize")]
    assert microagg(*shlex.split(command)[1:]).code == 0, (
        "the command that the demonstration shows does not work"
    )


def test_a_method_says_whether_its_text_was_at_hand(microagg: Microagg) -> None:
    assert "not at hand" in microagg("methods", "mu-approx").out
    assert "not at hand" not in microagg("methods", "mdav2k").out


@pytest.mark.slow
def test_demo_repeats_itself(microagg: Microagg, tmp_path: Path) -> None:
    assert microagg("demo").code == 0
    first = tables.snapshot(tmp_path)
    assert microagg("demo").code == 0
    assert tables.snapshot(tmp_path) == first


@pytest.mark.slow
@pytest.mark.reference
def test_reproduce_one_method(microagg: Microagg, reference_data: Path) -> None:
    done = microagg("reproduce", "--method", "mdav", "--data", reference_data, "--json")
    assert done.code == 0, done
    cells = json.loads(done.out)
    assert {cell["name"] for cell in cells} == {"mdav"}
    assert {"equal", "six digits", "follows"} <= {cell["verdict"] for cell in cells}
    table = microagg("reproduce", "--method", "mdav", "--data", reference_data)
    assert f"of {len(cells)} figures" in table.out


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys\n"
        "left = subprocess.Popen([sys.executable, '-m', 'microagg', 'methods', '--json'],"
        " stdout=subprocess.PIPE, stderr=subprocess.PIPE)\n"
        "left.stdout.close()\n"
        "print(left.stderr.read().decode(), end='')\n"
    )
    done = run("-c", script, folder=tmp_path)
    assert done.out == ""
    assert done.err == ""
