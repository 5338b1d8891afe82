"""Stopped halfway by Ctrl-C: what is said afterwards is what is there."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tables
from microagg.files.commit import system
from running import Outcome, finish, start

Microagg = Callable[..., Outcome]

RUN_AND_DAWDLE_HALF_WAY = """
import time
from microagg.cli.commands import main
from microagg.problem.pointset import PointSet
leave = PointSet._leave
def dawdle(points, count):
    leave(points, count)
    if len(points) < 10_000:
        print("half way", flush=True)
        time.sleep(600)
PointSet._leave = dawdle
main()
"""


RUN_AND_LISTEN = """
import json, signal, sys, time
from microagg.cli.commands import main

def run(arguments):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code

def listen(*_):
    global last, longest
    now = time.process_time()
    last, longest = now, max(longest, now - last)

narrow, wide = json.loads(sys.argv[1])
run(narrow)  # compiles what is not compiled yet: that is not asked about
last, longest = time.process_time(), 0.0
signal.signal(signal.SIGPROF, listen)
signal.setitimer(signal.ITIMER_PROF, 0.02, 0.02)
run(wide)
signal.setitimer(signal.ITIMER_PROF, 0.0)
listen()
print("longest silence:", longest)
"""


def wide_table(path: Path, columns: int) -> list[str]:
    """Writes six records and returns the names of the columns."""
    names = [f"c{j}" for j in range(columns)]
    values = np.random.default_rng(0).normal(size=(6, columns)).round(2)
    lines = [",".join(names), *(",".join(map(str, row)) for row in values)]
    path.write_text("\n".join(lines) + "\n")
    return names


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--method", "mdav"), ()], ids=["mdav", "default"])
def test_ctrl_c_would_be_heard_on_wide_tables(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Signals are heard between two steps of Python: no stretch without one takes a second of the
    processor's own time.

    What other processes do to the clock does not matter.
    """
    commands = []
    for columns in (8, 2000):
        names = ",".join(wide_table(tmp_path / f"{columns}.csv", columns))
        files = (f"{columns}.csv", f"{columns}-out.csv", "--report", f"{columns}.html")
        commands.append(["anonymize", *files, "--k", "3", "--quasi", names, *options])
    outcome = finish(start("-c", RUN_AND_LISTEN, json.dumps(commands), folder=tmp_path))
    assert outcome.code == 0, outcome
    assert 0.0 < float(outcome.out.rpartition("longest silence:")[2]) < 1.0


@pytest.mark.slow
def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = "\n".join(",".join(map(str, row)) for row in rng.integers(0, 10**6, (20_000, 4)))
    (tmp_path / "in.csv").write_text(f"a,b,c,d\n{lines}\n")
    (tmp_path / "out.csv").write_text("an older release\n")
    before = tables.snapshot(tmp_path)
    arguments = (
        "anonymize",
        "in.csv",
        "out.csv",
        "--k",
        "3",
        "--quasi",
        "a,b,c,d",
        "--method",
        "mdav",
    )
    process = start("-c", RUN_AND_DAWDLE_HALF_WAY, *arguments, folder=tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "half way\n"
    process.send_signal(signal.SIGINT)
    finish(process).refused("stopped; nothing was written", code=130)
    assert tables.snapshot(tmp_path) == before


@pytest.mark.parametrize(
    "name",
    [
        "pipeline.files.read_for_settings",
        "pipeline.in_memory.run_method",
        "pipeline.aggregation.aggregated",
        "release.saving.write_table",
        "release.saving.manifest_text",
    ],
)
def test_ctrl_c_at_any_step(
    microagg: Microagg, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"microagg.{name}", interrupt)
    source = tables.write(tables.people(), tmp_path / "in.csv")
    (tmp_path / "out.csv").write_text("an older release\n")
    before = tables.snapshot(tmp_path)
    outcome = microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES)
    outcome.refused("stopped; nothing was written", code=130)
    assert tables.snapshot(tmp_path) == before


def test_a_stop_after_saving_does_not_deny_the_file(
    microagg: Microagg, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("microagg.cli.show.release", interrupt)
    tables.write(tables.people(), tmp_path / "in.csv")
    quasi = ",".join(tables.QUASI)
    done = microagg(
        "anonymize", "in.csv", "out.csv", "--k", "3", "--quasi", quasi, "--rest", "drop"
    )
    assert done.code == 130
    assert done.err == "error: stopped; out.csv had been verified and written before.\n"
    assert (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("step", ["first report", "second report", "moving", "tidying up"])
def test_what_is_said_after_a_stop_is_what_is_there(
    microagg: Microagg, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str
) -> None:
    """Whatever had been done: by a look at the files, not by what the command had meant to do."""
    tables.write(tables.people(), tmp_path / "in.csv")
    command = ("anonymize", "in.csv", "out.csv", "--k", "3", *tables.ROLES, "--report", "r.md")
    calls = {
        "first report": ("release.release.build_document", 1),
        "second report": ("release.release.build_document", 2),
        "moving": ("files.commit.system.rename", 3),
        "tidying up": ("files.commit.journal.end", 1),
    }
    name, turn = calls[step]
    module, _, function = f"microagg.{name}".rpartition(".")
    usual, made = getattr(sys.modules[module], function), []

    def interrupt(*arguments: object, **options: object) -> object:
        made.append(1)
        if len(made) == turn:
            raise KeyboardInterrupt
        return usual(*arguments, **options)

    monkeypatch.setattr(f"{module}.{function}", interrupt)
    done = microagg(*command)
    assert done.code == 130, done
    expected = {
        "first report": "out.csv had been verified and written before",
        "second report": "out.csv had been verified and written before, r.internal.md had been "
        "written "
        "before",
        "moving": "nothing was written",
        "tidying up": "out.csv had been verified and written before",
    }[step]
    assert f"error: stopped; {expected}.\n" in done.err
    names = {path.name for path in tmp_path.iterdir()} - {"in.csv"}
    release = {"out.csv", "out.csv.internal.json", "out.csv.public.json"}
    assert (
        names
        == {
            "first report": release,
            "second report": {*release, "r.internal.md"},
            "moving": set(),
            "tidying up": release,
        }[step]
    )


def test_a_report_that_cannot_be_written_leaves_the_release_and_says_so(
    microagg: Microagg, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tables.write(tables.people(), tmp_path / "in.csv")
    usual = system.fill

    def full(part: Path, write: Callable[[Path], object]) -> None:
        if ".html" in part.name:
            raise OSError(28, "No space left on device")
        usual(part, write)

    monkeypatch.setattr(system, "fill", full)
    done = microagg(
        "anonymize", "in.csv", "out.csv", "--k", "3", *tables.ROLES, "--report", "r.html"
    )
    done.refused("out.csv is in place, verified and whole, but its report is not", code=4)
    assert "No space left" in done.err
    assert {path.name for path in tmp_path.iterdir()} == {
        "in.csv", "out.csv", "out.csv.internal.json", "out.csv.public.json",
    }  # fmt: skip
