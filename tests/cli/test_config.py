"""From a proposal to a file of settings to a release, on the command line."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import microagg as ma
import tables
from running import Outcome, run

Microagg = Callable[..., Outcome]
QUICKLY = ["--effort", "quick"]
CODES_ELSEWHERE = {"free1": "MONEY", "testdata": ""}
"""Columns of the real tables that are asked about, and hold numbers all the same."""


def answered(text: str, *, numbers: str = "") -> str:
    """A proposal with what it asks answered by hand: codes but for one column, all else as
    proposed.
    """
    lines = []
    for line in text.splitlines():
        wanted = re.search(r'= "decide"  # "([a-z]+)" or "([a-z]+)"', line)
        if wanted:
            codes = wanted[2] == "codes" and not line.startswith(f"{numbers} ")
            line = line.replace('"decide"', f'"{wanted[2] if codes else wanted[1]}"', 1)
        lines.append(line)
    return "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.parametrize("name", ["adult", "chile", "free1", "slid", "testdata"])
def test_real_tables_work_as_printed(name: str, reference_data: Path, tmp_path: Path) -> None:
    """microagg propose adult.csv > a.toml && microagg anonymize adult.csv out.csv --config
    a.toml
    """
    shutil.copy(reference_data / "tables" / f"{name}.csv", tmp_path)
    first = run("-m", "microagg", "propose", f"{name}.csv", folder=tmp_path)
    assert (first.code, first.err) == (0, "")
    (tmp_path / "a.toml").write_text(first.out, "utf-8")
    asks = "decide" in tomllib.loads(first.out)
    command = ["-m", "microagg", "anonymize", f"{name}.csv", "out.csv", "--config", "a.toml"]
    if asks:
        undecided = run(*command, *QUICKLY, folder=tmp_path)
        undecided.refused("a.toml has open decisions: ")
        for column in [
            entry for table in tomllib.loads(first.out)["decide"].values() for entry in table
        ]:
            assert f"'{column}'" in undecided.err
        assert not (tmp_path / "out.csv").exists()
        (tmp_path / "a.toml").write_text(
            answered(first.out, numbers=CODES_ELSEWHERE.get(name, "")), "utf-8"
        )
    done = run(*command, *QUICKLY, folder=tmp_path)
    assert done.code == 0, done
    settings = ma.Settings.from_file(tmp_path / "a.toml")
    (tmp_path / "b.toml").write_text(settings.to_toml(tmp_path), "utf-8")
    assert ma.Settings.from_file(tmp_path / "b.toml") == settings
    shared = [*settings.quasi, *settings.stratum]
    check = [
        "-m",
        "microagg",
        "check",
        "out.csv",
        "--quasi",
        ",".join(shared),
        "--k",
        str(settings.k),
    ]
    assert (
        run(*check, "--nominal", ",".join(settings.nominal or [shared[0]]), folder=tmp_path).code
        == 0
    )


def test_a_proposal_is_toml_and_nothing_else(microagg: Microagg, tmp_path: Path) -> None:
    tables.write(tables.people(60), tmp_path / "in.csv")
    before = tables.snapshot(tmp_path)
    done = microagg("propose", "in.csv", "--k", "7")
    assert (done.code, done.err) == (0, "")
    proposed = tomllib.loads(done.out)
    assert (proposed["k"], proposed["identifier"]) == (7, ["name", "code"])
    assert {*proposed["quasi"], *proposed["confidential"]} == {"income", "debt", "disease"}
    done.silent_about(tables.cells(tables.people(60)))
    assert tables.snapshot(tmp_path) == before
    microagg("propose", "nowhere.csv").refused("there is no file")
    microagg("propose", "in.csv", "--k", "1").refused("k is 1")


def test_odd_names_survive(microagg: Microagg, tmp_path: Path) -> None:
    rows = "".join(f"{i % 7}.5,{i % 5}.25,{i % 3}.5\n" for i in range(40))
    (tmp_path / "in.csv").write_text(f'"rent, ""cold""",[größe],a.b = c\n{rows}', "utf-8")
    (tmp_path / "a.toml").write_text(microagg("propose", "in.csv", "--k", "3").out, "utf-8")
    done = microagg(
        "anonymize", "in.csv", "out.csv", "--config", "a.toml", "--as-proposed", *QUICKLY
    )
    assert done.code == 0, done
    assert ma.Settings.from_file(tmp_path / "a.toml", as_proposed=True).quasi == (
        'rent, "cold"',
        "[größe]",
        "a.b = c",
    )


def settings_of(folder: Path) -> dict[str, object]:
    return json.loads((folder / "out.csv.internal.json").read_text())["settings"]


