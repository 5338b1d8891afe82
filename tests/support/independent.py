"""Made-up tables in which no column depends on another."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def independent_table(records: int = 400, seed: int = 0) -> pa.Table:
    """Two columns of numbers, a town, and an illness that says nothing about either."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "a": rng.normal(size=records).round(3),
            "b": rng.normal(size=records).round(3),
            "town": rng.choice(["Rome", "Oslo", "Bern"], records),
            "illness": rng.choice(["none", "flu", "gout", "lupus"], records),
        }
    )
