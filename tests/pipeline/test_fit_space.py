"""Facts and spaces chunk by chunk against those of the whole table."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from microagg.files.chunks import Source
from microagg.kernels import sums
from microagg.pipeline import turned_space
from microagg.pipeline.column_stats import ColumnRequest, scan_chunk, settled
from microagg.pipeline.fit_space import ScalingOptions, fit
from microagg.pipeline.totals import Centres, Totals
from microagg.release.settings import Settings
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.executor import ThreadExecutor
from microagg.table import encoder
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.cells import cells_of
from microagg.table.columns.column_encoding import cells_in
from microagg.table.columns.digests import digest_of, digest_of_runs
from microagg.table.encoder import Space
from microagg.table.precision import Precision, precision_of
from microagg.table.reduction import combine_named
from microagg.table.scales import SCALES
from microagg.table.schema import Column, Kind, Role


def random_table(seed: int, records: int = 700) -> tuple[pa.Table, list[Column]]:
    """Columns of many kinds: whole, floats of few and of all decimals, of very different sizes,
    gaps of both sorts, categories.
    """
    rng = np.random.default_rng(seed)
    gaps = rng.random(records) < 0.2
    lognormal = rng.lognormal(9.0, 2.0, records)
    every = {
        "whole": pa.array(rng.integers(-50, 50, records)),
        "gappy": pa.array(rng.integers(0, 9, records), mask=gaps),
        "tails": pa.array(lognormal),
        "cents": pa.array(np.round(lognormal, 2)),
        "nan": pa.array(np.where(gaps, np.nan, np.round(rng.standard_normal(records), 1))),
        "single": pa.array(np.round(rng.standard_normal(records), 2).astype(np.float32)),
        "constant": pa.array(np.full(records, 7.5)),
        "one value": pa.array(np.full(records, 3), mask=gaps),
        "empty": pa.array([None] * records, pa.int64()),
        "town": pa.array(
            [f"t{number}" for number in rng.integers(0, 1 + seed % 70, records)],
            mask=rng.random(records) < 0.1,
        ),
        "flag": pa.array(rng.random(records) < 0.5),
        "code": pa.array(rng.integers(0, 3, records)),
    }
    names = list(every) if seed % 3 else ["whole", "tails", "cents"]
    names = [name for name in names if seed % 3 == 0 or rng.random() < 0.7] or ["whole"]
    kinds = {
        "town": Kind.NOMINAL,
        "flag": Kind.NOMINAL,
        "code": Kind.NOMINAL,
        "empty": Kind.NUMERIC,
    }
    columns = [Column(name, Role.QUASI, kinds.get(name, Kind.NUMERIC)) for name in names]
    return pa.table({name: every[name] for name in names}), columns


SPECIAL: dict[str, tuple[Any, ...]] = {
    "coded": (97, 98),
    "texts": (-8,),
    "born": ("1900-01-01",),
    "price": (0,),
    "school": ("?",),
    "all special": (1, 2),
    "never": (5,),
}
NA = ["-9", "none", "-9.5"]


def table_of_every_kind(seed: int, records: int = 700) -> tuple[pa.Table, list[Column]]:
    """Times of all sorts, Decimals, long numbers, text that spells numbers, ordered levels; gaps,
    markers and codes, some of them late.
    """
    rng = np.random.default_rng([seed, 1])
    late = np.arange(records) > 0.9 * records
    gaps = (rng.random(records) < 0.2) & (late if seed % 2 else True)
    days = rng.integers(0, 20_000, records)
    stamps = days * 86_400_000_000 + 3_600_000_000 * rng.integers(0, 24, records)
    stamps += np.where(late, 1_000_000, 0)  # a finer resolution, late
    local = pa.array(days.astype("datetime64[D]").astype("datetime64[s]")).cast(pa.timestamp("s"))
    whole = rng.integers(0, 50, records)
    texts = np.where(gaps, rng.choice(["NA", "", "-9", "-8"], records), whole.astype(str)).astype(
        object
    )
    texts[late & (whole == 3)] = "3.0"
    school = rng.choice(["low", "mid", "high", "none", "?"], records, p=[0.4, 0.3, 0.2, 0.05, 0.05])
    levels = pa.array(["low", "never seen", "mid", "high", "none", "?"])
    codes = pa.array(rng.choice([0, 2, 3], records), pa.int8(), mask=gaps)
    every: dict[str, Any] = {
        "born": pa.array(np.where(late & (days < 3000), -25_567, days), pa.int32(), mask=gaps).cast(
            pa.date32()
        ),
        "seen": pa.array(stamps).cast(pa.timestamp("us")),
        "zoned": pc.assume_timezone(local, "Europe/Berlin"),
        "lasts": pa.array(days * 1000, mask=gaps).cast(pa.duration("ms")),
        "at": pa.array(rng.integers(0, 86_400, records), pa.int32()).cast(pa.time32("s")),
        "price": pa.array(
            [Decimal(int(number)).scaleb(-2) for number in rng.integers(0, 9999, records)],
            pa.decimal128(9, 2),
            mask=gaps,
        ),
        "plain price": pa.array(
            [Decimal(int(number)).scaleb(-1) for number in rng.integers(0, 9999, records)],
            pa.decimal128(9, 2),
        ),
        "deep": pa.array(
            [Decimal(10**17 + int(number)).scaleb(-2) for number in whole], pa.decimal128(20, 2)
        ),
        "long": pa.array(2**60 + whole, mask=gaps),
        "coded": pa.array(
            np.where(late & (whole < 9), 97, np.where(whole == 4, -9, whole)), mask=gaps
        ),
        "never": pa.array(whole + 9),
        "floats": pa.array(np.where(gaps, -9.5, whole / 4)),
        "all special": pa.array(np.where(gaps, 1, 2)),
        "half": pa.array((whole / 4).astype(np.float16)),
        "texts": pa.array(texts),
        "school": pa.array(school, pa.large_string(), mask=gaps),
        "declared": pa.array(school, pa.string_view()),
        "ordered": pa.DictionaryArray.from_arrays(codes, levels, ordered=True),
        "categories": pa.DictionaryArray.from_arrays(codes, levels),
        "markers": pa.array(np.full(records, "none")),
    }
    kinds = {
        "school": Kind.ORDINAL,
        "declared": Kind.ORDINAL,
        "ordered": Kind.ORDINAL,
        "categories": Kind.NOMINAL,
    }
    kinds["markers"] = Kind.NOMINAL
    declared = {"declared": ("?", "low", "mid", "high", "unseen")}
    names = [name for name in every if rng.random() < 0.6] or ["born"]
    columns = [
        Column(name, Role.QUASI, kinds.get(name, Kind.NUMERIC), declared.get(name))
        for name in names
    ]
    return pa.table({name: every[name] for name in names}), columns


def in_chunks(tmp_path: Path, table: pa.Table, size: int, groups: int) -> ChunkMap:
    pa.parquet.write_table(table, tmp_path / "in.parquet", row_group_size=groups)
    source = Source.of(tmp_path / "in.parquet")
    return ChunkMap(source, source.chunks(size), ThreadExecutor(2))


@pytest.mark.parametrize("scale", list(SCALES))
@pytest.mark.parametrize("seed", range(9))
def test_a_space_in_passes_is_that_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, scale: str
) -> None:
    for module in (encoder, turned_space):
        monkeypatch.setattr(module, "RUN", 64)
    table, columns = random_table(seed) if seed < 6 else table_of_every_kind(seed)
    codes: dict[str, Any] = {} if seed < 6 else {"special": SPECIAL, "na": NA}
    whole = cells_of(nw.from_native(table, eager_only=True), columns, **codes)
    passes = in_chunks(tmp_path, table, 128, 90)
    requests, stats = [ColumnRequest.of(column, **codes) for column in columns], {}
    for chunk in passes.map_chunks("scanning", scan_chunk, requests):
        combine_named(stats, chunk.columns)
    variables, facts = settled(passes.map_chunks, requests, stats)
    assert [entry.variable for entry in variables] == list(whole.variables)
    cells = cells_in(table, variables)
    parts = [cells_in(table.slice(first, 100), variables, first) for first in range(0, 700, 100)]
    assert np.array_equal(np.vstack([part.values for part in parts]), cells.values, equal_nan=True)
    assert np.array_equal(cells.values, whole.values, equal_nan=True)
    assert (cells.atoms is None and whole.atoms is None) or np.array_equal(cells.atoms, whole.atoms)
    importance = {columns[0].name: 2.5} if seed % 2 else {}
    fitted, expected = (
        fit(passes, variables, facts, ScalingOptions(scale, importance, room=10**8)),
        Space.fit(whole, scale, importance),
    )
    assert fitted.space.points(cells).tolist() == expected.points(whole).tolist()
    assert [fitted.space.about_column(j) for j in range(len(columns))] == [
        expected.about_column(j) for j in range(len(columns))
    ]
    precisions = [
        precision_of(variable, whole.values[:, j]) if variable.kind is Kind.NUMERIC else Precision()
        for j, variable in enumerate(variables)
    ]
    assert list(fitted.precisions) == precisions
    spaces = [expected, Space.fit(whole)][: 1 if scale == "zscore" and not importance else 2]
    totals = Totals.of_chunk(fitted.measured, cells.rows(slice(0, 300)))
    totals.combine(Totals.of_chunk(fitted.measured, cells.rows(slice(300, None))))
    centres = Centres.of(fitted.measured, totals, facts, len(cells))
    squares = centres.squares(fitted.measured, cells.rows(slice(0, 99)))
    squares.combine(centres.squares(fitted.measured, cells.rows(slice(99, None))))
    for space, found_in in zip(spaces, squares.by_space(fitted.measured), strict=True):
        assert [sums.rounded(total, 0) for total in found_in] == space.column_totals(whole).tolist()


@pytest.mark.parametrize("size", [1 << 16, 3 << 16])
def test_the_digest_is_that_of_the_whole(tmp_path: Path, size: int) -> None:
    table = pa.table({"a": np.arange(200_000), "b": [f"{number % 7}" for number in range(200_000)]})
    passes = in_chunks(tmp_path, table, size, 30_000)
    runs = [run for chunk in passes.map_chunks("scanning", scan_chunk, []) for run in chunk.runs]
    assert digest_of_runs(table.column_names, 200_000, runs) == digest_of(table)


@pytest.mark.parametrize(
    "options",
    [
        ScalingOptions("robust", room=10**8),
        ScalingOptions("robust", cap=Settings.of(k=2, cap="tails=95%").cap, room=10**8),
        ScalingOptions("zscore", cap=Settings.of(k=2, cap="tails=1%:99%").cap, room=10**8),
    ],
)
def test_all_places_in_the_order_are_looked_up_in_the_same_pass(
    tmp_path: Path, options: ScalingOptions
) -> None:
    """So few values are collected at once; a place that nobody asked for in time takes another."""
    table, columns = random_table(5)
    assert {"tails", "gappy", "one value"} <= {column.name for column in columns}
    passes = in_chunks(tmp_path, table, 128, 90)
    requests, scanned = [ColumnRequest.of(column) for column in columns], {}
    for chunk in passes.map_chunks("scanning", scan_chunk, requests):
        combine_named(scanned, chunk.columns)
    variables, facts = settled(passes.map_chunks, requests, scanned)
    counted: list[int] = []
    passes.tell = lambda what, records: counted.append(records) if what == "counting" else None
    fit(passes, variables, facts, options)
    assert sum(counted) == table.num_rows
