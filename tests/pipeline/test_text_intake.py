"""Text files beyond memory: the same bytes as in memory, plain and packed, in any dialect."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from beyond import files, in_passes, settings_for, table_of
from failing import Failing
from microagg.files.commit.writing import write_table
from microagg.files.text import decoding
from microagg.pipeline.files import anonymize_file

pytestmark = pytest.mark.slow
SETTINGS = settings_for("mixed", keep=["id", "w"], l=2)
WRITING = {
    "out.csv": {},
    "out.csv.gz": {"decimal": ",", "thousands": ".", "line_end": "crlf", "escape_formulas": True},
    "out.tsv.zst": {"encoding": "utf-16"},
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)


def with_odd_texts(table: pa.Table) -> pa.Table:
    rng = np.random.default_rng(5)
    odd = np.array(["", "=1+1", 'say "no"', "two\nlines", "a,b;c\td", "Köln", "NA"], object)
    texts = pa.array(odd[rng.integers(0, len(odd), len(table))], mask=rng.random(len(table)) < 0.1)
    flags = pa.array(rng.random(len(table)) < 0.5, mask=rng.random(len(table)) < 0.1)
    sizes = pa.DictionaryArray.from_arrays(
        pa.array(rng.integers(0, 3, len(table)), mask=rng.random(len(table)) < 0.1),
        pa.array(["S", "M", "L"]),
        ordered=True,
    )
    days = pa.array(rng.integers(0, 9000, len(table)), pa.int32()).cast(pa.date32())
    for name, column in (("=odd", texts), ("flag", flags), ("size", sizes), ("day", days)):
        table = table.append_column(name, column)
    return table


@pytest.mark.parametrize("name", WRITING)
def test_text_is_written_as_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    source = tmp_path / "in.parquet"
    pa.parquet.write_table(with_odd_texts(table_of(2500)), source, row_group_size=300)
    settings: dict[str, Any] = {**SETTINGS, "rest": "keep", "writing": WRITING[name]}
    for folder in ("memory", "beyond"):
        (tmp_path / folder).mkdir()
    anonymize_file(source, tmp_path / "memory" / name, **settings)
    in_passes(
        monkeypatch,
        source,
        tmp_path / "beyond" / name,
        64 if name == "out.csv" else 1280,
        **settings,
    )
    in_memory, out_of_core = (files(tmp_path / folder) for folder in ("memory", "beyond"))
    for file, content in in_memory.items():
        assert out_of_core[file] == content, file
    assert list(in_memory) == list(out_of_core)


def test_letters_that_an_encoding_does_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.parquet"
    table = table_of(1200, kinds="plain").append_column("town", pa.array(["Łódź"] * 1200))
    pa.parquet.write_table(table, source)
    settings = settings_for("plain", keep=["id", "w", "town"], writing={"encoding": "cp1252"})
    with pytest.raises(ma.InputError, match="'town' has letters that cp1252 does not have"):
        in_passes(monkeypatch, source, tmp_path / "out.csv", **settings)
    assert list(files(tmp_path)) == ["in.parquet"]


def as_csv(table: pa.Table, path: Path, **writing: Any) -> Path:
    write_table(table, path, **writing)
    return path


READING = [
    ("in.csv", "out.csv", {}, 64),
    (
        "in.csv.gz",
        "out.parquet",
        {"delimiter": ";", "decimal": ",", "thousands": ".", "line_end": "crlf"},
        1280,
    ),
    ("in.txt.zst", "out.csv.gz", {"encoding": "utf-16", "delimiter": "|"}, 1280),
]


@pytest.mark.filterwarnings("ignore::microagg.errors.ReadingWarning")
@pytest.mark.parametrize(("name", "target", "writing", "chunk"), READING)
def test_text_is_read_as_in_memory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    target: str,
    writing: dict[str, Any],
    chunk: int,
) -> None:
    table = with_odd_texts(table_of(2500)).drop_columns(["size"])
    amounts = pa.array([f"{number}{writing.get('decimal', '.')}50" for number in range(2500)])
    rng = np.random.default_rng(3)
    more = {
        "amount": amounts,
        "code": [f"{number:05}" for number in range(2500)],
        "rate": [
            f"{number}" if number % 7 else "NA" for number in rng.integers(0, 500, 2500).tolist()
        ],
        "seen": [
            f"2024-0{number % 9 + 1}-1{number % 8}" if number % 11 else "n/a"
            for number in range(2500)
        ],
        "visits": ["." if number % 9 == 0 else f" {number % 40}" for number in range(2500)],
    }
    for key, column in more.items():
        table = table.append_column(key, pa.array(column))
    source = as_csv(table, tmp_path / name, **writing)
    settings: dict[str, Any] = {
        **SETTINGS,
        "rest": "keep",
        "l": None,
        "quasi": [*SETTINGS["quasi"], "rate", "seen"],
    }
    messages = []
    for folder, run in (
        ("memory", anonymize_file),
        ("beyond", lambda *args, **more: in_passes(monkeypatch, *args, chunk, **more)),
    ):
        (tmp_path / folder).mkdir()
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            run(source, tmp_path / folder / target, **settings)
        messages.append(sorted({str(warning.message) for warning in heard}))
    in_memory, out_of_core = (files(tmp_path / folder) for folder in ("memory", "beyond"))
    for file, content in in_memory.items():
        assert out_of_core[file] == content, file
    assert list(in_memory) == list(out_of_core)
    assert messages[0] == messages[1]
    assert not [path for path in (tmp_path / "beyond").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("header", [True, False])
def test_a_declared_header_is_not_judged_beyond_memory_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: bool
) -> None:
    source = tmp_path / "in.csv"
    rows = "".join(f"{number % 71},{number % 13}\n" for number in range(1500))
    source.write_text(f"2019,2020\n{rows}")
    settings: dict[str, Any] = {
        "k": 5,
        "quasi": ["2019", "2020"] if header else ["1", "2"],
        "effort": "quick",
        "seed": 1,
        "reading": {"header": header},
    }
    for folder in ("memory", "beyond"):
        (tmp_path / folder).mkdir()
    anonymize_file(source, tmp_path / "memory" / "out.csv", **settings)
    in_passes(monkeypatch, source, tmp_path / "beyond" / "out.csv", 128, **settings)
    in_memory, out_of_core = (files(tmp_path / folder) for folder in ("memory", "beyond"))
    assert out_of_core["out.csv"] == in_memory["out.csv"]


@pytest.mark.parametrize(
    "spoilt",
    [b"1,2,3\n", b'1,"2\n', b"x,2\n" * 3, b""],
    ids=["ragged", "open quote", "text among numbers", "small"],
)
def test_what_is_wrong_with_text_is_said_as_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoilt: bytes
) -> None:
    source = tmp_path / "in.csv"
    rows = b"".join(
        b"%d,%d\n" % (number % 71, number % 13) for number in range(1500 if spoilt else 300)
    )
    source.write_bytes(b"age,town\n" + rows + spoilt)
    messages = []
    for run in (anonymize_file, lambda *args, **more: in_passes(monkeypatch, *args, **more)):
        try:
            run(source, tmp_path / "out.csv", k=5, quasi=["age", "town"], effort="quick", seed=1)
            messages.append("")
        except ma.InputError as error:
            messages.append(str(error))
    assert messages[0] == messages[1]
    assert bool(messages[0]) == bool(spoilt)


def test_a_full_disk_while_text_is_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = as_csv(table_of(1500, kinds="plain"), tmp_path / "in.csv.gz")
    settings = settings_for("plain", keep=["id", "w"])

    class Full:
        def write(self, block: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    def unpack(descriptor: int, mode: str) -> Any:
        os.close(descriptor)
        return Full()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding.os, "fdopen", unpack)
        with pytest.raises(
            ma.InputError,
            match=r"could not be written \(No space left on device\); nothing was put in place",
        ):
            in_passes(patch, source, tmp_path / "out.csv", **settings)
    assert list(files(tmp_path)) == ["in.csv.gz"]
    with pytest.MonkeyPatch.context() as patch:
        Failing(patch, "disk full", 4)
        with pytest.raises(ma.InputError, match="the disk is full"):
            in_passes(patch, source, tmp_path / "out.csv", **settings)
    assert list(files(tmp_path)) == ["in.csv.gz"]
