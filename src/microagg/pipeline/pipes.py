"""Tables through pipes: what comes from standard input, or goes to standard output, lies meanwhile
in files that nobody else can read.

A release is written there as to any place, read back and verified. Only then does anything go to
standard output.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from microagg.errors import InputError, MicroaggError, reword
from microagg.files.commit.overwrite_guard import check_other_kind
from microagg.files.commit.writing import check_unwritable, write_text
from microagg.release.manifest import is_manifest, manifest_paths

PIPE = "-"
"""What stands for standard input or standard output in place of a file."""
INPUT, OUTPUT = "standard-input.csv", "standard-output.csv"
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def is_pipe(path: Path | None) -> bool:
    """Return True if a path stands for standard input or output.

    >>> is_pipe(Path("-")), is_pipe(Path("./survey.csv"))
    (True, False)
    """
    return path is not None and str(path) == PIPE


@contextlib.contextmanager
def private_files(
    source: Path, target: Path | None, comes: BinaryIO | None
) -> Iterator[tuple[Path, Path]]:
    """(a file with what is to be read, a place for what is to be written): their own where they are
    files, else private ones.

    They are gone at the end, also when the process is asked to end. Sentences call them standard
    input and output.
    """
    if not is_pipe(source) and not is_pipe(target):
        yield source, target or source
        return
    with _ended_in_order(), tempfile.TemporaryDirectory(prefix="microagg-") as name:
        folder = Path(name)
        if is_pipe(source):
            source = _received(comes, folder / INPUT)
        output = folder / OUTPUT if is_pipe(target) else target or source
        try:
            yield source, output
        except MicroaggError as error:
            reword(error, lambda text: _named(text, folder))
            raise


def check_manifest_places(*places: Path | None) -> None:
    """Make sure that manifests can be written where they are wanted, and replace manifests at
    most.
    """
    wanted = [path for path in places if path is not None]
    if len({str(path.absolute()) for path in wanted}) < len(wanted):
        raise InputError("the internal and the public manifest cannot be the same file; name two.")
    for path in wanted:
        check_unwritable(path)
        check_other_kind(path, "a manifest", is_manifest)


def hand_over(
    release: Path, out: BinaryIO, *, manifest: Path | None = None, public: Path | None = None
) -> None:
    """Put the manifests of a verified file where they are wanted, then give the file out as it
    is.
    """
    for written, path in zip(manifest_paths(release), (manifest, public), strict=True):
        if path is not None:
            write_text(path, written.read_text("utf-8"), private=path is manifest)
    with release.open("rb") as file:
        shutil.copyfileobj(file, out)
    out.flush()


def _received(comes: BinaryIO | None, path: Path) -> Path:
    if comes is None:
        raise InputError("there is no standard input to read; name a file.")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        shutil.copyfileobj(comes, file)
    return path


def _named(sentence: str, folder: Path) -> str:
    """A sentence that speaks of pipes where it named the files in their place."""
    for file, name in ((INPUT, "standard input"), (OUTPUT, "standard output")):
        for form in (repr(str(folder / file)), str(folder / file), repr(file), file):
            sentence = sentence.replace(form, name)
    return sentence.replace(repr(str(folder)), "for temporary files").replace(
        str(folder), "for temporary files"
    )


@contextlib.contextmanager
def _ended_in_order() -> Iterator[None]:
    """While there are private files, a process that is asked to end removes them first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    before = {
        signal_number: signal.signal(signal_number, end)
        for signal_number in ENDING
        if signal.getsignal(signal_number) is signal.SIG_DFL
    }
    try:
        yield
    finally:
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)
