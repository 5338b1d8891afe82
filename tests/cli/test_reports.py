"""Reports, `assess` and `compare` on the command line."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

import microagg as ma
import tables
from running import Outcome

Microagg = Callable[..., Outcome]
QUICKLY = ("--effort", "quick", "--seed", "1")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tables.write(tables.people(60), tmp_path / "in.csv")


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".html", ".md", ".json"])
def test_two_reports_are_written(microagg: Microagg, source: Path, ending: str) -> None:
    done = microagg(
        "anonymize",
        source,
        "out.csv",
        "--k",
        "4",
        *tables.ROLES,
        *QUICKLY,
        "--report",
        f"r{ending}",
    )
    assert done.code == 0, done
    internal, public = source.parent / f"r.internal{ending}", source.parent / f"r.public{ending}"
    assert internal.stat().st_mode & 0o777 == 0o600
    assert f"r.public{ending}" in done.out
    text = public.read_text("utf-8")
    for value in tables.cells(tables.people(60)):
        if value.startswith(("canary", "secret", "4")) and len(value) > 5:
            assert value not in text
    assert "seed" not in text
    assert "linkage" in internal.read_text("utf-8")
    manifest = json.loads((source.parent / "out.csv.internal.json").read_text())
    for name in ("in.csv", manifest["input"]["digest"], manifest["settings"]["date"]):
        assert name in internal.read_text("utf-8")
        assert name not in text
    assert "out.csv" in text


def test_a_report_of_an_unknown_kind_is_refused_before_any_work(
    microagg: Microagg, source: Path
) -> None:
    before = tables.snapshot(source.parent)
    microagg(
        "anonymize", source, "out.csv", "--k", "4", *tables.ROLES, "--report", "r.pdf"
    ).refused(".html")
    microagg(
        "anonymize", source, "out.csv", "--k", "4", *tables.ROLES, "--report", "no/r.md"
    ).refused("no")
    assert tables.snapshot(source.parent) == before


def test_a_release_tells_its_risk_and_shows_itself(source: Path) -> None:
    release = ma.anonymize(tables.people(60), 4, tables.QUASI, rest="keep", effort="quick", seed=1)
    assert release.risk["prosecutor"] == pytest.approx(100 / release.anonymity.sizes.min())
    assert 0 < release.risk["linkage"] < 100
    assert f"{len(release.anonymity.sizes)}" in release._repr_html_()
    assert repr(release).startswith("<Release: 60 records in ")
    assert "secret" not in repr(release)
    assert "canary" not in repr(release)
    console = Console(width=90, record=True, file=io.StringIO())
    console.print(release)
    assert "Do not publish" in console.export_text(), "a column of names is kept"
    assert {measure.name for measure, _ in release.figures} >= {"il", "linkage", "k-with-kept"}
    assert {m.name: f.value for m, f in release.figures}["il"] == pytest.approx(release.loss["IL"])


def test_assess(microagg: Microagg, source: Path) -> None:
    microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES, *QUICKLY, "--keep-order")
    quasi = ",".join(tables.QUASI)
    shown = microagg("assess", source, "out.csv", "--quasi", quasi, "--confidential", "disease")
    assert shown.code == 0, shown
    assert "What an intruder gains" in shown.out
    shown.silent_about({value for value in tables.cells(tables.people(60)) if len(value) > 6})
    content = json.loads(microagg("assess", source, "out.csv", "--quasi", quasi, "--json").out)
    internal = json.loads((source.parent / "out.csv.internal.json").read_text())
    figures = {figure["name"]: figure["value"] for figure in content["figures"]}
    assert figures["il"] == pytest.approx(internal["loss"]["IL"])
    by_key = microagg("assess", source, "out.csv", "--quasi", quasi, "--key", "code", "--json")
    assert {f["name"]: f["value"] for f in json.loads(by_key.out)["figures"]} == figures


def test_assess_refuses_rows_in_another_order(microagg: Microagg, source: Path) -> None:
    microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES, *QUICKLY)
    for form in ((), ("--json",)):
        done = microagg("assess", source, "out.csv", "--quasi", ",".join(tables.QUASI), *form)
        done.refused(
            "match them by a column that tells them apart (--key), or save the release "
            "with --keep-order"
        )
        assert done.out == "" or set(json.loads(done.out)) == {"error"}


def test_assess_refuses_what_does_not_fit(microagg: Microagg, source: Path) -> None:
    other = tables.write(tables.people(50), source.parent / "other.csv")
    microagg("assess", source, other, "--quasi", "income").refused("50")
    microagg("assess", source, source, "--quasi", "nothing").refused("nothing")
    microagg("assess", source, "missing.csv").refused("missing.csv")


@pytest.mark.slow
def test_compare(microagg: Microagg, source: Path) -> None:
    arguments = (
        "compare",
        source,
        "--k",
        "3,5",
        "--methods",
        "mdav,v-mdav:gamma=1.1",
        "--quasi",
        ",".join(tables.QUASI),
        "--state",
        "state.jsonl",
    )
    done = microagg(*arguments, "--plot", "map.png")
    assert done.code == 0, done
    assert "v-mdav:gamma=1.1" in done.out
    assert (source.parent / "map.png").read_bytes().startswith(b"\x89PNG")
    again = json.loads(microagg(*arguments, "--json").out)
    assert len(again["rows"]) == 4
    microagg("compare", source, "--k", "three", "--methods", "mdav").refused("k must be")
    microagg("compare", source, "--k", "3", "--methods", "nonesuch", "--quasi", "income").refused(
        "nonesuch"
    )
