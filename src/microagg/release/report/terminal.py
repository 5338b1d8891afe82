"""Terminal view of class sizes."""

from __future__ import annotations

import numpy as np

WIDEST = 40  # blocks of the longest bar
SHOWN = 8  # sizes


def size_bars(sizes: np.ndarray) -> list[str]:
    """Return the number of classes of each size, as bars of text.

    >>> size_bars(np.array([3, 3, 4]))[1]
    '  size    4  ████████████████████ 1'
    """
    values, counts = np.unique(sizes, return_counts=True)
    bars = [
        f"  size {size:>4}  {'█' * max(1, round(WIDEST * count / counts.max()))} {count:,}"
        for size, count in list(zip(values, counts, strict=True))[:SHOWN]
    ]
    return bars if len(values) <= SHOWN else [*bars, f"  larger     {counts[SHOWN:].sum():,}"]
