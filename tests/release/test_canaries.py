"""No value of the original is in any file of a release, whatever its format: looked for in bytes,
packed or not.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import microagg as ma
import tables
from microagg.table.columns.labels import Labels, with_labels


def contents(path: Path) -> Iterator[bytes]:
    """The bytes of a file, and all that can be unpacked from it."""
    raw = path.read_bytes()
    yield raw
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as packed:
            yield from (packed.read(name) for name in packed.namelist())
    for match in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", raw):
        try:
            yield zlib.decompressobj().decompress(raw[match.start() :])
        except zlib.error:
            continue
    try:
        table = pa.ipc.open_file(raw).read_all()
    except pa.ArrowInvalid:
        return
    for column in table.columns:
        yield from (
            bytes(buffer) for chunk in column.chunks for buffer in chunk.buffers() if buffer
        )


def spellings(number: float) -> list[bytes]:
    """A number as text and as files store numbers."""
    return [
        repr(number).removesuffix(".0").encode(),
        struct.pack("<d", number),
        struct.pack(">d", number),
    ]


@pytest.mark.parametrize("ending", tables.ENDINGS)
def test_no_value_of_the_original_is_in_any_file(tmp_path: Path, ending: str) -> None:
    table = tables.people(40)
    labels = {
        "income": Labels(
            "Income", {4_815_162 + 1009 * n: f"canary of {n}" for n in range(40)}, "scale"
        )
    }
    missing = pa.array([None if n % 5 == 0 else 777_000 + 13 * n for n in range(40)])
    table = with_labels(table.append_column("wealth", missing), labels)
    settings = {
        "quasi": [*tables.QUASI, "wealth"],
        "keep": ["disease"],
        "rest": "drop",
        "method": "mdav",
        "seed": 5,
    }
    release = ma.anonymize(
        table, 5, **settings, kinds={"income": "numeric"}, accept_risk=["true-values"]
    )
    release.save(tmp_path / f"out{ending}")
    after = {
        float(value)
        for name in settings["quasi"]
        for value in release.table.column(name).to_pylist()
        if value is not None
    }
    before = {
        float(value)
        for name in settings["quasi"]
        for value in table.column(name).to_pylist()
        if value is not None
    }
    gone = [spelling for number in before - after for spelling in spellings(number)]
    assert len(gone) > 100
    shown = {f"canary of {n}" for n in range(40) if 4_815_162.0 + 1009 * n not in after}
    for path in tmp_path.iterdir():
        if path.name.endswith(".internal.json"):
            continue
        for content in contents(path):
            assert b"canary-" not in content, path.name
            assert not [number for number in gone if number in content], path.name
            assert not [
                label
                for label in shown
                if f"{label}<" in content.decode("latin-1")
                or f'{label}"' in content.decode("latin-1")
            ], path.name
