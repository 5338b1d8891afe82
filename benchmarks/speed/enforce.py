"""k = 5, l = 3, t = 0.2 on 100,000 records against scipy's query for 21 neighbours of every point,
one thread, same run.

python benchmarks/speed/enforce.py [--quick] [--json FILE]

The points are the lognormal cloud of eight columns. The confidential columns are made up: a numeric
one, half of it the first column's rank and half chance, all values different; and a nominal one of
five categories with the shares 40, 25, 20, 10, 5 %. The bar: no more than 5 times scipy's time.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.spatial

import data
import microagg as ma
from microagg.guarantees.promise import Guarantees
from microagg.methods.registry import method_named
from microagg.pipeline.run_method import problem_with, run_method
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind

spatial: Any = scipy.spatial  # its types leave out cKDTree
K, L, T, NEIGHBOURS = 5, 3, 0.2, 21
SHARES = (0.4, 0.25, 0.2, 0.1, 0.05)


def confidential(points: np.ndarray) -> dict[str, tuple[Attribute, ...]]:
    """The made-up columns: each alone, and both."""
    rng = np.random.default_rng(1)
    ranks = np.argsort(np.argsort(points[:, 0])) / len(points)
    wage = Attribute("wage", Kind.NUMERIC, 0.5 * ranks + 0.5 * rng.random(len(points)))
    disease = Attribute("disease", Kind.NOMINAL, rng.choice(len(SHARES), len(points), p=SHARES))
    return {"numeric": (wage,), "numeric and nominal": (wage, disease)}


def measure(points: np.ndarray, attributes: tuple[Attribute, ...], effort: str) -> dict[str, Any]:
    """Seconds, loss, and whether all groups keep what was asked for."""
    promise, auto = Guarantees.of(L, T), method_named("auto")
    start = time.perf_counter()
    problem = problem_with(promise, auto, points, K, attributes, 1)
    labels = run_method(auto, problem, auto.checked({"effort": effort}), seed=0).labels
    seconds = time.perf_counter() - start
    sizes = np.bincount(labels)
    kept = all(finding.holds for finding in promise.evaluate(labels, len(sizes), attributes))
    return {
        "effort": effort,
        "seconds": seconds,
        "groups": len(sizes),
        "IL": ma.information_loss(points, labels),
        "kept": bool(kept and sizes.min() >= K),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    options = parser.parse_args()
    n = 10_000 if options.quick else 100_000
    points = data.lognormal(n)
    small = points[:1000]
    for attributes in confidential(small).values():  # compiles
        (
            measure(small, attributes, "quick"),
            measure(
                small[:600],
                tuple(Attribute(a.name, a.kind, a.values[:600]) for a in attributes),
                "balanced",
            ),
        )
    start = time.perf_counter()
    spatial.cKDTree(points).query(points, NEIGHBOURS, workers=1)
    theirs = time.perf_counter() - start
    print(f"{n:,} x 8: scipy's query for {NEIGHBOURS} neighbours {theirs:.2f} s", flush=True)
    rows = []
    for name, attributes in confidential(points).items():
        for effort in ("quick", "balanced"):
            row = {"confidential": name, **measure(points, attributes, effort), "scipy": theirs}
            rows.append(row)
            print(
                f"{name:20} {effort:9} {row['seconds']:7.2f} s: {row['seconds'] / theirs:5.2f} x; "
                f"{row['groups']:,} groups, IL {row['IL']:.3f} %, kept: "
                f"{'yes' if row['kept'] else 'NO'}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
