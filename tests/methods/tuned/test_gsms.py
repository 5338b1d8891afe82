"""gsms and gsms-t2 against a transcription of what is told of the algorithm."""

from __future__ import annotations

import numpy as np
import pytest

import microagg as ma
import plain


def gsms(points: np.ndarray, k: int, measure: str, *, literally: bool = False) -> list[plain.Group]:
    """Panagiotakis and Tziritas 2013: turn by turn the set whose removal leaves the least SSE.

    `literally` works the SSE out for every set. Where sets are equal or nearly so, rounding would
    then decide; the other way uses that the SSE falls by k N / (N - k) times the squared distance
    between the means.
    """
    groups: list[plain.Group] = []
    remaining = list(range(len(points)))
    while len(remaining) >= 2 * k:
        sets = [plain.nearest(points, remaining, points[record], k) for record in remaining]
        if literally:
            gains = [-left(points, remaining, members, measure) for members in sets]
        else:
            middle, n = plain.centroid(points, remaining), len(remaining)
            gains = [
                plain.squared_distance(plain.centroid(points, members), middle) for members in sets
            ]
            if measure == "rest":
                spreads = [plain.spread(points, members) for members in sets]
                gains = [
                    k * n / (n - k) * x + spread for x, spread in zip(gains, spreads, strict=True)
                ]
        groups.append(sets[gains.index(max(gains))])
        remaining = plain.without(remaining, groups[-1])
    return [*groups, remaining]


def left(points: np.ndarray, remaining: plain.Group, members: plain.Group, measure: str) -> float:
    """The SSE that is left when a set is removed."""
    outside = plain.spread(points, plain.without(remaining, members))
    return outside if measure == "rest" else outside + plain.spread(points, members)


def tuned(points: np.ndarray, k: int, groups: list[plain.Group]) -> np.ndarray:
    """The second stage of TFRP."""
    groups = plain.take_apart(points, groups, plain.widest_first(points, groups), 4 * k - 1)
    return plain.labels_from_groups(
        len(points), plain.split_large(points, groups, k, plain.tfrp1_groups)
    )


@pytest.mark.parametrize("seed", range(1_700, 1_770))
def test_gsms_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    measure = ("all", "rest")[seed // 14 % 2]
    groups = gsms(points, k, measure)
    expected = plain.labels_from_groups(len(points), groups)
    np.testing.assert_array_equal(
        ma.partition(points, k=k, method="gsms", measure=measure), expected
    )
    labels = ma.partition(points, k=k, method="gsms-t2", measure=measure)
    np.testing.assert_array_equal(labels, tuned(points, k, groups))


@pytest.mark.parametrize("measure", ["all", "rest"])
@pytest.mark.parametrize("seed", range(8))
def test_the_set_chosen_leaves_the_least_sse(seed: int, measure: str) -> None:
    points = np.random.default_rng(seed).lognormal(0.0, 1.0, (60, 1 + seed % 4))
    expected = plain.labels_from_groups(60, gsms(points, 2 + seed % 4, measure, literally=True))
    labels = ma.partition(points, k=2 + seed % 4, method="gsms", measure=measure)
    assert labels.tolist() == expected.tolist()
