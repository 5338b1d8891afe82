"""Tables for runs beyond memory, and such runs with chunks and buckets of any size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg.pipeline import memory_budget, text_input
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.pipeline.on_disk import OnDiskRelease
from microagg.table.columns import digests


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
            "score": pa.array(
                np.where(
                    rng.random(records) < 0.1, np.nan, np.round(rng.standard_normal(records), 1)
                ),
                mask=gaps,
            ),
            "town": pa.array(
                [f"t{number}" for number in rng.integers(0, 9, records)],
                mask=rng.random(records) < 0.05,
            ),
        }
    columns |= {
        "w": pa.array(np.round(rng.lognormal(2.0, 1.0, records) + 0.01, 2)),
        "ill": pa.array([f"i{number}" for number in rng.integers(0, 20, records)]),
        "id": pa.array(np.arange(records)),
        "name": pa.array([f"n{number}" for number in range(records)]),
    }
    return pa.table(columns)


def settings_for(kinds: str, **more: Any) -> dict[str, Any]:
    quasi = ["age", "income", "rent", *(["debt", "score", "town"] if kinds == "mixed" else [])]
    return {
        "quasi": quasi,
        "confidential": ["ill"],
        "keep": ["id"],
        "identifier": ["name"],
        "k": 5,
        "seed": 7,
        "effort": "quick",
        "date": "2026-01-01",
        "accept_risk": ["named-columns"],
        **more,
    }


def in_passes(
    monkeypatch: pytest.MonkeyPatch,
    source: str | Path,
    target: str | Path,
    chunk: int = 64,
    bits: int = 3,
    threads: int = 2,
    **more: Any,
) -> Any:
    """A run beyond memory with chunks and buckets of these sizes."""

    def checked(self: MemoryBudget, *_: Any) -> MemoryBudget:
        return MemoryBudget(self.memory, self.threads, chunk, threads, bits, bits)

    monkeypatch.setattr(MemoryBudget, "checked", checked)
    return anonymize_file(source, target, memory=1, threads=threads, **more)


WAYS = ("memory", "beyond")


def tiny_in_passes(monkeypatch: pytest.MonkeyPatch, *args: Any, **more: Any) -> OnDiskRelease:
    """A run beyond memory of a table of any size, however small; fails where it would be done in
    memory.
    """
    for module in (memory_budget, text_input):
        monkeypatch.setattr(module, "needs_plan", lambda *_: True)
    release = in_passes(monkeypatch, *args, **{"chunk": digests.RUN, **more})
    assert isinstance(release, OnDiskRelease)
    return release


def run_in(
    way: str, monkeypatch: pytest.MonkeyPatch, source: str | Path, target: str | Path, **more: Any
) -> Any:
    """A run in memory or beyond it, of a table of any size: what holds of one holds of the
    other.
    """
    if way == "memory":
        return anonymize_file(source, target, **more)
    return tiny_in_passes(monkeypatch, source, target, bits=1, **more)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
