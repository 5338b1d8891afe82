"""Limits of unpacking and parsing: the memory that is free, and the size of the file."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import malformed
import microagg as ma
from microagg.files import memory, unpacking
from microagg.files.columnar.arrow_blocks import DamagedError, claims_of
from microagg.files.commit.writing import write_table
from microagg.files.reading import read_table, read_written
from microagg.files.text import decoding
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.text_input import estimate_size
from microagg.release.settings_file import read_settings
from microagg.table.columns.arrow import bytes_spelled_out

Patch = pytest.MonkeyPatch
FREE = 1 << 24
"""Bytes of memory that the tests say are free."""
LONG = pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), pa.array(["x" * 10_000]))
RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([3_000_000], pa.int32()), pa.array([31]))
SHARED = (
    '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>age</t></si>'
    f"<si><t>{'x' * 32_000}</t></si></sst>"
)


def arrow(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    return sink.getvalue()


def in_parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def workbook(*cells: str) -> bytes:
    return malformed._workbook(malformed.sheet_of(*cells), names={"xl/sharedStrings.xml": SHARED})


BOMBS: dict[str, Callable[[], bytes]] = {
    "newlines.csv.zst": lambda: pa.compress(
        b"age,name\n" + b"\n" * (1 << 20), "zstd", asbytes=True
    ),
    "rows.csv.gz": lambda: gzip.compress(b"age\n" + b"1\n" * 600_000),
    "line.csv.gz": lambda: gzip.compress(b"age,name\n" + b"1" * (8 << 20)),
    "quoted.txt.gz": lambda: gzip.compress(b'age\tname\n1\t"' + b"x\n" * (1 << 20)),
    "equal.parquet": lambda: in_parquet(pa.table({"age": pa.repeat(31, 1_000_000)})),
    "null.parquet": lambda: in_parquet(pa.table({"age": pa.nulls(1_000_000)})),
    "categories.parquet": lambda: in_parquet(pa.table({"age": LONG})),
    "categories.arrow": lambda: arrow(pa.table({"age": LONG})),
    "runs.arrow": lambda: arrow(pa.table({"age": RUNS})),
    "null.arrow": lambda: arrow(
        pa.table({"age": pa.Array.from_buffers(pa.null(), 2**31 - 1, [None])})
    ),
    "cells.xlsx": lambda: workbook(malformed.text("age"), *["<c/>" * 100] * 3000),
    "shared.xlsx": lambda: workbook('<c t="s"><v>0</v></c>', *['<c t="s"><v>1</v></c>'] * 900),
}
"""Files of some kilobytes that take more than the memory that is free."""


@pytest.fixture
def little(monkeypatch: Patch) -> None:
    monkeypatch.setattr(unpacking, "available_memory", lambda: FREE)


@pytest.mark.parametrize("name", BOMBS)
def test_small_files_that_unpack_to_much(tmp_path: Path, little: None, name: str) -> None:
    (tmp_path / name).write_bytes(BOMBS[name]())
    assert (tmp_path / name).stat().st_size < 600_000
    says = (
        "unpacks to a table that takes more than 13 MB of memory|a megabyte of nothing but "
        "empty lines"
    )
    with pytest.raises(ma.InputError, match=says):
        read_table(tmp_path / name, header=True)


def test_a_file_is_bounded_by_its_size_where_there_is_much_memory(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(unpacking, "available_memory", lambda: 1 << 40)
    monkeypatch.setattr(unpacking, "ALWAYS", 1 << 22)
    content = b"age\n" + b"1\n" * 400_000
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(content))
    with pytest.raises(
        ma.InputError, match=r"too much for a file so small; .* write it without packing it"
    ):
        read_table(tmp_path / "in.csv.gz")
    (tmp_path / "in.csv").write_bytes(content)
    assert read_table(tmp_path / "in.csv").num_rows == 400_000
    assert read_written(tmp_path / "in.csv.gz", delimiter=",", encoding="utf-8").num_rows == 400_000


def test_usual_files_are_far_from_the_bounds(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(unpacking, "available_memory", lambda: 1 << 40)
    monkeypatch.setattr(unpacking, "ALWAYS", 0)
    rng = np.random.default_rng(1)
    columns = {f"c{number}": rng.integers(0, 5 + number, 10_000) for number in range(12)}
    for ending in (".csv.gz", ".csv.zst", ".parquet", ".arrow", ".xlsx", ".zsav", ".dta"):
        path = tmp_path / f"in{ending}"
        write_table(pa.table(columns), path)
        assert read_table(path).num_rows == 10_000


def test_work_that_does_not_fit_is_refused(tmp_path: Path, monkeypatch: Patch) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"age\n" + b"1\n2\n3\n" * 20_000)
    monkeypatch.setattr(unpacking, "available_memory", lambda: 4_000_000)
    with pytest.raises(ma.InputError, match="unpacks to a table that takes more than 3 MB"):
        anonymize_file(path, tmp_path / "out.csv", 3, quasi=["age"], seed=1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.csv"]


def test_claims_of_an_arrow_file(tmp_path: Path) -> None:
    path = tmp_path / "in.arrow"
    table = pa.table(
        {"age": range(1000), "town": pa.array(["Ulm", "Bonn"] * 500).dictionary_encode()}
    )
    for compression in ("lz4", "zstd", "uncompressed"):
        feather.write_feather(table, path, compression=compression, chunksize=600)
        batches, dictionaries = claims_of(path)
        assert [batch.records for batch in batches] == [600, 400]
        assert sum(batch.bytes for batch in batches) >= 1000 * 12
        assert [dictionary.records for dictionary in dictionaries] == [2]
    whole = path.read_bytes()
    for content in (b"", whole[:-1], whole[:-200] + whole[-10:], b"ARROW1" * 9):
        path.write_bytes(content)
        with pytest.raises((DamagedError, ValueError)):
            claims_of(path)


def test_a_claim_that_is_not_true_is_no_lack_of_memory(tmp_path: Path) -> None:
    path = tmp_path / "in.feather"
    feather.write_feather(pa.table({"age": [31] * 2000}), path, compression="lz4")
    content = path.read_bytes()
    claim = (16_000).to_bytes(8, "little")
    assert content.count(claim) == 1
    path.write_bytes(content.replace(claim, (1 << 45).to_bytes(8, "little")))
    with pytest.raises(ma.InputError, match="is not a readable Arrow file"):
        read_table(path)


def test_bytes_spelled_out() -> None:
    assert bytes_spelled_out(pa.table({"age": LONG})) > 3000 * 10_000
    assert bytes_spelled_out(pa.table({"age": RUNS})) >= 8 * 3_000_000


def test_the_size_of_a_packed_text_file_is_counted(tmp_path: Path) -> None:
    rows = "".join(f"{number * 7919 % 1000},{number}\n" for number in range(200_000))
    for name, content in (
        ("long.csv.gz", "age,id\n" + rows),
        ("short.csv.gz", "age\n" + "1\n" * 300_000),
    ):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content.encode(), 1))
        guess = estimate_size(path)
        assert guess is not None
        assert guess.bytes == pytest.approx(len(content), rel=0.2)
        assert guess.records == pytest.approx(content.count("\n"), rel=0.2)


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 35_000) + " = 1",
        "[" + " . ".join(['"a.b"'] * 3000) + "]",
        "x = {" + ".".join(["a"] * 35_000) + " = 1}",
    ],
)
def test_keys_of_many_parts_are_refused_before_they_are_parsed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "in.toml"
    path.write_text(f"microagg-settings = 1\n{text}\n")
    with pytest.raises(ma.InputError, match=r"line 2: a key has more than 8 parts"):
        read_settings(path)


def test_a_number_of_very_many_digits_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.toml"
    path.write_text(f"microagg-settings = 1\nk = {'9' * 5000}\n")
    with pytest.raises(ma.InputError, match="a number with too many digits"):
        read_settings(path)


def test_dots_within_quotes_are_no_parts(tmp_path: Path) -> None:
    path = tmp_path / "in.toml"
    name = ".".join("abcdefghijkl")
    path.write_text(
        f'microagg-settings = 1\nk = 3\nquasi = ["{name}"] # {name}\n[kinds]\n"{name}" = '
        f'"ordinal"\n'
    )
    assert read_settings(path)["kinds"] == {name: "ordinal"}


def test_available_memory_is_the_least_of_all_limits(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(memory, "MACHINE", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    3000 kB\n")
    monkeypatch.setattr(memory, "_left_in_groups", lambda: iter([7_000_000]))
    assert memory.available_memory() == 3_072_000
    monkeypatch.setattr(memory, "_left_in_groups", lambda: iter([2_000_000]))
    assert memory.available_memory() == 2_000_000


def test_memory_left_in_a_control_group(tmp_path: Path) -> None:
    inner = tmp_path / "jobs" / "one"
    inner.mkdir(parents=True)
    for folder, most in ((inner, "max"), (tmp_path / "jobs", "5000")):
        (folder / "memory.max").write_text(f"{most}\n")
        (folder / "memory.current").write_text("3000\n")
        (folder / "memory.stat").write_text("anon 1\ninactive_file 500\n")
    assert list(memory._left_in(tmp_path, "/jobs/one", "memory.max", "memory.current")) == [2500]


@pytest.mark.parametrize(("lines", "columns"), [(1, 5000), (5000, 1)])
def test_text_is_refused_from_the_byte_on_that_has_no_room(
    tmp_path: Path, monkeypatch: Patch, lines: int, columns: int
) -> None:
    """A wide line takes less than many short lines of as many cells."""
    source = decoding.Source(pa.py_buffer(b"1" * 9999), "utf-8", lines=lines)
    needed = unpacking.memory_of_text(9999, lines, columns)
    monkeypatch.setattr(decoding, "memory_limit", lambda path: needed)
    source.check_larger(tmp_path / "in.csv.gz", columns)
    monkeypatch.setattr(decoding, "memory_limit", lambda path: needed - 1)
    with pytest.raises(ma.InputError, match="unpacks to a table"):
        source.check_larger(tmp_path / "in.csv.gz", columns)


@pytest.mark.parametrize("ending", [".sav", ".zsav", ".dta", ".xpt"])
def test_cells_of_a_statistics_file_are_bounded(
    tmp_path: Path, monkeypatch: Patch, ending: str
) -> None:
    path = tmp_path / f"in{ending}"
    write_table(pa.table({"age": np.arange(5000), "rent": np.arange(5000) % 70}), path)
    monkeypatch.setattr("microagg.files.stats.reading.largest_table", lambda path: 90_000)
    assert read_table(path).num_rows == 5000
    monkeypatch.setattr("microagg.files.stats.reading.largest_table", lambda path: 70_000)
    with pytest.raises(ma.InputError, match="unpacks to a table that takes more than"):
        read_table(path)
