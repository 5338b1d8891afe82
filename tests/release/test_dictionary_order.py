"""Dictionaries of released categories follow from what is released: they tell nothing of the order
of the original rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import microagg as ma
import small_blocks
from microagg.table.columns.arrow import of_used_categories
from passes import both_ways

ILLNESSES = ["typhus", "asthma", "flu", "gout"]
CODES = [f"c{number:03d}" for number in np.random.default_rng(4).permutation(60)]
SETTINGS: dict[str, Any] = {
    "k": 5,
    "quasi": ["age", "code"],
    "confidential": ["ill"],
    "stratum": ["area"],
    "seed": 3,
    "effort": "quick",
    "date": "2026-01-01",
}


def register(records: int = 120) -> dict[str, list[Any]]:
    """A register whose first rows have values that come last in the alphabet."""
    rng = np.random.default_rng(8)
    codes = [CODES[row // 2 % len(CODES)] for row in range(records)]
    return {
        "age": rng.integers(18, 90, records).tolist(),
        "code": codes,
        "ill": [ILLNESSES[row % 4] for row in range(records)],
        "area": ["west" if row % 2 == 0 else "east" for row in range(records)],
    }


def encoded(values: list[Any], categories: list[Any], kind: pa.DataType) -> pa.DictionaryArray:
    """Values as categories that have this order in memory."""
    places = pa.array([categories.index(value) for value in values], kind)
    return pa.DictionaryArray.from_arrays(places, pa.array(categories))


def arrow_table(order: str, records: int = 120) -> pa.Table:
    """The register with dictionaries in the order of first appearance, or reversed with unused
    values and other indices.
    """
    rows = register(records)
    columns: dict[str, Any] = {"age": pa.array(rows["age"])}
    for name in ("code", "ill", "area"):
        first = list(dict.fromkeys(rows[name]))
        if order == "reversed":
            columns[name] = encoded(rows[name], ["unused", *reversed(first)], pa.int16())
        else:
            columns[name] = encoded(rows[name], first, pa.int32())
    return pa.table(columns)


def dictionary_in(path: Path, name: str) -> list[Any]:
    """The dictionary of a column as it lies in a file."""
    read = pq.read_table if path.suffix == ".parquet" else feather.read_table
    return read(path).column(name).combine_chunks().dictionary.to_pylist()


@pytest.mark.parametrize("library", ["arrow", "polars", "pandas", "pandas over Arrow"])
@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_dictionaries_in_files_are_sorted(tmp_path: Path, library: str, suffix: str) -> None:
    table: Any = arrow_table("first")
    if library == "polars":
        table = pl.DataFrame(
            register(), schema_overrides=dict.fromkeys(["code", "ill", "area"], pl.Categorical)
        )
    elif library == "pandas":
        table = pd.DataFrame(register())
        for name in ("code", "ill", "area"):
            table[name] = pd.Categorical(table[name], categories=list(dict.fromkeys(table[name])))
    elif library == "pandas over Arrow":
        table = table.to_pandas(types_mapper=pd.ArrowDtype)
    path = tmp_path / f"out.{suffix}"
    ma.anonymize(table, **SETTINGS).save(path)
    for name in ("code", "ill", "area"):
        values = dictionary_in(path, name)
        assert values == sorted(values)
    assert dictionary_in(path, "ill") == sorted(ILLNESSES)


def test_the_released_table_has_sorted_categories() -> None:
    table = pd.DataFrame(register())
    for name in ("code", "ill", "area"):
        table[name] = pd.Categorical(table[name], categories=list(dict.fromkeys(table[name])))
    released = ma.anonymize(table, **SETTINGS).table
    assert list(released["ill"].cat.categories) == sorted(ILLNESSES)
    assert list(released["code"].cat.categories) == sorted(set(released["code"]))
    arrow = ma.anonymize(arrow_table("first"), **SETTINGS).table
    assert arrow.column("ill").chunk(0).dictionary.to_pylist() == sorted(ILLNESSES)


def test_declared_levels_keep_their_order(tmp_path: Path) -> None:
    table = pd.DataFrame(register())
    table["ill"] = pd.Categorical(table["ill"], categories=[*ILLNESSES, "unused"], ordered=True)
    release = ma.anonymize(table, **SETTINGS)
    release.save(tmp_path / "out.parquet")
    assert list(release.table["ill"].cat.categories) == ILLNESSES
    assert dictionary_in(tmp_path / "out.parquet", "ill") == ILLNESSES


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_equal_releases_are_equal_files(tmp_path: Path, suffix: str) -> None:
    """Neither the order of a dictionary, nor its unused values, nor the width of its indices is in
    a file.
    """
    written = []
    for order in ("first", "reversed"):
        folder = tmp_path / order
        folder.mkdir()
        ma.anonymize(arrow_table(order), **SETTINGS).save(folder / f"out.{suffix}")
        written.append({path.name: path.read_bytes() for path in sorted(folder.iterdir())})
    assert written[0] == written[1]


@pytest.mark.slow
@pytest.mark.parametrize("order", ["first", "reversed"])
def test_beyond_memory_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    in_memory, beyond, _ = both_ways(tmp_path, monkeypatch, arrow_table(order, 1200), **SETTINGS)
    assert in_memory["out.parquet"] == beyond["out.parquet"]
    assert dictionary_in(tmp_path / "beyond" / "out.parquet", "ill") == sorted(ILLNESSES)


def test_a_value_twice_in_a_dictionary_is_one() -> None:
    """A dictionary may hold a value twice, or a missing one: readers that group by index would see
    two classes.
    """
    column = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, 3, None]), pa.array(["b", "a", "b", None])
    )
    result = of_used_categories(pa.chunked_array([column])).chunk(0)
    assert result.dictionary.to_pylist() == ["a", "b"]
    assert result.indices.to_pylist() == [1, 0, 1, None, None]


def test_lists_as_categories_have_an_order_too() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array([[2], [1], [2]]))
    result = of_used_categories(pa.chunked_array([column])).chunk(0)
    assert result.dictionary.to_pylist() == [[1], [2]]
    assert result.indices.to_pylist() == [1, 0, 1]
