"""Is any table k-anonymous, and which classes fail? By size and row number, never by value."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import tables
from running import Outcome

Microagg = Callable[..., Outcome]

TABLE = pa.table(
    {
        "town": [
            "canary-a",
            "canary-b",
            "canary-a",
            None,
            "canary-b",
            "canary-a",
            None,
            "canary-c",
        ],
        "year": [1984, 1984, 1984, 1985, 1984, 1984, 1985, 1984],
        "share": [0.5, 7.25, 0.5, None, 7.25, 0.5, None, 7.25],
    }
)


@pytest.fixture(params=[".csv", ".parquet"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tables.write(TABLE, tmp_path / f"in{request.param}")


@pytest.mark.parametrize("quasi", ["year", "year,share", "share"])
def test_yes(microagg: Microagg, source: Path, quasi: str) -> None:
    done = microagg("check", source, "--quasi", quasi, "--k", "2")
    assert done.code == 0
    assert done.out.startswith("yes: 2 or more records")
    assert done.err == ""


def test_no_and_where(microagg: Microagg, source: Path) -> None:
    done = microagg("check", source, "--quasi", "town,year", "--quasi", "share", "--k", "3")
    assert done.code == 3
    assert done.out.startswith("no: 3 of 4 classes")
    assert "(5 records in total)" in done.out
    shown = [line.split() for line in done.out.splitlines()[2:]]
    assert shown == [["1", "8"], ["2", "2"], ["2", "4"]], "smallest class first, then by row"
    done.silent_about({"canary", "7.25", "1984"})


def test_many_failing_classes_are_cut_short(microagg: Microagg, tmp_path: Path) -> None:
    source = tables.write(tables.people(70), tmp_path / "in.csv")
    done = microagg("check", source, "--quasi", "income", "--k", "2")
    assert done.code == 3
    assert "... and 50 more." in done.out
    assert len(done.out.splitlines()) == 23
    done.silent_about(tables.cells(tables.people(70)))


def test_k_above_the_number_of_records(microagg: Microagg, source: Path) -> None:
    assert microagg("check", source, "--quasi", "year", "--k", "9").code == 3


def test_texts_are_compared_to_the_letter(microagg: Microagg, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("zip,age\n007,1\n7,1\n")
    assert microagg("check", "in.csv", "--quasi", "zip", "--k", "2").code == 3
    assert microagg("check", "in.csv", "--quasi", "age", "--k", "2").code == 0


def test_what_anonymize_wrote_passes(microagg: Microagg, tmp_path: Path) -> None:
    source = tables.write(tables.people(50), tmp_path / "in.csv")
    microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES)
    assert microagg("check", "out.csv", "--quasi", "income,debt", "--k", "4").code == 0
    assert microagg("check", source, "--quasi", "income,debt", "--k", "4").code == 3


def test_zeros_and_gaps_are_counted_as_the_strictest_reader_does(
    microagg: Microagg, tmp_path: Path
) -> None:
    shares = pa.array([0.0] * 5 + [-0.0] + [float("nan")] * 5 + [None])
    source = tables.write(pa.table({"share": shares}), tmp_path / "in.parquet")
    done = microagg("check", source, "--quasi", "share", "--k", "5")
    assert done.code == 3
    assert "2 of 4 classes" in done.out
    assert "counted by bits" in done.out
    result = microagg("check", source, "--quasi", "share", "--k", "5", "--json")
    assert json.loads(result.out)["counted_by"] == "bits"
    plain = tables.write(pa.table({"share": shares[:5]}), tmp_path / "plain.parquet")
    result = microagg("check", plain, "--quasi", "share", "--k", "5", "--json")
    assert json.loads(result.out)["counted_by"] == "value"
