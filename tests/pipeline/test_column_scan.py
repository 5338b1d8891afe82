"""Columns of every kind, and what groups release of them, beyond memory: the same to the byte as in
memory.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from microagg.pipeline.memory_budget import MemoryBudget
from microagg.table.columns.arrow import compute as pc
from passes import both_ways

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)


def table_of(records: int = 1600, seed: int = 5) -> pa.Table:
    """Quasi-identifiers, kept and confidential columns of all sorts; gaps, markers, codes and finer
    values that come late.
    """
    rng = np.random.default_rng(seed)
    late = np.arange(records) > 0.9 * records
    gaps, few = rng.random(records) < 0.2, (rng.random(records) < 0.3) & late
    days, whole = rng.integers(0, 9000, records), rng.integers(18, 90, records)
    stamps = days * 86_400_000_000 + np.where(late, 1_000_000, 3_600_000_000) * rng.integers(
        0, 24, records
    )
    local = pa.array(days.astype("datetime64[D]").astype("datetime64[s]")).cast(pa.timestamp("s"))
    texts = np.where(gaps, rng.choice(["NA", "", "-9", "-8"], records), whole.astype(str)).astype(
        object
    )
    texts[late & (whole < 30)] = "29.0"
    school = rng.choice(["low", "mid", "high", "none", "?"], records, p=[0.4, 0.3, 0.2, 0.05, 0.05])
    levels = pa.array(["low", "never seen", "mid", "high", "none", "?"])
    codes = pa.array(rng.choice([0, 2, 3], records, p=[0.6, 0.3, 0.1]), pa.int8(), mask=gaps)
    cents = rng.lognormal(8.0, 1.0, records).astype(int)
    return pa.table(
        {
            "born": pa.array(np.where(few, -25_567, days), pa.int32(), mask=gaps).cast(pa.date32()),
            "seen": pa.array(stamps).cast(pa.timestamp("us")),
            "zoned": pc.assume_timezone(local, "Europe/Berlin"),
            "lasts": pa.array(days * 1000, mask=gaps).cast(pa.duration("ms")),
            "at": pa.array(rng.integers(0, 86_400, records), pa.int32()).cast(pa.time32("s")),
            "price": pa.array(
                [Decimal(int(number)).scaleb(-2) for number in cents], pa.decimal128(9, 2), mask=few
            ),
            "cost": pa.array(
                [Decimal(int(number)).scaleb(-1) for number in cents], pa.decimal128(9, 2)
            ),
            "deep": pa.array(
                [Decimal(10**17 + int(number)).scaleb(-2) for number in whole], pa.decimal128(20, 2)
            ),
            "long": pa.array(2**60 + whole, mask=few),
            "age": pa.array(np.where(few, 97, np.where(whole == 40, -9, whole))),
            "score": pa.array(
                np.where(gaps, -9.0, np.round(rng.standard_normal(records), 1)), mask=few
            ),
            "texts": pa.array(texts),
            "school": pa.array(school, pa.large_string(), mask=few),
            "grade": pa.array(school, pa.string_view()),
            "ordered": pa.DictionaryArray.from_arrays(codes, levels, ordered=True),
            "town": pa.DictionaryArray.from_arrays(codes, levels),
            "w": pa.array(
                [Decimal(int(number)).scaleb(-2) for number in cents + 1], pa.decimal128(9, 2)
            ),
            "kept": pa.DictionaryArray.from_arrays(
                pa.array(rng.integers(1, 3, records)),
                pa.array([Decimal(3), Decimal(7), Decimal(1)]),
            ),
            "list": pa.array([[int(number)] * (number % 3) for number in days]),
            "bytes": pa.array([str(number).encode() for number in days], pa.binary()),
            "view": pa.array([f"v{number}" for number in whole], pa.string_view()),
            "stamp": pa.array(stamps).cast(pa.timestamp("ns", "Asia/Kolkata")),
        }
    )


QUASI = (
    ["born", "seen", "zoned", "lasts", "at"],
    ["price", "cost", "deep", "long", "age", "score"],
    ["texts", "school", "grade", "ordered", "town", "born", "age"],
)
GIVEN: dict[str, Any] = {
    "k": 4,
    "seed": 3,
    "effort": "quick",
    "date": "2026-01-01",
    "rest": "drop",
    "confidential": ["bytes", "stamp"],
    "keep": ["kept", "list", "view"],
    "ordinal": {"grade": ["?", "low", "mid", "high", "unseen"], "school": None},
    "kinds": {"texts": "numeric"},
    "special": {"age": [97], "born": ["1900-01-01"], "texts": [-8], "school": ["?"]},
    "na": ["-9", "none"],
}


def settings_for(quasi: list[str], **more: Any) -> dict[str, Any]:
    """The settings that are about these columns."""
    settings = {**GIVEN, **more, "quasi": quasi}
    for name in ("ordinal", "kinds", "special"):
        kept = {column: value for column, value in settings[name].items() if column in quasi}
        settings[name] = kept
    return settings


CASES: list[tuple[int, int, dict[str, Any]]] = [
    (
        0,
        64,
        {
            "stratum": ["kept"],
            "keep": ["list", "view"],
            "t": 0.6,
            "confidential": ["ordered", "stamp"],
            "scale": "rank",
        },
    ),
    (
        1,
        64,
        {
            "weight": "w",
            "cap": {
                "price": ("5%", 4000),
                "deep": (None, "90%"),
                "age": (20, "80%"),
                "score": ("9%", None),
            },
        },
    ),
    (
        2,
        1280,
        {"weight": "w", "aggregate": {"w": "drop"}, "scale": "robust", "importance": {"town": 2}},
    ),
]


@pytest.mark.parametrize(("index", "chunk", "more"), CASES)
def test_the_same_release_as_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: int, chunk: int, more: dict[str, Any]
) -> None:
    settings = settings_for(QUASI[index], **more)
    in_memory, out_of_core, manifest = both_ways(
        tmp_path, monkeypatch, table_of(), chunk, **settings
    )
    assert manifest == json.loads(in_memory["out.parquet.internal.json"])
    assert out_of_core == in_memory


TREE = {"low": "some", "mid": "some", "high": "more", "?": "more", "some": "*", "more": "*"}
AGES = [[str(age), f"{age // 10}0s", "*"] for age in range(100)]
RISKS = {"accept_risk": ["true-values"]}
AGGREGATES: list[tuple[list[str], int, dict[str, Any]]] = [
    (
        ["born", "at", "price", "age", "grade", "town"],
        64,
        {
            "aggregate": {
                "born": "range",
                "at": "median",
                "price": "range",
                "age": "generalise",
                "grade": "mode",
                "town": "draw",
            },
            "hierarchy": {"age": AGES, "town": TREE},
            "weight": "w",
            **RISKS,
        },
    ),
    (
        ["zoned", "lasts", "score", "school", "ordered", "town"],
        1280,
        {
            "aggregate": {
                "zoned": "range",
                "lasts": "range",
                "score": "medoid",
                "school": "range",
                "ordered": "generalise",
                "town": "generalise",
            },
            "hierarchy": {"ordered": TREE, "town": TREE},
            "precision": "full",
            "accept_risk": ["true-values", "full-precision"],
        },
    ),
]


@pytest.mark.parametrize(("quasi", "chunk", "more"), AGGREGATES)
def test_aggregates_release_the_same_as_in_memory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    quasi: list[str],
    chunk: int,
    more: dict[str, Any],
) -> None:
    in_memory, out_of_core, manifest = both_ways(
        tmp_path, monkeypatch, table_of(), chunk, **settings_for(quasi, **more)
    )
    assert manifest == json.loads(in_memory["out.parquet.internal.json"])
    assert out_of_core == in_memory


def test_values_that_one_record_alone_has_must_be_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    table = pa.table(
        {"age": rng.integers(0, 50, 1600).repeat(2)[:1600], "rent": rng.permutation(1600)}
    )
    settings: dict[str, Any] = {
        "quasi": ["age", "rent"],
        "k": 4,
        "seed": 3,
        "effort": "quick",
        "date": "2026-01-01",
    }
    in_memory, out_of_core, _ = both_ways(
        tmp_path, monkeypatch, table, aggregate={"age": "median"}, **settings
    )
    assert out_of_core == in_memory
    for way in ("memory", "beyond"):
        for file in (tmp_path / way).iterdir():
            file.unlink()
    with pytest.raises(ma.InputError, match="true-values"):
        both_ways(tmp_path, monkeypatch, table, aggregate={"rent": "median"}, **settings)
    anonymize = {"memory": 1, "aggregate": {"age": "median", "rent": "range"}, **settings}
    with pytest.raises(ma.InputError, match="true-values"):
        ma.anonymize_file(tmp_path / "in.parquet", tmp_path / "beyond" / "out.parquet", **anonymize)
    assert not list((tmp_path / "beyond").iterdir())


@pytest.mark.parametrize("name", ["born", "seen", "lasts", "town", "texts"])
def test_what_is_no_number_is_no_weight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Dates, moments, durations, categories and texts."""
    table, settings = table_of().select(["age", name]), {"k": 4, "quasi": ["age"], "seed": 1}
    with pytest.raises(ma.InputError, match=f"the weight '{name}' does not hold numbers"):
        ma.anonymize(table, weight=name, **settings)
    monkeypatch.setattr(MemoryBudget, "checked", lambda self, *_: MemoryBudget(10**8, 2, 64, 2))
    pa.parquet.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(ma.InputError, match=f"the weight '{name}' does not hold numbers"):
        ma.anonymize_file(
            tmp_path / "in.parquet", tmp_path / "out.parquet", memory=1, weight=name, **settings
        )
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.slow
def test_columns_without_any_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Null throughout, or the code of a gap; numbers, levels and names."""
    records = 1200
    none = pa.array(["none"] * records)
    table = pa.table(
        {
            "age": np.arange(records) % 70,
            "rent": np.arange(records) ** 2 % 977,
            "level": none,
            "town": none,
            "number": pa.array([-9] * records),
            "null": pa.nulls(records, pa.float64()),
            "word": pa.nulls(records, pa.string()),
        }
    )
    in_memory, out_of_core, _ = both_ways(
        tmp_path, monkeypatch, table, k=4, seed=1, effort="quick", date="2026-01-01",
        quasi=table.column_names, ordinal={"level": ["low", "high"]}, nominal=["town", "word"],
        na=["none", -9],
    )  # fmt: skip
    assert out_of_core == in_memory
