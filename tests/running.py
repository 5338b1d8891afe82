"""Running the command line, in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    def refused(self, says: str, code: int = 2) -> None:
        """Assert one sentence on standard error that holds `says`, and the exit code."""
        assert self.code == code, self
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("error: ")
        assert lines[0].endswith(".")
        assert says in lines[0]
        assert "Traceback" not in self.out

    def silent_about(self, values: set[str]) -> None:
        """Assert that none of these values was told."""
        for value in values:
            assert value not in self.out, f"{value} on standard output"
            assert value not in self.err, f"{value} on standard error"


def start(
    *arguments: str | Path,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    input: int = subprocess.DEVNULL,
) -> subprocess.Popen[str]:
    """Start `python ARGUMENTS` in a folder."""
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdin=input,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def finish(process: subprocess.Popen[str], seconds: float = 120.0) -> Outcome:
    """Wait for a process and tell what it said."""
    out, err = process.communicate(timeout=seconds)
    return Outcome(process.returncode, out, err)


def run(*arguments: str | Path, folder: Path, environment: Mapping[str, str] | None = None) -> Outcome:
    """Run `python ARGUMENTS` in a folder to its end."""
    return finish(start(*arguments, folder=folder, environment=environment))
