"""Reading and typing a csv file of a million records beside Arrow's own reader, on all cores:
seconds and the ratio, side by side in one run.

python benchmarks/speed/reading.py [--records N] [--runs R] [--cpu] [--json FILE]

Four readings: eight columns of numbers, and these with a text, a code ("00731") and a day besides;
with the numbers (and the day) named as quasi-identifiers, which makes numbers of them, and without,
where every column is looked at for what it means and kept to the letter. Arrow
(`pyarrow.csv.read_csv`, types inferred) and microagg (`read_table`) take turns; the least time of
each counts. The bar is 2.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from microagg.files.reading import read_table

BAR = 2.0
NUMBERS = list("abcdefgh")


def make_files(folder: Path, records: int) -> dict[str, Path]:
    """Half of the numbers whole, half with two decimals, as in `release.py`."""
    rng = np.random.default_rng(7)
    values = 1000.0 * np.exp(rng.normal(size=(records, len(NUMBERS))))
    columns: dict[str, Any] = {
        name: np.rint(values[:, j]).astype(np.int64) if j % 2 else np.round(values[:, j], 2)
        for j, name in enumerate(NUMBERS)
    }
    towns = np.array(["Bonn", "Kiel", "Ulm", "Köln", "Roma"])[rng.integers(5, size=records)]
    codes = np.char.zfill(rng.integers(99_999, size=records).astype(str), 5)
    days = (np.datetime64("1950-01-01") + rng.integers(20_000, size=records)).astype(str)
    mixed = {**columns, "town": towns, "code": codes, "day": days}
    paths = {"numbers": folder / "numbers.csv", "mixed": folder / "mixed.csv"}
    for name, made in (("numbers", columns), ("mixed", mixed)):
        pyarrow.csv.write_csv(
            pa.table(made), paths[name], pyarrow.csv.WriteOptions(quoting_style="needed")
        )
    return paths


def least(runs: int, clock: Callable[[], float], *ways: Callable[[], object]) -> list[float]:
    """The least seconds of each way by this clock, in turns."""
    seconds = [[] for _ in ways]
    for _ in range(runs):
        for way, taken in zip(ways, seconds, strict=True):
            start = clock()
            way()
            taken.append(clock() - start)
    return [min(taken) for taken in seconds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--cpu",
        action="store_true",
        help="count the seconds of all cores: for a machine with other work to do",
    )
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in make_files(Path(folder), args.records).items():
            quasi = [*NUMBERS, "day"] if name == "mixed" else NUMBERS
            arrow, named, looked_at = least(
                args.runs,
                time.process_time if args.cpu else time.perf_counter,
                lambda path=path: pyarrow.csv.read_csv(path),
                lambda path=path, quasi=quasi: read_table(path, quasi=quasi),
                lambda path=path: read_table(path),
            )
            for what, seconds in (("quasi-identifiers named", named), ("none named", looked_at)):
                ratio = seconds / arrow
                results.append(
                    {
                        "file": name,
                        "what": what,
                        "arrow": arrow,
                        "microagg": seconds,
                        "ratio": ratio,
                    }
                )
                verdict = "within" if ratio <= BAR else "BEYOND"
                print(
                    f"{name:8} {what:24} Arrow {arrow:.3f} s, microagg {seconds:.3f} s: "
                    f"{ratio:.2f} x, {verdict} the bar of {BAR:g}"
                )
    if args.json:
        args.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
