"""missing="error" in memory and out of core: missing values are refused with their counts, special
codes are none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import microagg as ma
from beyond import WAYS, run_in

SETTINGS: dict[str, Any] = {
    "k": 3,
    "quasi": ["age", "town"],
    "missing": "error",
    "seed": 1,
    "effort": "quick",
}


def release(
    way: str, monkeypatch: pytest.MonkeyPatch, folder: Path, table: pa.Table, **more: Any
) -> Any:
    source, target = folder / "in.parquet", folder / "out.parquet"
    parquet.write_table(table, source)
    return run_in(way, monkeypatch, source, target, **SETTINGS, **more)


def table_of(ages: list[Any], towns: list[Any]) -> pa.Table:
    return pa.table({"age": pa.array(ages * 4), "town": pa.array(towns * 4)})


@pytest.mark.parametrize("way", WAYS)
def test_missing_values_are_refused_by_their_numbers(
    way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = table_of([30, None, 40, -9], ["Ulm", "Ulm", None, None])
    with pytest.raises(ma.InputError, match="are missing: 4 in 'age', 8 in 'town'"):
        release(way, monkeypatch, tmp_path, table, special={"age": [-9]})
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("special", [{}, {"age": [-9]}, {"age": [-9, -8]}])
def test_special_codes_are_not_missing(
    way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, special: dict[str, list[int]]
) -> None:
    table = table_of([30, 31, 40, -9], ["Ulm", "Ulm", "Bonn", "Bonn"])
    release(way, monkeypatch, tmp_path, table, special=special)
    assert parquet.read_table(tmp_path / "out.parquet").num_rows == 16
