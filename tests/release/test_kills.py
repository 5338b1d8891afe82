"""kill -9 while a release is saved, and two processes that save to one place: never a mixture."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import tables
from running import run

HERE = Path(__file__).parents[1] / "support"

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that share what was computed"
)


def count_outcomes(folder: Path, ending: str, what: str, count: int) -> dict[str, int]:
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    done = run(
        HERE / "killing.py",
        folder,
        ending,
        what,
        str(count),
        folder=folder,
        environment={"PYTHONPATH": path},
    )
    assert done.code == 0, done
    return json.loads(done.out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "count"),
    [
        (".csv", 24),
        pytest.param(".csv", 200, marks=pytest.mark.nightly),
        pytest.param(".parquet", 200, marks=pytest.mark.nightly),
        *(
            pytest.param(ending, 60, marks=pytest.mark.nightly)
            for ending in tables.ENDINGS
            if ending not in (".csv", ".parquet")
        ),
    ],
)
def test_a_kill_leaves_the_old_release_or_the_new_one(
    tmp_path: Path, ending: str, count: int
) -> None:
    kills = count_outcomes(tmp_path, ending, "kills", count)
    assert kills["mixed"] == 0, kills
    assert kills["left over"] == 0, kills
    assert kills["old"] > 0, kills
    assert kills["new"] > 0, "no kill hit the moving of files, after which the release is completed"


@pytest.mark.slow
@pytest.mark.parametrize("count", [6, pytest.param(60, marks=pytest.mark.nightly)])
def test_two_processes_that_save_to_one_place(tmp_path: Path, count: int) -> None:
    races = count_outcomes(tmp_path, ".csv", "races", count)
    assert races["mixed"] == races["failed"] == races["left over"] == 0, races


@pytest.mark.slow
@pytest.mark.parametrize("count", [6, pytest.param(40, marks=pytest.mark.nightly)])
def test_kills_beyond_memory(tmp_path: Path, count: int) -> None:
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    done = run(
        HERE / "killing_beyond.py",
        tmp_path,
        str(count),
        folder=tmp_path,
        environment={"PYTHONPATH": path},
    )
    assert done.code == 0, done
    kills = json.loads(done.out)
    assert kills["killed"] > 0, "none was killed while it worked"
    assert kills["unverified"] == 0, kills
    assert kills["different"] == 0, kills
    assert kills["left"] == 0, kills
