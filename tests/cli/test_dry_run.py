"""A dry run says what would be done, refuses what the real run refuses, and writes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import microagg as ma
import tables
from microagg.methods.registry import method_named
from microagg.pipeline.estimate import search_estimate
from microagg.problem.problem import Problem
from running import Outcome

Microagg = Callable[..., Outcome]
ROLES = [*tables.ROLES, "--effort", "quick"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tables.write(tables.people(60), tmp_path / "in.csv")


def test_it_says_what_would_be_done(microagg: Microagg, source: Path, tmp_path: Path) -> None:
    before = tables.snapshot(tmp_path)
    done = microagg(
        "anonymize", source, "out.csv", "--k", "4", *ROLES, "--dry-run", "--report", "r.html"
    )
    assert (done.code, done.err) == (0, "")
    for text in (
        "nothing is written",
        "60 records",
        "income",
        "its group's mean",
        "left out",
        "released as it is",
        "an estimate",
        "4 or more records share each combination of income, debt",
        "out.csv.internal.json",
        "r.public.html",
    ):
        assert text in done.out
    done.silent_about(tables.cells(tables.people(60)))
    assert tables.snapshot(tmp_path) == before


@pytest.mark.slow
def test_it_agrees_with_what_is_done(microagg: Microagg, tmp_path: Path) -> None:
    table = ma.datasets.households(400)
    tables.write(table, tmp_path / "in.csv")
    arguments = [
        "--quasi",
        "hours,income,education",
        "--unit",
        "household",
        "--rest",
        "drop",
        "--aggregate",
        "hours=median",
        "--k",
        "3",
        "--effort",
        "quick",
        "--accept-risk",
        "true-values",
    ]
    plan = json.loads(
        microagg("anonymize", "in.csv", "out.csv", *arguments, "--dry-run", "--json").out
    )
    assert not (tmp_path / "out.csv").exists()
    assert plan["dry_run"] is True
    done = json.loads(microagg("anonymize", "in.csv", "out.csv", *arguments, "--json").out)
    assert {column["name"]: column["role"] for column in plan["columns"]} == done["roles"]
    assert plan["records"] == done["records"]
    assert set(plan["would_write"]) == set(done["written"].values())
    inside = json.loads((tmp_path / "out.csv.internal.json").read_text())["cells"]["columns"]
    becomes = {column["name"]: column["becomes"] for column in plan["columns"]}
    for name, cell in inside.items():
        assert becomes[name] == f"its group's {cell['aggregate']}"
    kinds = {column["name"]: column["kind"] for column in plan["columns"]}
    assert {name: kinds[name] for name in inside} == {
        name: cell["kind"] for name, cell in inside.items()
    }


@pytest.mark.parametrize(
    "wrong",
    [
        ["--k", "99", *ROLES],
        ["--k", "4", *ROLES, "--l", "9"],
        ["--k", "4", *ROLES, "--kind", "nothing=nominal"],
        ["--k", "4", "--quasi", "income"],
        ["--k", "4", *ROLES, "--precision", "full"],
        ["--k", "4", *ROLES, "--aggregate", "income=median"],
        ["--k", "4", *ROLES, "--report", "r.txt"],
        ["--k", "4", *ROLES, "--publish", "il"],
        ["--k", "4"],
    ],
)
def test_it_refuses_what_the_real_run_refuses(
    microagg: Microagg, source: Path, tmp_path: Path, wrong: list[str]
) -> None:
    before = tables.snapshot(tmp_path)
    real = microagg("anonymize", source, "out.csv", *wrong)
    dry = microagg("anonymize", source, "out.csv", *wrong, "--dry-run")
    assert real.code == dry.code == 2
    assert real.err == dry.err
    assert tables.snapshot(tmp_path) == before


@pytest.mark.parametrize("target", ["in.csv", "nowhere/out.csv", ".", "out.docx"])
def test_it_refuses_places(microagg: Microagg, source: Path, target: str) -> None:
    real = microagg("anonymize", source, target, "--k", "4", *ROLES)
    dry = microagg("anonymize", source, target, "--k", "4", *ROLES, "--dry-run")
    assert real.code == dry.code == 2
    assert real.err == dry.err


class TestTheEstimate:
    """The parts of the estimate; how near it comes on this machine stands in docs/pipelines.md."""

    points = np.random.default_rng(3).normal(size=(3000, 3))

    def of(self, method: str, k: int = 5, **params: object) -> float:
        chosen = method_named(method)
        estimate = search_estimate(
            chosen, Problem.of(self.points, k), chosen.checked(dict(params)), seed=1
        )
        assert estimate.sample <= len(self.points)
        assert estimate.seconds is not None
        return estimate.seconds

    @pytest.mark.slow
    def test_more_work_is_expected_to_take_longer(self) -> None:
        quick, balanced, thorough = (
            self.of("auto", effort=word, k=7) for word in ("quick", "balanced", "thorough")
        )
        assert quick < balanced < thorough

    @pytest.mark.slow
    def test_a_limit_bounds_it(self) -> None:
        assert self.of("auto", effort="thorough", k=7, time_limit=0.5) == 0.5
        chosen = method_named("auto")
        settings = chosen.checked({"effort": "prove"})
        estimate = search_estimate(chosen, Problem.of(self.points, 5), settings, seed=1)
        assert estimate.seconds is None
        assert "time_limit" in estimate.open_end

    @pytest.mark.slow
    def test_methods_without_effort(self) -> None:
        assert self.of("mdav") > 0.0


def test_it_shows_who_stands_alone_and_what_to_expect(microagg: Microagg, source: Path) -> None:
    done = microagg("anonymize", source, "out.csv", "--k", "4", *ROLES, "--dry-run")
    assert "of 60 records stand alone" in done.out
    assert "Expected loss (IL) for k = 4: about" in done.out
    assert "A preview, not the result: all 60 records" in done.out
    document = json.loads(
        microagg("anonymize", source, "out.csv", "--k", "4", *ROLES, "--dry-run", "--json").out
    )
    assert document["exposure"]["records"] == 60
    assert 0 < document["preview"]["loss"] < 100
    assert set(document["preview"]["changed"]) == set(document["exposure"]["columns"])


def test_a_proposal_says_who_stands_alone(microagg: Microagg, tmp_path: Path) -> None:
    source = tables.write(ma.datasets.persons(60), tmp_path / "persons.csv")
    proposed = microagg("propose", source)
    lines = [line for line in proposed.out.splitlines() if "of 60 records stand alone" in line]
    assert len(lines) == 1
    assert lines[0].startswith("# ")
    document = json.loads(microagg("propose", source, "--json").out)
    assert f"# {document['exposure']['alone']:,} of 60 records" in lines[0]


def test_a_proposal_without_quasi_identifiers_counts_nothing(
    microagg: Microagg, source: Path
) -> None:
    assert "stand alone" not in microagg("propose", source).out
    assert json.loads(microagg("propose", source, "--json").out)["exposure"] is None
