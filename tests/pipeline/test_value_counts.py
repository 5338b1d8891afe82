"""Order statistics and different values, counted chunk by chunk, against numpy on the whole
column.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from microagg.errors import InputError
from microagg.files.chunks import Source
from microagg.kernels.counting import repeated_moments
from microagg.kernels.sums import column_moments
from microagg.pipeline import value_counts
from microagg.pipeline.column_stats import ColumnRequest, NumberFacts, scan_chunk, settled
from microagg.pipeline.value_counts import Quantile, different_values, key_of, value_of, values_at
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.executor import ThreadExecutor
from microagg.table.reduction import combine_named
from microagg.table.scales import SCALES, axis_of_ranks
from microagg.table.schema import Column, Kind, Role

RECORDS = 3000


def hard_columns() -> dict[str, pa.Array]:
    rng = np.random.default_rng(2)
    zeros = rng.choice([-0.0, 0.0], RECORDS)
    gaps = rng.random(RECORDS) < 0.3
    exponents = rng.integers(-90, 90, RECORDS).astype(float)
    return {
        "ties": pa.array(rng.integers(0, 4, RECORDS)),
        "zeros": pa.array(np.where(rng.random(RECORDS) < 0.6, zeros, rng.standard_normal(RECORDS))),
        "subnormal": pa.array(rng.integers(-9, 9, RECORDS) * 5e-324),
        "huge": pa.array(rng.choice([-1.0, 1.0], RECORDS) * 10.0**exponents),
        "constant": pa.array(np.full(RECORDS, -7.25)),
        "gaps": pa.array(
            np.where(rng.random(RECORDS) < 0.1, np.nan, rng.lognormal(9, 2, RECORDS)), mask=gaps
        ),
        "single": pa.array(rng.standard_normal(RECORDS).astype(np.float32)),
        "close": pa.array(1.0 + rng.integers(0, 50, RECORDS) * np.spacing(1.0)),
        "far": pa.array(np.where(np.arange(RECORDS) == 5, 1e99, rng.standard_normal(RECORDS))),
        "one of two": pa.array(np.where(np.arange(RECORDS) < 1500, 1.0, 2.0)),
    }


@pytest.fixture
def passes(tmp_path: Path) -> ChunkMap:
    pa.parquet.write_table(pa.table(hard_columns()), tmp_path / "in.parquet", row_group_size=700)
    source = Source.of(tmp_path / "in.parquet")
    return ChunkMap(
        source, [(first, 256) for first in range(0, 2816, 256)] + [(2816, 184)], ThreadExecutor(2)
    )


def facts_in(passes: ChunkMap):
    requests = [ColumnRequest.of(Column(name, Role.QUASI, Kind.NUMERIC)) for name in hard_columns()]
    stats: dict = {}
    for chunk in passes.map_chunks("scanning", scan_chunk, requests):
        combine_named(stats, chunk.columns)
    variables, facts = settled(passes.map_chunks, requests, stats)
    numbers = {j: fact for j, fact in enumerate(facts) if isinstance(fact, NumberFacts)}
    assert len(numbers) == len(variables)
    return tuple(variables), numbers


def known_values() -> list[np.ndarray]:
    arrays = []
    for column in hard_columns().values():
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        arrays.append(values[~np.isnan(values)])
    return arrays


@pytest.mark.parametrize(("bits", "collected"), [(3, 2), (16, 40), (16, 1 << 16)])
def test_the_values_at_places(
    passes: ChunkMap, monkeypatch: pytest.MonkeyPatch, bits: int, collected: int
) -> None:
    monkeypatch.setattr(value_counts, "MOST_BITS", bits)
    monkeypatch.setattr(value_counts, "COLLECTED", collected)
    variables, facts = facts_in(passes)
    columns = known_values()
    places = {
        j: sorted(
            {
                0,
                len(column) - 1,
                len(column) // 2,
                len(column) // 3,
                len(column) // 3 + 1,
                len(column) - 2,
            }
        )
        for j, column in enumerate(columns)
    }
    result = values_at(passes, variables, facts, places)
    for j, column in enumerate(columns):
        expected = np.partition(column, places[j])[places[j]]
        assert [result[j][index] for index in places[j]] == expected.tolist(), variables[j].name
        assert not any(np.signbit(value) and value == 0.0 for value in result[j].values())


def test_few_passes_do(passes: ChunkMap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_counts, "COLLECTED", 100)
    variables, facts = facts_in(passes)
    names: list[str] = []
    counted = ChunkMap(
        passes.source, [(0, RECORDS)], passes.executor, lambda what, records: names.append(what)
    )
    for j in range(len(variables)):
        names.clear()
        values_at(counted, variables, facts, {j: [0, 700, facts[j].known // 2, facts[j].known - 1]})
        assert len(names) <= 2, variables[j].name


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75, 0.999, 0.0, 1.0, 0.1234567])
def test_quantiles_are_those_of_numpy(share: float) -> None:
    rng = np.random.default_rng(1)
    for count in (1, 2, 3, 7, 100, 1001, 4096):
        values = np.sort(rng.lognormal(3, 4, count) * rng.choice([-1, 1], count))
        held = dict(enumerate(values.tolist()))
        for method in ("linear", "lower", "higher"):
            quantile = Quantile.of(share, count, method).value(held)
            assert quantile == np.quantile(values, share, method=method)
            assert quantile == np.quantile(values, [share], method=method)[0]


def test_keys_keep_the_order() -> None:
    values = np.array([-1e100, -1.0, -5e-324, 0.0, 5e-324, 1.0, np.nextafter(1.0, 2.0), 1e100])
    keys = [key_of(value) for value in values]
    assert keys == sorted(set(keys))
    assert [value_of(key) for key in keys] == values.tolist()


def test_ranks_are_those_of_the_whole(passes: ChunkMap) -> None:
    variables, _ = facts_in(passes)
    result = different_values(passes, variables, range(len(variables)), 10**9)
    for j, values in enumerate(known_values()):
        steps, counts = np.unique(values, return_counts=True)
        assert result[j][0].tolist() == steps.tolist()
        assert result[j][1].tolist() == counts.tolist()
        axis, expected = (
            axis_of_ranks(*result[j]),
            SCALES["rank"].measure(np.ascontiguousarray(values)),
        )
        assert (axis.centre, axis.width) == (expected.centre, expected.width)
        slowly = (
            column_moments(axis.coordinates(values).reshape(-1, 1))
            if axis.width
            else np.zeros((2, 1))
        )
        assert slowly[:, 0] == pytest.approx([0.0, 1.0 if axis.width else 0.0], abs=1e-12)


def test_different_values_that_do_not_fit_are_refused_with_the_figure(passes: ChunkMap) -> None:
    variables, _ = facts_in(passes)
    different = [len(np.unique(values)) for values in known_values()]
    room = value_counts.OF_A_VALUE * sum(different) + value_counts.IN_MERGING * max(different)
    different_values(passes, variables, range(len(variables)), room)
    with pytest.raises(
        InputError, match=rf"takes {room / 1e6:.1f} MB and more, but a quarter of the memory is"
    ):
        different_values(passes, variables, range(len(variables)), room - 1)


def test_moments_of_values_that_occur_several_times() -> None:
    rng = np.random.default_rng(0)
    values, counts = rng.lognormal(0, 9, 200), rng.integers(1, 70, 200)
    assert repeated_moments(values, counts).tolist() == column_moments(
        np.repeat(values, counts).reshape(-1, 1)
    )[:, 0].tolist()  # fmt: skip
