"""Read files by the command line in a few processes with little memory, and judge each: success or
one sentence, below a gigabyte.

python tests/fuzz/reading.py [--mutated N] [--start N] [--by-hand] [--folder F]: writes what was
found, and a summary. A file that is found lies in the folder, under its name; the number in it
makes it again.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from fuzz import by_hand, mutations

MEGABYTES = 1000
"""Beyond the libraries, for a file below `SMALL` bytes."""
SMALL = 10_000_000
SECONDS = 60
ROOM = 6 << 30
"""Address space beyond that of the libraries: no finding fills the machine."""
A_BUG = ("a bug in microagg", "This is a bug", "Traceback", "not enough memory for this table")
COMMANDS = (
    ("check", "{}", "--k", "3", "--quasi", "age"),
    (
        "anonymize",
        "{}",
        "out.csv",
        "--k",
        "3",
        "--quasi",
        "age",
        "--rest",
        "drop",
        "--method",
        "mdav",
        "--seed",
        "1",
    ),
    ("propose", "{}"),
    ("check", "{}", "--k", "3", "--quasi", "age", "--header", "--encoding", "utf-8"),
    (
        "anonymize",
        "{}",
        "out.parquet",
        "--k",
        "3",
        "--quasi",
        "age",
        "--rest",
        "keep",
        "--method",
        "mdav",
        "--seed",
        "1",
    ),
)
SETTINGS = ("anonymize", "good.csv", "out.csv", "--config", "{}")


@dataclass(frozen=True)
class Outcome:
    """Result of a command on one file."""

    name: str
    command: str
    code: int
    errors: str
    megabytes: float
    seconds: float

    def finding(self, size: int) -> str:
        """Return what must not happen; empty if nothing did."""
        lines = [
            line
            for line in self.errors.splitlines()
            if not line.startswith(("note: ", "compiling for"))
        ]
        if self.code not in (0, 2, 3):
            return f"exit code {self.code}"
        if any(word in self.errors for word in A_BUG):
            return "a bug"
        if self.code == 2 and not (
            len(lines) == 1 and lines[0].startswith("error: ") and lines[0].endswith(".")
        ):
            return "not one sentence"
        if "canary" in self.errors:
            return "a value of the data"
        if self.megabytes > MEGABYTES and size < SMALL:
            return f"{self.megabytes:.0f} MB"
        return ""


def outcomes(
    files: Iterable[tuple[str, bytes]], folder: Path, at_once: int = 100
) -> Iterator[Outcome]:
    """Run a command on each file, many of them in one process after another; one that dies is told,
    and the rest go on.
    """
    names = []
    for number, (name, content) in enumerate(files):
        (folder / name).write_bytes(content)
        names.append((name, _command(name, number)))
    for first in range(0, len(names), at_once):
        yield from _in_one_process(names[first : first + at_once], folder)


def _command(name: str, number: int) -> tuple[str, ...]:
    chosen = SETTINGS if name.endswith((".toml", ".json")) else COMMANDS[number % len(COMMANDS)]
    taken = (
        chosen[:-3]
        if "--header" in chosen and not name.endswith((".csv", ".tsv", ".txt", ".gz", ".zst"))
        else chosen
    )
    return tuple(word.format(name) for word in taken)


def _in_one_process(wanted: list[tuple[str, tuple[str, ...]]], folder: Path) -> Iterator[Outcome]:
    while wanted:
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ours)
            _run_all(wanted, folder, theirs)
        os.close(theirs)
        done = 0
        with os.fdopen(ours, "r", encoding="utf-8") as pipe:
            for line in pipe:
                yield Outcome(*wanted[done][:1], " ".join(wanted[done][1]), **json.loads(line))
                done += 1
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if done < len(wanted):
            yield Outcome(
                wanted[done][0], " ".join(wanted[done][1]), status, "the process died", 0.0, 0.0
            )
            done += 1
        wanted = wanted[done:]


def _run_all(wanted: list[tuple[str, tuple[str, ...]]], folder: Path, pipe: int) -> None:
    os.chdir(folder)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + ROOM, held + ROOM))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    libraries = _status("VmRSS")
    for _, arguments in wanted:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_REAL, 20 * SECONDS)
        code, text = _run(arguments)
        signal.setitimer(signal.ITIMER_REAL, 0)
        result = {
            "code": code, "errors": text[:2000], "megabytes": (_status("VmHWM") - libraries) / 1024,
            "seconds": time.process_time() - begun,
        }  # fmt: skip
        os.write(pipe, (json.dumps(result) + "\n").encode())
        for left in Path().glob("out.*"):
            left.unlink()
    os._exit(0)


def _run(arguments: tuple[str, ...]) -> tuple[int, str]:
    from microagg.cli.commands import main

    errors, out = io.StringIO(), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    sys.argv = ["microagg", *arguments]
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(out):
            main()
    except SystemExit as ending:
        return int(ending.code or 0), errors.getvalue()
    except BaseException as error:
        return 1, f"Traceback: {type(error).__name__}"
    return 0, errors.getvalue()


def _status(name: str) -> int:
    """A figure of this process, in kilobytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def warm(folder: Path) -> None:
    """Import what a run imports, once for all processes."""
    name, content = "warm.csv", b"age,name\n" + b"31,x\n32,y\n" * 6
    (folder / name).write_bytes(content)
    (folder / "good.csv").write_bytes(content)
    for command in COMMANDS[:3]:
        _run(
            tuple(
                str(folder / word.format(name)) if word == "{}" else word
                for word in command
                if word != "out.csv"
            )
        )
    import pyreadstat
    import python_calamine

    assert pyreadstat
    assert python_calamine
    (folder / name).unlink()


def main() -> int:
    """Run what is asked for; returns 1 if anything was found."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mutated", type=int, default=0)
    options.add_argument("--start", type=int, default=0)
    options.add_argument("--by-hand", action="store_true")
    options.add_argument("--folder", type=Path, default=Path("fuzz-findings"))
    args = options.parse_args()
    findings, ended, slowest, largest = (
        0,
        collections.Counter(),
        Outcome("", "", 0, "", 0, 0),
        Outcome("", "", 0, "", 0, 0),
    )
    with tempfile.TemporaryDirectory(prefix="microagg-fuzz-") as name:
        folder = Path(name)
        warm(folder)
        files = [
            mutations.mutated(number) for number in range(args.start, args.start + args.mutated)
        ]
        files += list(by_hand.files()) if args.by_hand else []
        for outcome in outcomes(files, folder):
            size = (folder / outcome.name).stat().st_size
            ended[outcome.code] += 1
            slowest = max(slowest, outcome, key=lambda item: item.seconds)
            largest = max(largest, outcome, key=lambda item: item.megabytes if size < SMALL else 0)
            if why := outcome.finding(size):
                findings += 1
                args.folder.mkdir(exist_ok=True)
                shutil.copy(folder / outcome.name, args.folder / outcome.name)
                print(
                    f"{outcome.name}: {why}: {outcome.command}: {outcome.errors[:300]!r}",
                    flush=True,
                )
    print(f"{sum(ended.values())} files, {findings} findings; exit codes {dict(ended)}")
    print(
        f"most memory {largest.megabytes:.0f} MB ({largest.name}), most time "
        f"{slowest.seconds:.1f} s ({slowest.name})"
    )
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
