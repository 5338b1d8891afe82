"""Files of every format with some of their bytes changed, each made from a number alone."""

from __future__ import annotations

import datetime
import functools
import gzip
import random
import struct
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet

import sas7bdat
from microagg.files.commit.writing import write_table

TEXTS = (".csv", ".tsv", ".txt")
PACKED = tuple(f"{ending}{packing}" for ending in TEXTS for packing in (".gz", ".zst"))
OTHERS = (".xlsx", ".sav", ".zsav", ".dta", ".xpt", ".sas7bdat", ".parquet", ".arrow", ".feather")
ENDINGS = (*TEXTS, *PACKED, *OTHERS, *OTHERS, *OTHERS)
"""Binary files more often: they have more to break."""
EXTREMES = [
    b"\xff" * 4,
    b"\xff" * 8,
    b"\0" * 4,
    b"\0" * 8,
    b"\x7f" + b"\xff" * 7,
    b"\xff\xff\xff\x7f",
    b"\x80" + b"\0" * 7,
    struct.pack("<q", 1 << 40),
    struct.pack("<i", 1 << 30),
    struct.pack(">i", 1 << 30),
    b"\x01\0\0\0",
    b"\xfe\xff",
    b"\n",
    b'"',
    b",",
    b"\r",
]
RECORDS = 60


def mutated(number: int) -> tuple[str, bytes]:
    """Return the name and the content of the file with this number."""
    rng = random.Random(f"mutation {number}")
    ending = ENDINGS[number % len(ENDINGS)]
    whole = rng.choice(_good(ending))
    if ending in PACKED and rng.random() < 0.7:
        content = _repacked(ending, _changed(rng, _unpacked(ending, whole)))
    else:
        content = _changed(rng, whole)
    return f"{number:05d}{ending}", content


def _changed(rng: random.Random, content: bytes) -> bytes:
    """Some changes, one after another; most of them where the description of a file lies: at its
    ends.
    """
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        content = rng.choice(CHANGES)(rng, content)
    return content


def _place(rng: random.Random, content: bytes) -> int:
    size = len(content)
    near = min(size, 600)
    return (
        rng.choice([rng.randrange(size), rng.randrange(near), size - 1 - rng.randrange(near)])
        if size
        else 0
    )


def _flip(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8, 30])):
        if changed:
            changed[_place(rng, content)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(rng: random.Random, content: bytes) -> bytes:
    offset, extreme = _place(rng, content), rng.choice(EXTREMES)
    return content[:offset] + extreme + content[offset + len(extreme) :]


def _insert(rng: random.Random, content: bytes) -> bytes:
    offset = _place(rng, content)
    added = rng.choice(
        [rng.choice(EXTREMES), rng.randbytes(rng.randrange(1, 40)), bytes(rng.randrange(1, 5000))]
    )
    return content[:offset] + added + content[offset:]


def _delete(rng: random.Random, content: bytes) -> bytes:
    offset = _place(rng, content)
    return content[:offset] + content[offset + rng.choice([1, 2, 4, 8, 80, 500]) :]


def _repeat(rng: random.Random, content: bytes) -> bytes:
    offset, length = _place(rng, content), rng.choice([1, 4, 16, 80, 400])
    return (
        content[: offset + length]
        + content[offset : offset + length] * rng.choice([1, 2, 50])
        + content[offset + length :]
    )


def _cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _splice(rng: random.Random, content: bytes) -> bytes:
    other = rng.choice(_good(rng.choice(ENDINGS)))
    return content[: _place(rng, content)] + other[_place(rng, other) :]


def _swap(rng: random.Random, content: bytes) -> bytes:
    if len(content) < 64:
        return content
    first, second = sorted(rng.sample(range(len(content) - 16), 2))
    changed = bytearray(content)
    changed[first : first + 16], changed[second : second + 16] = (
        content[second : second + 16],
        content[first : first + 16],
    )
    return bytes(changed)


CHANGES = [
    _flip,
    _flip,
    _flip,
    _overwrite,
    _overwrite,
    _overwrite,
    _insert,
    _delete,
    _repeat,
    _cut,
    _splice,
    _swap,
]


@functools.cache
def _good(ending: str) -> tuple[bytes, ...]:
    """Files that are well: tables of plain columns, and of every type that the format has."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"in{ending}"
        return tuple(_written(table, path, ending) for table in (_plain(), _mixed(ending)))


def _written(table: pa.Table, path: Path, ending: str) -> bytes:
    if ending == ".sas7bdat":
        sas7bdat.write(
            {
                "age": [float(value) for value in table["age"].to_pylist()],
                "name": table["name"].to_pylist(),
            },
            path,
        )
    elif ending == ".feather":  # what is not compressed is read as it stands
        feather.write_feather(table, path, compression="uncompressed")
    elif ending == ".parquet" and table.num_columns > 3:
        parquet.write_table(table, path, compression="none")
    else:
        write_table(table, path)
    return path.read_bytes()


def _plain() -> pa.Table:
    numbers = range(RECORDS)
    return pa.table(
        {
            "age": [31 + number % 4 for number in numbers],
            "name": [f"canary {number}" for number in numbers],
            "wage": [1000.25 + number % 3 for number in numbers],
        }
    )


def _mixed(ending: str) -> pa.Table:
    numbers, day = range(RECORDS), datetime.date(1990, 1, 1)
    columns: dict[str, Any] = {
        "age": [31 + number % 4 for number in numbers],
        "born": [day + datetime.timedelta(number) for number in numbers],
        "seen": [datetime.datetime(2020, 1, 1, number % 24) for number in numbers],
        "gap": [None if number % 5 else number for number in numbers],
        "name": [None if number % 7 == 0 else f"canary {number}" for number in numbers],
        "sex": pa.array(["m", "f"] * (RECORDS // 2)).dictionary_encode(),
        "flag": [number % 2 == 0 for number in numbers],
    }
    if ending in (".parquet", ".arrow", ".feather"):
        columns |= {
            "zone": pa.array(list(numbers), pa.timestamp("us", "Europe/Berlin")),
            "list": [[number] * (number % 3) for number in numbers],
            "amount": pa.array(list(numbers), pa.decimal128(9, 2)),
            "bytes": pa.array([b"x" * (number % 4) for number in numbers]),
            "none": pa.nulls(RECORDS),
        }
    return pa.table(columns)


def _unpacked(ending: str, content: bytes) -> bytes:
    packing = "gzip" if ending.endswith(".gz") else "zstd"
    with pa.CompressedInputStream(pa.BufferReader(content), packing) as stream:
        return stream.read()


def _repacked(ending: str, content: bytes) -> bytes:
    if ending.endswith(".gz"):
        return gzip.compress(content, mtime=0)
    return pa.compress(content, "zstd", asbytes=True)
