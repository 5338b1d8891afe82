"""The same bytes whoever does the work: one table in memory, in passes and on Dask, with kills;
writes same.json beside it.

python benchmarks/scale/same.py                       # 2,000,000 records with a category, gaps and
weights; all ways python benchmarks/scale/same.py --only memory,passes  # some of them; results of
others stay

Every way makes the release and both manifests in a process of its own; what is compared is the
digest of all three files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOUND = HERE / "same.json"
SEED = 18

RUN = """
import json, os, resource, signal, sys, threading
from pathlib import Path
from microagg.pipeline.memory_budget import Budget
from microagg.pipeline.files import anonymize_file

given = json.loads(sys.argv[1])
killed = []

class Watching:
    def __call__(self, done, total): pass
    def tell(self, what):
        name = what.split(",")[0]
        print(name, file=sys.stderr, flush=True)
        if given.get("kill_workers") and name not in killed:
            import psutil
            killed.append(name)
            children = psutil.Process().children(recursive=True)
            workers = [one for one in children if "spawn_main" in " ".join(one.cmdline())]
            if workers:
                workers[len(killed) % len(workers)].send_signal(signal.SIGKILL)

if __name__ == "__main__":
    if given.get("chunk"):
        from dataclasses import replace
        checked = Budget.checked
        Budget.checked = lambda self, *more: replace(checked(self, *more), chunk=given["chunk"])
    release = anonymize_file(
        given["source"], given["target"], k=5, quasi=["town", *(f"q{j}" for j in range(7))],
        weight="w", seed=1, effort="quick", date="2026-01-01", memory=given["memory"],
        threads=given.get("threads"), engine=given.get("engine"),
        resume=given.get("resume", False), progress=Watching(),
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"peak": peak, "killed": killed}))
"""


def make_table(path: Path, records: int, pieces: int) -> None:
    """Seven numbers (two with gaps), a category and a weight, in row groups of so many records."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    kinds = [("town", pa.string()), *((f"q{j}", pa.int64()) for j in range(7)), ("w", pa.float64())]
    schema = pa.schema(kinds)
    rows = []
    for first in range(0, records, 100_000):
        count = min(100_000, records - first)
        rng = np.random.default_rng([SEED, first])
        shared = rng.lognormal(0.0, 1.0, (count, 3))
        columns: list[Any] = [pa.array([f"t{town}" for town in rng.integers(0, 12, count)])]
        for j in range(7):
            values = np.rint(1000.0 * shared[:, j % 3] * rng.lognormal(0.0, 0.5, count)).astype(
                np.int64
            )
            columns.append(pa.array(values, mask=rng.random(count) < (0.05 if j < 2 else 0.0)))
        columns.append(pa.array(np.round(rng.lognormal(2.0, 1.0, count) + 0.01, 2)))
        rows.append(pa.table(columns, schema=schema))
    parquet.write_table(pa.concat_tables(rows), path, row_group_size=pieces)


WAYS: dict[str, dict[str, Any]] = {
    "memory": {"memory": "1TB"},
    "memory, 1 thread": {"memory": "1TB", "threads": 1},
    "passes, 300MB, row groups of 10,000": {"memory": "300MB", "pieces": 10_000},
    "passes, 1GB, row groups of 300,000": {"memory": "1GB", "pieces": 300_000},
    "passes, 1GB, 1 thread": {"memory": "1GB", "threads": 1},
    "passes, chunks of 65,536": {"memory": "1GB", "chunk": 65_536},
    "passes, killed and resumed": {"memory": "300MB", "kill": "mending borders"},
    "dask local:1, 2 threads": {"memory": "1GB", "engine": "local:1", "threads": 2},
    "dask local:2": {"memory": "600MB", "engine": "local:2"},
    "dask local:4, chunks of 65,536": {
        "memory": "400MB",
        "engine": "local:4",
        "threads": 1,
        "chunk": 65_536,
    },
    "dask local:2, a worker killed in each pass": {
        "memory": "600MB",
        "engine": "local:2",
        "kill_workers": True,
    },
}


