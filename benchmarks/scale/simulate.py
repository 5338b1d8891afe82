"""The plan on 100 workers, on paper: measured times of its tasks, put into a schedule; what becomes
the bottleneck.

python benchmarks/scale/simulate.py --measure          # times every task of a run of 10⁶ records
here: tasks.json python benchmarks/scale/simulate.py                    # the schedules:
simulated.json; `run.py --page` puts both into docs/scale.md

Times of tasks are processor seconds of their threads, which other work on the machine does not
prolong. Bytes are those of the files that they read and wrote. What a network and a store can do is
not measured but said: two cases, below.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TASKS, SIMULATED = HERE / "tasks.json", HERE / "simulated.json"
WORKERS, THREADS = 100, 4
CASES = {"one file server, 1.25 GB/s": 1.25e9, "a parallel store, 25 GB/s": 25e9}
OF_A_WORKER = 1.25e9  # bytes a second that reach one worker: 10 Gbit/s
SCHEDULING = 0.001  # seconds that a scheduler spends on each task, assumed, not measured
BUCKET = 770_000  # records
PRICE = 0.05  # of a core for an hour, in euros: assumed
CHUNK, BLOCK, PART = 1 << 20, 250_000, 1 << 22


def measure(records: int) -> dict[str, Any]:
    """Time every task of a run beyond memory on this machine, one at a time."""
    from microagg.pipeline import files
    from microagg.pipeline import out_of_core as beyond
    from microagg.runtime import executor
    from run import make_table

    timings: dict[str, list[dict[str, float]]] = {}
    once: str | None = None  # the one task that a run is about

    class Timing(executor.ThreadExecutor):
        """One thread that looks at the clock."""

        def in_order(
            self,
            task: Callable[..., Any],
            arguments: Iterable[tuple[Any, ...]],
            at_once: int | None = None,
            needs: Iterable[int] = (),
        ) -> Iterator[Any]:
            for args in arguments:
                begun = time.thread_time()
                result = task(*args)
                spent = time.thread_time() - begun
                wrote = (
                    os.path.getsize(result["path"])
                    if isinstance(result, dict) and "path" in result
                    else 0
                )
                if once is None or task.__name__ == once:
                    timings.setdefault(task.__name__, []).append({"seconds": spent, "wrote": wrote})
                yield result

        def alone(
            self, task: Callable[..., Any], *arguments: Any, tell: Any, needs: int = 0
        ) -> Any:
            begun = time.thread_time()
            result = super().run_exclusive(task, *arguments, tell=tell)
            if once is None:
                timings.setdefault(task.__name__, []).append(
                    {"seconds": time.thread_time() - begun, "wrote": 0}
                )
            return result

    beyond.Threads = Timing  # ty: ignore  # pyright: ignore[reportPrivateImportUsage]
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.parquet", Path(folder) / "out.parquet"
        make_table(source, records)
        # the first compiles, the last is a folder of parts
        for destination in (target, target, f"{folder}/out/"):
            once = "write_part_of" if isinstance(destination, str) else None
            if once is None:
                timings.clear()
            files.anonymize_file(
                source,
                destination,
                k=5,
                quasi=[f"q{j}" for j in range(8)],
                seed=1,
                effort="quick",
                date="2026-01-01",
                threads=1,
                memory="250MB",
            )
        sizes = {"input": source.stat().st_size, "output": target.stat().st_size}
    spread = [entry["seconds"] for entry in timings["work_block_of"]]
    mean = sum(spread) / len(spread)
    return {
        "records": records,
        "seconds": {
            name: sum(entry["seconds"] for entry in tasks) for name, tasks in timings.items()
        },
        "tasks": {name: len(tasks) for name, tasks in timings.items()},
        "spread": sorted(value / mean for value in spread),
        "bytes": {name: size / records for name, size in sizes.items()},
        "wrote": {
            name: sum(entry["wrote"] for entry in tasks) / records
            for name, tasks in timings.items()
        },
    }


def passes(measured: dict[str, Any], records: int, *, parts: bool) -> list[dict[str, Any]]:
    """The passes of a table of so many records: how many tasks, of how many seconds, and the bytes
    that each reads and writes.

    One file is written by one task, and copied by the driver; `parts` each by one, which reads half
    a bucket too much at either end (the row buckets of workers with 4 GB and four threads have
    about 770,000 records), and once more what it wrote, for its digest.
    """
    a_record = {
        name: seconds / measured["records"] for name, seconds in measured["seconds"].items()
    }
    read, wrote = measured["bytes"]["input"], measured["wrote"]
    out = measured["bytes"]["output"]
    routed, formed, finished, hashes = (
        wrote[name]
        for name in ("route_chunk", "work_block_of", "work_shifted_block_of", "hash_chunk")
    )
    chunks, blocks = -(-records // CHUNK), -(-records // BLOCK)
    plan = [(name, chunks, read, 0.0) for name in ("scan_chunk", "add_up_chunk", "sample_chunk")]
    plan += [("route_chunk", chunks, read, routed), ("work_block_of", blocks, routed, formed)]
    plan.append(("work_shifted_block_of", blocks, formed, finished))
    if parts:
        plan.append(("write_part_of", -(-records // PART), finished * (1 + BUCKET / PART), 2 * out))
    else:
        plan.append(("write_rows", 1, finished, 3 * out))
    plan += [("hash_chunk", chunks, out, hashes), ("count_bucket", chunks, hashes, 0.0)]
    return [
        {
            "pass": name,
            "tasks": tasks,
            "seconds": a_record.get(name, 0.0) * records / tasks,
            "bytes": (reads + writes) * records / tasks,
        }
        for name, tasks, reads, writes in plan
    ]


def schedule(
    plan: list[dict[str, Any]], store: float, spread: list[float], seed: int = 19
) -> list[dict[str, Any]]:
    """Return how long each pass takes on the workers: tasks go to the first free slot, and share
    the store and their worker's wire.
    """
    dice = random.Random(seed)
    slots = WORKERS * THREADS
    rows = []
    for step in plan:
        active = min(slots, step["tasks"])
        rate = min(OF_A_WORKER / max(1.0, active / WORKERS), store / active)
        moving = step["bytes"] / rate
        free = [0.0] * active
        heapq.heapify(free)
        for number in range(step["tasks"]):
            begun = max(heapq.heappop(free), number * SCHEDULING)
            vary = dice.choice(spread) if step["pass"].startswith("work_") else 1.0
            heapq.heappush(free, begun + step["seconds"] * vary + moving)
        wall = max(free)
        busy = step["tasks"] * step["seconds"]
        rows.append(
            {
                "pass": step["pass"],
                "tasks": step["tasks"],
                "wall": wall,
                "busy": busy,
                "moving": step["tasks"] * moving / active,
                "bytes": step["tasks"] * step["bytes"],
                "used": busy / (wall * slots) if wall else 0.0,
            }
        )
    return rows


def simulate(measured: dict[str, Any]) -> list[dict[str, Any]]:
    """All cases."""
    results = []
    for records in (10**9, 10**10):
        for case, store in CASES.items():
            for target in ("one file", "a folder"):
                plan = passes(measured, records, parts=target == "a folder")
                rows = schedule(plan, store, measured["spread"])
                wall = sum(entry["wall"] for entry in rows)
                results.append(
                    {
                        "records": records,
                        "case": case,
                        "target": target,
                        "wall": wall,
                        "passes": rows,
                    }
                )
    return results


NAMES = {
    "scan_chunk": "scan",
    "add_up_chunk": "measure",
    "sample_chunk": "sample",
    "route_chunk": "route",
    "work_block_of": "blocks",
    "work_shifted_block_of": "shifted blocks",
    "write_rows": "write one file",
    "write_part_of": "write parts",
    "hash_chunk": "verify: hash",
    "count_bucket": "verify: count",
}


def section() -> list[str]:
    """Return the section of docs/scale.md on it."""
    if not (TASKS.exists() and SIMULATED.exists()):
        return []
    measured, simulated = (
        json.loads(TASKS.read_text("utf-8")),
        json.loads(SIMULATED.read_text("utf-8")),
    )
    costs = {
        name: 1e6 * seconds / measured["records"] for name, seconds in measured["seconds"].items()
    }
    lines = [
        "## On paper: 10⁹ and 10¹⁰ records",
        "",
        f"Measured here, one thread, {measured['records']:,} records of 8 columns, "
        "processor µs a record: "
        + ", ".join(f"{NAMES[name]} {costs[name]:.2f}" for name in NAMES if name in costs)
        + f"; {measured['bytes']['input']:.0f} bytes a record of input, "
        f"{measured['wrote']['route_chunk']:.0f} of spill, "
        f"{measured['bytes']['output']:.0f} of output.",
        "",
        f"Put into a schedule of {WORKERS} workers with {THREADS} threads each (`python "
        "benchmarks/scale/simulate.py`): tasks go to whoever is free,",
        "blocks vary as those measured did, each worker has a wire of "
        f"{OF_A_WORKER / 1e9:.3g} GB/s, all share the store, the scheduler spends "
        f"{1000 * SCHEDULING:.0f} ms on a task.",
        f"The store, the wires, the scheduler and the price ({PRICE} € for a core and "
        "hour, for as long as the run takes) are assumptions.",
        "",
        "| records | store | to | wall | of that writing | blocks, both passes | TB "
        "moved | core hours at work | cost, € | slowest pass |",
        "|---:|---|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for run in simulated:
        by_name = {one["pass"]: one for one in run["passes"]}
        blocks = by_name["work_block_of"]["wall"] + by_name["work_shifted_block_of"]["wall"]
        slowest = max(run["passes"], key=lambda one: one["wall"])
        writing = sum(one["wall"] for one in run["passes"] if one["pass"].startswith("write_"))
        lines.append(
            f"| {run['records']:.0e} | {run['case']} | {run['target']} | "
            f"{_time(run['wall'])} | {_time(writing)} | {_time(blocks)} | "
            f"{sum(one['bytes'] for one in run['passes']) / 1e12:.2f} | "
            f"{sum(one['busy'] for one in run['passes']) / 3600:,.0f} | "
            f"{run['wall'] / 3600 * WORKERS * THREADS * PRICE:,.0f} | {NAMES[slowest['pass']]} |"
        )
    one, many = simulated[-2:]
    share = {entry["pass"]: entry["wall"] / one["wall"] for entry in one["passes"]}
    used = {
        run["target"]: sum(entry["busy"] for entry in run["passes"])
        / (run["wall"] * WORKERS * THREADS)
        for run in (one, many)
    }
    slowest = max(many["passes"], key=lambda entry: entry["wall"])
    lines += [
        "**What becomes the bottleneck.** Writing one file is one task, for the bytes "
        "of a file follow from all rows in order: with 100 workers it is "
        f"{100 * share['write_rows']:.0f} % of the time at 10¹⁰ records on the faster "
        f"store, and over the whole run {100 * used['one file']:.0f} % of the",
        "cores are at work. A folder of parts (`out/`) is written by a task for every "
        "4,194,304 records, each of which reads only the buckets that hold its rows: "
        f"the same run takes {one['wall'] / many['wall']:.1f} times less time, "
        f"{100 * used['a folder']:.0f} % of the cores are at work, and",
        f"the slowest pass is {NAMES[slowest['pass']]} "
        f"({100 * slowest['wall'] / many['wall']:.0f} % of the time). On one file server "
        "the store is what everything waits for.",
        "",
    ]
    return lines


def _time(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"


def main() -> None:
    """Measure or simulate."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--records", type=float, default=1e6)
    args = parser.parse_args()
    if args.measure:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        TASKS.write_text(json.dumps(measure(int(args.records)), indent=1) + "\n", "utf-8")
    results = simulate(json.loads(TASKS.read_text("utf-8")))
    SIMULATED.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    for run in results:
        slowest = max(run["passes"], key=lambda one: one["wall"])
        print(
            f"{run['records']:.0e} {run['case']}, {run['target']}: {_time(run['wall'])}, "
            f"slowest {slowest['pass']}"
        )


if __name__ == "__main__":
    main()
