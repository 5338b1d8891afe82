"""Running the command line, in this process or in one of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 600.0
"""Seconds after which a process that a test started is ended: only one that hangs gets there,
however busy the machine.
"""

_running: dict[subprocess.Popen[str], threading.Timer] = {}
_overdue: set[int] = set()


@dataclass(frozen=True)
class Outcome:
    """Output of a command and its exit code."""

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
    errors: int = subprocess.PIPE,
    patience: float = PATIENCE,
) -> subprocess.Popen[str]:
    """Start `python ARGUMENTS` in a folder; it listens to Ctrl-C, and it does not outlive its
    test.
    """
    with _ctrl_c_heard():
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=input,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # so that its own processes can be ended with it
        )
    timer = threading.Timer(patience, _give_up, [process])
    timer.daemon = True
    _running[process] = timer
    timer.start()
    return process


def finish(process: subprocess.Popen[str]) -> Outcome:
    """Wait for a process and tell what it said."""
    out, err = process.communicate()
    assert process.pid not in _overdue, (
        f"did not end by itself; it said {out[-2000:]!r} and {err or ''!r}"
    )
    return Outcome(process.returncode, out, err or "")


def run(
    *arguments: str | Path, folder: Path, environment: Mapping[str, str] | None = None
) -> Outcome:
    """Run `python ARGUMENTS` in a folder to its end."""
    return finish(start(*arguments, folder=folder, environment=environment))


def end_all() -> None:
    """End every process that was started, with those it started itself; `conftest.py` does so after
    each test.
    """
    while _running:
        process, timer = _running.popitem()
        timer.cancel()
        _kill(process)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # something was left to be written
                    stream.close()
        _overdue.discard(process.pid)


def _give_up(process: subprocess.Popen[str]) -> None:
    _overdue.add(process.pid)
    _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):  # all of them had ended
        os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def _ctrl_c_heard() -> Iterator[None]:
    """Make what is started within heed Ctrl-C.

    A shell makes its background jobs ignore it, and whatever they start inherits that. A handler is
    not inherited: with one in place, a new process gets the default.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
