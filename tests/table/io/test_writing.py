"""Whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import microagg as ma
from microagg.table.io.writing import make_folder, refuse_unwritable, replace_whole, write_table

DEAD = 2**22 + 1  # beyond the largest process number there can be


def accept(_: Path) -> None:
    """Find nothing wrong."""


def refuse(_: Path) -> None:
    raise ma.GuaranteeError("no.")


def test_a_file_takes_its_place(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    seen: list[str] = []

    def inspect(part: Path) -> None:
        seen.append(part.read_text())
        assert part.parent == path.parent, "a rename across file systems is not atomic"
        assert path.read_text() == "old"

    replace_whole(path, lambda part: part.write_text("new"), inspect, before=lambda: seen.append("before"))
    assert seen == ["new", "before"]
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("old", [None, "old"])
@pytest.mark.parametrize("step", ["write", "inspect", "before", "interrupt"])
def test_whatever_fails_leaves_what_was(tmp_path: Path, old: str | None, step: str) -> None:
    path = tmp_path / "out.csv"
    if old is not None:
        path.write_text(old)

    def write(part: Path) -> None:
        part.write_text("half of it")
        if step == "write":
            raise OSError(28, "No space left on device")
        if step == "interrupt":
            raise KeyboardInterrupt

    def before() -> None:
        if step == "before":
            raise ma.InputError("no.")

    with pytest.raises((ma.MicroaggError, KeyboardInterrupt)):
        replace_whole(path, write, refuse if step == "inspect" else accept, before)
    assert [file.read_text() for file in tmp_path.iterdir()] == ([] if old is None else [old])


@pytest.mark.parametrize("name", ["out.csv", "a[1].csv", "*.csv"])
def test_parts_of_killed_runs_are_cleared_and_no_others(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    mine = tmp_path / f".{DEAD}.{name}.part"
    alive = tmp_path / f".{os.getppid()}.{name}.part"
    others = [
        tmp_path / f".{DEAD}.other.csv.part",
        tmp_path / f".x.{name}.part",
        tmp_path / f"{DEAD}.{name}.part",
    ]
    for file in (mine, alive, *others):
        file.write_text("part")
    replace_whole(path, lambda part: part.write_text("new"), accept)
    assert not mine.exists()
    assert alive.exists(), "the part of a process that still runs"
    assert all(file.exists() for file in others)


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    refuse_unwritable(tmp_path / "out.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ma.InputError, match="is a folder"):
        refuse_unwritable(tmp_path / "folder.csv")
    with pytest.raises(ma.InputError, match="does not exist"):
        refuse_unwritable(tmp_path / "missing" / "out.csv")


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(ma.InputError, match="permissions"):
        refuse_unwritable(tmp_path / "out.csv")


def test_make_folder(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(ma.InputError, match="cannot be made"):
        make_folder(tmp_path / "file")


def test_types_that_csv_cannot_hold(tmp_path: Path) -> None:
    for column in (pa.array([[1]]), pa.array([{"a": 1}]), pa.array([b"\xff"])):
        with pytest.raises(ma.InputError, match="write a parquet"):
            write_table(pa.table({"a": column}), tmp_path / "out.csv")
        write_table(pa.table({"a": column}), tmp_path / "out.parquet")


def test_a_part_is_written_in_the_format_of_its_target(tmp_path: Path) -> None:
    write_table(pa.table({"a": [1]}), tmp_path / ".1.out.csv.part", delimiter=";")
    assert (tmp_path / ".1.out.csv.part").read_text() == '"a"\n1\n'
    write_table(pa.table({"a": [1]}), tmp_path / ".1.out.parquet.part")
    assert (tmp_path / ".1.out.parquet.part").read_bytes().startswith(b"PAR1")
