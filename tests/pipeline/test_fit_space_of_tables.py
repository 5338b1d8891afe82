"""Scales, importance and caps beyond memory: the same release, and the same loss, as in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import small_blocks
from microagg.errors import InputError
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget
from passes import both_ways

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)


def table_of(records: int = 1600, *, mixed: bool = False) -> pa.Table:
    rng = np.random.default_rng(5)
    gaps = rng.random(records) < 0.15
    columns: dict[str, Any] = {
        "age": pa.array(rng.integers(18, 90, records)),
        "income": pa.array(rng.lognormal(9.0, 1.0, records)),
        "tiny": pa.array(rng.standard_normal(records) * 1e-170),
        "same": pa.array(np.full(records, 2.5)),
    }
    if mixed:
        columns |= {
            "debt": pa.array(
                np.where(rng.random(records) < 0.6, 0, rng.integers(0, 5000, records)), mask=gaps
            ),
            "score": pa.array(np.where(gaps, np.nan, np.round(rng.standard_normal(records), 1))),
            "one": pa.array(np.full(records, 3), mask=gaps),
            "town": pa.array(
                [f"t{number}" for number in rng.integers(0, 9, records)],
                mask=rng.random(records) < 0.05,
            ),
        }
    return pa.table({**columns, "w": np.round(rng.lognormal(2.0, 1.0, records) + 0.01, 2)})


ASKED: list[tuple[bool, int, dict[str, Any]]] = [
    (False, 64, {"scale": "minmax", "importance": {"age": 2.5}, "weight": "w"}),
    (False, 1280, {"importance": {"income": 3, "same": 2}}),
    (False, 64, {"scale": "none", "precision": "full", "accept_risk": ["full-precision"]}),
    (True, 64, {"importance": {"town": 2, "debt": 0.5, "one": 3}}),
    (True, 1280, {"scale": "minmax", "weight": "w"}),
    (True, 64, {"scale": "none", "importance": {"score": 4}}),
    (False, 1280, {"scale": "robust", "weight": "w"}),
    (False, 64, {"scale": "rank", "importance": {"income": 2}}),
    (True, 64, {"scale": "robust", "importance": {"town": 2}}),
    (True, 1280, {"scale": "rank", "weight": "w"}),
    (False, 64, {"cap": {"income": "97%", "age": (25, "90%")}, "weight": "w"}),
    (False, 1280, {"scale": "rank", "cap": {"income": ("5%", 20000), "tiny": (None, 1e-171)}}),
    (
        True,
        64,
        {
            "scale": "robust",
            "cap": {"debt": (None, "95%"), "score": ("2%", "98%"), "age": (None, 18)},
        },
    ),
    (
        True,
        1280,
        {"scale": "rank", "importance": {"age": 2}, "cap": {"debt": (1, 900), "score": (5, 6)}},
    ),
]


@pytest.mark.parametrize(("mixed", "chunk", "more"), ASKED)
def test_the_same_release_and_loss_as_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mixed: bool, chunk: int, more: dict[str, Any]
) -> None:
    table = table_of(mixed=mixed)
    quasi = [name for name in table.column_names if name != "w"]
    settings = {
        "quasi": quasi,
        "k": 4,
        "seed": 3,
        "effort": "quick",
        "date": "2026-01-01",
        "rest": "drop",
        **more,
    }
    in_memory, out_of_core, manifest = both_ways(tmp_path, monkeypatch, table, chunk, **settings)
    assert manifest == json.loads(in_memory["out.parquet.internal.json"])
    assert out_of_core == in_memory
    assert ("IL_zscore" in manifest["loss"]) == ("scale" in more or "importance" in more)
    assert manifest["capped"].keys() == more.get("cap", {}).keys()


@pytest.mark.parametrize("numbers", [True, False])
def test_one_record_for_all_loses_no_more_than_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, numbers: bool
) -> None:
    few = np.isin(np.arange(1500), [3, 700, 1400])
    odd = pa.array(few.astype(int)) if numbers else pa.array(np.where(few, "b", "a"))
    table = pa.table({"odd": odd, "same": np.full(1500, 7), "region": np.arange(1500) % 2})
    in_memory, out_of_core, manifest = both_ways(
        tmp_path,
        monkeypatch,
        table,
        64,
        quasi=["odd", "same"],
        stratum=["region"],
        k=10,
        seed=3,
        effort="quick",
        date="2026-01-01",
        importance={"odd": 2},
    )
    assert manifest["guarantee"]["classes"] == 2
    assert manifest["loss"]["IL"] == manifest["loss"]["IL_zscore"] == 100.0
    assert out_of_core == in_memory


@pytest.mark.parametrize(
    ("cap", "says"),
    [
        ({"town": 5}, "'town', which is nominal; only numbers"),
        ({"w": 5}, "'w', which is not quasi-identifying"),
        ({"age": ("40%", 20)}, "cap of 'age' leaves no value"),
    ],
)
def test_caps_that_cannot_be_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cap: dict[str, Any], says: str
) -> None:
    table = table_of(mixed=True)
    messages = []
    for memory in ({}, {"memory": 1}):
        pa.parquet.write_table(table, tmp_path / "in.parquet")
        monkeypatch.setattr(MemoryBudget, "checked", lambda self, *_: MemoryBudget(10**8, 1, 64, 1))
        with pytest.raises(InputError, match=says) as error:
            anonymize_file(
                tmp_path / "in.parquet",
                tmp_path / "out.parquet",
                k=4,
                quasi=["age", "town"],
                rest="drop",
                cap=cap,
                **memory,
            )
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
