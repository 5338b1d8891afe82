"""Places of the records on a Hilbert curve through the box around them."""

from __future__ import annotations

import numpy as np

from microagg.kernels import paths

BITS = 64  # of a place on the curve
MOST_COLUMNS = 16
MOST_BITS = 52  # of one column: what float64 tells apart


def hilbert_places(points: np.ndarray) -> np.ndarray:
    """The place of each record on the curve (Skilling 2004), as whole numbers.

    The columns are scaled to their ranges and share 64 bits equally; columns that do not vary are
    left out, and so are those beyond the first sixteen that do. Records in one cell have the same
    place.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    varying = np.flatnonzero(high > low)[:MOST_COLUMNS]
    if len(varying) == 0:
        return np.zeros(len(points), np.uint64)
    bits = min(BITS // len(varying), MOST_BITS)
    shares = (points[:, varying] - low[varying]) / (high[varying] - low[varying])
    cells = np.minimum((shares * 2.0**bits).astype(np.int64), 2**bits - 1)
    return paths.hilbert_places(np.ascontiguousarray(cells), bits)
