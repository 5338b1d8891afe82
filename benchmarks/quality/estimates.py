"""Estimated against true time of `balanced`, and how far a time limit is missed, table by table.

python benchmarks/quality/estimates.py RESULTS.jsonl [TABLE,TABLE,...]

The tables and their columns are those of `effort.py`; one thread. The estimate is that of a dry
run; the truth is the CPU time of the release (of the process, as the estimate is: others on the
machine cannot prolong it). Then `thorough` with a time limit of 40 % of the wall time that
`balanced` took, two seconds at least: `over` are the seconds of wall time beyond it, of the whole
release.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("MICROAGG_THREADS", "1")

import pyarrow as pa

import effort as tables
import microagg as ma
from microagg.pipeline.dry_run import dry_run_file
from microagg.release.settings import Settings

TEN = "tarragona,census,residents,chile,eia,free1,testdata,slid,mixture-10000,adult"
LEAST_LIMIT = 2.0
SHARE = 0.4  # of the time without a limit


def measure(name: str) -> dict[str, Any] | None:
    """Return what is found on one table; None where its file is not there."""
    made = tables.table_of(name)
    if made is None:
        return None
    table, quasi = made
    if isinstance(table, pa.Table):
        table = table.to_pandas()
    shared = {"quasi": quasi, "rest": "drop"}
    ma.anonymize(table, 5, effort=1, seed=0, threads=1, **shared)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "in.csv")
        table.to_csv(source, index=False)
        kinds = dict.fromkeys(
            (column for column in quasi if table[column].dtype.kind in "iuf"), "numeric"
        )
        settings = Settings.of(k=5, seed=0, kinds=kinds, **shared)
        plan = dry_run_file(source, Path(folder, "out.csv"), settings, threads=1)
    cpu, wall = time.process_time(), time.perf_counter()
    ma.anonymize(table, 5, seed=0, threads=1, **shared)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    limit = max(LEAST_LIMIT, SHARE * wall)
    begun = time.perf_counter()
    ma.anonymize(table, 5, seed=0, threads=1, effort="thorough", time_limit=limit, **shared)
    line = {"table": name, "records": len(table), "estimate": plan.estimate.seconds}
    line |= {"cpu": cpu, "wall": wall, "ratio": (plan.estimate.seconds or 0.0) / cpu}
    return line | {"limit": limit, "over": time.perf_counter() - begun - limit}


def main() -> None:
    """Run the command."""
    warnings.simplefilter("ignore")
    names = sys.argv[2] if len(sys.argv) > 2 else TEN
    with Path(sys.argv[1]).open("a") as file:
        for name in names.split(","):
            line = measure(name)
            if line is not None:
                text = json.dumps({key: _rounded(value) for key, value in line.items()})
                print(text, flush=True)
                print(text, file=file, flush=True)


def _rounded(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
