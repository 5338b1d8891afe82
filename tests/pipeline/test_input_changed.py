"""Input that is changed or replaced while it is read: one sentence, and nothing is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import microagg as ma
import small_blocks
from beyond import in_passes
from microagg.files.commit.writing import write_table
from microagg.files.identity import InputIdentity
from microagg.pipeline import files, text_intake
from stores import make_store, shelf

SETTINGS: dict[str, Any] = {
    "k": 5,
    "quasi": ["a", "b"],
    "confidential": ["c"],
    "seed": 3,
    "effort": "quick",
    "date": "2026-01-01",
}
CHANGED = "was changed or replaced while it was read, so nothing was written"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)


def table_of(seed: int, records: int = 2000) -> pa.Table:
    rng = np.random.default_rng(seed)
    gaps = np.arange(records) % 50 == 0
    columns: dict[str, Any] = {name: rng.integers(100, 1000, records) for name in "abc"}
    return pa.table({**columns, "b": pa.array(columns["b"], mask=gaps)})


def write(table: pa.Table, path: Path) -> None:
    """A parquet file whose size does not depend on its values."""
    pa.parquet.write_table(
        table, path, 300, compression="none", use_dictionary=False, write_statistics=False
    )


def replace_file(path: Path) -> None:
    """Another table by a rename: the way of programs that write a file beside and move it."""
    write(table_of(2), path.with_name("other"))
    os.replace(path.with_name("other"), path)


def overwrite_in_place(path: Path) -> None:
    """Other values under the same inode, size and time of change: only the digest of the values
    tells.
    """
    before = os.stat(path)
    other = path.with_name("other")
    write(table_of(2), other)
    with path.open("r+b") as file:
        file.write(other.read_bytes())
    other.unlink()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = os.stat(path)
    assert (before.st_ino, before.st_size, before.st_mtime_ns) == (
        after.st_ino,
        after.st_size,
        after.st_mtime_ns,
    )


class AtPass:
    """A progress that does something at the first news of one pass."""

    def __init__(self, name: str, act: Callable[[], object]) -> None:
        self.name, self.act, self.is_done = name, act, False

    def __call__(self, done: int, total: int) -> None:
        pass

    def tell(self, what: str) -> None:
        if what.split(",")[0] == self.name and not self.is_done:
            self.is_done = True
            self.act()


def refused(
    monkeypatch: pytest.MonkeyPatch,
    source: Any,
    target: Path,
    name: str,
    act: Callable[[], object],
    **more: Any,
) -> None:
    progress = AtPass(name, act)
    target.parent.mkdir()
    with pytest.raises(ma.InputError, match=CHANGED):
        in_passes(
            monkeypatch,
            source,
            target,
            progress=progress,
            **{**SETTINGS, "missing": "group", **more},
        )
    assert progress.is_done
    assert list(target.parent.iterdir()) == []


LATE = [pytest.param(name, marks=pytest.mark.slow) for name in ("grouping", "writing")]


@pytest.mark.parametrize("name", ["scanning", "measuring", "sampling", "routing", *LATE])
def test_a_file_that_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    source = tmp_path / "in.parquet"
    write(table_of(1), source)
    refused(
        monkeypatch, source, tmp_path / "out" / "out.parquet", name, lambda: replace_file(source)
    )


@pytest.mark.parametrize("missing", ["group", "drop"])
def test_values_that_change_behind_an_unchanged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: Any
) -> None:
    """The first pass and the last one must read the same values, whatever the file system says."""
    source = tmp_path / "in.parquet"
    write(table_of(1), source)
    # after the last chunk of the first pass
    name = "routing" if missing == "drop" else "sampling"
    refused(
        monkeypatch,
        source,
        tmp_path / "out" / "out.parquet",
        name,
        lambda: overwrite_in_place(source),
        missing=missing,
    )


def test_a_part_that_is_added_to_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "in"
    source.mkdir()
    for number in range(2):
        write(table_of(number, 1000), source / f"part-{number}.parquet")

    def add() -> None:
        write(table_of(7, 500), source / "part-2.parquet")

    refused(monkeypatch, source, tmp_path / "out" / "out.parquet", "routing", add)


def test_a_file_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_store()
    source = tmp_path / "in.parquet"
    write(table_of(1), source)

    def longer() -> None:
        write(table_of(2, 2100), source)

    refused(monkeypatch, shelf(source), tmp_path / "out" / "out.parquet", "sampling", longer)


def test_a_text_file_while_it_is_taken_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "in.csv"
    write_table(table_of(1), source)
    usual = text_intake.write_spill_file

    def set_aside(path: str, rows: pa.Table) -> None:
        if path.endswith("texts-1.arrow"):
            write_table(table_of(2), source)
        usual(path, rows)

    monkeypatch.setattr(text_intake, "write_spill_file", set_aside)
    with pytest.raises(ma.InputError, match=CHANGED):
        in_passes(monkeypatch, source, tmp_path / "out.csv", **SETTINGS, missing="group")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv"]


def test_a_file_that_is_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "in.csv"
    write_table(table_of(1, 50), source)
    usual = files.read_for

    def read_for(*args: Any, **more: Any) -> pa.Table:
        table = usual(*args, **more)
        write_table(table_of(2, 50), source)
        return table

    monkeypatch.setattr(files, "read_for", read_for)
    with pytest.raises(ma.InputError, match=CHANGED):
        files.anonymize_file(source, tmp_path / "out.csv", **SETTINGS, missing="group")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv"]


def test_errors_of_a_file_that_is_not_there_stay_what_they_are(tmp_path: Path) -> None:
    identity = InputIdentity.of(tmp_path / "no.parquet")
    assert identity.files is None
    identity.check_changed()
    with pytest.raises(ma.InputError, match="there is no file"):
        files.anonymize_file(tmp_path / "no.parquet", tmp_path / "out.csv", **SETTINGS)
