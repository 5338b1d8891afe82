"""Earlier releases of nearly the same table are told about, by sketches that say nothing of single
records.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.release.manifest import public_manifest
from microagg.table.columns import row_sketch
from microagg.table.columns.row_sketch import (
    is_mostly_shared,
    sampled_rows,
    sketch_of,
    sketch_of_table,
)

SETTINGS: dict[str, Any] = {
    "k": 4,
    "quasi": ["age", "income"],
    "confidential": ["ill"],
    "method": "mdav",
    "seed": 1,
}


def table_of(records: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 90, records),
            "income": np.round(rng.lognormal(9.0, 1.0, records), 2),
            "ill": [f"i{number}" for number in rng.integers(0, 9, records)],
        }
    )


def notes_on(table: pa.Table, folder: Path, name: str) -> list[str]:
    release = ma.anonymize(table, **SETTINGS)
    release.save(folder / name)
    return [note for note in release.notes if "also in the table that was released as" in note]


def test_one_record_less(tmp_path: Path) -> None:
    whole = table_of(200)
    assert notes_on(whole, tmp_path, "whole.csv") == []
    (note,) = notes_on(whole.slice(1), tmp_path, "less.csv")
    assert "'whole.csv'" in note
    assert "publish only one" in note


def test_another_table_and_an_older_manifest(tmp_path: Path) -> None:
    notes_on(table_of(200), tmp_path, "whole.csv")
    assert notes_on(table_of(200, seed=2), tmp_path, "other.csv") == []
    for path in tmp_path.glob("*.internal.json"):
        content = json.loads(path.read_text())
        del content["sketch"]
        path.write_text(json.dumps(content))
    assert notes_on(table_of(200).slice(1), tmp_path, "less.csv") == []


@pytest.mark.parametrize(
    "sketch", [5, {}, {"levels": 3}, {"levels": {"0": "zz"}}, {"levels": {"0": "0f"}}]
)
def test_whatever_lies_there_does_no_harm(sketch: Any) -> None:
    assert not is_mostly_shared(sketch, sketch_of_table(table_of(200)))


@pytest.mark.parametrize("records", [40, 8191, 8192, 20_000])
def test_tables_that_share_much_and_little(records: int) -> None:
    table = table_of(records)
    rng = np.random.default_rng(3)
    sketch = sketch_of_table(table)
    backwards = table.take(pa.array(np.arange(records)[::-1])).select(["ill", "age", "income"])
    assert sketch_of_table(backwards) == sketch
    assert is_mostly_shared(sketch, sketch_of_table(table.slice(1)))
    if records > 40:
        shared = pa.concat_tables(
            [table.slice(0, records // 4), table_of(3 * records // 4, seed=4)]
        )
        assert not is_mostly_shared(sketch, sketch_of_table(shared))
        most = table.filter(pa.array(rng.random(records) < 0.8))
        assert is_mostly_shared(sketch, sketch_of_table(most))


def last_bits_of_least_hashes(rows: list[int], start: int, count: int) -> list[int]:
    """The bits of a sketch in plain Python, whose integers do not wrap."""
    whole = (1 << 64) - 1

    def mix(word: int) -> int:
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & whole
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & whole
        return word ^ (word >> 31)

    functions = [mix((start + step * 0x9E3779B97F4A7C15) & whole) for step in range(1, count + 1)]
    return [min(mix(row ^ function) for row in rows) & 1 for function in functions]


def test_sketches_stay_what_earlier_versions_wrote() -> None:
    """A sketch in an older manifest can be compared only if its bits are made alike."""
    table = table_of(40)
    sketch = sketch_of_table(table)
    assert sketch is not None
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(sketch["levels"]["0"]), np.uint8)).tolist()
    rows = sampled_rows(table, 40)[:, 0].tolist()
    start = int.from_bytes(hashlib.sha256(b"age\0ill\0income").digest()[:8], "little")
    assert bits == last_bits_of_least_hashes(rows, start, len(bits))


def test_rows_that_occur_often_make_no_tables_alike() -> None:
    """Two surveys that ask two questions of few answers have the same rows, not the same people."""
    surveys = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        surveys.append(pa.table({name: rng.integers(0, 6, 5000) for name in "ab"}))
    assert sketch_of_table(surveys[0]) is None
    assert not is_mostly_shared(*map(sketch_of_table, surveys))


def test_the_same_sketch_part_by_part() -> None:
    table = table_of(20_000)
    parts = [sampled_rows(table.slice(first, 777), 20_000) for first in range(0, 20_000, 777)]
    assert sketch_of(table.column_names, 20_000, parts) == sketch_of_table(table)


def test_the_size_does_not_grow_with_the_table() -> None:
    sizes = [len(json.dumps(sketch_of_table(table_of(records)))) for records in (200, 50_000)]
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 1 << 64, (6000, 2), dtype=np.uint64)
    rows[:, 1] >>= np.uint64(11)  # as the hashes of 10,000,000 records are chosen
    sizes.append(len(json.dumps(sketch_of(["age"], 10_000_000, [rows]))))
    assert max(sizes) < 400


@pytest.mark.slow
def test_bits_hardly_tell_whether_a_row_is_there() -> None:
    """Who has the sketch of a small table, and guesses a row, is right little more often than by
    chance.
    """
    right, count = 0, 0
    for seed in range(100):
        table, others = table_of(40, seed=seed), table_of(40, seed=1000 + seed)
        sketch = sketch_of_table(table)
        assert sketch is not None
        ((level, text),) = sketch["levels"].items()
        assert level == "0"
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8))
        scores = []
        for data in (table, others):
            (row,) = sampled_rows(data.slice(7, 1), 1)
            key = int.from_bytes(
                row_sketch.hashlib.sha256(b"age\0ill\0income").digest()[:8], "little"
            )
            scores.append(int((row_sketch._least_bits(row[:1], key, len(bits)) == bits).sum()))
        right, count = right + (scores[0] > scores[1]) + 0.5 * (scores[0] == scores[1]), count + 1
    assert 0.4 < right / count < 0.7


def test_sketches_stay_inside() -> None:
    release = ma.anonymize(table_of(200), **SETTINGS)
    assert release.manifest["sketch"]["levels"]
    assert "sketch" not in public_manifest(release.manifest)
