"""The order of a release's rows, pinned: it follows from the seed and from all of the input, and
from nothing a reader can guess.
"""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
from microagg.release.shuffling import key_of_order, shuffled_rows

AGES = [20, 31, 45, 52, 63, 27, 38, 49, 50, 61, 72]


def released_order(last_age: int, seed: int, folder: Path) -> list[int]:
    """The record numbers of a written release, in the order of its rows."""
    table = pa.table({"id": range(12), "age": [*AGES, last_age]})
    release = ma.anonymize(
        table, k=3, quasi=["age"], keep=["id"], seed=seed, method="mdav",
        accept_risk="named-columns",
    )  # fmt: skip
    release.save(folder / "out.parquet")
    return pa.parquet.read_table(folder / "out.parquet").column("id").to_pylist()


@pytest.mark.parametrize(("seed", "digest"), [(7, "3f8a"), (7, "3f8b"), (8, "3f8a")])
def test_the_key_is_a_hash_of_the_seed_and_the_digest(seed: int, digest: str) -> None:
    text = b"%d\x00%s\x00rows in order" % (seed, digest.encode())
    assert key_of_order(seed, digest).tolist() == list(
        struct.unpack("<2Q", hashlib.sha256(text).digest()[:16])
    )


def test_the_order_is_the_one_that_earlier_versions_wrote() -> None:
    manifest: dict[str, Any] = {"format": 3, "settings": {"seed": 7}, "input": {"digest": "3f8a"}}
    assert shuffled_rows(manifest, 12).tolist() == [7, 2, 11, 8, 10, 6, 4, 3, 0, 1, 5, 9]
    manifest["input"] = {"digest": "3f8b"}
    assert shuffled_rows(manifest, 12).tolist() == [4, 6, 1, 5, 3, 7, 9, 8, 2, 0, 11, 10]
    manifest["settings"] = {"seed": None}
    assert (
        shuffled_rows(manifest, 12).tolist()
        == shuffled_rows({**manifest, "settings": {"seed": 0}}, 12).tolist()
    )


def test_one_value_of_the_input_moves_all_rows(tmp_path: Path) -> None:
    """Who knows the seed, but not the input, cannot undo the shuffle."""
    assert released_order(90, 7, tmp_path) == [9, 2, 11, 5, 10, 4, 1, 6, 3, 8, 0, 7]
    assert released_order(91, 7, tmp_path) == [4, 2, 5, 6, 8, 3, 7, 11, 0, 9, 1, 10]
