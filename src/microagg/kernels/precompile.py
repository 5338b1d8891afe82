"""Compilation of the default method's kernels by helper processes, while the caller works on.

Numba compiles one kernel at a time in a process. A first run of the default needs some twenty of
them, so helper processes fill the cache of compiled code with those that the caller has not come to
yet: the caller compiles what it needs next and nobody has begun, and waits for what a helper is at.
`signatures.txt` lists the kernels with the types of their arguments, most urgent first.
"""

from __future__ import annotations

import contextlib
import importlib
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from numba.core import sigutils, types

SIGNATURES = Path(__file__).with_name("signatures.txt")
MOST_HELPERS = 3  # more would wait for the longest kernel
LONGEST_WAIT = 120.0  # seconds for one kernel; a helper that takes longer is given up
_HELPER = (
    "import sys; sys.path[:0] = sys.argv[1:]; from microagg.kernels.precompile import serve; "
    "serve()"
)

_pool: HelperPool | None = None
_lock = threading.Lock()


def expect(stages: Iterable[str], threads: int) -> None:
    """Note which stages of a run will need kernels; helpers start when the first of these is not
    in the cache.

    Nothing happens on one thread, or where this process has been told before.

    >>> expect(["search"], threads=1)
    """
    global _pool
    if threads < 2 or not sys.executable or getattr(sys, "frozen", False):
        return
    with _lock:
        if _pool is None:
            _pool = HelperPool(min(threads - 1, MOST_HELPERS))
    _pool.add(listed_kernels(stages))


def stages_of(effort: Any) -> tuple[str, ...]:
    """Return the stages of a run of the default method with this effort.

    >>> stages_of("quick"), stages_of(None)
    (('search', 'save'), ('search', 'annealing', 'save'))
    """
    return ("search", "save") if effort == "quick" else ("search", "annealing", "save")


def wait_for(function: Any, argument_types: Any) -> bool:
    """Return whether a helper has put the compiled function into the cache; wait if it is about to.

    False: the caller has to compile it, and no helper will.
    """
    return _pool is not None and _pool.wait_for(describe(function, argument_types))


def listed_kernels(stages: Iterable[str]) -> list[str]:
    """Return the kernels of some stages, as `signatures.txt` has them.

    >>> listed_kernels(["search"])[0].split("(")[0]
    'microagg.kernels.local_moves:descend'
    """
    wanted = set(stages)
    listed: dict[str, list[str]] = {}
    stage = ""
    for line in SIGNATURES.read_text("ascii").splitlines():
        if line.startswith("# "):
            stage = line[2:]
        elif line:
            listed.setdefault(stage, []).append(line)
    return [line for stage, lines in listed.items() if stage in wanted for line in lines]


def describe(function: Any, argument_types: Any) -> str:
    """Name a kernel and the types of its arguments, as in `signatures.txt`.

    >>> def half(x, n): ...
    >>> describe(half, (types.float64[:, ::1], types.none)).split(":", 1)[1]
    'half(float64[:, ::1], none)'
    """
    names = ", ".join(_name_of(type_) for type_ in argument_types)
    return f"{function.__module__}:{function.__qualname__}({names})"


def _name_of(type_: Any) -> str:
    if isinstance(type_, types.Array) and type_.layout == "C" and type_.mutable and type_.aligned:
        return f"{_name_of(type_.dtype)}[{':, ' * (type_.ndim - 1)}::1]"
    return "boolean" if type_ == types.boolean else str(type_)


def compile_listed(line: str) -> None:
    """Compile one line of `signatures.txt`, into the cache if it is not there."""
    name, arguments = line.split("(", 1)
    module, function = name.split(":")
    argument_types, _ = sigutils.normalize_signature(f"({arguments.removesuffix(')')},)")
    getattr(importlib.import_module(module), function).compile(argument_types)


def serve() -> None:
    """Compile what standard input asks for, line by line, and answer each; the work of a helper."""
    for line in sys.stdin:
        with contextlib.suppress(
            Exception
        ):  # the caller looks into the cache, and compiles what is not there
            compile_listed(line.strip())
        print("done", flush=True)


class HelperPool:
    """Helper processes and the kernels that they are to compile."""

    def __init__(self, helpers: int) -> None:
        self._helpers = helpers
        self._lock = threading.Lock()
        self._waiting: dict[str, None] = {}
        self._begun: dict[str, threading.Event] = {}
        self._taken: set[str] = set()
        self._busy: dict[str, subprocess.Popen[str]] = {}
        self._running = 0

    def add(self, kernels: Iterable[str]) -> None:
        """Add kernels to compile."""
        with self._lock:
            known = self._taken | self._begun.keys()
            self._waiting.update((kernel, None) for kernel in kernels if kernel not in known)

    def wait_for(self, kernel: str) -> bool:
        """Return whether a helper has compiled this one; without helpers so far, start them.

        A helper that takes too long is ended, and the caller compiles.
        """
        with self._lock:
            if kernel in self._waiting:
                del self._waiting[kernel]
                self._start()
            event = self._begun.get(kernel)
            if event is None:
                self._taken.add(kernel)
                return False
        if event.wait(LONGEST_WAIT):
            return True
        with self._lock:
            self._waiting.clear()  # whatever stopped this one may stop the others
            helper = self._busy.get(kernel)
        if helper is not None:
            helper.kill()
        return False

    def _start(self) -> None:
        while self._running < min(self._helpers, len(self._waiting)):
            self._running += 1
            threading.Thread(target=self._feed_helper, daemon=True).start()

    def _feed_helper(self) -> None:
        """Start a helper and give it one kernel after another; without it, the caller compiles
        them.
        """
        with contextlib.suppress(OSError, ValueError):
            folder = str(Path(__file__).parents[2])
            # -P: neither the working directory nor what lies in it is searched for modules
            helper = subprocess.Popen(
                [sys.executable, "-P", "-c", _HELPER, folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            with helper:
                while (kernel := self._next()) is not None:
                    try:
                        assert helper.stdin is not None
                        assert helper.stdout is not None
                        self._busy[kernel] = helper
                        print(kernel, file=helper.stdin, flush=True)
                        answered = helper.stdout.readline() != ""
                    except OSError:
                        answered = False
                    self._busy.pop(kernel, None)
                    self._begun[kernel].set()
                    if not answered:
                        break
        with self._lock:
            self._running -= 1

    def _next(self) -> str | None:
        with self._lock:
            if not self._waiting:
                return None
            kernel = next(iter(self._waiting))
            del self._waiting[kernel]
            self._begun[kernel] = threading.Event()
            return kernel
