"""Threads of one process and workers of a Dask cluster, side by side on this machine; writes
on_dask.json beside it.

python benchmarks/scale/on_dask.py --records 2e6          # then `run.py --page` puts it into
docs/scale.md
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOUND = HERE / "on_dask.json"
MEMORY = "600MB"
BUSY = 2.0  # a load of the machine before the first run; less is what making the table leaves
RUN = """
import json, resource, sys
from microagg.pipeline.files import anonymize_file
if __name__ == "__main__":
    source, target, memory, engine = sys.argv[1:]
    release = anonymize_file(
        source, target, k=5, quasi=[f"q{j}" for j in range(8)], seed=1, effort="quick",
        date="2026-01-01", memory=memory,
        **({"threads": 2} if engine == "threads" else {"engine": engine}),
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"digest": release._written["output"]["digest"], "driver": peak}))
"""


def measure(folder: Path, source: Path, engine: str) -> dict[str, Any]:
    """One run in a process of its own, with all that it starts."""
    script = folder / "run.py"
    script.write_text(RUN, "utf-8")
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ran = subprocess.run(
        [sys.executable, str(script), str(source), str(folder / "out.parquet"), MEMORY, engine],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"engine": engine, "wall": wall, "cpu": cpu, **json.loads(ran.stdout.splitlines()[-1])}


def section() -> list[str]:
    """Return the section of docs/scale.md on it."""
    lines = [
        "## On a cluster",
        "",
        "`microagg anonymize in.parquet out.parquet --dask tls://10.0.0.1:8786` (or "
        "`--dask local:4` for processes of this machine), in",
        "Python `anonymize_file(…, engine=client)` with any `distributed.Client`: its "
        "workers do the same tasks, and the release is the same to the byte.",
        "`pip install 'microagg[dask]'` on all machines. Only futures are used: no "
        "shuffle and no data frame of Dask takes part.",
        "",
        "- `local:4` starts processes that only this run can use: every port takes TLS "
        "with a key made for the run, and Dask's web pages are off. A",
        "  scheduler of your own should have TLS, too (`tls://`; Dask's configuration "
        "names the keys): over `tcp://` whoever reaches it can read the data",
        "  and run programs as you, and a note says so.",
        "- Input, output and `--spill` are paths that all workers see (a shared folder); "
        "input and output may be addresses of an object store",
        "  (`s3://`, `gs://`, `abfs://`; [docs/files.md](files.md) says what holds "
        "there), `--spill` then names a shared folder. It is checked by",
        "  writing and reading through each worker, as are the versions of microagg, "
        "numpy, numba and pyarrow and the processor's features: one",
        "  sentence if something differs. Workers that come later get work if their "
        "versions agree and the paths are there.",
        "- `--memory` is that of one worker (three quarters of its limit less 200 MB, if "
        "nothing is said). Dask is told what a block takes, so no",
        "  worker takes two that do not fit together; each of its threads does one task at a time.",
        "- The driver holds facts, cuts and counts. Tasks are told counts and paths; "
        "what else they need, other numbers too, lies in the spill, for its owner's eyes",
        "  only, and so do results above 1 MB. Dask's logs and dashboards see names of "
        "functions, numbers and paths.",
        "- A worker that dies: others do its work. The scheduler or the driver dies: "
        "nothing is in place, and `--resume` goes on, with a cluster or",
        "  without. Ctrl-C cancels what is under way and removes the spill.",
        "- `repeat_file(…, engine=client)` (`microagg repeat --dask`) makes a release "
        "again there; `--threads` and `--resume` are those of `anonymize`.",
        "- `compare(…, engine=client)` and `reproduce(…, engine=client)`, `--dask` on "
        "the command line, run their releases on a cluster, too.",
        "",
    ]
    if not FOUND.exists():
        return lines
    results = json.loads(FOUND.read_text("utf-8"))
    runs = {entry["engine"]: entry for entry in results["runs"]}
    beside = "with little else at work"
    if results["load"] > BUSY:
        beside = (
            f"with a load of {results['load']:.0f} from other work (so that processor seconds "
            f"say more than the clock)"
        )
    lines += [
        f"Side by side on one machine of two cores, {results['records']:,} records of 8 "
        f"columns, `--memory {MEMORY}`,",
        f"{beside}; starting the cluster is included:",
        "",
        "| | wall s | processor s | driver's peak MB |",
        "|---|---:|---:|---:|",
    ]
    for name, run in runs.items():
        what = "two threads of one process" if name == "threads" else f"`--dask {name}`"
        lines.append(
            f"| {what} | {run['wall']:,.0f} | {run['cpu']:,.0f} | {run['driver'] / 1e6:,.0f} |"
        )
    same = len({run["digest"] for run in runs.values()}) == 1
    if {"threads", "local:2"} <= set(runs):
        times = runs["local:2"]["wall"] / runs["threads"]["wall"]
        lines += ["", f"Two processes take {times:.2f} times as long as two threads."]
    lines += ["", "The digests are the same." if same else "THE DIGESTS DIFFER.", ""]
    return lines


def main() -> None:
    """Run both, one after the other."""
    from run import make_table

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=float, default=1e7)
    args = parser.parse_args()
    records = int(args.records)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.parquet"
        make_table(source, records)
        load = os.getloadavg()[1]
        runs = [measure(Path(folder), source, engine) for engine in ("threads", "local:2")]
    FOUND.write_text(
        json.dumps({"records": records, "load": load, "runs": runs}, indent=1) + "\n", "utf-8"
    )
    for run in runs:
        print(run)


if __name__ == "__main__":
    main()
