"""Arrow files: every type comes back, nothing hidden goes out, what is broken is refused in a
sentence.
"""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pytest

import microagg as ma
from microagg.files import unpacking
from microagg.files.commit.writing import write_table
from microagg.files.reading import read_table
from microagg.table.columns.null_scrubbing import emptied

TYPES: dict[str, Any] = {
    "whole": pa.array([1, None, 3], pa.int8()),
    "real": pa.array([1.5, float("nan"), None]),
    "yes": pa.array([True, None, False]),
    "text": pa.array(["ä", "", None]),
    "large": pa.array(["007", None, "x" * 5000], pa.large_string()),
    "day": pa.array([1, None, 3], pa.date32()),
    "moment": pa.array([1, None, 3], pa.timestamp("us", "Europe/Berlin")),
    "amount": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("2.20")]),
    "town": pa.array(["Bonn", None, "Ulm"]).dictionary_encode(),
    "list": pa.array([[1], None, [2, None]]),
    "bytes": pa.array([b"a", None, b"\xff"]),
    "nothing": pa.nulls(3),
}


@pytest.mark.parametrize("suffix", [".arrow", ".feather"])
def test_every_type_comes_back(tmp_path: Path, suffix: str) -> None:
    table = pa.table(TYPES)
    write_table(table, tmp_path / f"out{suffix}")
    assert str(read_table(tmp_path / f"out{suffix}")) == str(table)  # NaN is not equal to itself
    plain = table.drop_columns(["real"])
    write_table(plain, tmp_path / f"out{suffix}")
    for result in (
        read_table(tmp_path / f"out{suffix}"),
        feather.read_table(tmp_path / f"out{suffix}"),
    ):
        assert result.equals(plain)


def test_other_readers_and_writers(tmp_path: Path) -> None:
    table = pa.table({"age": [31, None], "name": ["Ä", ""]})
    write_table(table, tmp_path / "out.arrow")
    assert pl.read_ipc(tmp_path / "out.arrow").to_dicts() == table.to_pylist()
    assert pd.read_feather(tmp_path / "out.arrow")["name"].tolist() == ["Ä", ""]
    for compression in ("uncompressed", "lz4", "zstd"):
        feather.write_feather(table, tmp_path / "in.feather", compression=compression)
        assert read_table(tmp_path / "in.feather").equals(table)
    pl.DataFrame({"name": ["Ä", None]}).write_ipc(tmp_path / "polars.arrow")
    assert read_table(tmp_path / "polars.arrow").column("name").to_pylist() == ["Ä", None]


def test_runs_and_metadata_do_not_come_in(tmp_path: Path) -> None:
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["a", None]))
    table = pa.table({"a": runs}).replace_schema_metadata({"author": "canary"})
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as file:
        file.write_table(table)
    result = read_table(tmp_path / "in.arrow")
    assert result.column("a").to_pylist() == ["a", "a", None]
    assert result.column("a").type == pa.string()
    assert result.schema.metadata is None


def hiding(values: pa.Array) -> pa.Array:
    """The same array with all but the first missing, and the others still in memory."""
    return pa.Array.from_buffers(
        values.type, len(values), [pa.py_buffer(b"\x01"), *values.buffers()[1:]]
    )


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["first", "canary", "canary"]),
        pa.array([b"first", b"canary", b"canary"], pa.large_binary()),
        pa.array([b"first1", b"canary", b"canary"], pa.binary(6)),
        pa.array([1, int.from_bytes(b"canary", "little"), 2]),
        pa.array([1, int.from_bytes(b"canary", "little"), 2], pa.timestamp("ns")),
    ],
    ids=lambda values: str(values.type),
)
def test_nothing_hidden_is_written(tmp_path: Path, values: pa.Array) -> None:
    table = pa.table({"a": hiding(values)})
    assert b"canary" in b"".join(map(bytes, filter(None, hiding(values).buffers()))), "it is there"
    write_table(table, tmp_path / "out.arrow")
    (chunk,) = feather.read_table(tmp_path / "out.arrow").column("a").chunks
    assert chunk.to_pylist() == hiding(values).to_pylist()
    assert b"canary" not in b"".join(map(bytes, filter(None, chunk.buffers())))
    assert b"canary" not in (tmp_path / "out.arrow").read_bytes()


@pytest.mark.parametrize("name", TYPES)
def test_emptied_columns_are_equal(name: str) -> None:
    column = pa.concat_arrays([TYPES[name]] * 7)
    for start, length in ((0, 21), (5, 11), (20, 1), (3, 0)):
        part = column.slice(start, length)
        result = emptied(part)
        result.validate(full=True)
        assert str(result.to_pylist()) == str(part.to_pylist())
        assert result.type == part.type


def test_hidden_flags_of_truth() -> None:
    hidden = hiding(pa.array([True, True, True]))
    assert np.frombuffer(emptied(hidden).buffers()[1], np.uint8)[0] & 0b111 == 1


def whole_file(folder: Path) -> bytes:
    table = pa.table({"age": list(range(100)), "name": [f"canary-{i}" for i in range(100)]})
    feather.write_feather(table, folder / "whole.arrow")
    return (folder / "whole.arrow").read_bytes()


@pytest.mark.slow
def test_damaged_files_are_refused_or_read_whole(tmp_path: Path) -> None:
    whole = whole_file(tmp_path)
    rng = np.random.default_rng(1)
    refused: list[str] = []
    for case in range(200):
        content = bytearray(whole)
        if case % 2:
            content = content[: rng.integers(len(whole))]
        else:
            for index in rng.integers(len(whole), size=3):
                content[index] = rng.integers(256)
        (tmp_path / "in.arrow").write_bytes(content)
        try:
            read_table(tmp_path / "in.arrow")
        except ma.InputError as error:
            refused.append(str(error))
        except MemoryError:  # a size of a buffer that is none: told as such by the command line
            pass
    assert len(refused) > 100
    assert "canary" not in "".join(refused)


def test_files_that_are_nearly_arrow_files(tmp_path: Path) -> None:
    table = pa.table({"a": [1]})
    with pa.ipc.new_stream(tmp_path / "stream.arrow", table.schema) as stream:
        stream.write_table(table)
    for name, content, says in (
        ("old.feather", b"FEA1" + bytes(20), "first version"),
        ("none.arrow", b"", "is empty"),
        ("text.arrow", b"a,b\n1,2\n", "not a readable Arrow file"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ma.InputError, match=says):
            read_table(tmp_path / name)
    with pytest.raises(ma.InputError, match="a stream of Arrow"):
        read_table(tmp_path / "stream.arrow")


def test_a_file_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feather.write_feather(pa.table({"a": np.zeros(1_000_000)}), tmp_path / "in.arrow")
    assert (tmp_path / "in.arrow").stat().st_size < 100_000
    monkeypatch.setattr(unpacking, "available_memory", lambda: 1 << 23)
    with pytest.raises(ma.InputError, match="unpacks to a table"):
        read_table(tmp_path / "in.arrow")


def test_broken_text_is_found(tmp_path: Path) -> None:
    broken = pa.Array.from_buffers(
        pa.string(),
        1,
        [None, pa.py_buffer(np.array([0, 1], np.int32).tobytes()), pa.py_buffer(b"\xff")],
    )
    feather.write_feather(pa.table({"a": [1], "b": broken}), tmp_path / "in.arrow")
    with pytest.raises(ma.InputError, match=r"column 2: it holds text that is not in UTF-8"):
        read_table(tmp_path / "in.arrow")
