"""A release in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from microagg.formatting import counted


def headline_of(manifest: Mapping[str, Any], class_sizes: np.ndarray) -> str:
    """The release in one line.

    >>> headline_of({"records": 4}, np.array([2, 2]))
    '4 records in 2 classes of 2'
    """
    low, high = int(class_sizes.min()), int(class_sizes.max())
    span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return (
        f"{counted(int(manifest['records']), 'record')} in "
        f"{counted(len(class_sizes), 'class', 'classes')} of {span}"
    )
