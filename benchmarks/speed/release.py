"""A whole release of a million records from file to file, with and without its reports: seconds,
memory and what is computed how often.

python benchmarks/speed/release.py [--records N] [--runs R] [--json FILE] [PACKAGE ...]

Each PACKAGE is a folder from which microagg is imported (`src` of a work tree; by default the
installed one): give two, such as the commit before and the one after, to have them side by side in
one run. Every release is made in a process of its own, packages in turn, kernels compiled
beforehand by one on a few records.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

WARM = 2000  # records of the release that compiles the kernels
COUNTED = {
    "class_labels": "classes of a table",
    "classes_of": "classes for a measure",
    "standardise": "standardised points",
    "aggregated": "aggregates",
}
ASKED: dict[str, Any] = {
    "k": 5,
    "l": 2,
    "quasi": list("abcdefgh"),
    "confidential": ["illness"],
    "keep": ["region"],
    "effort": "quick",
    "seed": 1,
}


def make_table(path: Path, records: int) -> None:
    """Eight columns, half of them whole numbers and half with two decimals; a text that is kept, a
    confidential one.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as parquet

    import data

    values = 1000.0 * data.lognormal(records)
    columns: dict[str, Any] = {}
    for j, name in enumerate(ASKED["quasi"]):
        columns[name] = (
            np.rint(values[:, j]).astype(np.int64) if j % 2 else np.round(values[:, j], 2)
        )
    rng = np.random.default_rng(7)
    columns["region"] = np.char.add("region ", rng.integers(300, size=records).astype(str))
    columns["illness"] = np.char.add(
        "illness ", np.minimum(rng.geometric(0.3, records), 12).astype(str)
    )
    parquet.write_table(pa.table(columns), path)


def memory_now() -> float:
    """MB of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def release_once(source: Path, target: Path, report: Path | None, *, count: bool) -> dict[str, Any]:
    """Make one release in this process and tell what it took; with `count`, how often things are
    computed.
    """
    anonymize_file = importlib.import_module("microagg").anonymize_file
    calls: collections.Counter[str] = collections.Counter()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name in COUNTED:
            calls[frame.f_code.co_name] += 1

    peak, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.005):
            peak = max(peak, memory_now())

    watcher = threading.Thread(target=watch)
    watcher.start()
    began, before = time.perf_counter(), _cpu_seconds()
    if count:
        sys.setprofile(note)
    try:
        anonymize_file(source, target, report=report, **ASKED)
    finally:
        sys.setprofile(None)
        done.set()
        watcher.join()
    return {
        "seconds": time.perf_counter() - began,
        "cpu": _cpu_seconds() - before,
        "peak": peak,
        "counts": {name: calls[name] for name in COUNTED},
    }


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def in_fresh_process(
    package: Path | None, source: Path, folder: Path, *options: str
) -> dict[str, Any]:
    """`release_once` with the package from that folder, in a process that has done nothing else."""
    environment = {**os.environ, **({"PYTHONPATH": str(package)} if package else {})}
    command = [sys.executable, __file__, "--one", str(source), str(folder), *options]
    ran = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(ran.stdout)


def compare(packages: list[Path | None], records: int, runs: int) -> dict[str, Any]:
    """Least seconds and largest memory of each package, without and with reports, in turn."""
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n in (WARM, records):
            subprocess.run(
                [sys.executable, __file__, "--make", str(folder / f"{n}.parquet"), str(n)],
                check=True,
            )
        source = folder / f"{records}.parquet"
        for package in packages:
            warmed = in_fresh_process(
                package, folder / f"{WARM}.parquet", folder, "--report", "--count"
            )
            results[str(package or "installed")] = {"counts with report": warmed["counts"]}
            warmed = in_fresh_process(package, folder / f"{WARM}.parquet", folder, "--count")
            results[str(package or "installed")]["counts"] = warmed["counts"]
        for _ in range(runs):
            for package in packages:
                for key, options in (("plain", ()), ("report", ("--report",))):
                    row = in_fresh_process(package, source, folder, *options)
                    results[str(package or "installed")].setdefault(key, []).append(row)
    for entry in results.values():
        for key in ("plain", "report"):
            rows = entry[key]
            entry[key] = {
                "seconds": min(row["seconds"] for row in rows),
                "cpu": min(row["cpu"] for row in rows),
                "peak": max(row["peak"] for row in rows),
            }
        entry["ratio of seconds"] = entry["report"]["seconds"] / entry["plain"]["seconds"]
        entry["ratio of cpu"] = entry["report"]["cpu"] / entry["plain"]["cpu"]
    return results


def show(results: dict[str, Any], records: int) -> None:
    """Print what `compare` found."""
    print(
        f"{records:,} x {len(ASKED['quasi'])}, k = {ASKED['k']}, l = {ASKED['l']}, "
        f"{ASKED['effort']}"
    )
    for package, entry in results.items():
        print(package)
        for key, label in (("plain", "without report"), ("report", "with reports")):
            row = entry[key]
            print(
                f"  {label:14} {row['seconds']:7.1f} s, {row['cpu']:7.1f} CPU s, peak "
                f"{row['peak']:6.0f} MB"
            )
        print(
            f"  with / without {entry['ratio of seconds']:5.2f} x the time, "
            f"{entry['ratio of cpu']:5.2f} x the CPU time"
        )
        for name, label in COUNTED.items():
            print(
                f"  {label:22} computed {entry['counts'][name]:2} times, with reports "
                f"{entry['counts with report'][name]}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="*", type=Path, metavar="PACKAGE")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--one", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--report", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make_table(Path(options.make[0]), int(options.make[1]))
    elif options.one:
        source, folder = options.one
        report = folder / "report.html" if options.report else None
        print(json.dumps(release_once(source, folder / "out.parquet", report, count=options.count)))
    else:
        packages = [path.resolve() for path in options.packages] or [None]
        results = compare(packages, options.records, options.runs)
        show(results, options.records)
        if options.json:
            options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
