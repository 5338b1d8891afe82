"""Records that are left out, in several rounds: counted once each, told about, and never with what
identifies them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from beyond import WAYS, run_in
from microagg.pipeline import drop_records

SICK = {"A": (40, 40), "B": (20, 14), "C": (60, 12)}
"""By stratum its records, and how many of them are ill.

Of all, 55 % are ill. With t = 0.36 stratum A (100 % ill) is too far from that; of the rest 33 % are
ill, and now B (70 %) is too far.
"""
GAPS = 4
ASKED: dict[str, Any] = {
    "k": 4,
    "quasi": ["age", "pay"],
    "stratum": "area",
    "confidential": ["ill", "habit"],
    "identifier": ["name"],
    "t": 0.36,
    "small_strata": "drop",
    "missing": "drop",
    "seed": 1,
    "effort": "quick",
    "date": "2026-01-01",
}


def table() -> pa.Table:
    rows = [
        {"area": area, "ill": "yes" if number < ill else "no"}
        for area, (records, ill) in SICK.items()
        for number in range(records)
    ]
    rows += [{"area": "C", "ill": "no", "age": None}] * GAPS
    for number, row in enumerate(rows):
        row |= {"age": row.get("age", 20 + 7 * number % 50), "name": f"canary {number}"}
        row["pay"] = 1000 + 13 * number % 400
        row["habit"] = (
            # no stratum lacks any: what one column lacks, another does not make up for
            f"h{number % 2}"
        )
    for row in rows[-GAPS:]:
        row["age"] = None
    return pa.Table.from_pylist(rows).select(["name", "age", "pay", "area", "ill", "habit"])


def written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> tuple[Any, dict[str, Any], bytes]:
    source, target = folder / "in.parquet", folder / f"{way}.parquet"
    pa.parquet.write_table(table(), source, row_group_size=50)
    release = run_in(way, monkeypatch, source, target, **ASKED)
    return release, json.loads(Path(f"{target}.internal.json").read_bytes()), target.read_bytes()


@pytest.mark.parametrize("way", WAYS)
def test_what_is_left_out_in_each_round_is_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    release, manifest, _ = written(tmp_path, monkeypatch, way)
    assert manifest["records"] == 60
    assert manifest["cells"]["records_left_out"] == GAPS
    assert (manifest["strata"]["strata_left_out"], manifest["strata"]["records_left_out"]) == (
        2,
        60,
    )
    assert manifest["strata"]["strata"] == 1
    notes = [note for note in release.notes if "left out, because" in note]
    assert len(notes) == 2
    assert any("4 records were" in note for note in notes)
    assert any("60 records in 2 strata" in note for note in notes)
    rows = pa.parquet.read_table(tmp_path / f"{way}.parquet")
    assert set(rows.column("area").to_pylist()) == {"C"}
    assert ma.check(rows, ["age", "pay", "area"], k=4, confidential=["ill", "habit"], t=0.36).holds


def test_both_ways_write_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    assert (
        written(tmp_path, monkeypatch, "memory")[2] == written(tmp_path, monkeypatch, "beyond")[2]
    )


def test_what_is_set_aside_has_no_identifiers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the records is put on disk as a table of its own."""
    aside: list[pa.Table] = []
    before = drop_records.write_spill_file

    def looking(path: str, rows: pa.Table, *more: Any) -> Any:
        aside.append(rows)
        return before(path, rows, *more)

    monkeypatch.setattr(drop_records, "write_spill_file", looking)
    written(tmp_path, monkeypatch, "beyond")
    assert len(aside) >= 3, "gaps, and two rounds of strata"
    assert {name for rows in aside for name in rows.column_names} == {
        "age",
        "pay",
        "area",
        "ill",
        "habit",
    }


@pytest.mark.parametrize("way", WAYS)
def test_gaps_are_counted_and_special_codes_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    pa.parquet.write_table(table(), tmp_path / "in.parquet", row_group_size=50)
    settings = {**ASKED, "missing": "error", "special": {"age": [20, 27]}}
    with pytest.raises(
        ma.InputError, match=r"quasi-identifiers are missing: 4 in 'age'; fill them in"
    ):
        run_in(way, monkeypatch, tmp_path / "in.parquet", tmp_path / "out.parquet", **settings)
