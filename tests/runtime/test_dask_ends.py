"""Files that are left when something ends too early: workers and drivers that are killed, a
scheduler that dies, Ctrl-C.
"""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import small_blocks
from dask_clusters import ENVIRONMENT, small_budget
from microagg.errors import ClusterWarning, LostWorkersError
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget
from running import finish, run, start

pytestmark = pytest.mark.slow
HERE = Path(__file__).parents[1] / "support"
ASKED: dict[str, Any] = {
    "k": 5,
    "quasi": ["a", "b", "c"],
    "seed": 3,
    "effort": "quick",
    "date": "2026-01-01",
}
TYPED = ["--k", "5", "--quasi", "a,b,c", "--seed", "3", "--effort", "quick", "--date", "2026-01-01"]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks.make_small(monkeypatch.setattr)
    monkeypatch.setattr(MemoryBudget, "checked", small_budget())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    path = tmp_path / "in.parquet"
    pa.parquet.write_table(pa.table({name: rng.integers(0, 500, 6000) for name in "abc"}), path)
    return path


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("count", [4, pytest.param(40, marks=pytest.mark.nightly)])
def test_workers_and_drivers_that_are_killed(tmp_path: Path, count: int) -> None:
    done = run(
        HERE / "killing_dask.py", tmp_path, str(count), folder=tmp_path, environment=ENVIRONMENT
    )
    assert done.code == 0, done
    kills = json.loads(done.out.splitlines()[-1])
    assert kills["workers"] + kills["drivers"] > 0, "none was killed while it worked"
    assert kills["unverified"] == kills["different"] == kills["left"] == kills["failed"] == 0, kills


def test_ctrl_c_on_the_command_line(tmp_path: Path, source: Path) -> None:
    driver = start(
        HERE / "dask_driver.py",
        "anonymize",
        source,
        tmp_path / "out.parquet",
        *TYPED,
        "--dask",
        "local:2",
        folder=tmp_path,
        environment=ENVIRONMENT,
    )
    while driver.poll() is None and not list(tmp_path.glob(".*.spill/*/route-*")):
        time.sleep(0.02)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does: workers hear it, too
    done = finish(driver)
    done.refused("stopped; nothing was written", code=130)
    assert names_in(tmp_path) == ["in.parquet"]


def test_the_command_line_makes_the_same_release(tmp_path: Path, source: Path) -> None:
    anonymize_file(source, tmp_path / "here.parquet", **ASKED)
    done = run(
        HERE / "dask_driver.py",
        "anonymize",
        source,
        tmp_path / "out.parquet",
        *TYPED,
        "--dask",
        "local:2",
        folder=tmp_path,
        environment=ENVIRONMENT,
    )
    assert done.code == 0, done
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()
    again = run(
        HERE / "dask_driver.py",
        "repeat",
        tmp_path / "out.parquet.internal.json",
        source,
        tmp_path / "again.parquet",
        "--dask",
        "local:1",
        "--threads",
        "2",
        folder=tmp_path,
        environment=ENVIRONMENT,
    )
    assert again.code == 0, again
    assert "the same release" in again.err + again.out
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()


def test_a_scheduler_that_dies(tmp_path: Path, source: Path) -> None:
    """Finished work stays for `resume`, which may go on without a cluster."""
    from distributed import Client

    anonymize_file(source, tmp_path / "here.parquet", **ASKED)
    (tmp_path / "place").mkdir()
    target, file = tmp_path / "place" / "out.parquet", tmp_path / "scheduler.json"
    scheduler = start(
        "-m",
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        file,
        folder=tmp_path,
    )
    start(
        "-m",
        "distributed.cli.dask_worker",
        "--scheduler-file",
        file,
        "--host",
        "127.0.0.1",
        "--nthreads",
        "1",
        "--no-dashboard",
        "--no-nanny",
        folder=tmp_path,
        environment=ENVIRONMENT,
    )
    while not file.exists():
        time.sleep(0.05)

    class Killing:
        def __call__(self, done: int, total: int) -> None:
            pass

        def tell(self, what: str) -> None:
            if what.startswith("grouping"):
                scheduler.kill()

    with (
        Client(json.loads(file.read_text())["address"], set_as_default=False) as client,
        pytest.warns(ClusterWarning, match="tcp://127.* without encryption.* tls://"),
        pytest.raises(LostWorkersError, match="connection to the cluster was lost"),
    ):
        anonymize_file(source, target, engine=client, progress=Killing(), **ASKED)
    (spill,) = target.parent.glob(".*.spill")
    assert len(names_in(target.parent)) == 2, "and where it lies"
    assert list(spill.glob("*/block-*"))
    anonymize_file(source, target, memory=1, threads=1, resume=True, **ASKED)
    assert target.read_bytes() == (tmp_path / "here.parquet").read_bytes()
    assert names_in(target.parent) == [
        "out.parquet",
        "out.parquet.internal.json",
        "out.parquet.public.json",
    ]


def test_the_driver_of_a_hundred_million_records_is_small() -> None:
    """Facts, cuts and counts of 10⁸ records in chunks of the smallest size, with all that is
    imported.
    """
    done = run(HERE / "driving.py", "1e8", "65536", folder=HERE)
    assert done.code == 0, done
    peak, requests, leaves, pieces, largest = map(int, done.out.split())
    assert requests > 2 * 1526 + 2 * 400
    assert leaves >= 400
    assert pieces >= 200
    assert largest < 10_000_000, "what a task is told"
    assert peak < 500
