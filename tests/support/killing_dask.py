"""Runs on a Dask cluster whose workers and drivers are killed at random moments.

python killing_dask.py FOLDER COUNT: prints what was found as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dask_clusters import ENVIRONMENT, cluster
from microagg.files.commit.writing import clean_folder

DRIVER = Path(__file__).with_name("dask_driver.py")


def start(source: Path, target: Path, address: str, *more: str) -> subprocess.Popen[str]:
    """A driver in a process of its own."""
    arguments = [
        "--k",
        "5",
        "--quasi",
        "a,b,c",
        "--seed",
        "3",
        "--effort",
        "quick",
        "--date",
        "2026-01-01",
        "--dask",
        address,
    ]
    return subprocess.Popen(
        [sys.executable, str(DRIVER), "anonymize", str(source), str(target), *arguments, *more],
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if not path.name.startswith(".")
    }


def main() -> None:
    """Kill, look, go on, look again."""
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    rng = np.random.default_rng(1)
    source = folder / "in.parquet"
    pa.parquet.write_table(pa.table({name: rng.integers(0, 500, 3000) for name in "abc"}), source)
    outcomes = {"workers": 0, "drivers": 0, "unverified": 0, "left": 0, "different": 0, "failed": 0}
    dice = random.Random(19)
    with cluster(2) as client:
        address = client.scheduler.address
        for name in ("whole", "place"):
            (folder / name).mkdir()
        usual = 0.0
        for _ in range(2):
            begun = time.monotonic()
            assert start(source, folder / "whole" / "out.parquet", address).wait() == 0
            usual = time.monotonic() - begun
        whole, output = snapshot(folder / "whole"), folder / "place"
        for turn in range(count):
            for path in output.iterdir():
                path.unlink()
            client.wait_for_workers(2, timeout=120)
            driver = start(source, output / "out.parquet", address)
            while driver.poll() is None and not list(output.glob(".*.spill")):
                time.sleep(0.02)
            time.sleep(dice.uniform(0.0, 0.6 * usual))
            if turn % 2:
                os.kill(dice.choice(sorted(client.run(os.getpid).values())), signal.SIGKILL)
                outcomes["workers"] += driver.poll() is None
                driver.communicate()
                outcomes["failed"] += driver.returncode != 0
            else:
                outcomes["drivers"] += driver.poll() is None
                driver.kill()
                driver.communicate()
                clean_folder(output)  # ends what a journal has begun
                outcomes["unverified"] += snapshot(output) not in ({}, whole)
                again = start(
                    source, output / "out.parquet", address, *(["--resume"] if turn % 4 else [])
                )
                again.communicate()
                outcomes["failed"] += again.returncode != 0
            outcomes["different"] += snapshot(output) != whole
            outcomes["left"] += any(path.name.startswith(".") for path in output.iterdir())
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
