"""What the program `microagg` runs, before anything else is imported."""

from __future__ import annotations

import importlib.abc
import os
import sys


class _WithoutPandas(importlib.abc.MetaPathFinder):
    """Makes pandas look as if it were not installed."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("the command line has no use for pandas", name="pandas")


def start() -> None:
    """Run the command line in a process of our own, which can be made lean before anything is imported.

    No table here is a pandas one, and Arrow would import pandas at its first use: half a second and 40 MB. Arrow's own pool
    keeps more memory than the system's.
    """
    sys.meta_path.insert(0, _WithoutPandas())
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from microagg.cli.commands import main

    main()
