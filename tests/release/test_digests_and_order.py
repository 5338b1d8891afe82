"""Digests run by run, rows in the order of a keyed hash, and manifests of older formats."""

from __future__ import annotations

import hashlib
import json
import secrets
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import tables
from microagg.files.columnar.parquet_format import write
from microagg.files.format import RECORDS_IN_A_PIECE as RECORDS_IN_A_GROUP
from microagg.kernels import hashing, random
from microagg.pipeline.files import anonymize_file
from microagg.release.shuffling import key_of_order, shuffled_rows
from microagg.studies.repeating import repeat_file
from microagg.table.columns.digests import (
    RUN,
    RowSums,
    digest_of,
    digest_of_rows,
    digest_of_runs,
    digest_of_whole_columns,
    digests_of_runs,
)
from microagg.table.columns.row_hashes import class_hashes, row_hashes


def large(records: int = 2 * RUN + 17) -> pa.Table:
    rng = np.random.default_rng(5)
    numbers = rng.integers(0, 1000, records)
    gaps = rng.random(records) < 0.1
    texts = pa.array([f"t{number % 37}" for number in numbers], pa.string())
    return pa.table(
        {"a": pa.array(numbers, mask=gaps), "b": rng.standard_normal(records), "c": texts}
    )


def slow_digest(table: pa.Table) -> str:
    """The rule, spelled out for whole numbers, floats and texts."""
    whole = hashlib.sha256(
        "\0".join(["runs", str(table.num_rows), *table.column_names, ""]).encode()
    )
    for first in range(0, table.num_rows, 65_536):
        run, rows = hashlib.sha256(), table.slice(first, 65_536)
        for name in rows.column_names:
            values = rows.column(name).to_pylist()
            kinds = {type(value) for value in values if value is not None}
            kind = "float" if float in kinds else "whole" if int in kinds else "text"
            run.update(f"{name}\0{kind}\0{len(values)}\0".encode())
            run.update(np.packbits([value is not None for value in values]).tobytes())
            if kind == "text":
                run.update(
                    np.array([len((value or "").encode()) for value in values], np.int64).tobytes()
                )
                run.update("".join(value or "" for value in values).encode())
            else:
                dtype = np.int64 if kind == "whole" else np.float64
                run.update(np.array([value or 0 for value in values], dtype).tobytes())
        whole.update(run.digest())
    return whole.hexdigest()


@pytest.mark.slow
def test_a_digest_is_that_of_its_runs() -> None:
    table = large()
    assert digest_of(table) == slow_digest(table)


def test_a_digest_does_not_depend_on_chunks() -> None:
    table = large()
    pieces = [table.slice(first, 10_000) for first in range(0, table.num_rows, 10_000)]
    assert digest_of(pa.concat_tables(pieces)) == digest_of(table)
    runs = [
        run
        for first in range(0, table.num_rows, RUN)
        for run in digests_of_runs(table.slice(first, RUN))
    ]
    assert digest_of_runs(table.column_names, table.num_rows, runs) == digest_of(table)
    assert digest_of(table.slice(0, table.num_rows - 1)) != digest_of(table)


def test_sums_of_rows_are_the_same_in_any_order() -> None:
    table = large(5000)
    order = np.random.default_rng(1).permutation(5000)
    assert digest_of_rows(table.take(pa.array(order))) == digest_of_rows(table)
    first, second = RowSums.of_chunk(table.slice(0, 1234)), RowSums.of_chunk(table.slice(1234))
    assert second.combine(first).digest(table.schema) == digest_of_rows(table)
    assert digest_of_rows(table.slice(1)) != digest_of_rows(table)


