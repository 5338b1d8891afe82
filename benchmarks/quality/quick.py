"""Cost and gain of `quick`: MDAV within blocks and two rounds of local search, one thread, k = 5.

The yardstick for time is scipy's cKDTree asked for the 21 nearest neighbours of every point, in the
same run (building it is not counted); for loss it is exact MDAV. L is the cloud of
`benchmarks/speed`, whose tails are so heavy that ten groups hold nine tenths of the loss, whatever
the partition. M, the mild one, has the same factors through a matrix 0.3 times as large, so that
the loss is spread over the groups. The gain hangs on the matrix that was drawn; `--matrices 5`
tries the first five of each. The figures in docs/quality.md are from `--million --matrices 5 --json
benchmarks/quality/large.json`.

python benchmarks/quality/quick.py [--million] [--only L|M] [--matrices 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

sys.path.insert(0, str(Path(__file__).parent.parent / "speed"))

import data
import microagg as ma
from microagg.problem.problem import Problem
from microagg.refine.construct import block_groups
from microagg.refine.local import improve

K = 5
NEIGHBOURS = 21
ROUNDS = 2


# the size of the matrix's entries
CLOUDS = {"L": 1.0, "M": 0.3}


def cloud_of(cloud: str, n: int, seed: int = 0) -> np.ndarray:
    """The records of a cloud, z-scored; the matrix that is drawn hangs on n, too."""
    return data.lognormal(n, seed=seed, scale=CLOUDS[cloud])


def quick(points: np.ndarray) -> np.ndarray:
    problem = Problem.of(points, K, threads=1)
    return improve(problem, block_groups(problem), rounds=ROUNDS)


def mdav(points: np.ndarray) -> np.ndarray:
    return np.asarray(ma.partition(points, K, method="mdav"))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """(seconds of processor time, which on a shared machine wander less than those of the clock;
    the result).
    """
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def compare(cloud: str, n: int) -> dict[str, Any]:
    points = cloud_of(cloud, n)
    seconds, labels = timed(lambda: quick(points))
    tree = cKDTree(points)
    yardstick, _ = timed(lambda: tree.query(points, NEIGHBOURS, workers=1))
    loss, of_mdav = ma.information_loss(points, labels), ma.information_loss(points, mdav(points))
    return {
        "data": f"{cloud}({n:,})",
        "quick": seconds,
        "cKDTree": yardstick,
        "ratio": seconds / yardstick,
        "IL": loss,
        "IL of MDAV": of_mdav,
        "percent under MDAV": percent_under(loss, of_mdav),
    }


def percent_under(loss: float, of_mdav: float) -> float:
    return 100.0 * (1.0 - loss / of_mdav)


def gains(cloud: str, n: int, matrices: int) -> list[float]:
    """Percent under MDAV's loss, for the first so many matrices."""
    percents = []
    for seed in range(matrices):
        points = cloud_of(cloud, n, seed)
        losses = [ma.information_loss(points, labels) for labels in (quick(points), mdav(points))]
        percents.append(percent_under(*losses))
    return percents


def in_a_process_of_its_own(cloud: str, n: int) -> dict[str, float]:
    """Seconds and peak memory of a process that makes the points, runs quick on them and does
    nothing else.
    """
    command = [sys.executable, __file__, "--alone", cloud, str(n)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def peak_memory() -> float:
    """The most that this process has held, in MB; Linux hands getrusage's figure on from parent to
    child.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return (
            next(int(line.split()[1]) for line in status.open() if line.startswith("VmHWM")) / 1024
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def alone(cloud: str, n: int) -> None:
    quick(cloud_of(cloud, 300))
    peaks = [peak_memory()]
    points = cloud_of(cloud, n)
    peaks.append(peak_memory())
    seconds, _ = timed(lambda: quick(points))
    peaks.append(peak_memory())
    names = ("libraries_MB", "data_made_MB", "peak_MB")
    print(json.dumps({"quick_alone": seconds} | dict(zip(names, peaks, strict=True))))


def show(row: dict[str, Any]) -> None:
    print(
        f"{row['data']:13} quick {row['quick']:7.2f} s = {row['ratio']:.3f} of cKDTree's "
        f"{row['cKDTree']:7.2f} s; "
        f"IL {row['IL']:.4f}, {row['percent under MDAV']:.2f} % under MDAV's "
        f"{row['IL of MDAV']:.4f}"
    )
    if "percents under MDAV" in row:
        percents = ", ".join(f"{percent:.2f}" for percent in row["percents under MDAV"])
        print(f"{'':13} percent under MDAV, matrix by matrix: {percents}")
    if "peak_MB" in row:
        print(
            f"{'':13} peak memory {row['peak_MB']:.0f} MB, of which libraries "
            f"{row['libraries_MB']:.0f} MB; "
            f"{row['data_made_MB']:.0f} MB had been reached by making the data"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--million", action="store_true", help="also a million records, with peak memory"
    )
    parser.add_argument("--only", choices=sorted(CLOUDS), help="only this cloud")
    parser.add_argument(
        "--matrices", type=int, default=0, metavar="N", help="the gain for so many matrices, too"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--alone", nargs=2, metavar=("CLOUD", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run_exclusive:
        alone(options.run_exclusive[0], int(options.run_exclusive[1]))
        return
    for warm in (quick, mdav):  # compile, or load what is compiled
        warm(data.lognormal(300))
    sizes = [100_000, 1_000_000] if options.million else [100_000]
    rows = []
    for cloud in [options.only] if options.only else sorted(CLOUDS):
        for n in sizes:
            large = n == sizes[-1] > sizes[0]
            rows.append(compare(cloud, n) | (in_a_process_of_its_own(cloud, n) if large else {}))
            if options.matrices:
                rows[-1]["percents under MDAV"] = gains(cloud, n, options.matrices)
            show(rows[-1])
    if options.json:
        options.json.write_text(json.dumps({"k": K, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
