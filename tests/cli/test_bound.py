"""`bound` and `verify-bound`: a proof from a file, checked by a program that shares nothing with
its maker.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import microagg as ma
import tables
from running import Outcome

Microagg = Callable[..., Outcome]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    values = np.random.default_rng(3).integers(0, 10**6, (40, 2))
    path = tmp_path / "in.csv"
    path.write_text(
        "a,b,name\n" + "".join(f"{a},{b},canary-{i}\n" for i, (a, b) in enumerate(values))
    )
    return path


@pytest.mark.parametrize("scale", ["zscore", "rank"])
def test_a_bound_its_certificate_and_the_check(
    microagg: Microagg, source: Path, scale: str
) -> None:
    done = microagg(
        "bound", source, "--k", "3", "--quasi", "a,b", "--scale", scale, "--save", "proof.json"
    )
    assert done.code == 0, done
    assert "no grouping into groups of 3 or more can lose less than" in done.out
    assert "optimal" in done.out
    proof = source.parent / "proof.json"
    assert proof.stat().st_mode & 0o777 == 0o600
    checked = microagg("verify-bound", proof, source)
    assert checked.code == 0, checked
    il = json.loads(proof.read_text())["claim"]["il"]
    for text in (
        "40 records by 'a', 'b'",
        f"scale {scale}",
        "at least 3 has",
        f"at least {il:.6g} %",
    ):
        assert text in checked.out
    done.silent_about(tables.cells_of_text(source))
    checked.silent_about(tables.cells_of_text(source))


@pytest.mark.parametrize("change", ["claim", "pi", "k", "data"])
def test_a_false_certificate_is_refused(microagg: Microagg, source: Path, change: str) -> None:
    microagg("bound", source, "--k", "3", "--quasi", "a,b", "--save", "proof.json")
    proof = source.parent / "proof.json"
    content = json.loads(proof.read_text())
    if change == "claim":
        content["claim"] = {name: 1.01 * value for name, value in content["claim"].items()}
    elif change == "pi":
        content["pi"] = [1.05 * value for value in content["pi"]]
    elif change == "k":
        content["k"] = 2
    else:
        lines = source.read_text().splitlines()
        source.write_text("\n".join([lines[0], lines[2], lines[1], *lines[3:]]) + "\n")
    proof.write_text(json.dumps(content))
    assert microagg("verify-bound", proof, source).code == 3


def test_a_release_with_a_bound(microagg: Microagg, source: Path) -> None:
    done = microagg(
        "anonymize",
        source,
        "out.csv",
        "--k",
        "3",
        "--quasi",
        "a,b",
        "--identifier",
        "name",
        "--effort",
        "prove",
    )
    assert done.code == 0, done
    assert "bound        no grouping" in done.out
    internal, public = (
        json.loads((source.parent / f"out.csv.{side}.json").read_text())
        for side in ("internal", "public")
    )
    assert set(internal["bound"]) == {"IL", "optimal", "gap"}
    assert "bound" not in public


def test_the_bound_of_a_release_can_be_saved_and_checked(microagg: Microagg, source: Path) -> None:
    table = tables.people(30)
    release = ma.anonymize(table, 3, tables.QUASI, rest="drop", effort="prove", seed=1)
    assert release.bound is not None
    assert release.bound.il <= release.loss["IL"] + 1e-9
    path = tables.write(table, source.parent / "people.csv")
    release.bound.save(source.parent / "proof.json")
    assert microagg("verify-bound", source.parent / "proof.json", path).code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--k", "3"], "no quasi-identifying columns"),
        (["--k", "3", "--quasi", "a,c"], "no column 'c'"),
        (["--k", "41", "--quasi", "a,b"], "only 40 records"),
        (["--k", "3", "--quasi", "a,b", "--time-limit", "x"], "time_limit must be"),
        (["--k", "3", "--quasi", "a,b", "--save", "in.csv"], "would overwrite the table"),
        (["--k", "3", "--quasi", "a,b", "--save", "nowhere/proof.json"], "nowhere"),
        (
            ["--k", "3", "--quasi", "a,name", "--save", "proof.json"],
            "plain numbers without gaps only",
        ),
    ],
)
def test_wrong_input(microagg: Microagg, source: Path, arguments: list[str], says: str) -> None:
    before = tables.snapshot(source.parent)
    microagg("bound", source, *arguments).refused(says)
    assert tables.snapshot(source.parent) == before


def test_what_is_no_certificate(microagg: Microagg, source: Path) -> None:
    for name, content in (
        ("a.json", "{}"),
        ("b.json", "[1, 2"),
        ("c.json", '{"format": "microagg-bound/1"}'),
    ):
        (source.parent / name).write_text(content)
        done = microagg("verify-bound", name, source)
        assert done.code in (2, 3)
        assert "Traceback" not in done.err
    microagg("verify-bound", "missing.json", source).refused("missing.json")


@pytest.mark.parametrize(("k", "quasi"), [(3, "a"), (25, "a,b")], ids=str)
def test_a_bound_where_the_optimum_is_known(
    microagg: Microagg, source: Path, k: int, quasi: str
) -> None:
    done = microagg("bound", source, "--k", k, "--quasi", quasi, "--save", "proof.json")
    assert done.code == 0, done
    assert "optimal" in done.out
    assert microagg("verify-bound", source.parent / "proof.json", source).code == 0