@pytest.mark.slow
def test_options_override_a_file(microagg: Microagg, tmp_path: Path) -> None:
    source = tables.write(tables.people(60), tmp_path / "in.csv")
    settings = ma.Settings.of(
        k=4,
        quasi=tables.QUASI,
        identifier=["name"],
        confidential=["disease"],
        keep=["code"],
        effort="quick",
        refine=True,
        importance={"income": 2},
        seed=3,
    )
    (tmp_path / "a.toml").write_text(settings.to_toml(), "utf-8")
    command = ["anonymize", source, "out.csv", "--config", "a.toml"]
    assert microagg(*command).code == 0
    first = (tmp_path / "out.csv").read_bytes()
    assert settings_of(tmp_path)["refine"] is True
    assert (
        microagg(
            *command, "--k", "6", "--no-refine", "--importance", "debt=3", "--scale", "rank"
        ).code
        == 0
    )
    recorded = settings_of(tmp_path)
    assert (recorded["k"], recorded["refine"], recorded["scale"]) == (6, False, "rank")
    assert recorded["importance"] == {"income": 2.0, "debt": 3.0}
    assert recorded["params"]["effort"] == "quick"  # pyright: ignore
    assert microagg(*command, "--method", "mdav").code == 0
    assert settings_of(tmp_path)["params"] == {"leftovers": "block"}
    assert microagg(*command).code == 0
    assert (tmp_path / "out.csv").read_bytes() == first, "the same settings, the same release"
    assert microagg("anonymize", source, "again.csv", "--config", "out.csv.internal.json").code == 0
    assert (tmp_path / "again.csv").read_bytes() == first, (
        "a manifest is a file of settings, its seed included"
    )


def test_a_file_that_is_wrong(microagg: Microagg, tmp_path: Path) -> None:
    tables.write(tables.people(20), tmp_path / "in.csv")
    (tmp_path / "a.toml").write_text(
        "microagg-settings = 1\nk = 4\nquasi = ['income']\nconfidental = ['disease']\n"
    )
    before = tables.snapshot(tmp_path)
    command = ["anonymize", "in.csv", "out.csv", "--config", "a.toml"]
    microagg(*command).refused(
        "a.toml, line 4: there is no 'confidental'; the nearest known one is 'confidential'"
    )
    microagg("anonymize", "in.csv", "out.csv", "--config", "none.toml").refused(
        "there is no file 'none.toml'"
    )
    microagg("anonymize", "in.csv", "out.csv", "--k", "3", "--as-proposed").refused(
        "name it with --config"
    )
    microagg("anonymize", "in.csv", "out.csv", "--quasi", "income").refused(
        "k is missing; give it with --k"
    )
    assert tables.snapshot(tmp_path) == before


@pytest.mark.slow
def test_other_commands_take_the_same_file(microagg: Microagg, tmp_path: Path) -> None:
    source = tables.write(tables.people(60), tmp_path / "in.csv")
    settings = ma.Settings.of(
        k=4,
        quasi=tables.QUASI,
        identifier=["name", "code"],
        confidential=["disease"],
        effort="quick",
        seed=3,
        scale="minmax",
    )
    (tmp_path / "a.toml").write_text(settings.to_toml(), "utf-8")
    assert microagg("anonymize", source, "out.csv", "--config", "a.toml", "--keep-order").code == 0
    checked = microagg("check", "out.csv", "--config", "a.toml", "--json")
    assert (checked.code, json.loads(checked.out)["k"]) == (0, 4)
    assert microagg("check", source, "--config", "a.toml").code == 3
    compared = json.loads(
        microagg("compare", source, "--config", "a.toml", "--methods", "mdav", "--json").out
    )
    assert (compared["scale"], compared["rows"][0]["k"], compared["quasi"]) == (
        "minmax",
        4,
        tables.QUASI,
    )
    several = json.loads(
        microagg(
            "compare", source, "--config", "a.toml", "--methods", "mdav", "--k", "3,5", "--json"
        ).out
    )
    assert [row["k"] for row in several["rows"]] == [3, 5]
    microagg("compare", source, "--quasi", "income", "--methods", "mdav").refused("k is missing")
    assessed = json.loads(microagg("assess", source, "out.csv", "--config", "a.toml", "--json").out)
    by_hand = microagg(
        "assess",
        source,
        "out.csv",
        "--quasi",
        "income,debt",
        "--confidential",
        "disease",
        "--k",
        "4",
        "--json",
    )
    assert assessed == json.loads(by_hand.out)
    bound = microagg("bound", source, "--config", "a.toml", "--time-limit", "1", "--json")
    assert json.loads(bound.out)["k"] == 4


def test_what_is_known_about_the_file_goes_along(microagg: Microagg, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("".join(f"{i % 9}.5,{i % 4}.25\n" for i in range(40)))
    (tmp_path / "a.toml").write_text(microagg("propose", "in.csv", "--no-header", "--k", "3").out)
    assert microagg("anonymize", "in.csv", "out.csv", "--config", "a.toml", *QUICKLY).code == 0
    assert json.loads((tmp_path / "out.csv.internal.json").read_text())["settings"]["reading"] == {
        "header": False
    }


def test_the_schema_is_printed(microagg: Microagg) -> None:
    schema = json.loads(microagg("schema").out)
    assert set(ma.Settings.parameters()) <= set(schema["properties"])
    assert json.loads(microagg("schema", "--json").out) == schema
