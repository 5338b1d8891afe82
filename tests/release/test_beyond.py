"""Beyond memory: the same release to the byte, whatever the memory, the chunks and the threads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import small_blocks
import tables
from microagg.release import beyond_limits
from microagg.release.beyond_limits import Budget
from microagg.release.files import anonymize_file


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)


def table_of(records: int = 5000, seed: int = 3, kinds: str = "mixed") -> pa.Table:
    rng = np.random.default_rng(seed)
    gaps = rng.random(records) < 0.15
    columns: dict[str, Any] = {
        "age": pa.array(rng.integers(18, 90, records)),
        "income": pa.array(rng.lognormal(9.0, 1.0, records)),
        "rent": pa.array(np.round(rng.lognormal(6.0, 0.5, records), 2)),
    }
    if kinds == "mixed":
        columns |= {
            "debt": pa.array(rng.integers(0, 5000, records), mask=gaps),
            "score": pa.array(np.where(rng.random(records) < 0.1, np.nan, np.round(rng.standard_normal(records), 1)), mask=gaps),
            "town": pa.array([f"t{each}" for each in rng.integers(0, 9, records)], mask=rng.random(records) < 0.05),
        }  # fmt: skip
    columns |= {
        "w": pa.array(np.round(rng.lognormal(2.0, 1.0, records) + 0.01, 2)),
        "ill": pa.array([f"i{each}" for each in rng.integers(0, 20, records)]),
        "id": pa.array(np.arange(records)),
        "name": pa.array([f"n{each}" for each in range(records)]),
    }
    return pa.table(columns)


def asked(kinds: str, **more: Any) -> dict[str, Any]:
    quasi = ["age", "income", "rent", *(["debt", "score", "town"] if kinds == "mixed" else [])]
    return {
        "quasi": quasi, "confidential": ["ill"], "keep": ["id"], "identifier": ["name"], "k": 5, "seed": 7, "effort": "quick",
        "date": "2026-01-01", **more,
    }  # fmt: skip


def in_passes(
    monkeypatch: pytest.MonkeyPatch,
    source: Path,
    target: Path,
    chunk: int = 64,
    bits: int = 3,
    threads: int = 2,
    **more: Any,
) -> Any:
    """A run beyond memory with chunks and buckets of these sizes."""

    def checked(self: Budget, *_: Any) -> Budget:
        return Budget(self.memory, self.threads, chunk, threads, bits, bits)

    monkeypatch.setattr(Budget, "checked", checked)
    return anonymize_file(source, target, memory=1, threads=threads, **more)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("kinds", ["plain", "mixed"])
@pytest.mark.parametrize(("chunk", "bits", "threads", "groups"), [(64, 3, 2, 100), (1280, 0, 1, 5000)])
def test_the_same_release_as_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kinds: str, weight: str | None, chunk: int, bits: int, threads: int, groups: int
) -> None:  # fmt: skip
    source = tmp_path / "in.parquet"
    pa.parquet.write_table(table_of(kinds=kinds), source, row_group_size=groups)
    settings = asked(kinds, weight=weight) if weight else asked(kinds, keep=["id", "w"])
    for folder in ("memory", "beyond"):
        (tmp_path / folder).mkdir()
    anonymize_file(source, tmp_path / "memory" / "out.parquet", **settings)
    in_passes(monkeypatch, source, tmp_path / "beyond" / "out.parquet", chunk, bits, threads, **settings)
    here, there = (tmp_path / folder / "out.parquet.internal.json" for folder in ("memory", "beyond"))
    assert json.loads(there.read_text("utf-8")) == json.loads(here.read_text("utf-8"))
    assert files(tmp_path / "beyond") == files(tmp_path / "memory")
    assert tables is not None and beyond_limits is not None
