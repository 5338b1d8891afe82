"""One record with more than half of a class's weight is counted, and no class with exactly half."""

from __future__ import annotations

import numpy as np
import pytest

from microagg.measures.measure import Pair
from microagg.measures.risk.dominance import dominance


@pytest.mark.parametrize(
    ("weights", "classes"), [([3, 1, 1, 1], 0), ([4, 1, 1, 1], 1), ([2, 1, 1, 1], 0)]
)
def test_more_than_half_of_the_weight(weights: list[int], classes: int) -> None:
    points = np.arange(8.0)[:, None]
    released = np.repeat([[1.5], [5.5]], 4, axis=0)
    pair = Pair(points, released, ("age",), weights=np.array([*weights, 1, 1, 1, 1], float), k=4)
    details = dominance(pair).details
    assert details["classes in which one record has over half of the weight"] == classes
