"""One record with more than half of a class's weight, or more than the share of its total, is
counted; a class with exactly that is not.
"""

from __future__ import annotations

import numpy as np
import pytest

from microagg.measures.measure import Pair
from microagg.measures.risk.classes import classes_of
from microagg.measures.risk.dominance import DOMINANT, P, dominance, dominated_groups


@pytest.mark.parametrize(
    ("weights", "classes"), [([3, 1, 1, 1], 0), ([4, 1, 1, 1], 1), ([2, 1, 1, 1], 0)]
)
def test_more_than_half_of_the_weight(weights: list[int], classes: int) -> None:
    points = np.arange(8.0)[:, None]
    released = np.repeat([[1.5], [5.5]], 4, axis=0)
    pair = Pair(points, released, ("age",), weights=np.array([*weights, 1, 1, 1, 1], float), k=4)
    details = dominance(pair).details
    assert details["classes in which one record has over half of the weight"] == classes


@pytest.mark.parametrize(
    ("amounts", "dominated"),
    [
        ([3, 1], 0),  # 75 % of the total
        ([3.01, 1], 1),
        ([-3.01, 1], 1),
        ([100, 50, 10], 0),  # the rest is 10 % of the largest
        ([100, 50, 9.9], 1),
        ([100, 99], 0),  # of two, each knows the other
        ([5], 1),
        ([0, 0, 0], 0),
    ],
)
def test_what_dominates_a_group(amounts: list[float], dominated: int) -> None:
    assert (DOMINANT, P) == (75.0, 10.0)
    column = np.array([*amounts, 40, 40, 40, 40], float)
    groups = classes_of([np.repeat([0, 1], [len(amounts), 4])])
    assert dominated_groups(column, groups) == dominated
