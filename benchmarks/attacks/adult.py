"""Excess of attacks on Adult, with the loss that each release costs; figures only, no data.

MICROAGG_REFERENCE_DATA=FOLDER python benchmarks/attacks/adult.py [--sample N] [--one | --page]

The table is FOLDER/tables/adult.csv (30,162 records, eight quasi-identifiers, `salary-class`
confidential), or N of its records, drawn at random. Results are in adult.jsonl beside this file;
what is there is not run again, and --one stops after one more. With --page, docs/evidence.md gets
the table and nothing is run: each case from the most records on which it is there.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

import microagg as ma
from tables import percents, write_table

RESULTS = Path(__file__).with_name("adult.jsonl")
CONFIDENTIAL = "salary-class"
RECORDS = 30_162
CASES = tuple(product((5, 10, 25), ("mdav", "auto"), (None, 2)))


def run(table: pa.Table, k: int, method: str, l: int | None) -> dict[str, Any]:
    """Attack one rerun and measure its loss."""
    quasi = [name for name in table.column_names if name != CONFIDENTIAL]
    losses = []

    def release(rest: pa.Table) -> pa.Table:
        made = ma.anonymize(
            rest, k=k, quasi=quasi, confidential=[CONFIDENTIAL], method=method, l=l, seed=1
        )
        losses.append(made.loss["IL"])
        return made.to_arrow()

    begun = time.process_time()
    attacks = ma.attack(
        table, k, quasi, confidential=[CONFIDENTIAL], l=l, seed=1, release_with=release,
        leave_out=False,
    )  # fmt: skip
    seconds = round(time.process_time() - begun, 1)
    return {"k": k, "method": method, "l": l, "IL": losses[0], "cpu_seconds": seconds,
            "microagg": ma.__version__, "attacks": attacks.as_data()}  # fmt: skip


def row_of(result: dict[str, Any]) -> list[str]:
    """One line of the table in docs."""
    by_kind = {part["kind"]: part for part in result["attacks"]["results"]}
    inference = by_kind["inference"]
    successes = (
        by_kind["singling out"], by_kind["linkability"], inference, inference["from_other_records"]
    )  # fmt: skip
    excess = [success["excess"] for success in successes]
    return [
        str(result["k"]), result["method"], str(result["l"] or "–"), f"{result['records']:,}",
        f"{result['IL']:.1f}",
        *(percents(part["value"], part["low"], part["high"]) for part in excess),
    ]  # fmt: skip


def load(sample: int | None) -> pa.Table:
    """The table, or some of its records."""
    table = csv.read_csv(Path(os.environ["MICROAGG_REFERENCE_DATA"], "tables", "adult.csv"))
    if sample is None:
        return table
    rows = np.random.default_rng(1).permutation(len(table))[:sample]
    return table.take(pa.array(np.sort(rows)))


def main() -> None:
    """Run what is missing, or write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int)
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    records = options.sample or RECORDS
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    results = sorted(map(json.loads, lines), key=lambda result: result["records"])
    done = [result for result in results if result["records"] == records]
    if options.page:
        most = {(result["k"], result["method"], result["l"]): result for result in results}
        head = ["k", "method", "l", "records", "IL, %", "singling out, %", "linkability, %",
                "inference, %", "inference from others, %"]  # fmt: skip
        write_table("adult", head, [row_of(most[case]) for case in CASES if case in most])
        return
    table = load(options.sample)
    ready = {(result["k"], result["method"], result["l"]) for result in done}
    for case in CASES:
        if case not in ready:
            result = {"records": records, **run(table, *case)}
            with RESULTS.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(*row_of(result), result["cpu_seconds"], sep="  ", flush=True)
            if options.one:
                return


if __name__ == "__main__":
    main()