def test_hashes_tell_rows_apart_as_values_do() -> None:
    table = pa.table(
        {
            "a": pa.array([1.0, 1.0, -0.0, 0.0, None, float("nan"), 1.0]),
            "b": ["x", "x", "x", "x", "x", "x", "xx"],
        }
    )
    codes = {
        bytes(digest): code for code, digest in enumerate(class_hashes(table, ["a", "b"])[::-1])
    }
    assert len(codes) == 4, "0 and -0 are one, NaN and null too"
    assert len({bytes(digest) for digest in row_hashes(table)}) == 6, "to the bit"
    empty = pa.table({"a": pa.array(["", None, "a\0", "a"])})
    assert len({bytes(digest) for digest in row_hashes(empty)}) == 4
    chunked = pa.chunked_array([["b"], ["a", None], []], pa.string())
    assert (
        row_hashes(pa.table({"a": chunked})) == row_hashes(pa.table({"a": ["b", "a", None]}))
    ).all()


def slow_key(number: int, key: np.ndarray) -> int:
    def mixed(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    return mixed(mixed((int(key[0]) + (number + 1) * 0x9E3779B97F4A7C15) % 2**64) ^ int(key[1]))


def test_rows_go_by_a_keyed_hash_of_their_numbers() -> None:
    key = key_of_order(7, "3f8a")
    keys = [slow_key(number, key) for number in range(1000)]
    assert hashing.order_keys(0, 1000, key).tolist() == keys
    assert hashing.order_keys(990, 10, key).tolist() == keys[990:]
    manifest = {"format": 3, "settings": {"seed": 7}, "input": {"digest": "3f8a"}}
    assert shuffled_rows(manifest, 1000).tolist() == sorted(range(1000), key=keys.__getitem__)
    manifest["format"] = 2
    assert (
        shuffled_rows(manifest, 9).tolist()
        == random.permutation(random.seeded(7, "3f8a", "rows"), 9).tolist()
    )


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_manifests_of_format_2_repeat_by_the_old_rules(tmp_path: Path, ending: str) -> None:
    source = tmp_path / "in.parquet"
    pa.parquet.write_table(tables.people(), source)
    release = anonymize_file(
        source, tmp_path / f"new{ending}", 3, quasi=tables.QUASI, rest="drop", seed=8
    )
    # what the version before wrote: digests of whole columns, rows by a permutation
    old = {**release.manifest, "format": 2}
    old["input"] = {
        **old["input"],
        "digest": digest_of_whole_columns(pa.parquet.read_table(source)),
    }
    rows = random.permutation(random.seeded(8, old["input"]["digest"], "rows"), 12)
    then = release.table.take(pa.array(rows))
    old |= {"rows": "shuffled", "output": {"file": "old", "digest": digest_of_whole_columns(then)}}
    manifest = tmp_path / f"old-{secrets.token_hex(4)}.internal.json"
    manifest.write_text(json.dumps(old), "utf-8")
    again = repeat_file(manifest, source, tmp_path / f"again{ending}")
    assert again.notes[0].startswith("the same release")
    written = json.loads((tmp_path / f"again{ending}.internal.json").read_text("utf-8"))
    assert written["format"] == 2
    assert written["input"] == {**old["input"], "file": "in.parquet"}
    assert written["output"]["digest"] == old["output"]["digest"]
    if ending == ".parquet":
        assert pa.parquet.read_table(tmp_path / "again.parquet").equals(then)
    # and what was written so repeats once more
    repeat_file(tmp_path / f"again{ending}.internal.json", source, tmp_path / f"third{ending}")
    assert (tmp_path / f"third{ending}").read_bytes() == (tmp_path / f"again{ending}").read_bytes()


def test_parquet_bytes_follow_from_values_alone(tmp_path: Path) -> None:
    table = large(RECORDS_IN_A_GROUP + 1000)
    write(table, tmp_path / "whole.parquet")
    write(
        pa.concat_tables([table.slice(0, 777), table.slice(777, 100_000), table.slice(100_777)]),
        tmp_path / "chunks.parquet",
    )
    assert (tmp_path / "whole.parquet").read_bytes() == (tmp_path / "chunks.parquet").read_bytes()
    with pyarrow.parquet.ParquetFile(tmp_path / "whole.parquet") as file:
        sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    assert sizes == [RECORDS_IN_A_GROUP, 1000]
