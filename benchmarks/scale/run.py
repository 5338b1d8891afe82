"""Growth of time and memory with the number of records, from 10⁶ to 10⁸; writes results.json beside
it, and docs/scale.md from that.

python benchmarks/scale/run.py                                  # 10⁶, 10⁷ and 10⁸, in memory where
it fits and with --memory python benchmarks/scale/run.py --sizes 1e6,1e7 --memory 1GB     # some of
them python benchmarks/scale/run.py --page                           # the page alone, from the
results that are there

Tables are generated in chunks and never whole in memory. Each run is a process of its own, from
parquet to verified parquet.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import on_dask
import same
import simulate

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PAGE = HERE.parent.parent / "docs" / "scale.md"
COLUMNS = 8
CHUNK = 500_000
IN_MEMORY = 10_000_000
"""Records up to which the table is worked on in memory, too."""

RUN = """
import json, resource, sys, time
from microagg.pipeline.files import anonymize_file
source, target, memory, threads = sys.argv[1:]
passes, begun = {}, [None, time.perf_counter()]
class Watching:
    def __call__(self, done, total): pass
    def tell(self, what):
        now = time.perf_counter()
        if begun[0]:
            passes[begun[0]] = passes.get(begun[0], 0.0) + now - begun[1]
        begun[:] = [what.split(",")[0], now]
release = anonymize_file(
    source, target, k=5, quasi=[f"q{j}" for j in range(8)], seed=1, effort="quick",
    date="2026-01-01", threads=int(threads),
    memory=memory or "1TB", progress=Watching(),
)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * 1024,
    "IL": release.loss["IL"], "digest": release._written["output"]["digest"],
    "passes": passes if memory else {},
}))
"""


def make_table(path: Path, records: int) -> None:
    """A table of whole numbers with heavy tails and some correlation, chunk by chunk."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(f"q{j}", pa.int64()) for j in range(COLUMNS)])
    with parquet.ParquetWriter(path, schema) as file:
        for first in range(0, records, CHUNK):
            count = min(CHUNK, records - first)
            rng = np.random.default_rng([18, first])
            shared = rng.lognormal(0.0, 1.0, (count, 3))
            columns = [
                np.rint(1000.0 * shared[:, j % 3] * rng.lognormal(0.0, 0.5, count)).astype(np.int64)
                for j in range(COLUMNS)
            ]
            file.write_table(pa.table(columns, schema=schema))


def measure(source: Path, target: Path, records: int, memory: str, threads: int) -> dict[str, Any]:
    """One run in a process of its own."""
    begun = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(source), str(target), memory, str(threads)],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    wall = time.perf_counter() - begun
    result = json.loads(ran.stdout.splitlines()[-1])
    return {
        "records": records,
        "memory": memory,
        "threads": threads,
        "wall": wall,
        "input": source.stat().st_size,
        **result,
    }


def exponents(results: list[dict[str, Any]]) -> dict[str, float]:
    """In memory and beyond it, the exponent of CPU time between the smallest and the largest
    table.
    """
    powers = {}
    for where in ("in memory", "beyond memory"):
        runs = sorted(
            (run for run in results if bool(run["memory"]) == (where != "in memory")),
            key=lambda run: run["records"],
        )
        if len({run["records"] for run in runs}) > 1:
            first, last = runs[0], runs[-1]
            powers[where] = math.log(last["cpu"] / first["cpu"]) / math.log(
                last["records"] / first["records"]
            )
    return powers


