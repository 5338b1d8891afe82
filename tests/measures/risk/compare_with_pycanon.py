"""Our k, l and t beside those of pycanon, an independent checker, on random releases.

python tests/measures/risk/compare_with_pycanon.py /path/of/another/python

pycanon pins its dependencies, so it lives in an environment of its own: this interpreter writes the
releases as CSV files and our figures as JSON, the other one reads the files and answers, and both
are compared here. The definitions agree, but: pycanon rounds entropy l down to a whole number,
divides by zero on a column of one value (t is 0 here), takes text for nominal and everything
numeric for ordered, and knows no weights.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

RELEASES = 50
SENSITIVE = ("wage", "rounded", "children", "disease")
METHODS = ("mdav", "mdav-generic", "v-mdav", "axis-pca", "individual-ranking")


def write_releases(folder: Path, releases: int = RELEASES) -> dict[str, Any]:
    """Write so many releases there, and give our figures of them."""
    from microagg.measures.measure import Pair
    from microagg.measures.risk.attributes import DISTINCT_L, ENTROPY_L, T_CLOSENESS
    from microagg.measures.risk.uniqueness import SMALLEST_CLASS

    figures: dict[str, Any] = {}
    for seed in range(releases):
        original, released, sensitive = random_release(np.random.default_rng([7, seed]), seed)
        names = tuple(f"q{j}" for j in range(released.shape[1]))
        path = folder / f"release-{seed:02d}.csv"
        _write(path, names, released, sensitive)
        codes = np.unique(sensitive["disease"], return_inverse=True)[1]
        numeric = {
            name: column.astype(np.float64)
            for name, column in sensitive.items()
            if name != "disease"
        }
        pair = Pair(original, released, names, confidential={**numeric, "disease": codes})
        measures = {"distinct l": DISTINCT_L, "entropy l": ENTROPY_L, "t": T_CLOSENESS}
        values = {name: dict(measure.compute(pair).columns) for name, measure in measures.items()}
        figures[path.name] = {"k": SMALLEST_CLASS.compute(pair).value, **values}
    return figures


def random_release(
    rng: np.random.Generator, seed: int
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """A table, its microaggregated quasi-identifiers (or values rounded until they tie), and its
    confidential columns.
    """
    import microagg as ma

    n, d = int(rng.integers(12, 150)), int(rng.integers(1, 4))
    original = np.round(rng.lognormal(3.0, 1.0, (n, d)), 1)
    if seed % 5 == 4:
        released = np.floor(np.log2(original))
    else:
        method, k = METHODS[seed % len(METHODS)], int(rng.integers(2, 7))
        labels = np.asarray(ma.partition(original, k=k, method=method))
        released = original.copy()
        for j in range(d):
            groups = labels if labels.ndim == 1 else labels[:, j]
            for group in np.unique(groups):
                released[groups == group, j] = original[groups == group, j].mean()
    follows = original[:, 0] / original[:, 0].max()
    letters = np.array(list("abcdefg")[: int(rng.integers(2, 8))])
    sensitive = {
        "wage": rng.normal(size=n) + 3.0 * follows,
        "rounded": np.append(np.round(5.0 * follows[1:] + rng.normal(size=n - 1)), 100.0),
        "children": np.append(rng.poisson(1.5, n - 1), 12),
        "disease": letters[rng.integers(0, len(letters), n)],
    }
    return original, released, sensitive


def _write(
    path: Path, names: tuple[str, ...], released: np.ndarray, sensitive: dict[str, np.ndarray]
) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names, *SENSITIVE])
        writer.writerows(
            zip(
                *released.T.tolist(), *(sensitive[name].tolist() for name in SENSITIVE), strict=True
            )
        )


def answer_with_pycanon(folder: Path) -> dict[str, Any]:
    """pycanon's figures of the files there; only its own interpreter can do this."""
    import pandas as pd
    from pycanon import anonymity  # pyright: ignore[reportMissingImports]

    figures = {}
    for path in sorted(folder.glob("*.csv")):
        table = pd.read_csv(path, float_precision="round_trip")
        quasi = [name for name in table.columns if name not in SENSITIVE]
        functions = {
            "distinct l": anonymity.l_diversity,
            "entropy l": anonymity.entropy_l_diversity,
            "t": anonymity.t_closeness,
        }
        values = {
            what: {name: float(ask(table, quasi, [name])) for name in SENSITIVE}
            for what, ask in functions.items()
        }
        figures[path.name] = {"k": float(anonymity.k_anonymity(table, quasi)), **values}
    return figures


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Where the two disagree, in words; nothing if they do not."""
    problems = [] if ours.keys() == theirs.keys() else ["not the same releases"]
    for release in ours.keys() & theirs.keys():
        a, b = ours[release], theirs[release]
        if a["k"] != b["k"]:
            problems.append(f"{release}: k is {a['k']}, or {b['k']}")
        for name in SENSITIVE:
            if a["distinct l"][name] != b["distinct l"][name]:
                problems.append(
                    f"{release}, {name}: l is {a['distinct l'][name]}, or {b['distinct l'][name]}"
                )
            around = {math.floor(a["entropy l"][name] + shift) for shift in (-1e-9, 0.0, 1e-9)}
            if b["entropy l"][name] not in around:
                problems.append(
                    f"{release}, {name}: entropy l is {a['entropy l'][name]}, or "
                    f"{b['entropy l'][name]}"
                )
            if abs(a["t"][name] - b["t"][name]) > 1e-9:
                problems.append(f"{release}, {name}: t is {a['t'][name]}, or {b['t'][name]}")
    return problems


def compare(interpreter: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """(our figures, pycanon's) of random releases, written to that folder."""
    ours = write_releases(folder)
    (folder / "ours.json").write_text(json.dumps(ours))
    command = [interpreter, __file__, "--answer", str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"pycanon's interpreter failed: {done.stderr[-2000:]}")
    return ours, json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("interpreter", nargs="?", help="a python that has pycanon")
    parser.add_argument("--answer", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        print(json.dumps(answer_with_pycanon(options.answer)))
        return
    if options.interpreter is None:
        parser.error("name a python that has pycanon")
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = compare(options.interpreter, Path(folder))
    problems = differences(ours, theirs)
    largest = max(
        abs(a["t"][s] - theirs[name]["t"][s]) for name, a in ours.items() for s in SENSITIVE
    )
    print(
        f"{len(ours)} releases, {len(SENSITIVE)} confidential columns each; largest "
        f"difference of t {largest:.1e}"
    )
    for what in ("k", *SENSITIVE):
        values = [a["k"] if what == "k" else a["distinct l"][what] for a in ours.values()]
        print(
            f"  {'k' if what == 'k' else 'distinct l of ' + what}: from {min(values):g} "
            f"to {max(values):g}"
        )
    print("\n".join(problems) if problems else "all agree")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
