"""The command line in a process of its own, with blocks, runs and chunks set small: python
dask_driver.py anonymize …
"""

from __future__ import annotations

import small_blocks
from dask_clusters import small_budget
from microagg.cli.start import start
from microagg.pipeline.memory_budget import MemoryBudget

if __name__ == "__main__":  # workers import this file, too
    small_blocks.make_small()
    MemoryBudget.checked = small_budget()  # pyright: ignore[reportAttributeAccessIssue]
    start()
