"""A process that others are forked from: they save releases over one file, and are killed, or race
with each other.

python killing.py FOLDER ENDING kills COUNT, or races COUNT: prints what was found as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

import microagg as ma
import tables
from microagg.files.commit.journal import journal_of
from microagg.files.commit.writing import clean_folder
from microagg.files.reading import read_table

SETTINGS = {"quasi": tables.QUASI, "rest": "drop", "method": "mdav"}


class Target:
    """Two releases, and a place that should hold one of them, whole."""

    def __init__(self, folder: Path, ending: str, records: int) -> None:
        table = tables.people(records)
        self.releases = [ma.anonymize(table, k, seed=k, **SETTINGS) for k in (4, 9)]
        self.folder = folder / "place"
        self.path = self.folder / f"out{ending}"
        self.whole = []
        for number, release in enumerate(self.releases):
            made = folder / f"made-{number}"
            made.mkdir()
            release.save(made / self.path.name)
            self.whole.append(tables.snapshot(made))
        self.folder.mkdir()
        self.releases[0].save(self.path)

    def holds(self) -> int:
        """Return the number of the release that lies there; -1 for a mixture."""
        contents = {
            name: what
            for name, what in tables.snapshot(self.folder).items()
            if not name.startswith(".")
        }
        return self.whole.index(contents) if contents in self.whole else -1

    def save_in_a_process(self, first: int, times: int) -> int:
        """Fork a process that saves the releases in turn; returns its number."""
        process = os.fork()
        if process:
            return process
        try:
            for turn in range(first, first + times):
                self.releases[turn % 2].save(self.path)
            os._exit(0)
        except ma.MicroaggError as error:
            os._exit(3 if "another run" in str(error) else 4)
        finally:
            os._exit(1)


def kills(target: Target, count: int) -> dict[str, int]:
    delays = random.Random(9)
    began = time.monotonic()
    os.waitpid(target.save_in_a_process(0, 1), 0)
    usual = time.monotonic() - began
    outcomes = dict.fromkeys(
        ("kills", "old", "new", "mixed", "mixed before recovery", "hit the writing", "left over"), 0
    )
    for number in range(count):
        before = target.holds()
        process = target.save_in_a_process(1 - before, 1)
        if (
            number % 4 < 2
            # at any moment; the others while files are moved, which takes a few thousandths of a
            # second
        ):
            time.sleep(delays.uniform(0.0, usual))
        else:
            _wait_for(journal_of(target.path), 5.0 * usual)
            time.sleep(delays.choice([0.0, 0.0002, 0.001, 0.004]))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        outcomes["kills"] += 1
        outcomes["hit the writing"] += any(
            path.name.startswith(".") for path in target.folder.iterdir()
        )
        outcomes["mixed before recovery"] += target.holds() < 0
        if number % 2:
            clean_folder(target.folder)
            outcomes["left over"] += any(
                path.name.startswith(".") for path in target.folder.iterdir()
            )
        else:
            read_table(target.path)
        after = target.holds()
        outcomes["mixed" if after < 0 else "old" if after == before else "new"] += 1
        if after < 0:
            break
    return outcomes


def _wait_for(path: Path, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.0001)


def races(target: Target, count: int) -> dict[str, int]:
    outcomes = dict.fromkeys(("races", "refused", "failed", "mixed", "first won", "second won"), 0)
    for _ in range(count):
        processes = [target.save_in_a_process(first, 1) for first in (0, 1)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
        outcomes["races"] += 1
        outcomes["refused"] += codes.count(3)
        outcomes["failed"] += sum(code not in (0, 3) for code in codes)
        after = target.holds()
        outcomes["mixed" if after < 0 else "first won" if after == 0 else "second won"] += 1
    outcomes["left over"] = sum(path.name.startswith(".") for path in target.folder.iterdir())
    return outcomes


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder, ending, what, count = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    target = Target(folder, ending, records=5_000 if what == "kills" else 500)
    print(json.dumps({"kills": kills, "races": races}[what](target, count)))
