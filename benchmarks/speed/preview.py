"""Previews of tables of 200,000 records: their time after a change, and their loss against `quick`.

python benchmarks/speed/preview.py losses FIRST LAST   # the true losses, which no load changes
python benchmarks/speed/preview.py run FIRST LAST      # the previews; on a core of their own
python benchmarks/speed/preview.py show

A seed stands for one table and one k, in turn: three shapes, 3 and 8 columns, four k. A preview is
asked for as the studio does it, in a process that has shown the same table for another k before:
the time counts from the new k on, with encoding, cutting and exposure. `first` is the first step,
`detailed` the second one, with larger blocks. Lines by seed are in preview.jsonl beside this file;
what is there is not run again.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import microagg as ma
from microagg.studio.tasks import Tasks

RESULTS = Path(__file__).with_name("preview.jsonl")
RECORDS = 200_000
SHAPES, WIDTHS, KS = ("normal", "lognormal", "clusters"), (3, 8), (3, 5, 10, 25)
CASES = tuple(product(KS, WIDTHS, SHAPES))
BARS = {"first": (0.5, 2.0, 1.0), "detailed": (0.8, 1.6, 5.0)}
"""Least and largest share of the true loss, and most seconds after the change."""


def table_of(shape: str, columns: int, seed: int) -> pa.Table:
    """A fresh table of one of three shapes."""
    rng = np.random.default_rng(seed)
    if shape == "normal":
        values = rng.normal(size=(RECORDS, columns)) @ rng.normal(size=(columns, columns))
    elif shape == "lognormal":
        values = np.exp(rng.normal(size=(RECORDS, columns)))
    else:
        centres = rng.normal(size=(30, columns)) * 5
        width = rng.uniform(0.2, 1.5, size=(RECORDS, 1))
        noise = rng.normal(size=(RECORDS, columns))
        values = centres[rng.integers(0, 30, RECORDS)] + width * noise
    return pa.table({f"x{j}": column for j, column in enumerate(values.T)})


def case_of(seed: int) -> tuple[int, int, str]:
    """Return k, columns and shape of a seed."""
    return CASES[seed % len(CASES)]


def true_loss(seed: int) -> float:
    """The loss of a release with effort quick."""
    k, columns, shape = case_of(seed)
    table = table_of(shape, columns, seed)
    return ma.anonymize(table, k=k, quasi=table.column_names, seed=1, effort="quick").loss["IL"]


def previews_of(seed: int, folder: Path) -> dict[str, Any]:
    """Loss and seconds of both previews of one table after a change of k."""
    k, columns, shape = case_of(seed)
    path = folder / "table.parquet"
    table = table_of(shape, columns, seed)
    parquet.write_table(table, path)
    tasks = Tasks(lambda **state: None, threading.Event())
    source: dict[str, Any] = {"path": str(path), "reading": {}}
    opened = tasks.task_open(**source)
    choices = {
        "roles": ["quasi"] * columns,
        "kinds": [column["kind"] for column in opened["columns"]],
        "settings": {"k": str(KS[(KS.index(k) + 1) % len(KS)])},
    }
    tasks.task_preview(**source, choices=choices, step=0)
    choices["settings"] = {"k": str(k)}
    begun, cpu = time.perf_counter(), time.process_time()
    result: dict[str, Any] = {"seed": seed, "k": k, "columns": columns, "shape": shape}
    for step, name in enumerate(BARS):
        shown = tasks.task_preview(**source, choices=choices, step=step)
        result[name] = {
            "loss": shown["loss"], "spread": shown["spread"],
            "seconds": round(time.perf_counter() - begun, 3),
            "cpu_seconds": round(time.process_time() - cpu, 3),
        }  # fmt: skip
    return result


def lines() -> dict[str, dict[int, Any]]:
    """Return what is recorded: losses and previews by seed."""
    recorded: dict[str, dict[int, Any]] = {"loss": {}, "previews": {}}
    for line in RESULTS.read_text().splitlines() if RESULTS.exists() else ():
        entry = json.loads(line)
        if "loss" in entry:
            recorded["loss"][entry["seed"]] = entry["loss"]
        else:
            recorded["previews"][entry["seed"]] = entry
    return recorded


def add(entry: dict[str, Any]) -> None:
    """Record one line."""
    with RESULTS.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def show() -> None:
    """Print in how many seeds each bar is met, and the extremes."""
    recorded = lines()
    seeds = sorted(set(recorded["loss"]) & set(recorded["previews"]))
    for name, (low, high, most) in BARS.items():
        parts = [recorded["previews"][seed][name] for seed in seeds]
        ratios = [
            part["loss"] / recorded["loss"][seed] for part, seed in zip(parts, seeds, strict=True)
        ]
        inside = sum(low <= ratio <= high for ratio in ratios)
        print(f"{name}: {inside} of {len(seeds)} within {low} to {high} x, "
              f"{min(ratios):.2f} to {max(ratios):.2f}")  # fmt: skip
        for clock in ("seconds", "cpu_seconds"):
            times = [part[clock] for part in parts]
            both = sum(
                low <= ratio <= high and seconds <= most
                for ratio, seconds in zip(ratios, times, strict=True)
            )
            print(f"  {clock}: median {np.median(times):.2f}, most {max(times):.2f}; "
                  f"{both} of {len(seeds)} also within {most:g} s")  # fmt: skip


def main() -> None:
    """Run what is missing of some seeds, or show what there is."""
    if sys.argv[1] == "show":
        show()
        return
    seeds, recorded = range(int(sys.argv[2]), int(sys.argv[3])), lines()
    if sys.argv[1] == "losses":
        for seed in seeds:
            if seed not in recorded["loss"]:
                add({"seed": seed, "loss": true_loss(seed)})
        return
    with tempfile.TemporaryDirectory() as folder:
        previews_of(len(CASES) - 1, Path(folder))  # compiles, and opens what is opened once
        for seed in seeds:
            if seed not in recorded["previews"]:
                add(previews_of(seed, Path(folder)))


if __name__ == "__main__":
    main()
