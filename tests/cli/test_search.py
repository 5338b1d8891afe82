"""The default method on the command line: what it says, how it is stopped, how it is repeated."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import microagg as ma
import tables
from microagg.files.reading import read_table
from running import PATIENCE, Outcome, finish, start

Microagg = Callable[..., Outcome]
QUASI = "a,b,c"

TELL_OF_CHECKPOINTS = """
from microagg.cli.commands import main
from microagg.problem.watch import Watch
checkpoint = Watch.checkpoint
def tell(watch, *arguments):
    ends = checkpoint(watch, *arguments)
    if watch.passed <= 2 and str(arguments[-1]).startswith("IL"):  # the annealing only
        print(f"checkpoint {watch.passed}", flush=True)
    return ends
Watch.checkpoint = tell
main()
"""

ENDLESS = (
    "anonymize",
    "in.csv",
    "out.csv",
    "--k",
    "3",
    "--quasi",
    QUASI,
    "--effort",
    "1000000",
    "--seed",
    "5",
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    values = np.random.default_rng(0).integers(0, 10**6, (120, 3))
    lines = "\n".join(",".join(map(str, row)) for row in values)
    path = tmp_path / "in.csv"
    path.write_text(f"a,b,c\n{lines}\n")
    return path


def manifest(folder: Path, name: str = "out.csv") -> dict[str, object]:
    content = json.loads((folder / f"{name}.internal.json").read_text())
    assert content["output"].pop("file") == name
    return content


@pytest.mark.slow
def test_the_default_says_what_it_chose(microagg: Microagg, source: Path) -> None:
    done = microagg("anonymize", source, "out.csv", "--k", "3", "--quasi", QUASI)
    assert done.code == 0, done
    assert "method       auto (effort=balanced)" in done.out
    assert "120 records, 3 columns that vary, k = 3" in done.out
    content = manifest(source.parent)
    assert content["settings"]["method"] == "auto"
    assert content["chosen"]
    assert content["stopped_early"] is False
    assert ma.check(read_table(source.parent / "out.csv"), ["a", "b", "c"], 3).holds


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--effort", "hard"],
            "effort must be one of quick, balanced, thorough, prove, or a number",
        ),
        (["--effort", "-1"], "effort must be"),
        (["--time-limit", "soon"], "time_limit must be a number"),
        (["--time-limit", "-5"], "time_limit must be a number"),
        (["--effort", "quick", "--method", "mdav"], "method mdav has no parameter 'effort'"),
        (
            ["--method", "individual-ranking", "--refine", "--accept-risk", "single-columns"],
            "its groups cannot be refined",
        ),
        (["--threads", "0"], "number of threads must be"),
    ],
)
def test_wrong_options(microagg: Microagg, source: Path, options: list[str], says: str) -> None:
    microagg("anonymize", source, "out.csv", "--k", "3", "--quasi", QUASI, *options).refused(says)
    assert not (source.parent / "out.csv").exists()


def test_refine_lowers_the_loss_of_a_method(microagg: Microagg, source: Path) -> None:
    losses = []
    for more in ([], ["--refine"]):
        done = microagg(
            "anonymize",
            source,
            "out.csv",
            "--k",
            "3",
            "--quasi",
            QUASI,
            "--method",
            "mdav",
            "--seed",
            "1",
            *more,
        )
        assert done.code == 0, done
        losses.append(manifest(source.parent)["loss"]["IL"])
    assert losses[1] < losses[0]
    assert "mdav (leftovers=block), refined" in done.out


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_so_far_and_the_run_can_be_repeated(
    microagg: Microagg, source: Path
) -> None:
    process = start("-c", TELL_OF_CHECKPOINTS, *ENDLESS, folder=source.parent)
    assert process.stdout is not None
    while process.stdout.readline() != "checkpoint 2\n":
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.code == 130, done
    assert "stopped early (interrupted)" in done.out
    kept = source.parent / "out.csv"
    assert ma.check(read_table(kept), ["a", "b", "c"], 3).holds
    content = manifest(source.parent)
    assert content["stopped_early"] is True
    assert content["settings"]["params"]["stop_after"] >= 2
    again = microagg("repeat", "out.csv.internal.json", source, "again.csv")
    assert again.code == 0, again
    assert "the same release as the manifest describes" in again.out
    assert (source.parent / "again.csv").read_bytes() == kept.read_bytes()
    assert manifest(source.parent, "again.csv") == content


def test_a_time_limit_ends_at_a_checkpoint_that_can_be_repeated(
    microagg: Microagg, source: Path
) -> None:
    done = microagg(*ENDLESS, "--time-limit", "0.4")
    assert done.code == 0, done
    assert "stopped early (time limit)" in done.out
    first = (source.parent / "out.csv").read_bytes()
    microagg("repeat", "out.csv.internal.json", source, "again.csv")
    assert (source.parent / "again.csv").read_bytes() == first
    assert manifest(source.parent, "again.csv") == manifest(source.parent)


def test_a_manifest_of_another_table_is_refused(microagg: Microagg, source: Path) -> None:
    microagg("anonymize", source, "out.csv", "--k", "3", "--quasi", QUASI, "--effort", "quick")
    source.write_text(source.read_text() + "1,2,3\n")
    microagg("repeat", "out.csv.internal.json", source, "again.csv").refused("not the table")
    microagg("repeat", "out.csv.public.json", source, "again.csv").refused(
        "not an internal manifest"
    )
    microagg("repeat", "in.csv", source, "again.csv").refused("not an internal manifest")
    microagg("repeat", "nowhere.json", source, "again.csv").refused("cannot be opened")
    assert not (source.parent / "again.csv").exists()


class Reader(threading.Thread):
    """Reads all that is written to a terminal, so that the writer never waits."""

    def __init__(self, terminal: int) -> None:
        super().__init__(daemon=True)
        self._terminal, self._said = terminal, ""
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError):  # the other end was closed
            while part := os.read(self._terminal, 4096):
                self._said += part.decode("utf-8", "replace")

    def wait_for(self, words: str) -> None:
        ends = time.monotonic() + PATIENCE
        while words not in self._said:
            assert time.monotonic() < ends, self._said[-500:]
            time.sleep(0.01)


def in_a_terminal(source: Path, answer: str | None) -> tuple[int, str]:
    """Start an endless search in a terminal, press Ctrl-C, answer the question or press Ctrl-C
    again.
    """
    ours, theirs = pty.openpty()
    process = start(
        "-c", TELL_OF_CHECKPOINTS, *ENDLESS, folder=source.parent, input=theirs, errors=theirs,
        environment={"TERM": "xterm", "COLUMNS": "200"},
    )  # fmt: skip
    os.close(theirs)
    reader = Reader(ours)
    assert process.stdout is not None
    while process.stdout.readline() != "checkpoint 2\n":
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    reader.wait_for("Keep the best")
    if answer is None:
        process.send_signal(signal.SIGINT)
    else:
        os.write(ours, answer.encode())
    done = finish(process)
    reader.join(PATIENCE)
    os.close(ours)
    return done.code, done.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "kept"), [("y\n", True), ("\n", True), ("n\n", False), (None, False)]
)
def test_in_a_terminal_the_user_is_asked(source: Path, answer: str | None, kept: bool) -> None:
    code, out = in_a_terminal(source, answer)
    assert code == 130
    assert (source.parent / "out.csv").exists() is kept
    assert ("stopped early" in out) is kept
    if not kept:
        assert sorted(tables.snapshot(source.parent)) == ["in.csv"]


def test_any_number_of_threads_gives_the_same(microagg: Microagg, source: Path) -> None:
    contents = []
    for threads in ("1", "2", "3"):
        microagg(
            "anonymize",
            source,
            "out.csv",
            "--k",
            "3",
            "--quasi",
            QUASI,
            "--effort",
            "40",
            "--seed",
            "2",
            "--threads",
            threads,
        )
        contents.append((source.parent / "out.csv").read_bytes())
    assert len(set(contents)) == 1
