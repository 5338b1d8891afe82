"""What a process that works for another one tells of itself, and what it has to show before it gets
work.

Knows nothing of how the two speak to each other: `dask.py` sends these functions.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import microagg
from microagg.errors import InputError
from microagg.files.stores.locations import Url, parse_location, shown
from microagg.kernels.compiling import processor
from microagg.methods.parts import rng_of_part
from microagg.methods.search.auto import BLOCK
from microagg.methods.search.blockwise import SHIFTED
from microagg.problem.problem import Problem

CODE, PROCESSOR = "its code", "its processor"
LIBRARIES = ("numpy", "numba", "pyarrow")
LIBRARIES_TAKE = 200_000_000  # bytes
OF_ITS_LIMIT = 0.75  # Dask lets a worker rest that has taken more than 80 %


@functools.cache
def code_digest() -> str:
    """SHA-256 over this package's own code: what another version has found does not count."""
    digest = hashlib.sha256()
    root = Path(microagg.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(
            path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0"
        )
    return digest.hexdigest()


def versions_here() -> dict[str, str]:
    """What must be the same wherever parts of one release are made.

    >>> sorted(versions_here())
    ['its code', 'its processor', 'microagg', 'numba', 'numpy', 'pyarrow']
    """
    own = {"microagg": microagg.__version__}
    own |= {name: metadata.version(name) for name in LIBRARIES}
    return {**own, PROCESSOR: processor(), CODE: code_digest()}


def check_versions(worker: str, found: Mapping[str, str], here: Mapping[str, str]) -> None:
    """Raise unless a worker has what this process has.

    >>> check_versions("tcp://10.0.0.7:4000", {"numpy": "2.1"}, {"numpy": "2.2"})
    Traceback (most recent call last):
    ...
    microagg.errors.InputError: the worker tcp://10.0.0.7:4000 has numpy 2.1, and this process has 2.2; install the same on all of them.
    """
    for name, own in here.items():
        other = found.get(name, "none")
        if other == own:
            continue
        if name == PROCESSOR:
            raise InputError(
                f"the worker {worker} has a processor with other features than this one; "
                f"take machines of one kind, or set "
                "NUMBA_CPU_NAME=generic on all of them."
            )
        if name == CODE:
            raise InputError(
                f"the worker {worker} has other code of microagg {microagg.__version__}; "
                f"install the same on all of them."
            )
        raise InputError(
            f"the worker {worker} has {name} {other}, and this process has {own}; "
            f"install the same on all of them."
        )


@dataclass(frozen=True)
class SharedPath:
    """A path that all must see alike: a file to be read, also in a store, or a folder to be written
    to, too.
    """

    what: str
    """Whose it is, as a user knows it: the input, the spill, the output."""
    path: str = field(repr=False)  # an address may have keys in it
    size: int | None = None
    """Of a file; None for a folder, in which every worker writes and reads."""

    def refuse(self, worker: str) -> InputError:
        """What is wrong where a worker does not see it."""
        return InputError(
            f"the worker {worker} does not see {self.what} at {shown(self.path)!r}; name "
            f"a path that is shared by all workers."
        )


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker tells of itself."""

    versions: dict[str, str]
    machine: str
    threads: int
    memory: int
    """Bytes that it may take, or that its machine has."""
    limited: bool
    """Whether somebody set that limit for it alone."""

    def share(self, beside: int) -> int:
        """How many bytes there are for the work, where so many workers are on its machine.

        >>> WorkerInfo({}, "a", 2, 4_000_000_000, limited=True).share(8), WorkerInfo({}, "a", 2, 8_000_000_000, limited=False).share(2)
        (2800000000, 2800000000)
        """
        own = self.memory if self.limited else self.memory // max(beside, 1)
        return max(0, int(OF_ITS_LIMIT * own) - LIBRARIES_TAKE)


def worker_info(threads: int, limit: int | None) -> WorkerInfo:
    """What this process tells of itself, which has so many threads and a limit of memory, or
    none.
    """
    memory = limit or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return WorkerInfo(versions_here(), socket.gethostname(), threads, memory, bool(limit))


def is_there(place: SharedPath) -> bool:
    """Whether something lies there that can be read, and has the right size."""
    there = parse_location(place.path)
    if isinstance(there, Url):
        with contextlib.suppress(InputError):
            return there.size() == place.size
        return False
    if not there.exists() or place.size is None:
        return there.exists()
    return there.stat().st_size == place.size and os.access(there, os.R_OK)


def sees(place: SharedPath, token: str, name: str) -> bool:
    """Whether this process sees a place as those do who sent `token`: it reads what they wrote, and
    answers there.
    """
    with contextlib.suppress(OSError, InputError):
        if place.size is not None:
            return is_there(place)
        if Path(place.path, f"ask-{token}").read_text("ascii") != token:
            return False
        descriptor = os.open(
            Path(place.path, f"{name}-{token}"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600
        )
        with os.fdopen(descriptor, "w") as file:
            file.write(token)
        return True
    return False


@contextlib.contextmanager
def asked_about(places: Sequence[SharedPath], token: str) -> Iterator[None]:
    """While workers are asked whether they see folders, there is something to be read in them."""
    folders = [Path(place.path) for place in places if place.size is None]
    try:
        for folder in folders:
            descriptor = os.open(
                folder / f"ask-{token}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600
            )
            with os.fdopen(descriptor, "w") as file:
                file.write(token)
        yield
    finally:
        for folder in folders:
            for path in folder.glob(f"*-{token}"):
                path.unlink(missing_ok=True)


def answered(place: SharedPath, token: str, name: str) -> bool:
    """Whether what a worker wrote there can be read here."""
    if place.size is not None:
        return True
    with contextlib.suppress(OSError):
        return Path(place.path, f"{name}-{token}").read_text("ascii") == token
    return False


def warm_up(k: int, axes: int) -> int:
    """Compile the kernels that blocks need, or fetch them from this machine's cache, on a few
    made-up records; returns how many.

    >>> warm_up(3, 2)
    120
    """
    points = np.random.default_rng(0).normal(size=(40 * k, axes))
    problem = replace(Problem.of(points, k, threads=1), of_records=len(points))
    block: Any = BLOCK.run
    found = block(problem, rng=rng_of_part(0, 0), effort="quick")
    shifted: Any = SHIFTED.run
    blocks = np.arange(len(points), dtype=np.int32) % 2
    shifted(problem, labels=found.labels, blocks=blocks, rng=rng_of_part(0, 1), effort="quick")
    return len(points)
