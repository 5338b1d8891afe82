"""One way to compile a kernel: cached where a folder can be written, announced the first time,
its time counted.

Numba's own cache looks at the file of the function it compiles and no further, so an edit in a
function that the kernel calls would go unnoticed. Here the cache is stamped with the contents of
every kernel file instead. Kernels are compiled when they are first called, some by this command and
others by the next; the user is told by the first of them only, so a note beside the compiled code
says that it has been announced.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, config, event
from numba.core.runtime.nrt import rtsys

from microagg.kernels import precompile

# the file, beside the compiled code, that says for which contents of kernels it was
ANNOUNCED = "announced"

_MAKES_KERNELS = re.compile(
    rb"microagg\.kernels\.compiling import (\([^)]*|[^\n]*)\b(kernel|part)\b"
)

_announce: Callable[[], None] | None = None
_announced = False


def on_first_compile(announce: Callable[[], None] | None) -> None:
    """Call `announce()` once, just before the first kernel gets compiled into an empty cache.

    Other processes with the same cache do not announce it again, whatever else they compile. Where
    nothing can be cached, every process that compiles does.
    """
    global _announce
    _announce = announce


def would_announce() -> bool:
    """Return True if the first compile is still to be announced."""
    return _announce is not None and not _announced


def announce_compiling() -> None:
    """Announce, once, that a process which works for this one has begun to compile."""
    global _announced
    if _announce is not None and not _announced:
        _announced = True
        _announce()


def processor() -> str:
    """Describe the machine that kernels are compiled for: its kind, model and features, as the
    compiler has them.

    >>> len(processor()) > 10
    True
    """
    from numba.core.registry import cpu_target

    target: Any = cpu_target  # untyped in numba
    return " ".join(map(str, target.target_context.codegen().magic_tuple()))


def seconds_compiling() -> float:
    """Return the time that this process has spent on compiling kernels, or loading them from the
    cache, until now.

    Numba does that for one thread at a time; while others wait for it, time counts once.

    >>> @kernel
    ... def half(x):
    ...     return x / 2
    >>> before = seconds_compiling()
    >>> half(3)
    1.5
    >>> first = seconds_compiling()
    >>> half(5)
    2.5
    >>> before < first == seconds_compiling()
    True
    """
    return _clock.seconds()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` with numba on its first call: no fastmath, no GIL, cached if possible.

    >>> @kernel
    ... def twice(x):
    ...     return 2 * x
    >>> twice(21)
    42
    """
    dispatcher: Any = numba.njit(nogil=True)(function)
    dispatcher._cache = (
        _StampedCache(dispatcher.py_func) if _cache_folder() is not None else _NoCache()
    )
    return dispatcher


def part(function: Callable[..., Any]) -> Any:
    """Compile `function` as a helper that kernels call.

    It cannot be called from Python and is in no cache of its own, and dividing by zero gives inf or
    NaN instead of an exception: all that makes compiling a third faster.
    """
    njit: Any = numba.njit  # its types know of no such options
    return njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(
        function
    )


@functools.cache
def _cache_folder() -> Path | None:
    """Return the first writable folder of NUMBA_CACHE_DIR, beside the source, the user's cache."""
    beside_source = Path(__file__).parent / "__pycache__"
    users = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "microagg")
    chosen: str = getattr(config, "CACHE_DIR", "")
    wanted = [Path(chosen)] if chosen else [beside_source, users]
    return next((folder for folder in wanted if _can_write(folder)), None)


def _can_write(folder: Path) -> bool:
    try:
        folder = folder.expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except (OSError, RuntimeError):  # the latter where nobody knows the user's home
        return False


@functools.cache
def _contents_of_all_kernels() -> str:
    """Return a digest of every source file that may hold a kernel."""
    digest = hashlib.sha256()
    package = Path(__file__).parent.parent
    for source in sorted(package.rglob("*.py")):
        text = source.read_bytes()
        if source.parent.name == "kernels" or _MAKES_KERNELS.search(text):
            digest.update(source.relative_to(package).as_posix().encode() + b"\0" + text)
    return digest.hexdigest()


_Locator: Any = caching._CacheLocator  # untyped in numba


class _StampedLocator(_Locator):
    """Location of a kernel's cached code, stamped with the contents it was made from."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._name = f"{Path(py_file).stem}-{py_func.__code__.co_firstlineno}"

    def get_cache_path(self) -> str:
        return str((_cache_folder() or Path()).expanduser())

    def get_source_stamp(self) -> str:
        return _contents_of_all_kernels()

    def get_disambiguator(self) -> str:
        return self._name

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _StampedLocator:
        return cls(py_func, py_file)


class _StampedCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = (_StampedLocator,)


class _StampedCache(caching.FunctionCache):
    _impl_class = _StampedCacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        compiled = None
        try:
            compiled = self._load(sig, target_context)
        except (
            Exception
        ):  # whatever is wrong with a cache file (it may be cut short), compiling anew mends it
            with contextlib.suppress(Exception):
                self.flush()
        if compiled is None:
            _announce_first()
            if precompile.wait_for(self._py_func, sig):
                with contextlib.suppress(Exception):
                    compiled = self._load(sig, target_context)
        return compiled

    def _load(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code without what only compiling needs.

        Numba prepares its compiler before it looks into a cache: a tenth of a second, and more
        where scipy is installed, which it then imports. Compiled code needs the memory of arrays
        and nothing else; whatever is compiled later prepares the compiler then.
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(
            Exception
        ):  # a full disk costs the next start a compile, nothing else
            super().save_overload(sig, data)


class _NoCache(caching.NullCache):
    def load_overload(self, sig: Any, target_context: Any) -> Any:
        _announce_first()


def _announce_first() -> None:
    global _announced
    if would_announce():
        if _claim_announcement():
            announce_compiling()
        _announced = True


def _claim_announcement() -> bool:
    """Return True if no process has announced these kernels yet, and note that one has now."""
    folder = _cache_folder()
    if folder is None:
        return True
    note, stamp = (
        folder.expanduser() / ANNOUNCED,
        f"{_contents_of_all_kernels()} {numba.__version__}",
    )
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if note.read_text("ascii") == stamp:
            return False
    with contextlib.suppress(OSError):
        note.write_text(stamp, "ascii")
    return True


_Listener: Any = event.Listener  # untyped in numba


class _Clock(_Listener):
    """Adds up the time in which any thread holds the lock that numba compiles and loads under."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        # a thread comes again for each kernel that its kernel calls, and others wait at the lock
        self._inside = 0
        self._since = self._total = 0.0

    def on_start(self, event: Any) -> None:
        with self._guard:
            if self._inside == 0:
                self._since = time.perf_counter()
            self._inside += 1

    def on_end(self, event: Any) -> None:
        with self._guard:
            self._inside -= 1
            if self._inside == 0:
                self._total += time.perf_counter() - self._since

    def seconds(self) -> float:
        with self._guard:
            return self._total + (time.perf_counter() - self._since if self._inside else 0.0)


_clock = _Clock()
event.register("numba:compiler_lock", _clock)
