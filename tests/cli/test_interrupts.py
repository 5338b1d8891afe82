"""Stopped halfway: by Ctrl-C, or by kill -9 in the middle of writing."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import microagg as ma
import tables
from microagg.table.io.reading import read_table
from running import Outcome, finish, start

Microagg = Callable[..., Outcome]
SOME_KILLS, MANY_KILLS = 4, 20

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

SAVE_AGAIN_AND_AGAIN = """
import sys
from pathlib import Path
import pyarrow.parquet as parquet
import microagg as ma
folder, ending = Path(sys.argv[1]), sys.argv[2]
table = parquet.read_table(folder / "in.parquet")
releases = [ma.anonymize(table, k, quasi=["income", "debt"], rest="drop", method="mdav", seed=k) for k in (4, 9)]
print("ready", flush=True)
sys.stdin.readline()
turn = int(sys.argv[3])
while True:
    releases[turn % 2].save(folder / f"out{ending}")
    print("saved", flush=True)
    turn += 1
"""


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
    "name", ["read_table", "run_method", "group_means_for_records", "write_table", "write_manifest"]
)
def test_ctrl_c_at_any_step(
    microagg: Microagg, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"microagg.release.release.{name}", interrupt)
    source = tables.write(tables.people(), tmp_path / "in.csv")
    (tmp_path / "out.csv").write_text("an older release\n")
    before = tables.snapshot(tmp_path)
    outcome = microagg("anonymize", source, "out.csv", "--k", "4", *tables.ROLES)
    outcome.refused("stopped; nothing was written", code=130)
    assert tables.snapshot(tmp_path) == before


class Saver:
    """Processes that save two releases in turn over one file, for ever, each until it is killed."""

    def __init__(self, folder: Path, ending: str) -> None:
        self.folder, self.ending = folder, ending
        self.started = 0

    def start(self) -> subprocess.Popen[str]:
        self.started += 1
        return start(
            "-c", SAVE_AGAIN_AND_AGAIN, self.folder, self.ending, str(self.started), folder=self.folder,
            input=subprocess.PIPE,
        )  # fmt: skip

    def let_run(self, process: subprocess.Popen[str], luck: random.Random) -> None:
        """Let one of them save a few times, then kill it within the time that another save would take."""
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
        process.stdin.write("go\n")
        process.stdin.flush()
        for _ in range(luck.randint(1, 2)):
            began = time.monotonic()
            assert process.stdout.readline() == "saved\n"
        time.sleep(luck.random() * (time.monotonic() - began))
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "kills"),
    [
        (".csv", SOME_KILLS),
        (".parquet", SOME_KILLS),
        pytest.param(".csv", MANY_KILLS, marks=pytest.mark.nightly),
        pytest.param(".parquet", MANY_KILLS, marks=pytest.mark.nightly),
    ],
)
def test_kill_9_leaves_the_old_file_or_the_new_one(tmp_path: Path, ending: str, kills: int) -> None:
    table = tables.people(20_000)
    tables.write(table, tmp_path / "in.parquet")
    options: Any = {"quasi": tables.QUASI, "rest": "drop", "method": "mdav"}
    releases = [ma.anonymize(table, k, seed=k, **options) for k in (4, 9)]
    whole: dict[bytes, ma.Release] = {}
    manifests: dict[str, set[str]] = {"internal": set(), "public": set()}
    out = tmp_path / f"out{ending}"
    for release in releases:
        release.save(out)
        whole[out.read_bytes()] = release
        for side, known in manifests.items():
            known.add((tmp_path / f"out{ending}.{side}.json").read_text())
    luck = random.Random(9)
    saver, left_behind, versions = Saver(tmp_path, ending), 0, set()
    waiting = [saver.start()]
    for kill in range(10 * MANY_KILLS):
        if kill >= kills and len(versions) == 2 and left_behind > 0:
            break  # enough, and both kinds of luck were had: a save came through, and one was hit
        waiting.append(saver.start())  # the next one gets ready while this one is killed
        saver.let_run(waiting.pop(0), luck)
        assert out.read_bytes() in whole, "a part of a file, or a mixture"
        versions.add(out.read_bytes())
        for side, known in manifests.items():
            text = (tmp_path / f"out{ending}.{side}.json").read_text()
            assert json.loads(text)
            assert text in known
        left_behind += len(list(tmp_path.glob(".*.part")))
    waiting[0].kill()  # before the next save, which clears what killed runs left behind
    waiting[0].communicate()
    assert len(versions) == 2, "no process got as far as saving"
    assert left_behind > 0, "no kill hit the writing"
    releases[0].save(out)
    assert not list(tmp_path.glob(".*.part")), "what killed runs left behind was not cleared"
    assert whole[out.read_bytes()] is releases[0]
    assert ma.check(read_table(out), tables.QUASI, 4).holds


def test_a_stop_after_saving_does_not_deny_the_file(
    microagg: Microagg, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("microagg.cli.show.release", interrupt)
    tables.write(tables.people(), tmp_path / "in.csv")
    quasi = ",".join(tables.QUASI)
    done = microagg("anonymize", "in.csv", "out.csv", "--k", "3", "--quasi", quasi, "--rest", "drop")
    assert done.code == 130
    assert done.err == "error: stopped; out.csv had been verified and written before.\n"
    assert (tmp_path / "out.csv").exists()
