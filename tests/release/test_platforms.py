"""Windows and macOS, as far as they can be had here: releases are saved, verified, replaced, mended
and cleaned up after.
"""

from __future__ import annotations

import errno
import gc
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import microagg as ma
import platforms
from failing import Failing, Killed
from microagg.errors import SavingWarning
from microagg.files import memory
from microagg.files.commit import journal, locking, system
from microagg.files.commit.writing import clean_folder
from microagg.problem.problem import checked_threads

Patch = pytest.MonkeyPatch
WHOLE = ["out.csv", "out.csv.internal.json", "out.csv.public.json"]


@pytest.fixture(params=["windows", "macos", "no locks", "no links"])
def other_system(request: pytest.FixtureRequest, monkeypatch: Patch) -> str:
    if request.param == "windows":
        platforms.as_on_windows(monkeypatch)
    elif request.param == "macos":
        platforms.as_on_macos(monkeypatch, [])
    elif request.param == "no locks":
        monkeypatch.setattr(system, "fcntl", None)
        monkeypatch.setattr(system, "msvcrt", None)
    else:
        monkeypatch.setattr(os, "link", _refused)
    return request.param


def _refused(*_: Any) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


def survey(folder: Path) -> Path:
    source = folder / "in" / "survey.csv"
    source.parent.mkdir(exist_ok=True)
    rows = "\n".join(f"{20 + i % 40},{1000 + 37 * i}" for i in range(30))
    source.write_text(f"age,income\n{rows}\n")
    return source


