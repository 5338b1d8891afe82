"""Files that commands do not overwrite, and the messages of `clean` and `repeat`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import microagg as ma
import tables
from microagg.files.commit import journal
from microagg.files.reading import read_table
from running import Outcome

Microagg = Callable[..., Outcome]


def test_the_demonstration_leaves_a_users_residents_alone(
    microagg: Microagg, tmp_path: Path
) -> None:
    (tmp_path / "residents.csv").write_text("name,age\nmine,44\n")
    before = tables.snapshot(tmp_path)
    microagg("demo", "--folder", ".").refused("residents.csv")
    assert tables.snapshot(tmp_path) == before
    (tmp_path / "residents.csv").rename(tmp_path / "residents-protected.csv")
    before = tables.snapshot(tmp_path)
    microagg("demo", "--folder", ".").refused("residents-protected.csv")
    assert tables.snapshot(tmp_path) == before


@pytest.fixture
def saved(microagg: Microagg, tmp_path: Path) -> Path:
    """The internal manifest of a release."""
    tables.write(tables.people(40), tmp_path / "in.csv")
    done = microagg("anonymize", "in.csv", "out.csv", "--k", "3", *tables.ROLES, "--method", "mdav")
    assert done.code == 0, done
    return tmp_path / "out.csv.internal.json"


def change(manifest: Path, **changed: object) -> None:
    content = json.loads(manifest.read_text("utf-8"))
    content["output"]["digest"] = "0" * 64
    manifest.write_text(json.dumps({**content, **changed}), "utf-8")


def test_repeat_does_not_write_another_release(microagg: Microagg, saved: Path) -> None:
    change(saved)
    for more in ((), ("--anyway",)):
        refused = microagg("repeat", saved.name, "in.csv", "again.csv", *more)
        refused.refused("NOT the release", code=3)
        assert "nothing was written" in refused.err
    assert not list(saved.parent.glob("again*"))


@pytest.mark.parametrize("changed", ["microagg", "versions"])
def test_repeat_writes_what_other_versions_make_if_told_to(
    microagg: Microagg, saved: Path, changed: str
) -> None:
    change(saved, **({"microagg": "0.0.9"} if changed == "microagg" else {"versions": {}}))
    microagg("repeat", saved.name, "in.csv", "again.csv").refused("add --anyway", code=3)
    assert not list(saved.parent.glob("again*"))
    done = microagg("repeat", saved.name, "in.csv", "again.csv", "--anyway")
    assert done.code == 0, done
    assert "NOT the release that the manifest describes" in done.out
    assert (saved.parent / "again.csv").read_bytes() == (saved.parent / "out.csv").read_bytes()


def half_moved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes | str]:
    """A release over which another was being saved when the process was killed; returns what the
    new one is.
    """

    class Killed(BaseException):
        pass

    def kill(*_: object) -> None:
        raise Killed

    release = ma.anonymize(
        read_table(folder / "in.csv", tables.QUASI),
        5,
        quasi=tables.QUASI,
        rest="drop",
        method="mdav",
        seed=2,
    )
    (folder / "new").mkdir()
    release.save(folder / "new" / "out.csv")
    new = tables.snapshot(folder / "new")
    usual = journal.complete

    def complete_one(where: Path, moves: list[journal.Move]) -> None:
        usual(where, moves[:1])
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(journal, "complete", complete_one)
        patch.setattr(journal, "undo", kill)
        with pytest.raises(Killed):
            release.save(folder / "out.csv")
    assert (folder / "out.csv").read_bytes() == new["out.csv"]
    assert (folder / "out.csv.public.json").read_bytes() != new["out.csv.public.json"]
    return new


def in_place(folder: Path) -> dict[str, bytes | str]:
    return {
        name: what
        for name, what in tables.snapshot(folder).items()
        if "out.csv" in name and "/" not in name
    }


def test_clean_ends_what_a_killed_run_began(
    microagg: Microagg, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = half_moved(saved.parent, monkeypatch)
    done = microagg("clean", ".")
    assert done.code == 0, done
    assert "its files were put in place" in done.out
    assert in_place(saved.parent) == new
    assert "No interrupted run left files behind" in microagg("clean", ".").out


def test_clean_undoes_what_cannot_be_ended(
    microagg: Microagg, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = in_place(saved.parent)
    half_moved(saved.parent, monkeypatch)
    (part,) = saved.parent.glob(".*.public.json.part")
    part.unlink()
    done = microagg("clean", ".")
    assert "what was there before is back" in done.out
    assert in_place(saved.parent) == old


@pytest.mark.parametrize("command", ["check", "repeat", "anonymize"])
def test_the_next_command_ends_it(
    microagg: Microagg, saved: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    new = half_moved(saved.parent, monkeypatch)
    arguments = {
        "check": ("check", "out.csv", "--quasi", "income,debt", "--k", "5"),
        "repeat": ("repeat", "out.csv.internal.json", "in.csv", "again.csv"),
        "anonymize": (
            "anonymize",
            "in.csv",
            "out.csv",
            "--k",
            "5",
            "--quasi",
            "income,debt",
            "--rest",
            "drop",
            "--method",
            "mdav",
            "--seed",
            "2",
        ),
    }[command]
    done = microagg(*arguments)
    assert done.code == 0, done
    assert (
        done.err == "note: a run that was stopped while it replaced 'out.csv' was ended: its files "
        "were put in place.\n"
    )
    assert in_place(saved.parent) == new or command == "anonymize"
    assert not [path for path in saved.parent.iterdir() if path.name.startswith(".")]


def test_a_folder_that_cannot_be_flushed_is_told(
    microagg: Microagg, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr("microagg.files.commit.system.flush_folder", refuse)
    done = microagg("repeat", saved.name, "in.csv", "again.csv")
    assert done.code == 0, done
    assert done.err.startswith("note: the folder of 'again.csv' could not be flushed")
