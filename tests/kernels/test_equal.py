"""Chains of equal records, against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest

from microagg.kernels.equal import chain_equal


@pytest.mark.parametrize("seed", range(30))
def test_chains_equal_those_of_a_dictionary(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 400)), int(rng.integers(1, 5))
    points = rng.integers(-1, int(rng.integers(1, 8)), (n, d)) * rng.choice(
        [1.0, 0.1, 1e300, 5e-324]
    )
    points[rng.random((n, d)) < 0.1] *= -1.0  # 0.0 and -0.0 are equal
    records = np.flatnonzero(rng.random(n) < 0.8).astype(np.int32)
    last: dict[tuple[float, ...], int] = {}
    firsts, following = [], np.full(n, -1)
    for record in records.tolist():
        key = tuple((points[record] + 0.0).tolist())
        if key in last:
            following[last[key]] = record
        else:
            firsts.append(record)
        last[key] = record
    chains = chain_equal(points, records)
    assert chains[0].tolist() == firsts
    assert chains[1].tolist() == following.tolist()
