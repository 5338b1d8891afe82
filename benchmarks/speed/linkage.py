"""Record linkage against scipy's nearest-neighbour query on the same arrays, one thread; and its
memory.

python benchmarks/speed/linkage.py [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.spatial

import data
import microagg as ma
from microagg.kernels.sums import group_means
from microagg.measures.measure import Pair
from microagg.measures.risk.linkage import record_linkage

spatial: Any = scipy.spatial  # its types leave out cKDTree
RUNS = 3
NAMES = tuple("abcdefgh")


def released(kind: str, original: np.ndarray) -> np.ndarray:
    """Return a release of the originals: MDAV's means (five records share each), or points that are
    all distinct.
    """
    if kind == "MDAV, k = 5":
        labels = np.asarray(ma.partition(original, k=5, method="mdav"))
        return group_means(original, labels, int(labels.max()) + 1)[labels]
    noise = np.random.default_rng(1).standard_normal(original.shape)
    return original + 0.05 * noise if kind == "added noise" else original * (1.0 + 0.05 * noise)


KINDS = ("MDAV, k = 5", "added noise", "multiplied noise")


def least_seconds(work: Any) -> float:
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def compare(kind: str, n: int) -> dict[str, Any]:
    """Ours whole (scaling, sorting, building and asking) against scipy's query alone, its tree
    built beforehand.
    """
    original = data.lognormal(n)
    masked = released(kind, original)
    pair, tree = Pair(original, masked, NAMES), spatial.cKDTree(original)
    figure = record_linkage(pair)
    ours = least_seconds(lambda: record_linkage(pair))
    theirs = least_seconds(lambda: tree.query(masked, 1, workers=1))
    agree = 100.0 * float(np.mean(tree.query(masked, 1, workers=1)[1] == np.arange(n)))
    return {
        "release": kind,
        "ours": ours,
        "scipy": theirs,
        "linked": figure.value,
        "linked by scipy": agree,
        "memory": memory_of(original, masked),
    }


def resident() -> float:
    """MB of this process in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def memory_of(original: np.ndarray, masked: np.ndarray) -> dict[str, float]:
    """MB of both tables, and what linkage adds at its peak, in a process that has done nothing
    else.
    """
    with tempfile.TemporaryDirectory() as folder:
        tables = Path(folder, "tables.npy")
        np.save(tables, np.stack([original, masked]))
        command = [sys.executable, __file__, "--memory-of", str(tables)]
        return json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout
        )


def print_memory(tables: Path) -> None:
    """Print how far memory rises above what the process had when only the two tables were there."""
    warm = data.lognormal(1000)
    record_linkage(Pair(warm, warm + 0.1, NAMES))
    original, masked = np.load(tables)
    gc.collect()
    before, peak, done = resident(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, resident())
            time.sleep(0.0005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    record_linkage(Pair(original, masked, NAMES))
    done.set()
    watcher.join()
    print(
        json.dumps(
            {"input": (original.nbytes + masked.nbytes) / 1e6, "added": max(peak - before, 0.0)}
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--memory-of", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    n = 10_000 if options.quick else 100_000
    if options.memory_of:
        print_memory(options.memory_of)
        return
    rows = []
    for kind in KINDS:
        row = compare(kind, n)
        rows.append(row)
        memory = row["memory"]
        print(
            f"{n:,} x 8, {kind:17} linkage {row['ours']:6.2f} s, scipy's query "
            f"{row['scipy']:6.2f} s: "
            f"{row['ours'] / row['scipy']:.2f} x; "
            f"tables {memory['input']:.1f} MB, added at the peak {memory['added']:.1f} MB: "
            f"{(memory['input'] + memory['added']) / memory['input']:.2f} x the tables with them; "
            f"linked {row['linked']:.3f} % (scipy, ties to one of them: "
            f"{row['linked by scipy']:.3f} %)",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
