"""A run that was killed while it moved its files: all of them are the new ones afterwards, or all
are the old ones.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from microagg.errors import InputError
from microagg.files.commit import journal, system
from microagg.files.commit.journal import Move

NAMES = ("out.csv", "out.csv.internal.json", "out.csv.public.json")


def prepared(folder: Path, *, replaces: bool) -> list[Move]:
    """Three new files beside their places, and the journal that says where they go."""
    moves = []
    for number, name in enumerate(NAMES):
        part, backup = (f".{number:016x}.{name}{ending}" for ending in (".part", ".old"))
        (folder / part).write_text(f"new {name}")
        if replaces:
            (folder / name).write_text(f"old {name}")
        moves.append(Move(name, part, backup, replaces, system.digest(folder / part)))
    journal.begin(folder / NAMES[0], moves)
    return moves


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def every(age: str) -> dict[str, str]:
    return {name: f"{age} {name}" for name in NAMES}


@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize("moved", range(4))
def test_a_run_that_had_all_its_files_is_ended(tmp_path: Path, moved: int, replaces: bool) -> None:
    moves = prepared(tmp_path, replaces=replaces)
    journal.complete(tmp_path, moves[:moved])
    (note,) = journal.recover(tmp_path / NAMES[0])
    assert note.endswith("its files were put in place")
    assert contents(tmp_path) == every("new")
    assert journal.recover(tmp_path / NAMES[0]) == []


@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize(
    ("moved", "broken", "how"), list(itertools.product(range(3), range(3), ("cut short", "gone")))
)
def test_a_run_that_lacks_one_of_them_is_undone(
    tmp_path: Path, moved: int, broken: int, how: str, replaces: bool
) -> None:
    """One new file is not what it should be: none of the others may take its place."""
    moves = prepared(tmp_path, replaces=replaces)
    journal.complete(tmp_path, moves[:moved])
    path = tmp_path / (moves[broken].name if broken < moved else moves[broken].part)
    if how == "gone" and broken >= moved:
        path.unlink()
    else:
        path.write_text("n")
    (note,) = journal.recover(tmp_path / NAMES[0])
    assert note.endswith("what was there before is back")
    assert contents(tmp_path) == (every("old") if replaces else {})


def test_what_was_linked_before_the_kill_is_no_hindrance(tmp_path: Path) -> None:
    """The old file is kept beside its place, and the new one was not moved yet."""
    moves = prepared(tmp_path, replaces=True)
    system.link(tmp_path / moves[0].name, tmp_path / moves[0].backup)
    journal.recover(tmp_path / NAMES[0])
    assert contents(tmp_path) == every("new")


@pytest.mark.parametrize("name", ["other.csv", "../out.csv", "out.csv/../../x"])
def test_a_journal_that_names_other_files_is_not_obeyed(tmp_path: Path, name: str) -> None:
    (tmp_path / "run").mkdir()
    folder = tmp_path / "run"
    (folder / "other.csv").write_text("mine")
    part, backup = (f".{7:016x}.{name}{ending}" for ending in (".part", ".old"))
    journal.begin(folder / "out.csv", [Move(name, part, backup, True, "")])
    with pytest.raises(InputError, match="is not a journal that this user wrote"):
        journal.recover(folder / "out.csv")
    assert (folder / "other.csv").read_text() == "mine"


@pytest.mark.parametrize("old", ["folder", "nothing"])
def test_a_new_folder_of_parts_gives_way_to_what_was_there(tmp_path: Path, old: str) -> None:
    """The new target is a folder, which no rename overwrites."""
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "0.parquet").write_text("new")
    if old == "folder":
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "0.parquet").write_text("old")
    move = Move("out", "part", "backup", old != "nothing", "")
    journal.complete(tmp_path, [move])
    assert (tmp_path / "out" / "0.parquet").read_text() == "new"
    journal.undo(tmp_path, [move])
    assert (tmp_path / "part" / "0.parquet").read_text() == "new", "staged again"
    if old == "nothing":
        assert [path.name for path in tmp_path.iterdir()] == ["part"]
    else:
        assert (tmp_path / "out" / "0.parquet").read_text() == "old"
        assert not (tmp_path / "backup").exists()


def test_what_somebody_else_put_there_is_not_taken_away(tmp_path: Path) -> None:
    """The new file is still staged: a file at its target is not of this run."""
    (tmp_path / "out.csv").write_text("of somebody else")
    (tmp_path / "part").write_text("new")
    journal.undo(tmp_path, [Move("out.csv", "part", "backup", False, "")])
    assert (tmp_path / "out.csv").read_text() == "of somebody else"
    assert (tmp_path / "part").read_text() == "new"
    journal.undo(tmp_path, [Move("nowhere.csv", "nothing", "backup", False, "")])
