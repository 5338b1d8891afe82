"""Classes counted bucket by bucket, against those that `verify` finds in the whole table."""

from __future__ import annotations

from pathlib import Path

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from microagg.files.chunks import Source
from microagg.guarantees.k import anonymity, class_labels
from microagg.pipeline.spill_index import SpillFile, SpillIndex
from microagg.pipeline.verification import (
    ClassCounts,
    count_bucket,
    count_values,
    hash_chunk,
    runs_of,
    values_chunk,
)
from microagg.runtime.spill import write_spill_file
from microagg.table.columns.digests import RowSums, digest_of_rows
from microagg.table.columns.profile import ProfileStats, profile_column
from microagg.table.columns.row_hashes import class_hashes

OTHERS = ("note", "id", "amount", "flag")


def random_table(seed: int, records: int = 400) -> pa.Table:
    rng = np.random.default_rng(seed)
    gaps = rng.random(records) < 0.1
    return pa.table(
        {
            "a": pa.array(
                rng.integers(0, 4, records).astype(float) * rng.choice([1.0, -1.0, 0.0], records),
                mask=gaps,
            ),
            "b": pa.array(
                [f"{number}" for number in rng.integers(0, 4, records)],
                mask=rng.random(records) < 0.1,
            ),
            "c": pa.array(np.where(rng.random(records) < 0.1, np.nan, rng.integers(0, 2, records))),
            "note": pa.array(
                [rng.choice(["x", "y", "NA", " x", "3", "a@b.example"]) for _ in range(records)]
            ),
            "id": pa.array(rng.permutation(records) if seed % 2 else rng.integers(0, 50, records)),
            "amount": pa.array(np.round(rng.standard_normal(records), 3), mask=gaps),
            "flag": pa.array(rng.random(records) < 0.5),
        }
    )


@pytest.mark.parametrize("bits", [0, 3])
@pytest.mark.parametrize("seed", range(12))
def test_classes_are_those_of_the_whole(tmp_path: Path, seed: int, bits: int) -> None:
    table = random_table(seed)
    pa.parquet.write_table(table, tmp_path / "out.parquet", row_group_size=70)
    source, names = Source.of(tmp_path / "out.parquet"), ("a", "b", "c")
    errors = np.random.default_rng(seed).random(400)
    pieces, rows, looks = [], RowSums(), {}
    for first, count in source.chunks(150):
        result = hash_chunk(source, first, count, names, OTHERS, bits, str(tmp_path))
        assert hash_chunk(source, first, count, names, OTHERS, bits, str(tmp_path)) == result, (
            "done already"
        )
        pieces.append(SpillFile.of(result["path"], result))
        rows = rows.combine(RowSums(result["records"], tuple(result["rows"])))
        for name, data in result["looks"].items():
            looks.setdefault(name, []).append(ProfileStats.from_data(data))
    # errors of groups, as blocks set them aside: here a group is a record
    hashes = class_hashes(table, names, exact=True)
    set_aside = pa.table(
        {
            "h0": hashes[:, 0],
            "h1": hashes[:, 1],
            "e0": errors,
            "e1": 0.0 * errors,
            "e2": 0.0 * errors,
        }
    )
    keys = (
        (hashes[:, 0] >> np.uint64(64 - bits)).astype(np.int64) if bits else np.zeros(400, np.int64)
    )
    entry = write_spill_file(str(tmp_path / "errors.arrow"), set_aside, keys, {})
    of_groups = SpillIndex([SpillFile.of(str(tmp_path / "errors.arrow"), entry)])
    counted, all_pieces = ClassCounts(), SpillIndex(pieces)
    for bucket in range(1 << bits):
        counted.combine(count_bucket(all_pieces.holding([bucket]), of_groups.holding([bucket])))
    whole = anonymity(table, names, 2)
    assert counted.class_sizes().tolist() == sorted(whole.sizes.tolist())
    assert counted.records == 400
    labels, classes = class_labels(table, OTHERS, (whole.labels, len(whole.sizes)))
    sizes = np.bincount(labels, minlength=classes)
    assert counted.all_sizes == dict(
        zip(*(array.tolist() for array in np.unique(sizes, return_counts=True)), strict=True)
    )
    assert counted.largest_error == pytest.approx(
        np.bincount(whole.labels, errors).max(), rel=1e-14
    )
    assert rows.digest(source.schema) == digest_of_rows(table)
    for name in OTHERS:
        facts = looks[name][0]
        for more in looks[name][1:]:
            facts.combine(more)
        expected = profile_column(nw.from_native(table, eager_only=True), name)
        assert facts.look(expected.distinct, expected.single) == expected


@pytest.mark.parametrize("name", ["a", "b", "c", "id", "amount"])
def test_values_are_counted_bucket_by_bucket(tmp_path: Path, name: str) -> None:
    table = random_table(5)
    pa.parquet.write_table(table, tmp_path / "out.parquet")
    source = Source.of(tmp_path / "out.parquet")
    results = [
        values_chunk(source, first, count, name, 2, str(tmp_path), 0)
        for first, count in source.chunks(170)
    ]
    pieces = SpillIndex([SpillFile.of(result["path"], result) for result in results])
    counts = [count_values(pieces.holding([bucket])) for bucket in range(4)]
    look = profile_column(
        nw.from_native(
            table.select([name]).cast(pa.schema([(name, table.schema.field(name).type)])),
            eager_only=True,
        ),
        name,
    )
    if name != "b":  # numbers in text are counted by value there
        assert tuple(map(sum, zip(*counts, strict=True))) == (look.distinct, look.single)
    else:
        assert sum(row[0] for row in counts) == 4


def test_hashes_that_share_one_lane_are_not_equal() -> None:
    """Both halves of a hash count: else it would be one of 64 bits."""
    pairs = np.array([[1, 1], [1, 2], [2, 2], [1, 1], [2, 2], [2, 1]], np.uint64)
    order, starts = runs_of(pairs)
    runs = [pairs[part].tolist() for part in np.split(order, starts[1:])]
    assert runs == [[[1, 1], [1, 1]], [[1, 2]], [[2, 1]], [[2, 2], [2, 2]]]
