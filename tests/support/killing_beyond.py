"""A process that others are forked from: they make a release beyond memory, and are killed at
random moments.

python killing_beyond.py FOLDER COUNT: prints what was found as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import small_blocks
from microagg.files.commit.writing import clean_folder
from microagg.pipeline.files import anonymize_file
from microagg.pipeline.memory_budget import MemoryBudget


def small_budget(self: MemoryBudget, *_: Any) -> MemoryBudget:
    return MemoryBudget(self.memory, self.threads, 320, self.threads, 2, 2)


if __name__ == "__main__":  # not where the tests are collected
    small_blocks.make_small()
    MemoryBudget.checked = small_budget  # pyright: ignore[reportAttributeAccessIssue]


def run(source: Path, target: Path, *, resume: bool) -> None:
    anonymize_file(
        source,
        target,
        k=5,
        quasi=["a", "b", "c"],
        seed=3,
        effort="quick",
        date="2026-01-01",
        memory=1,
        threads=2,
        resume=resume,
    )


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if not path.name.startswith(".")
    }


def main() -> None:
    """Kill, look, go on, look again."""
    warnings.simplefilter("ignore")
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    rng = np.random.default_rng(1)
    source = folder / "in.parquet"
    pa.parquet.write_table(pa.table({name: rng.integers(0, 500, 3000) for name in "abc"}), source)
    (folder / "whole").mkdir()
    started = time.monotonic()
    run(source, folder / "whole" / "out.parquet", resume=False)
    started = time.monotonic()
    run(source, folder / "whole" / "out.parquet", resume=False)
    usual = time.monotonic() - started
    whole = snapshot(folder / "whole")
    output = folder / "place"
    output.mkdir()
    outcomes = {"killed": 0, "unverified": 0, "left": 0, "different": 0}
    dice = random.Random(7)
    for turn in range(count):
        for path in output.iterdir():
            if path.is_file():
                path.unlink()
        process = os.fork()
        if process == 0:
            try:
                run(source, output / "out.parquet", resume=False)
            finally:
                os._exit(0)
        time.sleep(dice.uniform(0.0, 1.2 * usual))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        outcomes["killed"] += any(path.name.endswith(".spill") for path in output.iterdir())
        clean_folder(output)  # ends what a journal has begun
        outcomes["unverified"] += snapshot(output) not in ({}, whole)
        run(source, output / "out.parquet", resume=turn % 2 == 0)
        outcomes["different"] += snapshot(output) != whole
        outcomes["left"] += any(path.name.startswith(".") for path in output.iterdir())
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
