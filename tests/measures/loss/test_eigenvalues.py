"""The difference of the eigenvalues."""

from __future__ import annotations

import math

import numpy as np
import pytest

from measures.loss.pairs import (
    SEEDS,
    agrees,
    average,
    collapsed,
    columns_of,
    deviation,
    identical,
    is_constant,
    random_pair,
    related_pair,
    rounding,
    standardised,
    weights_of,
)
from microagg.measures.loss.eigenvalues import EIGENVALUES
from microagg.measures.loss.squared import IL
from microagg.measures.measure import Pair


def slow_covariances(columns: list[list[float]], weights: list[float]) -> list[list[float]]:
    means = [average(x, weights) for x in columns]
    return [
        [average([(p - means[i]) * (q - means[j]) for p, q in zip(a, b, strict=True)], weights)
         for j, b in enumerate(columns)]
        for i, a in enumerate(columns)
    ]  # fmt: skip


def jacobi(matrix: list[list[float]]) -> list[float]:
    """Eigenvalues of a symmetric matrix, descending: turn two axes at a time until nothing is left
    beside the diagonal.
    """
    a = [row.copy() for row in matrix]
    d = len(a)
    for _ in range(60):
        for p in range(d):
            for q in range(p + 1, d):
                angle = 0.5 * math.atan2(2.0 * a[p][q], a[q][q] - a[p][p])
                c, s = math.cos(angle), math.sin(angle)
                for k in range(d):
                    a[k][p], a[k][q] = c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]
                for k in range(d):
                    a[p][k], a[q][k] = c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]
    return sorted((max(0.0, a[j][j]) for j in range(d)), reverse=True)


def slow_difference(before: list[list[float]], after: list[list[float]]) -> float:
    first, second = jacobi(before), jacobi(after)
    if not first:
        return 0.0
    moved = sum(abs(p - q) for p, q in zip(first, second, strict=True))
    return 100.0 * moved / sum(max(p, q) for p, q in zip(first, second, strict=True))


def correlations(covariances: list[list[float]], roundings: list[float]) -> list[list[float]]:
    widths = [math.sqrt(row[j]) for j, row in enumerate(covariances)]
    varies = [width > limit for width, limit in zip(widths, roundings, strict=True)]
    d = range(len(widths))
    return [
        [covariances[i][j] / widths[i] / widths[j] if varies[i] and varies[j] else 0.0 for j in d]
        for i in d
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_equals_the_transcription(seed: int) -> None:
    pair = random_pair(seed)
    w, table = weights_of(pair), columns_of(pair)
    kept = [j for j, (_, x, _) in enumerate(table) if not is_constant(x)]
    roundings = [rounding(table[j][1], w) / deviation(table[j][1], w) for j in kept]
    before, after = (
        slow_covariances([columns[j] for j in kept], w) for columns in standardised(pair)
    )
    figure = EIGENVALUES.compute(pair)
    agrees(
        figure, slow_difference(correlations(before, roundings), correlations(after, roundings)), {}
    )
    assert figure.details["covariance"] == pytest.approx(
        slow_difference(before, after), rel=1e-7, abs=1e-7
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_extremes(weighted: bool) -> None:
    pair = related_pair(weighted=weighted)
    assert EIGENVALUES.compute(identical(pair)).value == EIGENVALUES.highest - 100.0 == 0.0
    assert EIGENVALUES.compute(collapsed(pair)).value == pytest.approx(EIGENVALUES.highest)
    assert EIGENVALUES.compute(collapsed(pair)).details["covariance"] == pytest.approx(100.0)


def test_group_means_lose_the_covariance_that_il_says() -> None:
    pair = related_pair()
    order = np.argsort(pair.original[:, 0])
    released = pair.original.copy()
    for group in np.array_split(order, 80):
        released[group] = pair.original[group].mean(axis=0)
    grouped = Pair(pair.original, released, pair.names)
    assert EIGENVALUES.compute(grouped).details["covariance"] == pytest.approx(
        IL.compute(grouped).value
    )


def test_only_constant_columns() -> None:
    table = np.full((5, 2), 3.0)
    assert EIGENVALUES.compute(Pair(table, table + 1.0, ("a", "b"))).value == 0.0
