"""One way to compile a kernel: cached where a folder can be written, announced the first time.

Numba's own cache looks at the file of the function it compiles and no further, so an edit in a function that
the kernel calls would go unnoticed. Here the cache is stamped with the contents of every kernel file instead.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, config

_announce: Callable[[], None] | None = None
_announced = False


def on_first_compile(announce: Callable[[], None] | None) -> None:
    """Call `announce()` once, just before the first kernel that is in no cache gets compiled."""
    global _announce
    _announce = announce


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` with numba on its first call: no fastmath, no GIL, cached if possible.

    >>> @kernel
    ... def twice(x):
    ...     return 2 * x
    >>> twice(21)
    42
    """
    dispatcher: Any = numba.njit(nogil=True)(function)
    dispatcher._cache = _StampedCache(dispatcher.py_func) if _cache_folder() is not None else _NoCache()
    return dispatcher


def part(function: Callable[..., Any]) -> Any:
    """Compile `function` as a part of the kernels that call it.

    It cannot be called from Python and is in no cache of its own, and dividing by zero gives inf or NaN instead of
    an exception: all that makes compiling a third faster.
    """
    njit: Any = numba.njit  # its types know of no such options
    return njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


@functools.cache
def _cache_folder() -> Path | None:
    """The first of: NUMBA_CACHE_DIR, beside the source, the user's cache folder, that can be written to."""
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
    """A digest of every source file that may hold a kernel."""
    digest = hashlib.sha256()
    package = Path(__file__).parent.parent
    for source in sorted(package.rglob("*.py")):
        text = source.read_bytes()
        if source.parent.name == "kernels" or b"microagg.kernels.compiling import" in text:
            digest.update(source.relative_to(package).as_posix().encode() + b"\0" + text)
    return digest.hexdigest()


_Locator: Any = caching._CacheLocator  # untyped in numba


class _StampedLocator(_Locator):
    """Tells numba where the cached code of a kernel lies and which contents it was made from."""

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
        found = None
        try:
            found = super().load_overload(sig, target_context)
        except (
            Exception
        ):  # whatever is wrong with a cache file (it may be cut short), compiling anew mends it
            with contextlib.suppress(Exception):
                self.flush()
        if found is None:
            _tell_once()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(Exception):  # a full disk costs the next start a compile, nothing else
            super().save_overload(sig, data)


class _NoCache(caching.NullCache):
    def load_overload(self, sig: Any, target_context: Any) -> Any:
        _tell_once()


def _tell_once() -> None:
    global _announced
    if _announce is not None and not _announced:
        _announced = True
        _announce()
