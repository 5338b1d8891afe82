"""Methods and settings that need all records at once, out of core: same bytes as in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.pipeline.on_disk import OnDiskRelease
from microagg.pipeline.one_block import one_block_search
from microagg.release.settings import Settings
from microagg.table.schema import ColumnFacts, assign_roles

RECORDS = 1200
ROLES = {"quasi": ["age", "income", "rent"], "confidential": ["ill"], "date": "2026-01-01", "k": 4}
OF_RECORD = 1000


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    small_blocks.make_small(monkeypatch.setattr)
    rng = np.random.default_rng(5)
    table = {
        "age": rng.integers(18, 90, RECORDS),
        "income": np.round(rng.lognormal(9.0, 1.0, RECORDS)),
        "rent": np.round(rng.lognormal(6.0, 0.5, RECORDS), 1),
        "ill": [f"i{number}" for number in rng.integers(0, 9, RECORDS)],
        "region": [("N", "S", "W")[number] for number in rng.integers(0, 3, RECORDS)],
    }
    pa.parquet.write_table(pa.table(table), tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


def with_memory(monkeypatch: pytest.MonkeyPatch, records: int) -> None:
    """Let a block of so many records fit into memory."""

    def checked(self: MemoryBudget, *_: Any) -> MemoryBudget:
        return MemoryBudget(records * OF_RECORD, self.threads, 128, 2, 2, 2, 100, OF_RECORD, 10**6)

    monkeypatch.setattr(MemoryBudget, "checked", checked)


def written(path: Path) -> list[bytes | str]:
    """The table and its manifests, but for the names of files."""
    beside = sorted(path.parent.glob(f"{path.name}.*.json"))
    assert len(beside) == 2
    manifests = [file.read_text().replace(path.name, "") for file in beside]
    return [path.read_bytes(), *manifests]


@pytest.mark.parametrize(
    "more",
    [
        {"method": "mdav"},
        {"method": "mdav", "refine": True},
        {"method": "v-mdav", "l": 3},
        {"method": "t-first", "t": 0.4},
        {"method": "t-first"},
        pytest.param({"effort": "thorough", "l": 2}, marks=pytest.mark.slow),
        {"effort": "quick", "refine": True},
        {"effort": "quick", "time_limit": 3600.0},
        {"effort": 20.0, "stop_after": 2},
        {"method": "mdav", "stratum": "region"},
        {"effort": 20.0, "stop_after": 3, "stratum": "region"},
        {"method": "mdav", "l": 2, "aggregate": {"rent": "median"}, "cap": {"income": "99%"}},
    ],
    ids=str,
)
def test_a_table_that_fits_into_one_block(
    source: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    rest = {"rest": "drop", "seed": 3, "accept_risk": "true-values", **ROLES, **more}
    one, other = source.with_name("one.parquet"), source.with_name("other.parquet")
    whole = anonymize_file(source, one, **rest)
    with_memory(monkeypatch, RECORDS)
    release = anonymize_file(source, other, memory=1, **rest)
    assert isinstance(release, OnDiskRelease)
    assert not isinstance(whole, OnDiskRelease)
    assert written(one) == written(other)
    assert release.stopped == whole.stopped


@pytest.mark.parametrize(
    "more",
    [
        {"method": "mdav"},
        pytest.param({"effort": "thorough", "l": 2}, marks=pytest.mark.slow),
        {"effort": "quick", "refine": True, "l": 2},
        {"method": "lns", "effort": 2},
        {"method": "genetic"},
    ],
    ids=str,
)
def test_strata_that_fit_into_one_block_each(
    source: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    rest = {"rest": "drop", "seed": 3, "stratum": "region", **ROLES, **more}
    one, other = source.with_name("one.parquet"), source.with_name("other.parquet")
    anonymize_file(source, one, **rest)
    with_memory(monkeypatch, RECORDS // 2)
    assert isinstance(anonymize_file(source, other, memory=1, **rest), OnDiskRelease)
    assert written(one) == written(other)


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"method": "mdav"}, "method mdav needs all 1,200 records of the table"),
        ({"effort": "thorough"}, "effort thorough needs all 1,200 records of the table"),
        ({"effort": "prove"}, "effort prove needs all 1,200 records of the table"),
        ({"refine": True}, "refine needs all 1,200 records of the table"),
        ({"time_limit": 60.0}, "time_limit needs all 1,200 records of the table"),
        ({"time_limit": 60.0, "stratum": "region"}, "time_limit with strata needs all 1,200"),
        ({"method": "t-first", "stratum": "region"}, "method t-first without l or t needs all"),
    ],
)
def test_others_are_refused_by_name(
    source: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], named: str
) -> None:
    with_memory(monkeypatch, RECORDS // 2)
    target = source.with_name("out.parquet")
    with pytest.raises(ma.InputError, match=named):
        anonymize_file(source, target, memory=1, rest="drop", seed=3, **{**ROLES, **more})
    assert [path.name for path in source.parent.iterdir()] == ["in.parquet"]


def test_a_stratum_that_does_not_fit_is_refused() -> None:
    settings = Settings.of(k=3, quasi="age", stratum="town", method="mdav")
    facts = [ColumnFacts(name, True) for name in ("age", "town")]
    schema, budget = assign_roles(facts, settings.roles), MemoryBudget(500, 1, a_block_record=1)
    types = pa.schema([("age", pa.int64()), ("town", pa.int64())])
    sizes = np.array([400, 600])
    with pytest.raises(ma.InputError, match="600 records of the largest stratum"):
        one_block_search(settings, schema, budget, 1000, sizes, types, {})
    search = one_block_search(settings, schema, budget, 800, np.array([400, 400]), types, {})
    assert search is not None
    assert not search.of_table


@pytest.mark.slow
def test_a_proof_out_of_core_is_that_in_memory(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # clusters of equal records: the optimum is known at once
    table = pa.parquet.read_table(source)
    places = pa.array(np.repeat(np.arange(RECORDS // 4), 4))
    pa.parquet.write_table(table.take(places), source)
    rest = {"rest": "drop", "seed": 3, "effort": "prove", **ROLES}
    one, other = source.with_name("one.parquet"), source.with_name("other.parquet")
    whole = anonymize_file(source, one, **rest)
    with_memory(monkeypatch, RECORDS)
    release = anonymize_file(source, other, memory=1, **rest)
    assert isinstance(release, OnDiskRelease)
    assert whole.bound is not None
    assert release.bound is not None
    assert release.bound.sse == whole.bound.sse
    assert release.bound.certificate() == whole.bound.certificate()
    assert written(one) == written(other)