def saved(folder: Path, seed: int = 1, name: str = "out.csv") -> ma.Release:
    return ma.anonymize_file(
        survey(folder), folder / name, k=3, quasi=["age", "income"], method="mdav", seed=seed
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def quietly(other: str) -> Any:
    """A folder that cannot be locked is told about; nothing else is."""
    return (
        pytest.warns(SavingWarning, match="cannot be locked") if other == "no locks" else _nothing()
    )


class _nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def test_a_release_is_saved_verified_and_replaced(tmp_path: Path, other_system: str) -> None:
    with quietly(other_system):
        saved(tmp_path, seed=1)
    assert names(tmp_path) == WHOLE, "whole, and nothing beside it"
    assert ma.check(_read(tmp_path / "out.csv"), ["age", "income"], k=3).holds
    first = (tmp_path / "out.csv").read_bytes()
    with quietly(other_system):
        saved(tmp_path, seed=2)
    assert names(tmp_path) == WHOLE
    assert (tmp_path / "out.csv").read_bytes() != first
    releases = {json.loads((tmp_path / name).read_text())["release"] for name in WHOLE[1:]}
    assert len(releases) == 1
    assert clean_folder(tmp_path) == []


def test_the_same_bytes_as_here(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    saved(tmp_path / "here")
    platforms.as_on_windows(monkeypatch)
    saved(tmp_path / "there")
    for name in ("out.csv", "out.csv.public.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


@pytest.mark.parametrize(
    "make_system", [platforms.as_on_windows, lambda patch: platforms.as_on_macos(patch, [])]
)
def test_what_a_killed_run_left_is_ended_or_undone(
    tmp_path: Path, make_system: Callable[[Patch], None]
) -> None:
    """Killed before each of its calls in turn: the next run finds old files or new ones, never some
    of each.
    """
    with pytest.MonkeyPatch.context() as patch:
        make_system(patch)
        saved(tmp_path, seed=1)
        counting = Failing(patch)
        saved(tmp_path, seed=1)
    old = {name: (tmp_path / name).read_bytes() for name in WHOLE}
    for number in range(len(counting.made)):
        with pytest.MonkeyPatch.context() as patch:
            make_system(patch)
            Failing(patch, "killed", number)
            with pytest.raises(Killed):
                saved(tmp_path, seed=2)
        # what was killed holds no file open, though its frames may still be in memory here
        gc.collect()
        with pytest.MonkeyPatch.context() as patch:
            make_system(patch)
            clean_folder(tmp_path)
        assert names(tmp_path) == WHOLE, counting.made[number]
        released = {json.loads((tmp_path / name).read_text())["release"] for name in WHOLE[1:]}
        assert len(released) == 1, counting.made[number]
        assert ma.check(_read(tmp_path / "out.csv"), ["age", "income"], k=3).holds
        for name, content in old.items():
            (tmp_path / name).write_bytes(content)


def test_one_writer_at_a_time_with_the_locks_of_windows(tmp_path: Path, monkeypatch: Patch) -> None:
    platforms.as_on_windows(monkeypatch)
    target = tmp_path / "out.csv"
    with locking.locked(target):
        second = locking.locked(target, wait=0.0)
        with pytest.raises(ma.InputError, match="another run is writing"):
            second.__enter__()
        assert locking.lock_of(target).exists()
    assert names(tmp_path) == [], (
        "a lock that was given back is gone, though its file could not be removed while it was open"
    )
    with locking.locked(target, wait=0.0):
        pass


def test_our_own_open_files_are_never_moved(tmp_path: Path, monkeypatch: Patch) -> None:
    platforms.as_on_windows(monkeypatch)
    path = tmp_path / "held"
    with path.open("w"):
        with pytest.raises(PermissionError):
            os.replace(path, tmp_path / "other")
        with pytest.raises(PermissionError):
            path.unlink()
    path.unlink()


def test_a_target_that_somebody_has_open_is_left_as_it_is(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    platforms.as_on_windows(monkeypatch)
    saved(tmp_path, seed=1)
    before = (tmp_path / "out.csv").read_bytes()
    with (
        (tmp_path / "out.csv").open("rb"),
        pytest.raises(ma.InputError, match="could not be written"),
    ):
        saved(tmp_path, seed=2)
    assert (tmp_path / "out.csv").read_bytes() == before
    assert not journal.journal_of(tmp_path / "out.csv").exists(), (
        "nothing is put in place later, either"
    )
    clean_folder(tmp_path)
    assert names(tmp_path) == WHOLE
    assert (tmp_path / "out.csv").read_bytes() == before


@pytest.mark.parametrize(
    "name", ["CON.csv", "nul.csv", "Com1.csv", "aux.tar.csv", "out?.csv", "a:b.csv"]
)
def test_names_that_windows_does_not_have_are_refused_there(
    tmp_path: Path, monkeypatch: Patch, name: str
) -> None:
    release = saved(tmp_path)
    release.save(tmp_path / name)
    platforms.as_on_windows(monkeypatch)
    with pytest.raises(ma.InputError, match="Windows has no file of the name"):
        release.save(tmp_path / name)


def test_a_journal_under_another_case_is_obeyed(tmp_path: Path) -> None:
    """Where names have no case, `OUT.csv` is `out.csv`, and the journal of one is that of the
    other.
    """
    saved(tmp_path, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        seen = Failing(patch)
        saved(tmp_path, seed=1)
    call = len(seen.made) - 1 - seen.made[::-1].index("rename")
    with pytest.MonkeyPatch.context() as patch:
        Failing(patch, "killed", call)
        with pytest.raises(Killed):
            saved(tmp_path, seed=2)
    left = journal.journal_of(tmp_path / "out.csv")
    assert left.exists()
    left.rename(journal.journal_of(tmp_path / "OUT.csv"))
    assert any("its files were put in place" in message for message in clean_folder(tmp_path))
    assert names(tmp_path) == WHOLE
    releases = {json.loads((tmp_path / name).read_text())["release"] for name in WHOLE[1:]}
    assert len(releases) == 1


def test_a_report_has_no_place_that_differs_in_case_alone(tmp_path: Path) -> None:
    with pytest.raises(ma.InputError, match="is the name of a manifest"):
        ma.anonymize_file(
            survey(tmp_path),
            tmp_path / "out.csv",
            k=3,
            quasi=["age", "income"],
            report=tmp_path / "OUT.CSV.json",
        )


def test_files_are_flushed_to_the_drive_on_macos(tmp_path: Path, monkeypatch: Patch) -> None:
    flushed: list[int] = []
    platforms.as_on_macos(monkeypatch, flushed)
    saved(tmp_path)
    assert len(flushed) >= 3, "table and manifests"
    monkeypatch.setattr(system.fcntl, "fcntl", _refused)
    saved(tmp_path, seed=2)
    assert names(tmp_path) == WHOLE


def test_memory_and_processors_where_nobody_tells(monkeypatch: Patch) -> None:
    platforms.as_on_windows(monkeypatch)
    for name in ("MACHINE", "GROUPS"):
        monkeypatch.setattr(memory, name, Path("nowhere"))
    assert memory.available_memory() == memory.UNKNOWN
    assert checked_threads(None) >= 1


def _read(path: Path) -> Any:
    from microagg.files.reading import read_table

    return read_table(path)
