"""Whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import microagg as ma
from microagg.files.commit.journal import LONGEST
from microagg.files.commit.writing import (
    StagedFile,
    check_unwritable,
    make_folder,
    put_in_place,
    replace_whole,
    write_table,
)

TOKEN = "00c0ffee00c0ffee"


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

    replace_whole(path, lambda part: part.write_text("new"), inspect)
    assert seen == ["new"]
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("old", [None, "old"])
@pytest.mark.parametrize("step", ["write", "inspect", "interrupt"])
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

    with pytest.raises((ma.MicroaggError, KeyboardInterrupt)):
        replace_whole(path, write, refuse if step == "inspect" else accept)
    assert [file.read_text() for file in tmp_path.iterdir()] == ([] if old is None else [old])


@pytest.mark.parametrize("name", ["out.csv", "a[1].csv", "*.csv"])
def test_parts_of_killed_runs_are_cleared_and_no_others(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    mine = [tmp_path / f".{TOKEN}.{name}{ending}" for ending in (".part", ".old")]
    mine.append(tmp_path / f".{TOKEN}..{name}.journal.part")
    others = [
        tmp_path / f".{TOKEN}.other.csv.part",
        tmp_path / f".x.{name}.part",
        tmp_path / f"{TOKEN}.{name}.part",
        tmp_path / f".{TOKEN}.{name}.mine",
    ]
    for file in (*mine, *others):
        file.write_text("part")
    replace_whole(path, lambda part: part.write_text("new"), accept)
    assert not any(file.exists() for file in mine)
    assert all(file.exists() for file in others)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_a_planted_link_or_mode_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if somebody guesses the name of the part."""
    monkeypatch.setattr("secrets.token_hex", lambda count: TOKEN)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    path = tmp_path / "out.csv"
    planted = tmp_path / f".{TOKEN}.out.csv.part"

    def plant(*_: object) -> None:
        """After left-overs have been cleared, as a quick adversary would."""
        planted.symlink_to(elsewhere)

    monkeypatch.setattr("microagg.files.commit.writing._clear_left_overs", plant)
    with pytest.raises(ma.InputError, match="it is as it was"):
        replace_whole(path, lambda part: part.write_text("secret"), private=True)
    assert elsewhere.read_text() == "precious"
    assert not path.exists()

    def plant_open(*_: object) -> None:
        planted.touch(mode=0o666)

    monkeypatch.setattr("microagg.files.commit.writing._clear_left_overs", plant_open)
    with pytest.raises(ma.InputError, match="it is as it was"):
        replace_whole(path, lambda part: part.write_text("secret"), private=True)
    assert not path.exists()


def test_names_cannot_be_guessed_and_nobody_else_reads_before_it_was_inspected(
    tmp_path: Path,
) -> None:
    seen: list[tuple[str, int]] = []

    def inspect(part: Path) -> None:
        seen.append((part.name, part.stat().st_mode & 0o777))

    for private in (True, False):
        replace_whole(
            tmp_path / "out.csv", lambda part: part.write_text("new"), inspect, private=private
        )
        usual = 0o666 & ~_mask()
        assert (tmp_path / "out.csv").stat().st_mode & 0o777 == (0o600 if private else usual)
    assert [mode for _, mode in seen] == [0o600, 0o600]
    assert seen[0][0] != seen[1][0]
    assert str(os.getpid()) not in seen[0][0].split(".")


def test_a_part_that_was_exchanged_is_not_put_in_place(tmp_path: Path) -> None:
    def write(part: Path) -> None:
        part.write_text("mine")
        part.unlink()
        part.write_text("somebody else's")

    with pytest.raises(ma.InputError, match="another program is changing files"):
        replace_whole(tmp_path / "out.csv", write)
    assert list(tmp_path.iterdir()) == []


def _mask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def test_a_name_that_is_too_long_is_told_before(tmp_path: Path) -> None:
    check_unwritable(tmp_path / ("a" * LONGEST))
    replace_whole(tmp_path / ("a" * LONGEST), lambda part: part.write_text("new"))
    with pytest.raises(ma.InputError, match="too long"):
        check_unwritable(tmp_path / ("a" * (LONGEST + 1)))


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    check_unwritable(tmp_path / "out.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ma.InputError, match="is a folder"):
        check_unwritable(tmp_path / "folder.csv")
    with pytest.raises(ma.InputError, match="does not exist"):
        check_unwritable(tmp_path / "missing" / "out.csv")


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(ma.InputError, match="permissions"):
        check_unwritable(tmp_path / "out.csv")


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


def test_a_folder_takes_its_place_after_all_of_it_was_inspected(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def write(part: Path) -> None:
        assert not list(part.iterdir())
        for name in ("0.parquet", "1.parquet"):
            (part / name).write_text(name)

    def inspect(part: Path) -> None:
        assert not (tmp_path / "out").exists()
        seen.append(sorted(path.name for path in part.iterdir()))

    staged = StagedFile(tmp_path / "out", write, inspect, folder=True)
    note = StagedFile(tmp_path / "out.json", lambda part: part.write_text("{}"))
    put_in_place([staged, note])
    assert seen == [["0.parquet", "1.parquet"]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.json"]
    assert (tmp_path / "out" / "1.parquet").read_text() == "1.parquet"


def test_a_folder_that_is_not_as_it_should_be_is_not_put_in_place(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("old")
    part_name = "part-00000.parquet"

    def write(part: Path) -> None:
        (part / part_name).write_text("new")

    with pytest.raises(ma.GuaranteeError):
        put_in_place([StagedFile(tmp_path / "out", write, refuse, folder=True)])
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "old"]


def test_a_staged_file_is_readable_by_others_unless_it_is_private(tmp_path: Path) -> None:
    def write(part: Path) -> None:
        part.write_text("new")

    put_in_place(
        [
            StagedFile(tmp_path / "usual.csv", write),
            StagedFile(tmp_path / "mine.csv", write, private=True),
        ]
    )
    modes = [(tmp_path / f"{name}.csv").stat().st_mode & 0o777 for name in ("usual", "mine")]
    assert modes == [0o666 & ~_mask(), 0o600]
