"""Memory, spill and what killed runs left, on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest

import small_blocks
import tables
from microagg.pipeline.memory_budget import MemoryBudget
from running import Outcome

Microagg = Callable[..., Outcome]


def test_a_wrong_size_is_refused(microagg: Microagg, tmp_path: Path) -> None:
    tables.write(tables.people(40), tmp_path / "in.csv")
    done = microagg(
        "anonymize",
        "in.csv",
        "out.csv",
        "--k",
        "3",
        "--quasi",
        "income,debt",
        "--rest",
        "drop",
        "--memory",
        "much",
    )
    done.refused("memory must be a size such as 4GB")
    assert not (tmp_path / "out.csv").exists()


def test_clean_removes_what_a_killed_run_set_aside(microagg: Microagg, tmp_path: Path) -> None:
    left = tmp_path / ".microagg-00c0ffee00c0ffee.spill"
    left.mkdir()
    (left / "route-0-64.arrow").write_bytes(b"secret")
    done = microagg("clean", ".")
    assert done.code == 0
    assert "which a run that was stopped had left" in done.out
    assert not left.exists()


@pytest.mark.slow
def test_a_release_beyond_memory(
    microagg: Microagg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    checked = MemoryBudget.checked

    def small(self: MemoryBudget, *more: object) -> MemoryBudget:
        return checked(MemoryBudget(10**9, self.threads), *more)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(MemoryBudget, "checked", small)
    pyarrow.parquet.write_table(tables.people(3000), tmp_path / "in.parquet")
    (tmp_path / "aside").mkdir()
    arguments = [
        "anonymize",
        "in.parquet",
        "out.parquet",
        "--k",
        "5",
        "--quasi",
        "income,debt",
        "--rest",
        "drop",
        "--seed",
        "1",
    ]
    dry = microagg(
        *arguments, "--effort", "quick", "--memory", "100KB", "--spill", "aside", "--dry-run"
    )
    assert dry.code == 0, dry
    assert "A dry run: nothing is written. 3,000 records would be grouped." in dry.out
    assert "in parts, about 8 blocks: the whole table is never in memory" in dry.out
    assert "in all, an estimate from runs of the method on" in dry.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["aside", "in.parquet"]
    assert list((tmp_path / "aside").iterdir()) == []
    done = microagg(
        *arguments, "--effort", "quick", "--memory", "100KB", "--spill", "aside", "--report", "r.md"
    )
    assert done.code == 0, done
    assert "Large-table mode: these checks were not run" in (tmp_path / "r.internal.md").read_text(
        "utf-8"
    )
    assert list((tmp_path / "aside").iterdir()) == []
    again = microagg(
        "repeat", "out.parquet.internal.json", "in.parquet", "again.parquet", "--memory", "100KB"
    )
    assert again.code == 0, again
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "out.parquet").read_bytes()
