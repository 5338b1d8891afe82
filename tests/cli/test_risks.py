"""Risks on the command line: caps, what has to be accepted, what is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tables
from running import Outcome

Microagg = Callable[..., Outcome]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    rows = [f"{income},{age}\n" for income, age in rng.integers([2500, 30], [3500, 60], (60, 2))]
    rows[17] = "10000000,44\n"
    path = tmp_path / "in.csv"
    path.write_text("net income,age\n" + "".join(rows))
    return path


def test_a_dominant_value_and_its_cap(microagg: Microagg, source: Path) -> None:
    arguments = ["--k", "5", "--quasi", "net income,age", "--method", "mdav"]
    done = microagg("anonymize", source, "out.csv", *arguments)
    assert done.code == 0, done
    assert "ne record is so large" in " ".join(done.out.split())
    assert "'net income' in 1 of" in done.out
    assert "--cap NAME=99.5%" in done.out
    assert "10000000" not in done.out.replace(",", "")
    capped = microagg(
        "anonymize", source, "out.csv", *arguments, "--cap", "net income=99.5%", "--cap", "age=31:"
    )
    assert capped.code == 0, capped
    assert "so large" not in capped.out
    assert "values beyond the limit were set to it" in capped.out
    public = json.loads((source.parent / "out.csv.public.json").read_text())
    assert public["settings"]["cap"] == {"net income": [None, "99.5%"], "age": [31.0, None]}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--precision", "full"], "--accept-risk full-precision accepts that"),
        (["--method", "individual-ranking"], "--accept-risk single-columns accepts that"),
        (["--precision", "full", "--accept-risk", "single-columns"], "exact means"),
        (["--cap", "age"], "cap must name columns"),
        (["--cap", "height=3"], "is not quasi-identifying"),
        (["--accept-risk", "all"], "must be any of full-precision"),
    ],
)
def test_what_is_refused(microagg: Microagg, source: Path, arguments: list[str], says: str) -> None:
    before = tables.snapshot(source.parent)
    roles = ["--k", "5", "--quasi", "net income,age", "--report", "r.md"]
    microagg("anonymize", source, "out.csv", *roles, *arguments).refused(says)
    assert tables.snapshot(source.parent) == before


def test_what_is_accepted(microagg: Microagg, source: Path) -> None:
    roles = ["--k", "5", "--quasi", "net income,age"]
    risky = ["--precision", "full", "--method", "individual-ranking"]
    accepted = ["--accept-risk", "full-precision,single-columns"]
    assert microagg("anonymize", source, "out.csv", *roles, *risky, *accepted).code == 0
    assert microagg("repeat", "out.csv.internal.json", source, "again.csv").code == 0


def test_a_proof_beside_l_says_what_it_leaves_out(microagg: Microagg, tmp_path: Path) -> None:
    tables.write(tables.people(24), tmp_path / "in.csv")
    arguments = ["--k", "3", *tables.ROLES, "--effort", "prove"]
    beside = microagg("anonymize", "in.csv", "out.csv", *arguments, "--l", "3")
    assert "the bound is for k alone: it leaves l out, and with it" in beside.out
    assert (
        "and with it any grouping" not in microagg("anonymize", "in.csv", "out.csv", *arguments).out
    )
