"""Text files beyond memory: the same bytes as in memory, plain and packed, in any dialect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from beyond import asked, files, in_passes, table_of
from microagg.release.files import anonymize_file

pytestmark = pytest.mark.slow
SETTINGS = asked("mixed", keep=["id", "w"], l=2)
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
        pa.array(rng.integers(0, 3, len(table)), mask=rng.random(len(table)) < 0.1), pa.array(["S", "M", "L"]), ordered=True
    )  # fmt: skip
    days = pa.array(rng.integers(0, 9000, len(table)), pa.int32()).cast(pa.date32())
    for name, column in (("=odd", texts), ("flag", flags), ("size", sizes), ("day", days)):
        table = table.append_column(name, column)
    return table


@pytest.mark.parametrize("name", WRITING)
def test_text_is_written_as_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    source = tmp_path / "in.parquet"
    pa.parquet.write_table(with_odd_texts(table_of(2500)), source, row_group_size=300)
    settings: dict[str, Any] = {**SETTINGS, "rest": "keep", "writing": WRITING[name]}
    for folder in ("memory", "beyond"):
        (tmp_path / folder).mkdir()
    anonymize_file(source, tmp_path / "memory" / name, **settings)
    in_passes(monkeypatch, source, tmp_path / "beyond" / name, 64 if name == "out.csv" else 1280, **settings)
    here, there = (files(tmp_path / folder) for folder in ("memory", "beyond"))
    for each, content in here.items():
        assert there[each] == content, each
    assert list(here) == list(there)


def test_letters_that_an_encoding_does_not_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "in.parquet"
    table = table_of(1200, kinds="plain").append_column("town", pa.array(["Łódź"] * 1200))
    pa.parquet.write_table(table, source)
    settings = asked("plain", keep=["id", "w", "town"], writing={"encoding": "cp1252"})
    with pytest.raises(ma.InputError, match="'town' has letters that cp1252 does not have"):
        in_passes(monkeypatch, source, tmp_path / "out.csv", **settings)
    assert list(files(tmp_path)) == ["in.parquet"]
