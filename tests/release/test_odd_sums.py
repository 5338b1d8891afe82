"""Sums that are negative or infinite, caps beside gaps, figures that may not be published: the same
in memory and out of core.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
from beyond import WAYS, run_in
from microagg.errors import OnlyInMemoryError
from microagg.pipeline.memory_budget import check_out_of_core
from microagg.release.settings import Settings
from microagg.release.weight_totals import WeightTotals


def manifest_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, way: str, table: pa.Table, **settings: Any
) -> dict[str, Any]:
    source, target = folder / "in.parquet", folder / "out.parquet"
    pa.parquet.write_table(table, source, row_group_size=50)
    options = {"seed": 1, "effort": "quick", "date": "2026-01-01", **settings}
    run_in(way, monkeypatch, source, target, **options)
    return json.loads(Path(f"{target}.internal.json").read_bytes())


def parts(number: float) -> list[float]:
    return [number, 0.0, 0.0]


def test_percents_have_the_sign_of_the_change() -> None:
    """A total that falls has a change below 0, whatever its own sign is."""
    totals = {
        "": [parts(4.0), parts(5.0)],
        "up": [parts(10.0), parts(11.0)],
        "down": [parts(10.0), parts(9.0)],
        "less debt": [parts(-10.0), parts(-9.0)],
        "more debt": [parts(-10.0), parts(-12.0)],
        "none": [parts(0.0), parts(1.0)],
        "crossing": [parts(-10.0), parts(5.0)],
    }
    assert WeightTotals(totals).percents == {
        "up": 10.0,
        "down": -10.0,
        "less debt": 10.0,
        "more debt": -20.0,
        "crossing": 150.0,
    }
    assert WeightTotals(totals).change == 0.25
    assert WeightTotals().change == 0.0


@pytest.mark.parametrize("way", WAYS)
def test_negative_weighted_totals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    rng = np.random.default_rng(8)
    table = pa.table(
        {
            "age": rng.integers(20, 80, 90),
            "debt": -rng.integers(1, 900, 90),
            "w": rng.integers(1, 60, 90),
        }
    )
    manifest = manifest_of(
        tmp_path, monkeypatch, way, table, k=4, quasi=["age"], keep=["debt"], weight="w"
    )
    rows = pa.parquet.read_table(tmp_path / "out.parquet").to_pandas()
    before = float((table.column("debt").to_numpy() * table.column("w").to_numpy()).sum())
    after = float((rows["debt"] * rows["w"]).sum())
    percent = manifest["weighting"]["totals_changed_by_percent"]["debt"]
    assert percent == pytest.approx(100.0 * (after - before) / abs(before), rel=1e-12)
    assert (percent > 0.0) == (after > before)
    assert before < 0.0 < abs(percent)


@pytest.mark.parametrize("way", WAYS)
def test_an_infinite_squared_error_is_not_told_to_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Where it cannot be known that no group makes up the loss, one is taken to make up all of
    it.
    """
    rng = np.random.default_rng(8)
    table = pa.table({"tiny": rng.standard_normal(120) * 1e-170, "b": rng.integers(0, 1000, 120)})
    cap = {"tiny": (1.0, None)}  # so far from all values that the square of the distance overflows
    manifest = manifest_of(tmp_path, monkeypatch, way, table, k=4, quasi=["tiny", "b"], cap=cap)
    assert not math.isfinite(manifest["loss"]["SSE"])
    assert manifest["largest_share"] == 1.0
    public = json.loads((tmp_path / "out.parquet.public.json").read_bytes())
    assert public["loss"]["IL"] == "not told"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mixed", [True, False])
def test_a_cap_does_not_change_how_precise_a_column_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, mixed: bool
) -> None:
    """Whole numbers stay whole where the cap is none, and two decimals stay two where what is left
    of them is whole.
    """
    rng = np.random.default_rng(8)
    gaps = (rng.random(120) < 0.1) & mixed
    cents = np.where(
        np.arange(120) % 2 == 0, rng.integers(0, 50, 120), np.round(100.0 + rng.random(120), 2)
    )
    table = pa.table({"whole": pa.array(rng.integers(0, 100, 120), mask=gaps), "cents": cents})
    manifest = manifest_of(
        tmp_path,
        monkeypatch,
        way,
        table,
        k=3,
        quasi=["whole", "cents"],
        cap={"whole": 50.25, "cents": 50},
    )
    released = pa.parquet.read_table(tmp_path / "out.parquet")
    whole = np.array(
        [value for value in released.column("whole").to_pylist() if value is not None], float
    )
    assert np.array_equal(whole, np.rint(whole))
    assert {name: entry["decimals"] for name, entry in manifest["scaling"].items()} == {
        "whole": 0,
        "cents": 2,
    }
    hundredths = 100 * released.column("cents").to_numpy()
    assert np.allclose(hundredths, np.rint(hundredths), atol=1e-6)
    assert not np.allclose(hundredths % 100, 0.0), "means between whole numbers keep their decimals"


@pytest.mark.parametrize("name", ["il", "sse"])
def test_what_a_sample_tells_of_a_weighted_table_is_not_published(name: str) -> None:
    """Loss in z-scores is exact out of core only without weights."""
    settings = {"k": 5, "quasi": ["age"], "publish": [name], "accept_risk": ["published-measures"]}
    check_out_of_core(Settings.of(**settings))
    with pytest.raises(OnlyInMemoryError, match=f"publish={name} is not supported out of core"):
        check_out_of_core(Settings.of(**settings, weight="w"))
    check_out_of_core(Settings.of(**{**settings, "publish": ["il-raw"]}, weight="w"))


def test_in_memory_they_are_published() -> None:
    rng = np.random.default_rng(3)
    table = pa.table({"age": rng.integers(20, 80, 1000), "w": rng.integers(1, 9, 1000)})
    settings = {
        "publish": ["il"],
        "accept_risk": ["published-measures"],
        "method": "mdav",
        "seed": 1,
    }
    release = ma.anonymize(table, k=5, quasi=["age"], weight="w", **settings)
    assert release.manifest["settings"]["publish"] == ["il"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stratum", ["area", ()])
def test_more_than_all_may_be_lost_where_records_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, stratum: Any
) -> None:
    """100 % is the most only where all records are released alike, not where those of one stratum
    are.
    """
    rng = np.random.default_rng(8)
    table = pa.table(
        {"a": rng.integers(0, 10, 48), "b": rng.integers(0, 90, 48), "area": [0] * 8 + [1] * 40}
    )
    settings = {
        "k": 8,
        "quasi": ["a", "b"],
        "stratum": stratum,
        "rest": "drop",
        "cap": {"a": (1000, None)},
    }
    manifest = manifest_of(tmp_path, monkeypatch, way, table, **settings)
    rows = pa.parquet.read_table(tmp_path / "out.parquet").to_pandas()
    assert len(rows.drop_duplicates()) > 2
    if stratum:
        assert len(rows[rows["area"] == 0].drop_duplicates()) == 1
    assert manifest["loss"]["IL"] > 1000.0