def page(results: list[dict[str, Any]]) -> str:
    """docs/scale.md."""
    lines = [
        "# Beyond memory",
        "",
        "A table that does not fit into memory is worked on in passes, and gives the "
        "same release to the byte: same input, settings and",
        "seed, whatever the memory, the chunks or the threads. It starts by itself (half "
        "of what is free counts as memory) and can be asked",
        "for: `microagg anonymize in.parquet out.parquet --memory 4GB`, in Python "
        '`anonymize_file(…, memory="4GB")`. Libraries take some',
        "300 MB besides. Input is a parquet or Arrow file, a text file (csv, tsv, txt, "
        'also packed), a folder of parquet parts or a pattern (`"parts/*.parquet"`);',
        "output such a file, or a folder of parquet parts (`out/`: each of 4,194,304 "
        "records, its manifests beside it).",
        "A text file is taken in first: read from end to end, set aside, and typed as in "
        "memory, a column at a time; the largest of them takes about five",
        "times the bytes of its text, and is refused with the figure where `--memory` is less.",
        "Below 500,000 records, and from other formats, a table is read and grouped as a "
        "whole whatever `--memory` says; a note tells if that may take more.",
        "",
        "What is set aside lies in a folder with a random name that its owner alone can "
        "look into (mode 700), beside the output or where `--spill`",
        "says, and goes in the end, on errors and on Ctrl-C. A run that was killed goes "
        "on with `--resume`, by a file of mode 600 beside the output that",
        "names the folder, and only with the same versions, settings and input; what it "
        "left goes with the next run, or with `microagg clean`. Input",
        "that is changed or replaced while it is read is refused: its files are compared "
        "after each pass, its values in the first and the last.",
        "",
        "## The passes",
        "",
        "1. **Scan**: types, counts, gaps, sums that do not depend on order, the digest "
        "run by run (65,536 records); two to five passes over",
        "   the quasi-identifiers make the space, bit for bit what it is in memory.",
        "2. **Route**: a sample by a hash of record numbers gives a tree of cuts; every "
        "record goes to the spill of its leaf.",
        "3. **Blocks**, then **shifted blocks**: the code that works in memory, with all "
        "that depends on the whole table handed in.",
        "4. **Write** in the order of a keyed hash of record numbers, in row groups of "
        "262,144; the parts of a folder by a task each.",
        "5. **Verify** the written file in bounded memory: classes by a 128-bit hash of "
        "their values, counted bucket by bucket. Only then does",
        "   it take its place.",
        "",
        "## Measured",
        "",
        f"{COLUMNS} columns of whole numbers with heavy tails, k = 5, `quick`, from "
        f"parquet to a verified parquet file",
        "(`python benchmarks/scale/run.py` writes this page).",
        "",
        "| records | memory | threads | wall s | CPU s | CPU µs a record | peak MB | "
        "bytes a record | IL % |",
        "|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for result in results:
        lines.append(
            f"| {result['records']:,} | {result['memory'] or 'all'} | {result['threads']} | "
            f"{result['wall']:,.0f} | {result['cpu']:,.0f} | "
            f"{1e6 * result['cpu'] / result['records']:.1f} | {result['peak'] / 1e6:,.0f} | "
            f"{result['peak'] / result['records']:,.0f} | "
            f"{result['IL']:.4f} |"
        )
    lines += [
        f"\n{result['records']:,} records: {result['note']}."
        for result in results
        if "note" in result
    ]
    powers_text = [f"{power:.3f} {where}" for where, power in exponents(results).items()]
    if powers_text:
        lines += [
            "",
            f"CPU time grows with the number of records to the power of {', '.join(powers_text)}.",
        ]
    by_size = {
        result["records"]: {run["digest"] for run in results if run["records"] == result["records"]}
        for result in results
    }
    if all(len(digests) == 1 for digests in by_size.values()):
        lines += ["", "Runs of the same table gave the same digest, whatever the memory."]
    for result in results:
        if result["passes"]:
            spent = ", ".join(
                f"{what} {seconds:,.0f}" for what, seconds in result["passes"].items()
            )
            lines += [
                "",
                f"Seconds by pass, {result['records']:,} records with {result['memory']}: {spent}.",
            ]
    lines += ["", *same.section(), *on_dask.section(), *simulate.section()]
    lines += [
        "## What is not done beyond memory yet",
        "",
        "It is refused with one sentence that names it: other methods than `auto` and "
        "the efforts `thorough` and `prove` (`hybrid` works in",
        "parts, in memory), `refine`, `time_limit`,",
        "times and Decimals too fine for how far they reach (2⁵¹ steps), labels,",
        "files of Excel, SPSS, Stata and SAS, and `publish` of measures that are from "
        "samples. Categories, and texts that are kept or spell numbers, have 100,000 "
        "different values at most, and the scale `rank` holds every different",
        "number in a quarter of the memory, 24 bytes each, and 64 more in the column "
        "that has the most. Where",
        "nothing is said of memory, such tables are worked on in memory as far as that reaches.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Run what is asked for; results of other sizes stay."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1e6,1e7,1e8")
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, default=None, help="where tables and spill go")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    args = parser.parse_args()
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    sizes = [] if args.page else [int(float(size)) for size in args.sizes.split(",")]
    for records in sizes:
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            source, target = Path(folder) / "in.parquet", Path(folder) / "out.parquet"
            make_table(source, records)
            # small tables fit into any memory; they are worked on beyond it all the same, with what
            # a block needs
            for memory in ["", args.memory] if records <= IN_MEMORY else [args.memory]:
                least = "250MB" if memory and records <= 1_000_000 else memory
                result = measure(source, target, records, least, args.threads)
                results = [
                    entry
                    for entry in results
                    if (entry["records"], entry["memory"], entry["threads"])
                    != (records, least, args.threads)
                ] + [result]
                results.sort(key=lambda entry: (entry["records"], entry["memory"]))
                RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
                print(json.dumps(result))
    PAGE.write_text(page(results), "utf-8")
    print(exponents(results))


if __name__ == "__main__":
    main()
