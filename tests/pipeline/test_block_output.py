"""Buckets of rows on their way to a file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from microagg.pipeline.block_output import BlockOutputConfig


@pytest.mark.parametrize("bits", [0, 1, 3])
@pytest.mark.parametrize("shuffled", [False, True])
def test_rows_of_one_bucket_come_before_those_of_the_next(bits: int, shuffled: bool) -> None:
    """The places of rows are their numbers, or hashes of 64 bits where rows are shuffled."""
    rng = np.random.default_rng(bits)
    key = rng.integers(0, 2**64, 2, np.uint64) if shuffled else None
    config: Any = SimpleNamespace(key=key, row_bits=bits)
    order = rng.permutation(200).astype(np.uint64)
    if shuffled:
        order = rng.integers(0, 2**64, 200, np.uint64, endpoint=False)
    buckets = BlockOutputConfig.row_buckets(config, order, 200)
    assert buckets.dtype == np.int64
    in_order = buckets[np.argsort(order, kind="stable")]
    assert (np.diff(in_order) >= 0).all()
    assert set(in_order.tolist()) == set(range(1 << bits))
    if not shuffled:  # and all are of about the same size
        sizes = np.bincount(buckets)
        assert sizes.max() - sizes.min() <= 1
