"""Run each way in which a command ends with an error many times, each time as a process of its own:
none may abort.

python tests/fuzz/aborts.py [--times 200] [--jobs 2] [--only NAME]: what a process with threads of
Arrow does while the interpreter ends shows in some runs of a hundred only, and never in processes
that are forked.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import functools
import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import malformed

ROWS = "".join(f"{20 + number % 60},{number % 7},x{number}\n" for number in range(1000))
RAGGED = f"age,income,name\n{ROWS}1,2,3,4\n{ROWS}"
CHECK = ("check", "{}", "--k", "3", "--quasi", "age")
RELEASE = ("anonymize", "{}", "out.csv", "--k", "3", "--quasi", "age", "--rest", "drop")


@functools.cache
def paths() -> dict[str, tuple[str, bytes, tuple[str, ...], int]]:
    """Each way to an error: the file, what is in it, the command, and its exit code."""
    good = f"age,income,name\n{ROWS}".encode()
    cut = {
        ending: malformed.good(ending)[:-40]
        for ending in (".parquet", ".arrow", ".xlsx", ".sav", ".dta")
    }
    return {
        "ragged": ("in.csv", RAGGED.encode(), CHECK, 2),
        "ragged, anonymize": ("in.csv", RAGGED.encode(), RELEASE, 2),
        "ragged, packed": ("in.csv.gz", gzip.compress(RAGGED.encode()), CHECK, 2),
        "ragged, long": ("in.csv", (RAGGED + ROWS * 200).encode(), CHECK, 2),
        "ragged, cp1252": ("in.csv", RAGGED.replace("x1", "ä").encode("cp1252"), CHECK, 2),
        "ragged, JSON": ("in.csv", RAGGED.encode(), (*CHECK, "--json"), 2),
        "open quote": ("in.csv", good + b'31,5,"x\n' + ROWS.encode(), CHECK, 2),
        "no text": ("in.csv", bytes(1000), CHECK, 2),
        "damaged gzip": ("in.csv.gz", gzip.compress(good)[:-20], CHECK, 2),
        "damaged parquet": ("in.parquet", cut[".parquet"], CHECK, 2),
        "damaged Arrow": ("in.arrow", cut[".arrow"], CHECK, 2),
        "damaged Excel": ("in.xlsx", cut[".xlsx"], CHECK, 2),
        "damaged SPSS": ("in.sav", cut[".sav"], CHECK, 2),
        "unknown column": ("in.csv", good, ("check", "{}", "--k", "3", "--quasi", "nothing"), 2),
        "k is not kept": ("in.csv", good, ("check", "{}", "--k", "900", "--quasi", "age"), 3),
        "no proposal taken": ("in.csv", good, ("anonymize", "{}", "out.csv", "--k", "3"), 2),
        "near-unique text": (
            "in.parquet",
            malformed.good(".parquet"),
            (*RELEASE[:-4], "--quasi", "name", "--rest", "drop"),
            2,
        ),
    }


def run(name: str, number: int) -> tuple[str, int, str]:
    """The exit code of one run, and what it said."""
    file, content, arguments, _ = paths()[name]
    with tempfile.TemporaryDirectory(prefix="microagg-aborts-") as folder:
        (Path(folder) / file).write_bytes(content)
        done = subprocess.run(
            [sys.executable, "-m", "microagg", *(word.format(file) for word in arguments)],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=600,
            env={**os.environ, "NUMBA_NUM_THREADS": "1"},
        )
    return name, done.returncode, done.stderr


def main() -> int:
    """Run all; returns 1 if any run ended in another way than it should."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=200)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--only", action="append", choices=list(paths()))
    args = options.parse_args()
    wanted = [name for _ in range(args.times) for name in args.only or paths()]
    ended: dict[str, collections.Counter[int]] = {name: collections.Counter() for name in wanted}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, code, output in pool.map(run, wanted, range(len(wanted))):
            ended[name][code] += 1
            if code != paths()[name][3]:
                print(f"{name}: exit code {code}: {output.strip()[-300:]}", flush=True)
    for name, counts in ended.items():
        print(f"{name}: {dict(counts)}")
    return int(any(set(counts) != {paths()[name][3]} for name, counts in ended.items()))


if __name__ == "__main__":
    sys.exit(main())
