"""Tasks as they go to another machine: the name of a function, numbers and paths; and what comes
back.

Whatever else a task has to know lies in files of the spill, and so does a result that is large.
What is shown of all this, in logs or on dashboards of whoever carries it, holds nothing of the
data.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pickle
import secrets
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from microagg.errors import MicroaggError
from microagg.runtime.executor import CancellationToken, ThreadExecutor, cancel_scope

LARGEST_RESULT = 1_000_000
"""Bytes of a result that goes over the wire; larger ones lie in the spill."""

MOST_COUNTS = 1000
"""Counts in one array that are told as they are."""


class SpilledObject:
    """Something that a task has to know, in a file of the spill; its name is a digest of it."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    @staticmethod
    def of(what: Any, folder: str) -> SpilledObject:
        """Put it there."""
        return SpilledObject(_written(pickle.dumps(what), folder))

    def __repr__(self) -> str:
        return f"SpilledObject({self.path!r})"

    def __reduce__(self) -> Any:
        return SpilledObject, (self.path,)


class RemoteTask:
    """A task for a worker: the name of a function, and numbers and paths."""

    __slots__ = ("arguments", "folder", "module", "name")

    def __init__(self, module: str, name: str, arguments: tuple[Any, ...], folder: str) -> None:
        self.module, self.name, self.arguments, self.folder = module, name, arguments, folder

    def __repr__(self) -> str:
        return f"Order({self.name}, {self.arguments!r})"

    def __reduce__(self) -> Any:
        return RemoteTask, (self.module, self.name, self.arguments, self.folder)

    def call(self, *before: Any) -> Any:
        """Do it, with some arguments before its own."""
        arguments = [
            read_spilled(argument.path) if isinstance(argument, SpilledObject) else argument
            for argument in self.arguments
        ]
        return getattr(importlib.import_module(self.module), self.name)(*before, *arguments)


class WorkerBugError(Exception):
    """Unexpected error on a worker: only its type is passed on, as its message may quote the
    data.
    """


class TaskResult:
    """Result of a task, or its failure; its repr shows neither."""

    __slots__ = ("content",)

    def __init__(self, content: bytes) -> None:
        self.content = content

    @staticmethod
    def of(how: str, what: Any, folder: str | None = None) -> TaskResult:
        """Wrap a result; large ones are written to a file of the folder, if one is named."""
        packed = pickle.dumps((how, what))
        if folder is not None and len(packed) > LARGEST_RESULT:
            packed = pickle.dumps(("kept", _written(packed, folder, secrets.token_hex(16))))
        return TaskResult(packed)

    def result(self) -> Any:
        """Return the result of the task, or raise its error."""
        how, what = pickle.loads(self.content)
        if how == "kept":
            how, what = _taken(Path(what))
        if how == "done":
            return what
        if how == "refused":
            raise what
        if how == "memory":
            raise MemoryError
        if how == "system":
            raise OSError(*what)
        raise WorkerBugError(what)

    def __repr__(self) -> str:
        return f"TaskResult({len(self.content)} bytes)"

    def __sizeof__(self) -> int:
        return len(self.content) + object.__sizeof__(self)

    def __reduce__(self) -> Any:
        return TaskResult, (self.content,)


def run_remote_task(order: RemoteTask, stop: CancellationToken, *before: Any) -> TaskResult:
    """Run a task; a failure becomes part of the result, so that nothing of it is logged on the
    way.
    """
    try:
        with cancel_scope(stop):
            return TaskResult.of("done", order.call(*before), order.folder)
    except MicroaggError as error:  # its words are ours and quote no value
        return TaskResult.of("refused", error)
    except MemoryError:
        return TaskResult.of("memory", None)
    except OSError as error:
        return TaskResult.of(
            "system", (error.errno, os.strerror(error.errno) if error.errno else "")
        )
    except Exception as error:
        return TaskResult.of("bug", type(error).__name__)


def run_remote_exclusive(order: RemoteTask, threads: int, stop: CancellationToken) -> TaskResult:
    """Run a task with so many threads and without progress callback."""
    return run_remote_task(order, stop, ThreadExecutor(threads), lambda records: None)


def is_plain(argument: Any, folder: str) -> bool:
    """Return whether an argument consists of whole numbers and paths within a folder alone.

    >>> (
    ...     is_plain((3, ("/spill/a", (1, 2))), "/spill"),
    ...     is_plain("income", "/spill"),
    ...     is_plain(2.5, "/spill"),
    ... )
    (True, False, False)
    """
    if isinstance(argument, str):
        return argument.startswith(f"{folder}/") or argument in ("", folder)
    if isinstance(argument, tuple):
        return all(is_plain(item, folder) for item in argument)
    if isinstance(argument, np.ndarray):
        return argument.dtype.kind in "iu" and argument.size <= MOST_COUNTS
    return argument is None or isinstance(
        argument, int
    )  # other numbers may be a mean or a quantile of the data


def _written(content: bytes, folder: str, name: str | None = None) -> str:
    """Put bytes into a file, under a name of its own until it is whole; returns the path, which
    follows from the bytes if it has no name.
    """
    path = f"{folder}/kept-{name or hashlib.sha256(content).hexdigest()[:32]}.pickle"
    if not os.path.exists(path):
        part = f"{path}.{secrets.token_hex(4)}.part"
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(part, path)
    return path


def _taken(path: Path) -> Any:
    """Return the result that a task has written, and remove its file."""
    result = pickle.loads(path.read_bytes())
    path.unlink(missing_ok=True)
    return result


@lru_cache(maxsize=32)
def read_spilled(path: str) -> Any:
    """Return an object of the spill."""
    with open(path, "rb") as file:
        return pickle.load(file)
