"""Degenerate tables beside ordinary ones: equal records, few distinct ones, more columns than
records.

python benchmarks/speed/degenerate.py [--quick] [--json FILE]

Times are those of the processor, not of the clock, so that other processes matter less. Two minutes
on a quiet machine; each figure is printed as soon as it is there.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import microagg as ma

K, COLUMNS = 5, 10
# columns of the table that a wide one is set beside: imports and loading of kernels take the same
# for both
NARROW = 8


def different(n: int) -> np.ndarray:
    """All records at points of their own."""
    return np.random.default_rng(0).normal(size=(n, COLUMNS))


def one_point(n: int) -> np.ndarray:
    """99 % of the records at one point, the others anywhere."""
    points = different(n)
    points[np.random.default_rng(1).random(n) < 0.99] = 0.25
    return points


def few_points(n: int) -> np.ndarray:
    """A hundred records at each point, on average."""
    which = np.random.default_rng(2).integers(0, max(1, n // 100), n)
    return different(max(1, n // 100))[which]


def equal_records(method: str, n: int) -> Iterator[dict[str, Any]]:
    """Each kind of points, against those that are all different."""
    ordinary = None
    for make in (different, one_point, few_points):
        points = make(n)
        start = time.process_time()
        ma.partition(points, K, method=method)
        seconds = time.process_time() - start
        ordinary = ordinary or seconds
        yield {
            "what": f"{method}, {n:,}, {make.__name__}",
            "seconds": seconds,
            "ratio": seconds / ordinary,
        }


def seconds_of_command(columns: int, *options: str) -> float:
    """`microagg anonymize` on 6 records, all of it."""
    values = np.random.default_rng(3).normal(50.0, 10.0, (6, columns)).round(1)
    names = [f"c{j}" for j in range(columns)]
    with tempfile.TemporaryDirectory() as folder:
        lines = [",".join(names), *(",".join(map(str, row)) for row in values.tolist())]
        Path(folder, "in.csv").write_text("\n".join(lines) + "\n")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "microagg", "anonymize", "in.csv", "out.csv", "--k", "3"]
        command += ["--quasi", ",".join(names), *options]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def wide_tables(columns: int) -> Iterator[dict[str, Any]]:
    """The command line on a wide table, beyond what it takes on a narrow one."""
    for options in (
        ("--method", "mdav"),
        (),
        ("--method", "mdav", "--report", "out.html"),
        ("--report", "out.html"),
    ):
        seconds_of_command(NARROW, *options)  # compiles what is not compiled yet
        narrow, wide = seconds_of_command(NARROW, *options), seconds_of_command(columns, *options)
        command = " ".join(("anonymize", *options))
        yield {"what": f"{command}, 6 x {columns:,}", "seconds": wide, "beyond": wide - narrow}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the records and columns")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    for method in ("mdav", "auto"):
        ma.partition(one_point(400), K, method=method)  # compiled before the clock starts
    work = (
        equal_records("mdav", 200_000 // scale),
        equal_records("auto", 2_000 // scale),
        wide_tables(2_000 // scale),
    )
    rows = []
    for row in itertools.chain.from_iterable(work):
        rows.append(row)
        beside = (
            f"{row['ratio']:6.2f} x different records"
            if "ratio" in row
            else f"{row['beyond']:6.2f} s beyond {NARROW} columns"
        )
        print(f"{row['what']:58} {row['seconds']:8.2f} s  {beside}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
