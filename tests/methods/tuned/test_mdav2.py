"""mdav2 against a transcription of the published algorithm."""

from __future__ import annotations

import numpy as np
import pytest

import microagg as ma
import plain


def mdav2(points: np.ndarray, k: int) -> np.ndarray:
    """MDAV-1, then Lin, Wen, Hsieh and Chang's second stage by descending SSE."""
    groups = plain.mdav1_groups(points, k)
    groups = plain.take_apart(points, groups, plain.widest_first(points, groups))
    return plain.labels_from_groups(
        len(points), plain.split_large(points, groups, k, plain.mdav1_groups)
    )


@pytest.mark.parametrize("seed", range(1_200, 1_270))
def test_mdav2_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    np.testing.assert_array_equal(ma.partition(points, k=k, method="mdav2"), mdav2(points, k))


def test_it_never_loses_more_than_mdav1() -> None:
    for seed in range(10):
        points = np.random.default_rng(seed).lognormal(0.0, 1.0, (300, 4))
        first = ma.information_loss(points, ma.partition(points, k=4, method="mdav1"))
        assert ma.information_loss(points, ma.partition(points, k=4, method="mdav2")) <= first * (
            1 + 1e-12
        )
