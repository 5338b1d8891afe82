"""Speed of MDAV on the kd-tree against a linear scan: ratios, side by side in one run, one thread.

python benchmarks/speed/run.py [--quick] [--million] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import data
import linear
import microagg as ma

K = 5
TREE_RUNS = 3  # the linear scans take long enough for one run to be a fair figure


def tree(points: np.ndarray, k: int) -> np.ndarray:
    return np.asarray(ma.partition(points, k=k, method="mdav"))


def timed(
    method: Callable[[np.ndarray, int], np.ndarray], points: np.ndarray, runs: int = 1
) -> tuple[float, np.ndarray]:
    """(the least seconds of some runs, the labels)."""
    least, labels = math.inf, np.empty(0)
    for _ in range(runs):
        start = time.perf_counter()
        labels = method(points, K)
        least = min(least, time.perf_counter() - start)
    return least, labels


def numbered_by_first_record(labels: np.ndarray) -> np.ndarray:
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[which]


def compare(name: str, points: np.ndarray) -> dict[str, Any]:
    """Time the tree and both scans on the same points; raises unless all three form the same
    groups.
    """
    seconds, labels = timed(tree, points, TREE_RUNS)
    row: dict[str, Any] = {"data": name, "tree": seconds}
    for scan in (linear.mdav_as_worded, linear.mdav_fused):
        row[scan.__name__], other = timed(scan, points)
        row[f"ratio to {scan.__name__}"] = row[scan.__name__] / seconds
        if not np.array_equal(numbered_by_first_record(labels), numbered_by_first_record(other)):
            raise SystemExit(f"{name}: the tree and {scan.__name__} form different groups")
    return row


def million() -> dict[str, float]:
    """Seconds and peak memory of a process that makes L(1,000,000), partitions it and does nothing
    else.
    """
    command = [sys.executable, __file__, "--only-million"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def only_million() -> None:
    tree(data.lognormal(1000), K)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    points = data.lognormal(1_000_000)
    made = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, _ = timed(tree, points)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {
                "seconds": seconds,
                "libraries_MB": before / 1024,
                "data_made_MB": made / 1024,
                "peak_MB": peak / 1024,
            }
        )
    )


def show(rows: list[dict[str, Any]]) -> None:
    print(f"{'':12}{'tree':>9}{'scan as worded':>24}{'fused scan':>24}")
    for row in rows:
        cells = "".join(
            f"{row[name]:>11.2f} s ({row[f'ratio to {name}']:>6.1f}x)"
            for name in ("mdav_as_worded", "mdav_fused")
        )
        print(f"{row['data']:12}{row['tree']:>7.3f} s{cells}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    parser.add_argument(
        "--million", action="store_true", help="also L(1,000,000): seconds, exponent, peak memory"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--only-million", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_million:
        only_million()
        return
    # compile, or load what is compiled
    for method in (tree, linear.mdav_as_worded, linear.mdav_fused):
        method(data.gaussian(1000), K)
    size = 10 if options.quick else 1
    clouds = [
        ("G", data.gaussian, 20_000),
        ("G", data.gaussian, 100_000),
        ("L", data.lognormal, 100_000),
    ]
    rows = [compare(f"{name}({n // size:,})", make(n // size)) for name, make, n in clouds]
    show(rows)
    figures: dict[str, Any] = {"k": K, "rows": rows}
    if options.million:
        large = million()
        hundred_thousand = (
            rows[-1]["tree"] if size == 1 else timed(tree, data.lognormal(100_000), TREE_RUNS)[0]
        )
        exponent = math.log10(large["seconds"] / hundred_thousand)
        figures["million"] = large | {"exponent": exponent}
        print(f"L(1,000,000) {large['seconds']:6.2f} s, exponent from L(100,000) {exponent:.2f}")
        print(
            f"peak memory {large['peak_MB']:.0f} MB, of which libraries "
            f"{large['libraries_MB']:.0f} MB; "
            f"{large['data_made_MB']:.0f} MB had been reached by making the data"
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
