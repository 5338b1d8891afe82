"""Every call of saving fails in turn. One whole release is in place, nothing confidential is left
over, what is said is true.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from pathlib import Path

import pytest

import microagg as ma
import tables
from failing import KINDS, Failing, Killed, others_can_read
from microagg.cli import watching
from microagg.errors import SavingWarning
from microagg.files.commit import locking
from microagg.files.commit.writing import clean_folder
from microagg.files.formats import format_of
from microagg.files.reading import read_table
from microagg.table.columns.labels import Labels, with_labels

Files = dict[str, bytes | str]
SCENARIOS = ("fresh", "release", "foreign")


class Stage:
    """A folder that a release is saved to, what was in it before, and what is in it if saving comes
    to its end.
    """

    def __init__(self, folder: Path, scenario: str, ending: str) -> None:
        # a label, so that there is a file of labels where a format cannot hold it
        table = with_labels(tables.people(40), {"income": Labels("Income of a month")})
        releases = [
            ma.anonymize(table, k, quasi=tables.QUASI, rest="drop", method="mdav", seed=k)
            for k in (4, 6)
        ]
        self.folder, self.name, self.release = folder / "place", f"out{ending}", releases[1]
        for made in (folder / "old", folder / "new"):
            made.mkdir()
        if scenario == "release":
            releases[0].save(folder / "old" / self.name)
        if scenario == "foreign":
            tables.write(table, folder / "old" / self.name)
        releases[1].save(folder / "new" / self.name)
        self.old, self.new = tables.snapshot(folder / "old"), tables.snapshot(folder / "new")

    @property
    def path(self) -> Path:
        return self.folder / self.name

    def set(self) -> None:
        """Put back what was there before."""
        self.folder.mkdir(exist_ok=True)
        for path in self.folder.iterdir():
            path.unlink()
        for name, content in self.old.items():
            assert isinstance(content, bytes)
            (self.folder / name).write_bytes(content)
            (self.folder / name).chmod(0o600 if ".internal." in name else 0o644)

    def holds(self) -> str:
        """Tell which release is in place: the old one, the new one, or a mixture."""
        contents = {
            name: content
            for name, content in tables.snapshot(self.folder).items()
            if not name.startswith(".")
        }
        return "old" if contents == self.old else "new" if contents == self.new else "mixed"

    def left_over(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if path.name.startswith(".")]


def calls_of_saving(stage: Stage) -> list[str]:
    stage.set()
    with pytest.MonkeyPatch.context() as patch:
        calls = Failing(patch)
        stage.release.save(stage.path)
    assert stage.holds() == "new"
    assert not stage.left_over()
    return calls.made


def fail_once(stage: Stage, kind: str, call: int, when: str, remain: int, recover: str) -> str:
    """Save with one call failing, look at the three statements; returns the name of the call."""
    stage.set()
    watching.forget()
    watching.watch(stage.path, verified=True)
    message = ""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        patch.setattr(locking, "WAIT", 0.1)
        calls = Failing(patch, kind, call, when, remain)
        try:
            stage.release.save(stage.path)
        except ma.MicroaggError as error:
            message = str(error)
        except (MemoryError, KeyboardInterrupt, Killed) as error:
            message = type(error).__name__
    where = f"{kind} {when} call {call} ({calls.failed}, {remain} more)"
    assert calls.failed, where
    # also what a kill leaves is for its owner only, unless it is what everybody may have
    known = [*stage.old.items(), *stage.new.items()]
    for path in stage.folder.iterdir():
        public = path.read_bytes() in (
            b"",
            *(what for name, what in known if ".internal." not in name),
        )
        assert public or not others_can_read(path), f"{where}: {path.name}"
    _is_true(stage, message, where)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        _recover(stage, recover)
    assert stage.holds() in ("old", "new"), where
    if recover == "clean":
        assert not stage.left_over(), where
    return calls.failed


def _is_true(stage: Stage, message: str, where: str) -> None:
    """Assert that the message about the files is true, without anybody having mended anything."""
    if message == "Killed":
        return
    if message in ("MemoryError", "KeyboardInterrupt"):  # the command line looks
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            outcome = watching.what_was_written()
        expected = "old" if outcome == "nothing was written" else "new"
        assert stage.holds() == expected, f"{where}: {outcome}"
    elif not message:
        assert stage.holds() == "new", where
    elif "neither replaced nor left" in message:
        assert "microagg clean" in message, where
        assert stage.left_over(), where
    else:
        assert "as it was" in message or "nothing was" in message or "left it alone" in message, (
            f"{where}: {message}"
        )
        assert stage.holds() == "old", f"{where}: {message}"


def _recover(stage: Stage, how: str) -> None:
    """Do what a user does next."""
    if how == "clean":
        clean_folder(stage.folder)
    elif stage.path.exists() or stage.left_over():
        with contextlib.suppress(ma.InputError):  # where there was no file
            read_table(stage.path)


@pytest.mark.parametrize(
    "ending",
    [
        ".csv",
        *(
            pytest.param(ending, marks=pytest.mark.slow)
            for ending in tables.ENDINGS
            if ending != ".csv"
        ),
    ],
)
def test_every_call_fails_once(tmp_path: Path, ending: str) -> None:
    stage = Stage(tmp_path, "release", ending)
    assert (f"out{ending}.labels.json" in stage.new) == (format_of(stage.path).holds is None)
    calls = calls_of_saving(stage)
    assert {
        "create",
        "fill",
        "flush",
        "read_back",
        "rename",
        "link",
        "flush_folder",
        "set_mode",
    } <= set(calls)
    for call in range(len(calls)):
        assert fail_once(stage, "disk full", call, "before", 0, "clean") == calls[call]
        fail_once(stage, "killed", call, "before", 0, "clean")


def test_calls_that_go_on_failing(tmp_path: Path) -> None:
    """A rename that never works again, nor does taking it back: what is left over is enough to end
    it later.
    """
    stage = Stage(tmp_path, "release", ".csv")
    calls = calls_of_saving(stage)
    for call in (number for number, name in enumerate(calls) if name == "rename"):
        fail_once(stage, "denied", call, "before", 100, "clean")


@pytest.mark.nightly
@pytest.mark.parametrize("ending", tables.ENDINGS)
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_call_fails_in_every_way(
    tmp_path: Path, scenario: str, ending: str, kind: str
) -> None:
    stage = Stage(tmp_path, scenario, ending)
    calls = calls_of_saving(stage)
    for call in range(len(calls)):
        for when in ("before", "half", "after"):
            for recover in ("clean", "read"):
                fail_once(stage, kind, call, when, 0, recover)
        fail_once(stage, kind, call, "before", 100, "clean")


def test_a_folder_that_cannot_be_flushed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise OSError(22, os.strerror(22))

    monkeypatch.setattr("microagg.files.commit.system.flush_folder", refuse)
    release = ma.anonymize(
        tables.people(), 4, quasi=tables.QUASI, rest="drop", method="mdav", seed=1
    )
    with pytest.warns(SavingWarning, match="could not be flushed") as caught:
        release.save(tmp_path / "out.csv")
    assert len(caught) == 1
    assert ma.check(read_table(tmp_path / "out.csv"), tables.QUASI, 4).holds
