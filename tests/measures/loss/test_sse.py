"""SSE and IL, against a slow transcription."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microagg as ma
from microagg.measures.loss.sse import LossBetween, largest_share, loss_between, loss_of_partition


def slow_sse(points: np.ndarray, labels: list[int]) -> float:
    """Squared distances to the means of groups, added up without rounding."""
    terms: list[float] = []
    for label in set(labels):
        members = [i for i, other in enumerate(labels) if other == label]
        for j in range(points.shape[1]):
            mean = math.fsum(points[members, j]) / len(members)
            terms.extend((points[i, j] - mean) ** 2 for i in members)
    return math.fsum(terms)


@pytest.mark.parametrize("seed", range(12))
def test_loss_equals_the_transcription(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 80)), int(rng.integers(1, 6))
    points = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d) + 10.0 ** rng.integers(0, 6)
    labels = rng.integers(0, max(1, n // 3), n)
    numbered = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    sse, sst = slow_sse(points, labels.tolist()), slow_sse(points, [0] * n)
    loss = loss_of_partition(points, numbered)
    assert loss["SSE"] == pytest.approx(sse, rel=1e-12)
    assert loss["IL"] == pytest.approx(100.0 * sse / sst, rel=1e-12)
    assert ma.information_loss(points, labels) == loss["IL"]
    assert ma.information_loss(points.tolist(), (labels * 7 + 3).tolist()) == loss["IL"]
    assert ma.information_loss(np.asfortranarray(points), labels.astype(np.uint8)) == loss["IL"]


@pytest.mark.parametrize("seed", range(4))
def test_loss_between_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, released = rng.normal(size=(30, 3)), rng.normal(size=(30, 3))
    sse = math.fsum(((points - released) ** 2).ravel())
    loss = loss_between(points, released)
    assert loss["SSE"] == pytest.approx(sse, rel=1e-13)
    assert loss["IL"] == pytest.approx(100.0 * sse / slow_sse(points, [0] * 30), rel=1e-13)


def test_the_ends_of_the_range() -> None:
    points = np.random.default_rng(0).normal(size=(20, 2))
    assert ma.information_loss(points, range(20)) == 0.0
    assert ma.information_loss(points, [0] * 20) == pytest.approx(100.0)
    assert ma.information_loss([[5.0]] * 4, [0, 0, 1, 1]) == 0.0
    assert ma.information_loss([1.0, 2.0, 3.0], [0, 0, 0]) == pytest.approx(100.0)


def test_the_order_of_records_does_not_count() -> None:
    rng = np.random.default_rng(3)
    points, labels = rng.lognormal(0, 3, (500, 4)), rng.integers(0, 90, 500)
    expected = ma.information_loss(points, labels)
    for _ in range(5):
        order = rng.permutation(500)
        assert ma.information_loss(points[order], labels[order]) == pytest.approx(
            expected, rel=1e-15
        )


@pytest.mark.parametrize(
    ("points", "labels"),
    [
        ([[1.0], [2.0]], [0]),
        ([[1.0], [2.0]], [0, -1]),
        ([[1.0], [2.0]], [0.0, 1.0]),
        ([[1.0], [2.0]], [[0, 1], [1, 0]]),
        ([[1.0], [2.0]], [[[0]], [[1]]]),
        ([[1.0], [2.0]], ["a", "b"]),
        ([[1.0], [float("nan")]], [0, 0]),
        ([[1.0], [float("inf")]], [0, 0]),
        ([["canary"], [2.0]], [0, 0]),
        (np.zeros((0, 1)), np.zeros(0, int)),
        (np.zeros((2, 0)), [0, 0]),
        (np.zeros((2, 2, 2)), [0, 0]),
    ],
)
def test_what_cannot_be_measured(points: Any, labels: Any) -> None:
    with pytest.raises(ma.InputError) as refusal:
        ma.information_loss(points, labels)
    assert "canary" not in str(refusal.value)


def test_one_point_for_all_loses_everything_and_no_more() -> None:
    points = np.array([[0.0, 3.0], [1.0, 4.0], [1.0, 4.5]])
    rounded = np.array([[1.0, 4.0]] * 3)
    sst = slow_sse(points, [0, 0, 0])
    loss = loss_between(points, rounded)
    assert loss["SSE"] == pytest.approx(2.25)
    assert loss["SSE"] > sst
    assert loss["IL"] == 100.0
    # still told apart, and all the worse for it
    worse = np.array([[9.0, 9.0], [9.0, 9.0], [-9.0, 9.0]])
    assert loss_between(points, worse)["IL"] > 1000.0


def test_a_release_of_one_group_loses_a_hundred_percent() -> None:
    table = pa.table({"age": [20, 21, 21, 25, 40], "rent": [1, 2, 9, 9, 9]})
    release = ma.anonymize(table, k=3, quasi=["age", "rent"], seed=1)
    assert release.loss["IL"] == 100.0
    figure = next(figure for measure, figure in release.figures if measure.name == "il")
    assert figure.value == 100.0
    assert max(figure.columns.values()) <= 100.0


@pytest.mark.parametrize("seed", range(20))
def test_loss_run_by_run_is_that_of_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = np.exp(4.0 * rng.normal(size=(700, 3))) + (1e9 if seed % 2 else 0.0)
    labels = rng.integers(0, 60, len(points)).astype(np.int32)
    released = (
        points[rng.permutation(len(points))] if seed % 3 else np.tile(points[0], (len(points), 1))
    )
    mean = np.array([math.fsum(column) for column in points.T.tolist()]) / len(points)
    lost = LossBetween(mean, groups=60)
    cuts = [0, *sorted(rng.integers(0, len(points), 5).tolist()), len(points)]
    for first, end in itertools.pairwise(cuts):
        lost.add(points[first:end], released[first:end], labels[first:end])
    assert lost.loss() == loss_between(points, released)
    assert lost.largest_share() == largest_share(points, released, labels)
