"""The temporary directory of a run: nobody can plant it, resume finds it, and what is left of it
goes.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

import microagg as ma
from failing import Failing
from microagg.files.commit import system
from microagg.pipeline.files import anonymize_file
from microagg.runtime import spill, spill_record
from microagg.runtime.spill import SpillFolder, remove_left_spill
from microagg.runtime.spill_record import left_spill


def names_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def leave_behind(parent: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave what a killed run leaves: its folder with something in it, and the record beside the
    target.
    """
    with monkeypatch.context() as patch:
        patch.setattr(spill, "_remove", lambda _: None)
        with SpillFolder(parent, target) as killed:
            (killed.folder / "block-0.arrow").write_bytes(b"secret")
    assert killed.folder.exists()
    return killed.folder


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A folder for what is set aside, and a target elsewhere."""
    for name in ("shared", "mine"):
        (tmp_path / name).mkdir()
    return tmp_path / "shared", tmp_path / "mine" / "out.parquet"


def test_names_differ_from_run_to_run(places: tuple[Path, Path]) -> None:
    parent, target = places
    seen = set()
    for _ in range(5):
        with SpillFolder(parent, target) as run:
            seen.add(run.folder.name)
    assert len(seen) == 5
    assert names_in(parent) == names_in(target.parent) == []


def test_the_record_is_beside_the_target_and_private(places: tuple[Path, Path]) -> None:
    parent, target = places
    mask = os.umask(0)
    try:
        with SpillFolder(parent, target) as run:
            (record,) = target.parent.iterdir()
            assert stat.S_IMODE(record.stat().st_mode) == 0o600
            assert stat.S_IMODE(run.folder.stat().st_mode) == 0o700
            assert json.loads(record.read_text())["folder"] == str(run.folder)
            assert left_spill(target, parent) is None, "its run is alive"
    finally:
        os.umask(mask)


def test_resume_finds_what_a_killed_run_left(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, target = places
    left = leave_behind(parent, target, monkeypatch)
    assert left_spill(target, parent) == left
    with SpillFolder(parent, target, resume=True) as again:
        assert again.folder == left
        assert (again.folder / "block-0.arrow").exists()
    assert names_in(parent) == names_in(target.parent) == []


def test_another_run_starts_anew_and_removes_what_was_left(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, target = places
    left = leave_behind(parent, target, monkeypatch)
    with SpillFolder(parent, target) as other:
        assert other.folder != left
        assert not left.exists()
    assert names_in(parent) == names_in(target.parent) == []


@pytest.mark.parametrize(
    "what", ["a link", "somebody else's", "open to others", "another name", "nonsense"]
)
def test_nothing_is_taken_up_that_others_could_have_made(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    parent, target = places
    left = leave_behind(parent, target, monkeypatch)
    (record,) = target.parent.iterdir()
    victim = target.parent / "victim"
    victim.mkdir(mode=0o755)
    if what == "a link":
        left.rename(parent / "moved")
        left.symlink_to(victim)
    elif what == "somebody else's":
        monkeypatch.setattr(spill_record, "_is_own", lambda seen: not stat.S_ISDIR(seen.st_mode))
    elif what == "open to others":
        left.chmod(0o755)
    elif what == "another name":
        record.write_text(json.dumps({"folder": str(victim)}))
    else:
        record.write_text("[1, ")
    if what == "somebody else's":
        with pytest.raises(ma.InputError, match="cannot be kept private"):
            SpillFolder(parent, target, resume=True).__enter__()
        assert (left / "block-0.arrow").exists()
    else:
        with SpillFolder(parent, target, resume=True) as again:
            assert again.folder != left
            assert not (again.folder / "block-0.arrow").exists()
    assert list(victim.iterdir()) == []
    assert stat.S_IMODE(victim.stat().st_mode) == 0o755


@pytest.mark.parametrize("what", ["a link", "somebody else's file"])
def test_a_record_that_was_planted_is_refused(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    parent, target = places
    record = spill_record.SpillRecord.of(target, parent, target.parent).path
    victim = target.parent / "victim"
    victim.write_text("kept")
    if what == "a link":
        record.symlink_to(victim)
    else:
        record.write_text("{}")
        monkeypatch.setattr(spill_record, "_is_own", lambda seen: not stat.S_ISREG(seen.st_mode))
    with pytest.raises(ma.InputError, match="cannot be written"):
        SpillFolder(parent, target).__enter__()
    assert victim.read_text() == "kept"
    assert names_in(parent) == []
    assert remove_left_spill(target.parent) == []


def test_a_planted_folder_is_left_alone(places: tuple[Path, Path], tmp_path: Path) -> None:
    parent, target = places
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o755)
    (victim / "lock").write_text("")
    (parent / ".microagg-00c0ffee00c0ffee.spill").symlink_to(victim)
    with SpillFolder(parent, target):
        pass
    assert names_in(parent) == [".microagg-00c0ffee00c0ffee.spill"]
    assert names_in(victim) == ["lock"]
    assert stat.S_IMODE(victim.stat().st_mode) == 0o755


def test_folders_of_others_are_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / ".microagg-00c0ffee00c0ffee.spill"
    left.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(spill_record, "_is_own", lambda _: False)
        assert remove_left_spill(tmp_path) == []
    assert left.exists()
    assert len(remove_left_spill(tmp_path)) == 1


def test_a_folder_that_everybody_may_rename_in_is_refused(places: tuple[Path, Path]) -> None:
    parent, target = places
    parent.chmod(0o777)
    with pytest.raises(ma.InputError, match=r"other users can rename.*chmod \+t"):
        SpillFolder(parent, target).__enter__()
    assert names_in(target.parent) == []
    parent.chmod(0o1777)
    with SpillFolder(parent, target):
        pass


def test_a_file_system_without_modes_is_refused(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, target = places
    monkeypatch.setattr(
        system, "create_folder", lambda folder: folder.mkdir() or folder.chmod(0o755)
    )
    with pytest.raises(ma.InputError, match="cannot be kept private"):
        SpillFolder(parent, target).__enter__()
    assert names_in(parent) == names_in(target.parent) == []


def test_a_run_in_memory_removes_what_a_killed_run_left(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, target = places
    leave_behind(parent, target, monkeypatch)
    source = target.with_name("in.csv")
    source.write_text("age\n" + "\n".join(map(str, range(20, 40))) + "\n")
    settings: dict[str, Any] = {"k": 2, "quasi": ["age"], "seed": 0}
    anonymize_file(source, target, **settings)
    assert names_in(parent) == []
    assert [name for name in names_in(target.parent) if name.startswith(".")] == []


def test_without_locks_a_run_does_not_remove_its_own_folders(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, target = places
    monkeypatch.setattr(system, "take_lock", lambda _: None)
    with (
        SpillFolder(parent, target) as first,
        SpillFolder(parent) as second,
        SpillFolder(target.parent),
    ):
        assert first.folder.exists()
        assert second.folder.exists()
        assert len([name for name in names_in(target.parent) if name.endswith(".resume")]) == 1
    assert names_in(parent) == names_in(target.parent) == []


@pytest.mark.parametrize("call", range(6))
def test_a_call_that_fails_leaves_nothing(places: tuple[Path, Path], call: int) -> None:
    """Setting a mode and taking a lock of the record come first, then those of the folder."""
    parent, target = places
    with pytest.MonkeyPatch.context() as patch:
        calls = Failing(patch, "disk full", call)
        with pytest.raises(ma.InputError, match="No space left"):
            SpillFolder(parent, target).__enter__()
        assert calls.failed
    assert names_in(parent) == names_in(target.parent) == []
    with SpillFolder(parent, target):
        pass
