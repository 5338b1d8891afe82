"""Entry point of the program `microagg`, before anything else is imported."""

from __future__ import annotations

import atexit
import gc
import importlib.abc
import os
import sys
from typing import Any

OBJECTS = 500_000  # new ones before Python looks for cycles of them; by default 700
# numba imports it, and with it much of scipy, to see whether kernels could multiply matrices
UNUSED = "scipy.linalg.cython_blas"


class _WithoutPandas(importlib.abc.MetaPathFinder):
    """Makes pandas look as if it were not installed."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("the command line has no use for pandas", name="pandas")


def _replace_closed_streams() -> None:
    """Put the null device in the place of standard streams that are closed (`>&-`).

    Otherwise the next file that is opened gets the number of the closed stream, and whatever a
    library prints goes into that file; and with standard error closed, Python prints errors to
    standard output.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _collect_seldom() -> None:
    """Look for cycles of objects seldom, and not at all once everything is done.

    Imports make nearly half a million objects that stay, and Python would go through all of them
    again and again: a quarter of the processor time of a release of a small table. So many more
    must come before it looks that it never does for a small table.
    """
    gc.set_threshold(OBJECTS, 50, 50)
    atexit.register(gc.freeze)


def start() -> None:
    """Run the command line in a process of our own, which can be made lean before anything is
    imported.

    No table here is a pandas one, and Arrow would import pandas at its first use: half a second and
    40 MB. No kernel multiplies matrices, so numba need not import scipy where it is installed.
    Arrow's own pool keeps more memory than the system's.
    """
    _replace_closed_streams()
    _collect_seldom()
    sys.meta_path.insert(0, _WithoutPandas())
    hidden: dict[str, Any] = {UNUSED: None}  # such an entry makes an import fail at once
    sys.modules.update(hidden)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from microagg.cli.commands import main

    main()
