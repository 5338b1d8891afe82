"""Columns that make classes are released with one zero and one missing value: no reader sees a
class below k.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg as ma
import small_blocks
from passes import both_ways

NAN = float("nan")
STRATA = {
    "NaN and null": pa.array([NAN] * 29 + [None] + [1.0] * 30),
    "zeros": pa.array([0.0] * 29 + [-0.0] + [1.0] * 30),
    "single zeros": pa.array([0.0] * 29 + [-0.0] + [1.0] * 30, pa.float32()),
    "categories": pa.DictionaryArray.from_arrays(
        pa.array([0] * 29 + [1] + [2] * 29 + [None]), pa.array([0.0, -0.0, NAN])
    ),
}
K = 5


def by_bits(column: pa.ChunkedArray) -> list[Any]:
    """Cells as their bits tell them apart, counted without microagg: null and NaN, 0 and -0."""
    return [None if cell is None else str(cell) for cell in column.to_pylist()]


def smallest_by_pandas(path: Path, columns: list[str]) -> int:
    return int(pd.read_parquet(path).groupby(columns, dropna=False, observed=True).size().min())


def smallest_by_polars(path: Path, columns: list[str]) -> int:
    return int(pl.read_parquet(path).group_by(columns).len()["len"].min())  # type: ignore[arg-type]


def smallest_by_duckdb(path: Path, columns: list[str]) -> int:
    names = ", ".join(columns)
    rows = duckdb.sql(f"select count(*) from read_parquet('{path}') group by {names}").fetchall()
    return min(count for (count,) in rows)


def smallest_by_bits(path: Path, columns: list[str]) -> int:
    table = pq.read_table(path)
    rows = list(zip(*(by_bits(table.column(name)) for name in columns), strict=True))
    return min(rows.count(row) for row in set(rows))


READERS: list[Callable[[Path, list[str]], int]] = [
    smallest_by_pandas,
    smallest_by_polars,
    smallest_by_duckdb,
    smallest_by_bits,
]


def table_with(stratum: pa.Array, times: int = 1) -> pa.Table:
    ages = np.random.default_rng(5).integers(18, 90, len(stratum) * times)
    return pa.table({"age": ages, "share": pa.concat_arrays([stratum] * times)})


@pytest.mark.parametrize("name", STRATA)
def test_no_reader_sees_a_small_class(tmp_path: Path, name: str) -> None:
    path = tmp_path / "out.parquet"
    release = ma.anonymize(
        table_with(STRATA[name]), k=K, quasi=["age"], stratum=["share"], effort="quick", seed=1
    )
    release.save(path)
    assert release.table.schema.field("share").type == STRATA[name].type
    for smallest in READERS:
        assert smallest(path, ["age", "share"]) >= K, smallest.__name__


@pytest.mark.slow
@pytest.mark.parametrize("name", ["NaN and null", "zeros", "categories"])
def test_beyond_memory_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    settings = {
        "k": K,
        "quasi": ["age"],
        "stratum": ["share"],
        "effort": "quick",
        "seed": 1,
        "date": "2026-01-01",
    }
    in_memory, out_of_core, _ = both_ways(
        tmp_path, monkeypatch, table_with(STRATA[name], 20), **settings
    )
    assert in_memory["out.parquet"] == out_of_core["out.parquet"]
    for smallest in READERS:
        assert smallest(tmp_path / "beyond" / "out.parquet", ["age", "share"]) >= K, (
            smallest.__name__
        )


@pytest.mark.parametrize("library", ["polars", "pandas", "pandas over Arrow"])
def test_every_library_gets_its_type_back(library: str) -> None:
    table: Any = table_with(STRATA["NaN and null"])
    if library == "polars":
        table = pl.from_arrow(table)
    elif library == "pandas":
        table = table.to_pandas()
    else:
        table = table.to_pandas(types_mapper=pd.ArrowDtype)
    released = ma.anonymize(
        table, k=K, quasi=["age"], stratum=["share"], effort="quick", seed=1
    ).table
    assert released["share"].dtype == table["share"].dtype
    shares = released.to_arrow()["share"] if library == "polars" else pa.array(released["share"])
    assert shares.null_count == 30


@pytest.mark.parametrize("aggregate", ["draw", "medoid", "median"])
def test_a_member_s_zero_has_no_sign(aggregate: str) -> None:
    balance = [0.0, -0.0] * 30
    table = pa.table({"balance": balance, "age": [30.0] * 60})
    release = ma.anonymize(
        table,
        k=K,
        quasi=["balance", "age"],
        aggregate={"balance": aggregate},
        method="mdav",
        seed=2,
    )
    assert not np.signbit(release.table.column("balance").to_numpy()).any()


def test_categories_of_numbers_have_one_zero_and_one_gap() -> None:
    table = pa.table(
        {"share": pa.array([-0.0, 0.0, NAN, None, NAN] * 12), "age": pa.array([30] * 60)}
    )
    released = ma.anonymize(
        table, k=K, quasi=["share", "age"], nominal=["share"], method="mdav", seed=2
    ).table
    assert set(by_bits(released.column("share"))) <= {"0.0", None}


@pytest.mark.parametrize("name", ["NaN and null", "zeros", "categories"])
def test_check_counts_by_bits_and_says_so(name: str) -> None:
    table = table_with(STRATA[name]).set_column(0, "age", pa.array([30] * 60))
    result = ma.check(table, ["age", "share"], k=K)
    assert (result.holds, result.counted_by, result.sizes.min()) == (False, "bits", 1)
    plain = ma.check(pa.table({"age": [30.0] * 30 + [0.0] * 30}), ["age"], k=K)
    assert (plain.holds, plain.counted_by) == (True, "value")


def test_all_nan_are_one_value() -> None:
    """NaN has a sign and a payload, which no reader groups by."""
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001] * 2, np.uint64)
    result = ma.check(pa.table({"share": bits.view(np.float64)}), ["share"], k=6)
    assert result.holds
