"""Units of strata, counted chunk by chunk, against counting one by one; and who is refused for
what.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from microagg.errors import InputError
from microagg.files.chunks import Source
from microagg.guarantees.units import Units
from microagg.pipeline.column_stats import LevelFacts
from microagg.pipeline.strata_plan import StrataCodes
from microagg.pipeline.units import CountedUnits, UnitColumn
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.executor import ThreadExecutor

K = 3
HOME = UnitColumn(pa.field("home", pa.string()), ("?",))


def passes_over(folder: Path, table: pa.Table, chunk: int) -> ChunkMap:
    pa.parquet.write_table(table, folder / "in.parquet", row_group_size=7)
    source = Source.of(folder / "in.parquet")
    return ChunkMap(source, source.chunks(chunk), ThreadExecutor(1))


def counted(folder: Path, table: pa.Table, chunk: int) -> CountedUnits:
    passes = passes_over(folder, table, chunk)
    areas = table.column("area").to_pylist()
    facts = LevelFacts("area", len(areas), dict(Counter(areas)))
    strata, _ = StrataCodes.counted(passes, [facts])
    return CountedUnits.of(passes, HOME, Units(K), strata)


def lacks(homes: list[str]) -> bool:
    counts = Counter(home.strip().lower() for home in homes)
    return len(counts) < K or 2 * max(counts.values()) > len(homes)


@pytest.mark.parametrize("chunk", [4, 9, 50])
def test_what_strata_lack_is_what_counting_finds(tmp_path: Path, chunk: int) -> None:
    rng, seen = np.random.default_rng(chunk), Counter()
    for _ in range(25):
        n = int(rng.integers(12, 50))
        areas = rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2]).tolist()
        areas[:3] = ["A", "B", "C"]
        heavy = rng.random() * 0.7
        homes = [
            "H 1" if rng.random() < heavy else f"{rng.choice(['h ', 'H '])}{rng.integers(0, 9)}"
            for _ in range(n)
        ]
        stats = counted(tmp_path, pa.table({"home": homes, "area": areas}), chunk)
        of_strata = [
            [home for home, area in zip(homes, areas, strict=True) if area == name]
            for name in "ABC"
        ]
        assert (stats.lacking(Units(K)) > 0.0).tolist() == [lacks(stratum) for stratum in of_strata]
        assert stats.records.tolist() == [*map(len, of_strata), n]
        seen.update(lacks(stratum) for stratum in of_strata)
        if lacks(homes):
            with pytest.raises(
                InputError,
                match="different units" if len(set(homes)) < K else "more than half|different",
            ):
                stats.check_impossible(Units(K))
        else:
            stats.check_impossible(Units(K))
    assert min(seen.values()) > 8, "strata that keep it, and strata that do not"


@pytest.mark.parametrize("chunk", [3, 100])
def test_the_first_record_without_a_unit_is_named(tmp_path: Path, chunk: int) -> None:
    homes = ["a", "b", "c", "d", "?", "e", None, "f", "", "g"]
    table = pa.table({"home": homes, "area": ["A"] * 10})
    with pytest.raises(InputError, match=r"'home' .* is missing in 3 of 10, first in row 5"):
        counted(tmp_path, table, chunk)


@pytest.mark.parametrize(
    ("homes", "largest"),
    [
        ("xxxayyyyxxxbxxxc", 9),
        ("yyyyxxxxxabc", 0),
        ("abcdxxxxxxxx", 8),
        ("xyxyxyxyx", 5),
        ("yyyyyxxxxxxxxxxabcd", 10),
    ],
)
def test_a_unit_with_more_than_half_is_found_whatever_comes_between(
    tmp_path: Path, homes: str, largest: int
) -> None:
    """Different units are struck out in pairs; the one that has most of all records is left, also
    after others were ahead.
    """
    for order in (homes, homes[::-1]):
        stats = counted(tmp_path, pa.table({"home": list(order), "area": ["A"] * len(order)}), 4)
        assert max(Counter(homes).values()) * 2 <= len(homes) or largest == max(
            Counter(homes).values()
        )
        if largest:
            assert stats.largest.tolist() == [largest, largest]
        assert (stats.lacking(Units(K)) > 0.0).tolist() == [bool(largest)]


@pytest.mark.parametrize("chunk", [4, 50])
def test_strata_of_several_columns_are_their_combinations(tmp_path: Path, chunk: int) -> None:
    rng = np.random.default_rng(chunk)
    columns = {
        "area": rng.choice(["A", "B", "C"], 40).tolist(),
        "sex": rng.choice(["f", "m"], 40).tolist(),
        "wave": rng.choice(["1", "2", "3", "4"], 40).tolist(),
    }
    table = pa.table(columns)
    facts = [LevelFacts(name, 40, dict(Counter(sorted(cells)))) for name, cells in columns.items()]
    strata, counts = StrataCodes.counted(passes_over(tmp_path, table, chunk), facts)
    combinations = list(zip(*columns.values(), strict=True))
    expected = Counter(combinations)
    assert counts.sum(axis=0).tolist() == [expected[key] for key in sorted(expected)]
    ranks = {key: rank for rank, key in enumerate(sorted(expected))}
    assert strata.of_records(table).tolist() == [ranks[key] for key in combinations]
