"""The closest original record and the nearest-neighbour ratio, against a look at all pairs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import plain
from measures.risk.pairs import (
    agrees,
    collapsed,
    deviation,
    distinct_pair,
    percent,
    random_pair,
    weights_of,
)
from microagg.measures.measure import Pair
from microagg.measures.risk.closest import CLOSEST_RECORD, NEAREST_NEIGHBOUR_RATIO, two_distances


def slow_distances(pair: Pair) -> tuple[list[float], list[float]]:
    """From each released record to its nearest and second nearest original."""
    before, after = [], []
    for j in range(pair.original.shape[1]):
        x = pair.original[:, j].tolist()
        centre, unit = math.fsum(x) / len(x), deviation(x) or 1.0
        before.append([(a - centre) / unit for a in x])
        after.append([(b - centre) / unit for b in pair.released[:, j].tolist()])
    originals, everybody = np.array(before).T, range(len(pair.original))
    nearest, second = [], []
    for q in np.array(after).T:
        distances = sorted(
            map(math.sqrt, plain.squared_distances(originals, everybody, q).tolist())
        )
        nearest.append(distances[0])
        second.append(distances[1] if len(distances) > 1 else math.inf)
    return nearest, second


def slow_ratio(nearest: float, second: float) -> float:
    return 1.0 if nearest == second else nearest / second


def slow_percentile(values: list[float], weights: list[float], share: float) -> float:
    """The least value that at least such a share does not exceed."""
    for value in sorted(values):
        up_to = math.fsum(w for x, w in zip(values, weights, strict=True) if x <= value)
        if up_to >= (share - 1e-12) * math.fsum(weights):
            return value
    raise AssertionError("the largest value has all of them")


@pytest.mark.parametrize("seed", range(60))
def test_equals_a_look_at_all_pairs(seed):
    pair = random_pair(seed)
    w = weights_of(pair)
    nearest, second = slow_distances(pair)
    closest = CLOSEST_RECORD.compute(pair)
    agrees(closest, slow_percentile(nearest, w, 0.05))
    assert closest.details == {
        "median": pytest.approx(slow_percentile(nearest, w, 0.5), rel=1e-9, abs=1e-12),
        "least": pytest.approx(min(nearest), rel=1e-9, abs=1e-12),
        "percent equal to an original": pytest.approx(percent([x == 0.0 for x in nearest], w)),
    }
    ratios = [slow_ratio(one, other) for one, other in zip(nearest, second, strict=True)]
    ratio = NEAREST_NEIGHBOUR_RATIO.compute(pair)
    agrees(ratio, slow_percentile(ratios, w, 0.05))
    assert ratio.details == {
        "median": pytest.approx(slow_percentile(ratios, w, 0.5), rel=1e-9),
        "least": pytest.approx(min(ratios), rel=1e-9),
    }


@pytest.mark.parametrize("kind", range(len(plain.KINDS)))
def test_larger_tables_of_every_kind(kind):
    """Several levels of the tree, with ties by the dozen."""
    rng = np.random.default_rng(kind)
    original = np.ascontiguousarray(plain.KINDS[kind](rng, 400, 3))
    released = (
        original[np.argsort(original[:, 0])]
        .reshape(80, 5, 3)
        .mean(axis=1)[rng.integers(0, 80, 400)]
    )
    pair = Pair(original, np.ascontiguousarray(released), ("a", "b", "c"))
    for this in (pair, replace(pair, released=original + 0.3 * rng.normal(size=original.shape))):
        distances = two_distances(this)
        expected = slow_distances(this)
        assert distances[0].tolist() == expected[0]
        assert distances[1].tolist() == expected[1]


@pytest.mark.parametrize("weighted", [False, True])
def test_extremes(weighted):
    pair = distinct_pair(weighted=weighted)
    assert CLOSEST_RECORD.compute(pair).value == CLOSEST_RECORD.lowest
    assert CLOSEST_RECORD.compute(pair).details["percent equal to an original"] == pytest.approx(
        100.0
    )
    assert NEAREST_NEIGHBOUR_RATIO.compute(pair).value == NEAREST_NEIGHBOUR_RATIO.lowest
    twice = Pair(
        np.repeat(pair.original, 2, axis=0), np.repeat(pair.released, 2, axis=0), pair.names
    )
    assert NEAREST_NEIGHBOUR_RATIO.compute(twice).value == NEAREST_NEIGHBOUR_RATIO.highest, (
        "two in one place"
    )
    far = replace(pair, released=pair.original + 1e9)
    assert CLOSEST_RECORD.compute(far).value > 1e8
    assert 0.0 < CLOSEST_RECORD.compute(collapsed(pair)).value < 1.0


def test_the_twentieth_counts_weights():
    original = np.arange(40.0)[:, None]
    released = original + np.where(np.arange(40) < 2, 0.0, 0.25)[:, None]
    pair = Pair(original, released, ("a",))
    assert CLOSEST_RECORD.compute(pair).value == 0.0, "two of forty are a twentieth"
    light = replace(pair, weights=np.where(np.arange(40) < 2, 0.5, 1.0))
    assert CLOSEST_RECORD.compute(light).value == pytest.approx(
        0.25 / deviation(original[:, 0].tolist())
    )


def test_strange_tables():
    one = Pair(np.array([[3.0]]), np.array([[8.0]]), ("a",))
    assert (CLOSEST_RECORD.compute(one).value, NEAREST_NEIGHBOUR_RATIO.compute(one).value) == (
        5.0,
        0.0,
    )
    empty = Pair(np.empty((0, 2)), np.empty((0, 2)), ("a", "b"))
    assert (
        CLOSEST_RECORD.compute(empty).value == NEAREST_NEIGHBOUR_RATIO.compute(empty).value == 0.0
    )
    beyond = Pair(np.array([[0.0], [1e-90], [3e-90]]), np.full((3, 1), 1e100), ("a",))
    assert math.isfinite(CLOSEST_RECORD.compute(beyond).value)
    assert NEAREST_NEIGHBOUR_RATIO.compute(beyond).value == 1.0
    frozen = random_pair(2)
    frozen.original.setflags(write=False)
    frozen.released.setflags(write=False)
    agrees(
        CLOSEST_RECORD.compute(frozen),
        slow_percentile(slow_distances(frozen)[0], weights_of(frozen), 0.05),
    )
