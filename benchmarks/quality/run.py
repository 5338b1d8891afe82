"""Loss of the optimiser against the proven bound and everything published: measured, then written
to docs.

    python benchmarks/quality/run.py measure [--efforts quick,balanced,thorough,prove] [--seeds 5]
    [--only Census-3,...] python benchmarks/quality/run.py page

`measure` adds one line of JSON for each run to `results.jsonl` and leaves out what is there
already, so it can be stopped and goes on where it was; delete that file to start anew. `page`
writes docs/quality.md and its picture. The whole table takes some hours on one core. It needs
MICROAGG_REFERENCE_DATA; QUALITY_RESULTS names another file for the results, so that several cores
can work side by side.

A time limit of `prove` counts CPU seconds of this process, so other work does not shorten it. Every
certificate is written to a temporary file and checked there by `verify_bound.py`; what is kept of
it is its digest. `--enough` ends a proof once it has what proofs.ENOUGH
asks for. With `--slice SECONDS --state FILE` a proof of one cell ends after so many CPU seconds
and goes on in the next process; what it finds is the same.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

import page
import proofs
from microagg.datasets.reference import load_reference
from microagg.measures.loss.sse import information_loss
from microagg.methods.registry import method_named
from microagg.pipeline.run_method import run_method
from microagg.problem.problem import Problem
from microagg.table.encoder import Space

RESULTS = Path(os.environ.get("QUALITY_RESULTS") or Path(__file__).with_name("results.jsonl"))
CELLS = [(data, k) for data in ("Tarragona", "Census", "EIA") for k in (3, 4, 5, 6, 8, 10)]


def measure(
    cells: list[tuple[str, int]],
    efforts: list[str],
    seeds: int,
    enough: bool,
    slices: proofs.Slices | None = None,
    seconds: float | None = None,
) -> None:
    """Run what is not in the results yet, one after the other on one core."""
    done = {(r["data"], r["k"], r["effort"], r["seed"]) for r in read()}
    runs = [
        (data, k, effort, seed) for effort in efforts for seed in range(seeds) for data, k in cells
        if effort != "prove" or seed == 0
    ]  # fmt: skip
    for data, k, effort, seed in runs:
        if (data, k, effort, seed) not in done:
            result = {
                "data": data,
                "k": k,
                "effort": effort,
                "seed": seed,
                **one(data, k, effort, seed, enough, slices, seconds),
                "commit": ", ".join(slices.commits) if slices else commit(),
            }
            with RESULTS.open("a") as results:
                results.write(json.dumps(result) + "\n")
            print(result, flush=True)


def commit() -> str:
    """Return the commit that is measured."""
    words = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def one(
    data: str,
    k: int,
    effort: str,
    seed: int,
    enough: bool,
    slices: proofs.Slices | None = None,
    seconds: float | None = None,
) -> dict[str, Any]:
    """One run of the default method: loss, seconds of the processor, and what was proven."""
    if effort == "prove":
        return proofs.prove(data, k, seed, seconds or proofs.SECONDS[data], enough, slices)
    points = points_of(data)
    method = method_named("auto")
    problem = Problem.of(points, k, threads=1)
    started = time.process_time()
    grouping = run_method(method, problem, method.checked({"effort": effort}), seed=seed)
    return {
        "IL": information_loss(points, grouping.labels),
        "seconds": round(time.process_time() - started, 2),
        "groups": int(grouping.labels.max()) + 1,
    }


def points_of(data: str) -> np.ndarray:
    """The z-scores of a reference data set."""
    values = load_reference(data)
    return Space.fit(values, "zscore").points(values)


def read() -> list[dict[str, Any]]:
    """All results so far."""
    return (
        [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    )


def show() -> None:
    """The medians so far, on the terminal."""
    results = read()
    for data, k in CELLS:
        for effort in ("quick", "balanced", "thorough", "prove"):
            these = [r for r in results if (r["data"], r["k"], r["effort"]) == (data, k, effort)]
            if these:
                losses = [r["IL"] for r in these]
                seconds = statistics.median(r["seconds"] for r in these)
                line = (
                    f"{data:<10} k={k:<3} {effort:<9} median {statistics.median(losses):.4f} "
                    f"of {len(losses)}"
                )
                line += f" ({min(losses):.4f} to {max(losses):.4f}), {seconds:.1f} s"
                bounds = [r["bound"] for r in these if "bound" in r]
                print(line + (f", bound {max(bounds):.4f}" if bounds else ""))


def main() -> None:
    """Measure, show or write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("measure", "show", "page"))
    parser.add_argument("--efforts", default="quick,balanced,thorough,prove")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--enough", action="store_true")
    parser.add_argument("--only", default="", help="cells such as Census-3,EIA-10")
    parser.add_argument("--slice", type=float, help="CPU seconds; the proof of one cell goes on")
    parser.add_argument("--state", type=Path, help="in the next run, from what this file keeps")
    parser.add_argument("--seconds", type=float, help="limit of a proof in place of proofs.SECONDS")
    options = parser.parse_args()
    if options.what == "measure":
        chosen = options.only.split(",") if options.only else [f"{data}-{k}" for data, k in CELLS]
        cells = [(data, k) for data, k in CELLS if f"{data}-{k}" in chosen]
        slices = None
        if options.slice:
            slices = proofs.Slices(options.state, options.slice, commit())
        try:
            measure(
                cells,
                options.efforts.split(","),
                options.seeds,
                options.enough,
                slices,
                options.seconds,
            )
        except proofs.SliceOverError as over:
            print(over)
            return
    if options.what == "page":
        page.write(read(), CELLS)
    show()


if __name__ == "__main__":
    main()
