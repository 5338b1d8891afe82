"""A process that reads malformed files by the command line, each in a child of its own with little
memory; prints what each said.

python reading_malformed.py FOLDER MEGABYTES: JSON of [exit code, what was said] by the name of the
file.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import sys
from pathlib import Path

from microagg.files import unpacking

if __name__ == "__main__":  # before the formats take it; not where the tests are collected
    unpacking.available_memory = lambda: 1 << 27

import pyarrow
import pyreadstat
import python_calamine

from microagg.cli.commands import main
from microagg.files.formats import formats

assert pyarrow, pyreadstat
assert python_calamine
assert formats()
SECONDS = 60


def outcome(path: Path, megabytes: int) -> tuple[int, str]:
    """The exit code of a child that reads a file, and what it said."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        held = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (held + (megabytes << 20),) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        output, code = io.StringIO(), 1
        sys.argv = [
            "microagg",
            "anonymize",
            str(path),
            str(path.parent / "out.csv"),
            "--k",
            "3",
            "--quasi",
            "age",
            "--method",
            "mdav",  # which works in memory only
        ]
        try:
            with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output):
                main()
        except SystemExit as ending:
            code = int(ending.code or 0)
        os.write(theirs, output.getvalue().encode()[:4000])
        os._exit(code)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        text = pipe.read().decode()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text


def warm() -> None:
    """Import what a run imports, once for all children."""
    sys.argv = ["microagg", "anonymize", "nowhere.sav", "out.csv", "--k", "3", "--quasi", "age"]
    with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        main()


if __name__ == "__main__":
    folder, megabytes = Path(sys.argv[1]), int(sys.argv[2])
    warm()
    print(json.dumps({path.name: outcome(path, megabytes) for path in sorted(folder.iterdir())}))
