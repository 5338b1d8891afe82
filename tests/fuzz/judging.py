"""Outcomes that a hostile input may lead to: success or one sentence. All else is a finding."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet

import labelled
import tables
from microagg.cli.commands import main
from microagg.errors import MicroaggError
from microagg.kernels.compiling import seconds_compiling

MOST_SECONDS = 10.0
CANARY = "canary"
"""What every confidential text begins with; numbers that must not be told begin with the other one.
"""
CANARY_NUMBER = "48151623"
A_BUG = "This is a bug"
"""What is said where a check of our own finds that something went wrong before: nothing a user
could do would lead there.
"""


class Finding(AssertionError):
    """Something that must not happen."""


def command(folder: Path, *arguments: str, fused: Sequence[str] = ()) -> int:
    """Run a command in this process and judge what it says; returns its exit code.

    `fused` are names of columns that a lost end of line has made of a name and a value: they are
    told whole, as names are.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    code: Any = 0
    where, typed = Path.cwd(), sys.argv
    sys.argv = ["microagg", *arguments]
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ending:
        code = ending.code or 0
    finally:
        os.chdir(where)
        sys.argv = typed
    output, complained = (_text_of(stream) for stream in (out, err))
    noted = ("compiling for this", "note: ")  # how a file was read is told beside what comes of it
    everything = output + complained
    complained = "".join(line for line in complained.splitlines(True) if not line.startswith(noted))
    if code not in (0, 2, 3):
        raise Finding(f"exit code {code}: {complained}")
    if A_BUG in complained:
        raise Finding(complained)
    one_sentence = len(complained.splitlines()) == 1 and complained.startswith("error: ")
    # 3 is the answer no of `check`, which is no error, and a guarantee or a release that is not
    # what it should be
    if not one_sentence and (code == 2 or (code == 3 and complained)):
        raise Finding(f"not one sentence: {complained!r}")
    if code == 0 and complained:
        raise Finding(f"a word on standard error: {complained!r}")
    text = everything
    for name in fused:
        text = text.replace(repr(name), "a name")
    check_canaries(text, "on the terminal")
    check_escapes(everything)
    check_leftovers(folder, fused)
    return int(code)


def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function of the package; what it raises must be an error of ours, without a value in
    it. None if it raised.
    """
    try:
        return function(*arguments, **named)
    except MicroaggError as error:
        if len(str(error).splitlines()) != 1:
            raise Finding(f"not one sentence: {str(error)!r}") from None
        if A_BUG in str(error):
            raise Finding("".join(traceback.format_exception(error))) from None
        check_canaries(str(error), "in an error")
        if error.__cause__ is not None or (
            not error.__suppress_context__ and error.__context__ is not None
        ):
            shown = "".join(traceback.format_exception(error))
            check_canaries(shown, "in a traceback")
        return None


def check_canaries(text: str, where: str, *, numbers: bool = True) -> None:
    """No confidential value may be told."""
    for canary in (CANARY, CANARY_NUMBER) if numbers else (CANARY,):
        if canary in text.lower():
            raise Finding(f"a confidential value {where}: {text!r}")


def check_escapes(text: str) -> None:
    """No name may steer the terminal."""
    odd = {
        mark for mark in text if (ord(mark) < 32 and mark not in "\n\t") or 127 <= ord(mark) < 160
    }
    if odd:
        raise Finding(f"raw control characters {odd!r}: {text!r}")


def check_leftovers(folder: Path, fused: Sequence[str] = ()) -> None:
    """Nothing half written stays, and no public file tells a value; reports show the levels that
    are released.
    """
    for path in folder.iterdir():
        if path.name.endswith(".part"):
            raise Finding(f"left behind: {path.name}")
        if ".public." not in path.name:
            continue
        text = path.read_text("utf-8")
        for name in fused:
            text = text.replace(name, "a name")
        is_manifest = path.name.startswith("out.")
        if not is_manifest:
            for value in sorted(_released_texts(folder), key=len, reverse=True):
                text = re.sub(rf"{re.escape(value)}(?![0-9])", "a level", text)
        # reports show released numbers, which are near those of the table
        check_canaries(text, f"in {path.name}", numbers=is_manifest)


def _released_texts(folder: Path) -> set[str]:
    """The canaries in the quasi-identifying columns of the released table: what everybody has
    anyway.
    """
    for name in (f"out{ending}" for ending in tables.ENDINGS):
        if (folder / name).exists():
            roles = json.loads((folder / f"{name}.public.json").read_text("utf-8"))["roles"]
            columns = columns_of(folder / name)
            text = "\n".join(
                str(cell)
                for column, role in roles.items()
                if role == "quasi"
                for cell in columns[column]
            )
            return set(re.findall(rf"{CANARY}-[0-9]+", text))
    return set()


def columns_of(path: Path) -> dict[str, list[Any]]:
    """The columns of a file, read without microagg."""
    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pydict()
    if path.suffix not in (".csv", ".tsv", ".txt", ".gz", ".zst"):
        return next(iter(labelled.read_by_others(path).values()))
    file = io.StringIO(tables.unpacked(path).decode(), newline="")
    bare = re.sub(r'"[^"]*"', "", file.readline())
    file.seek(0)
    names, *rows = csv.reader(file, delimiter=max(",;\t|", key=bare.count))
    return {name: [row[index] for row in rows if row] for index, name in enumerate(names)}


@contextlib.contextmanager
def judged() -> Iterator[None]:
    """Within, a warning, a foreign error or too long a time is a finding."""

    def ring(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 12 * MOST_SECONDS)
    start = time.process_time() - seconds_compiling()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except Finding:
        raise
    except TooLong:
        raise Finding("it does not come to an end") from None
    except BaseException as error:
        raise Finding("".join(traceback.format_exception(error))) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    # of this process and without compiling, so that a busy machine or a first run is no finding
    taken = time.process_time() - seconds_compiling() - start
    if taken > MOST_SECONDS:
        raise Finding(f"it took {taken:.1f} s of the processor")


class TooLong(BaseException):
    """The alarm has rung; no `except Exception` stops it."""


def _text_of(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "backslashreplace")