def digest_of(target: Path) -> str:
    """Of the released file and both manifests."""
    digest = hashlib.sha256()
    for name in ("", ".internal.json", ".public.json"):
        digest.update(target.with_name(f"{target.name}{name}").read_bytes())
    return digest.hexdigest()


def killed_at(command: list[str], word: str) -> None:
    """Start a run and kill it some seconds after it has told of this pass."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(word):
            break
    time.sleep(5.0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()


def measure(
    folder: Path, name: str, way: dict[str, Any], sources: dict[int, Path]
) -> dict[str, Any]:
    """One way, in a process of its own."""
    script, output = folder / "run.py", folder / "out"
    script.write_text(RUN, "utf-8")
    output.mkdir(exist_ok=True)
    target = output / "out.parquet"
    settings = {**way, "source": str(sources[way.get("pieces", 100_000)]), "target": str(target)}
    command = [sys.executable, str(script)]
    begun = time.perf_counter()
    if "kill" in way:
        killed_at([*command, json.dumps(settings)], way["kill"])
        assert not target.exists(), "in place before it was verified"
        assert any(path.name.endswith(".spill") for path in output.iterdir()), (
            "nothing to go on from"
        )
        settings["resume"] = True
    ran = subprocess.run(
        [*command, json.dumps(settings)], check=True, stdout=subprocess.PIPE, text=True
    )
    result = {
        "way": name,
        "wall": time.perf_counter() - begun,
        "digest": digest_of(target),
        **json.loads(ran.stdout.splitlines()[-1]),
    }
    left = [path.name for path in output.iterdir() if path.name.startswith(".")]
    assert not left, f"left behind: {left}"
    for path in output.iterdir():
        path.unlink()
    return result


def section() -> list[str]:
    """Return the section of docs/scale.md on it."""
    if not FOUND.exists():
        return []
    results = json.loads(FOUND.read_text("utf-8"))
    digests = {run["digest"] for run in results["runs"]}
    lines = [
        "## The same bytes",
        "",
        f"{results['records']:,} records with a category, two columns with gaps, five more "
        f"numbers and weights, `quick`; the digest is that of the",
        "released file and both manifests (`python benchmarks/scale/same.py`):",
        "",
        "| | wall s | peak MB of the process, or of the driver | digest |",
        "|---|---:|---:|---|",
    ]
    lines += [
        f"| {run['way']} | {run['wall']:,.0f} | {run['peak'] / 1e6:,.0f} | {run['digest'][:12]} |"
        for run in results["runs"]
    ]
    return [*lines, "", "One digest for all." if len(digests) == 1 else "THE DIGESTS DIFFER.", ""]


def main() -> None:
    """Run what is asked for; raises unless all digests are one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=float, default=2e6)
    parser.add_argument(
        "--only", default="", help="words with which the ways begin, comma-separated"
    )
    args = parser.parse_args()
    records = int(args.records)
    words = tuple(args.only.split(",")) if args.only else ("",)
    results: list[dict[str, Any]] = []
    if FOUND.exists():
        before = json.loads(FOUND.read_text("utf-8"))
        results = before["runs"] if before["records"] == records else []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = {
            pieces: folder / f"in-{pieces}" / "in.parquet" for pieces in (10_000, 100_000, 300_000)
        }
        for pieces, path in sources.items():
            path.parent.mkdir()
            make_table(path, records, pieces)
        for way, how in WAYS.items():
            if way.startswith(words):
                result = measure(folder, way, how, sources)
                print(json.dumps(result), flush=True)
                results = [entry for entry in results if entry["way"] != way] + [result]
    results.sort(key=lambda entry: list(WAYS).index(entry["way"]))
    summary = {"records": records, "load": os.getloadavg()[1], "runs": results}
    FOUND.write_text(json.dumps(summary, indent=1) + "\n", "utf-8")
    digests = {entry["digest"] for entry in results}
    print(f"{len(results)} ways, {len(digests)} digest{'' if len(digests) == 1 else 's'}")
    if len(digests) != 1:
        sys.exit(1)


if __name__ == "__main__":
    main()
