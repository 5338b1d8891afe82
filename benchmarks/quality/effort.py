"""Loss and CPU time of the efforts of `auto`, for one or several source trees side by side.

python benchmarks/quality/effort.py measure RESULTS.jsonl --source old=/path/to/src --source new=src
    [--tables census,chile] [--efforts quick,balanced] [--seeds 0,1,2]
python benchmarks/quality/effort.py compare RESULTS.jsonl old new

The effort `mdav` is exact MDAV. The curves of docs/quality.md are drawn from `curves.jsonl`: the
efforts quick, 10, 30, balanced and 300 of the reference data. Each line is one release: source,
table, records, k, effort, seed, IL within groups in percent, CPU and wall seconds of `anonymize`,
kernels compiled before, and the CPU seconds of a fixed piece of work (`pace`) beside it: a machine
that others load takes more CPU seconds for the same work, two to three times as many at worst. One
thread. The reference data are those of MICROAGG_REFERENCE_DATA; a table whose file is not there is
left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

EIGHT = ["SEX", "AGE", "MARSTAT", "KINDPERS", "EDUC1", "ETNI", "REGION", "POSLABM"]
EIA = ["UTILITYID", "RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES"]
EIA += ["OTHREVENUE", "OTHRSALES", "TOTREVENUE", "TOTSALES"]
REFERENCE = ("tarragona", "census", "eia")
REAL = {
    "adult": [
        "sex",
        "age",
        "race",
        "marital-status",
        "education",
        "native-country",
        "workclass",
        "occupation",
    ],
    "chile": None,
    "slid": None,
    "free1": EIGHT,
    "testdata": [
        "urbrur",
        "roof",
        "walls",
        "water",
        "electcon",
        "relat",
        "sex",
        "age",
        "hhcivil",
        "expend",
    ],
}
CODES = {  # columns of numbers that are categories
    "free1": [column for column in EIGHT if column != "AGE"],
    "testdata": ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "hhcivil"],
}
MADE = (
    "residents",
    "lognormal-1000",
    "lognormal-10000",
    "lognormal-100000",
    "mixture-1000",
    "mixture-10000",
)
TABLES = {**dict.fromkeys(REFERENCE, (3, 5, 10)), **dict.fromkeys((*REAL, *MADE), (5,))}
EFFORTS = ("quick", "balanced")


def table_of(name: str) -> tuple[Any, list[str]] | None:
    """Return a table and its quasi-identifiers; None where its file is not there."""
    folder = Path(os.environ.get("MICROAGG_REFERENCE_DATA", "."))
    if name in REFERENCE or name in REAL:
        path = folder / f"{name}.csv" if name in REFERENCE else folder / "tables" / f"{name}.csv"
        if not path.exists():
            return None
        frame = pd.read_csv(path)
        columns = REAL.get(name) or list(frame.columns)
        for column in CODES.get(name, ()):
            frame[column] = "c" + frame[column].astype(str)
        columns = (
            [column for column in EIA if column in frame.columns] if name == "eia" else columns
        )
        return frame[columns], columns
    if name == "residents":
        import microagg as ma

        frame = ma.datasets.residents(1000, seed=0)
        return frame, ["sex", "born", "district", "marital", "education", "works", "income", "rent"]
    kind, size = name.split("-")
    rng, n = np.random.default_rng(8), int(size)
    points = rng.lognormal(size=(n, 8))
    if kind == "mixture":
        points = rng.normal(size=(12, 8))[rng.integers(0, 12, n)] * 3.0 + rng.normal(size=(n, 8))
    columns = [f"c{j}" for j in range(8)]
    return pd.DataFrame(points, columns=columns), columns


def pace() -> float:
    """Return the CPU seconds of a fixed piece of work: the more, the busier the machine."""
    values = np.random.default_rng(0).random(1_000_000)
    begun = time.process_time()
    for _ in range(3):
        np.sort(values)
    return time.process_time() - begun


def work(job: dict[str, Any]) -> None:
    """Make the releases of one table and write a line for each; in a process of its own."""
    import microagg as ma

    made = table_of(job["table"])
    if made is None:
        return
    table, quasi = made
    head = table[:400]
    shared = {"quasi": quasi, "rest": "drop", "threads": 1}
    ma.anonymize(head, 3, effort=1, seed=0, **shared)  # compiles
    for k in TABLES[job["table"]]:
        for effort in job["efforts"]:
            how = {"method": "mdav"} if effort == "mdav" else {"effort": effort}
            for seed in job["seeds"] if effort not in ("quick", "mdav") else job["seeds"][:1]:
                before = pace()
                cpu, wall = time.process_time(), time.perf_counter()
                release = ma.anonymize(table, k, seed=seed, **how, **shared)
                line = {
                    "source": job["source"],
                    "table": job["table"],
                    "records": len(table),
                    "k": k,
                    "effort": effort,
                    "seed": seed,
                    "il": release.loss.get("IL_within", release.loss["IL"]),
                    "cpu": round(time.process_time() - cpu, 3),
                    "wall": round(time.perf_counter() - wall, 3),
                }
                line["pace"] = round((before + pace()) / 2.0, 4)
                print(json.dumps(line), flush=True)


def measure(results: Path, sources: dict[str, str], args: argparse.Namespace) -> None:
    """Measure all tables, the sources one after the other for each."""
    efforts = [effort if effort.isalpha() else float(effort) for effort in args.efforts.split(",")]
    seeds = [int(seed) for seed in args.seeds.split(",")]
    for table in args.tables.split(","):
        for source, path in sources.items():
            job = {"table": table, "source": source, "efforts": efforts, "seeds": seeds}
            environment = {
                **os.environ,
                "PYTHONPATH": str(Path(path).resolve()),
                "MICROAGG_THREADS": "1",
            }
            with results.open("a") as file:
                subprocess.run(
                    [sys.executable, __file__, "work", json.dumps(job)],
                    env=environment,
                    stdout=file,
                    check=True,
                )


def compare(results: Path, old: str, new: str) -> None:
    """Print the balanced releases of two sources side by side, seeds that both have, and the
    geometric mean of the changes of loss.
    """
    cells: dict[tuple[str, int], dict[str, dict[int, dict[str, Any]]]] = defaultdict(dict)
    for line in map(json.loads, results.read_text().splitlines()):
        if line["effort"] == "balanced":
            cells[line["table"], line["k"]].setdefault(line["source"], {})[line["seed"]] = line
    print("| table | records | k | seeds | IL old (s) | IL new (s) | change | s / 1,000 |")
    print("|" + "---|" * 8)
    changes = {}
    for (table, k), sources in cells.items():
        before, after = sources.get(old, {}), sources.get(new, {})
        seeds = sorted(before.keys() & after.keys())
        if not seeds:
            continue
        was, now = (statistics.mean(of[seed]["il"] for seed in seeds) for of in (before, after))
        took, takes = (statistics.mean(of[seed]["cpu"] for seed in seeds) for of in (before, after))
        records = after[seeds[0]]["records"]
        changes[f"{table}, k = {k}"] = now / was
        print(
            f"| {table} | {records:,} | {k} | {len(seeds)} | {was:.4f} ({took:.1f}) "
            f"| {now:.4f} ({takes:.2f}) | {100 * (now / was - 1):+.2f} % "
            f"| {1000 * takes / records:.2f} |"
        )
    mean = 100 * math.expm1(statistics.mean(map(math.log, changes.values())))
    worst = max(changes, key=changes.__getitem__)
    print(
        f"\ngeometric mean of the changes over {len(changes)} tables: {mean:+.2f} %; the worst: ",
        end="",
    )
    print(f"{worst}, {100 * (changes[worst] - 1):+.2f} %")


def main() -> None:
    """Run the command."""
    if sys.argv[1] == "work":
        work(json.loads(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("command", choices=["measure", "compare"])
    parser.add_argument("results", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--source", action="append", default=[])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--efforts", default=",".join(EFFORTS))
    parser.add_argument("--seeds", default="0,1,2")
    args = parser.parse_args()
    if args.command == "measure":
        measure(args.results, dict(source.split("=", 1) for source in args.source), args)
    else:
        compare(args.results, *args.names)


if __name__ == "__main__":
    main()
