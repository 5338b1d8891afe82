"""The distances between the distributions of single columns."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from measures.loss.pairs import (
    SEEDS,
    agrees,
    collapsed,
    columns_of,
    deviation,
    identical,
    random_pair,
    related_pair,
    rounding,
    weights_of,
)
from microagg.measures.loss.marginals import KOLMOGOROV_SMIRNOV, WASSERSTEIN
from microagg.measures.measure import Pair


def share_up_to(value: float, values: list[float], weights: list[float]) -> float:
    return math.fsum(w for x, w in zip(values, weights, strict=True) if x <= value) / math.fsum(
        weights
    )


def slow_ks(x: list[float], y: list[float], weights: list[float]) -> float:
    """|F - F'| at all values that are followed by a gap which is more than rounding."""
    pooled, differences = sorted(x + y), [0.0]
    for value, following in itertools.pairwise(pooled):
        if following - value > rounding(x, weights):
            differences.append(abs(share_up_to(value, x, weights) - share_up_to(value, y, weights)))
    return max(differences)


def slow_wasserstein(x: list[float], y: list[float], weights: list[float]) -> float:
    pooled, terms = sorted(x + y), []
    for value, following in itertools.pairwise(pooled):
        height = abs(share_up_to(value, x, weights) - share_up_to(value, y, weights))
        terms.append(height * (following - value))
    return math.fsum(terms) / deviation(x, weights)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("measure", "slow"), [(KOLMOGOROV_SMIRNOV, slow_ks), (WASSERSTEIN, slow_wasserstein)]
)
def test_equals_the_transcription(seed: int, measure, slow) -> None:
    pair = random_pair(seed)
    expected = {name: slow(x, y, weights_of(pair)) for name, x, y in columns_of(pair)}
    figure = measure.compute(pair)
    agrees(figure, math.fsum(expected.values()) / len(expected), expected)
    assert figure.details["largest"] == max(figure.columns.values())


@pytest.mark.parametrize("weighted", [False, True])
def test_extremes(weighted: bool) -> None:
    pair = related_pair(weighted=weighted)
    assert KOLMOGOROV_SMIRNOV.compute(identical(pair)).value == 0.0
    assert WASSERSTEIN.compute(identical(pair)).value == 0.0
    steps, carried = (
        KOLMOGOROV_SMIRNOV.compute(collapsed(pair)),
        WASSERSTEIN.compute(collapsed(pair)),
    )
    assert steps.columns["d"] == carried.columns["d"] == 0.0
    assert all(0.5 <= steps.columns[name] < 0.6 for name in "abc")  # one step in the middle
    assert all(0.75 < carried.columns[name] < 0.85 for name in "abc")  # √(2/π) on the normal curve


def test_the_other_ends() -> None:
    table = np.arange(8.0).reshape(-1, 2)
    away = Pair(table, table + 100.0, ("a", "b"))
    assert KOLMOGOROV_SMIRNOV.compute(away).value == 1.0
    assert WASSERSTEIN.compute(away).value == pytest.approx(100.0 / math.sqrt(5.0))
    halves = np.array([[0.0], [1.0]] * 4)
    assert WASSERSTEIN.compute(collapsed(Pair(halves, halves, ("a",)))).value == pytest.approx(1.0)


def test_the_order_of_records_does_not_count() -> None:
    table = np.random.default_rng(0).normal(size=(50, 2))
    shuffled = Pair(table, table[::-1], ("a", "b"))
    assert KOLMOGOROV_SMIRNOV.compute(shuffled).value == WASSERSTEIN.compute(shuffled).value == 0.0


def test_a_last_digit_is_no_other_value() -> None:
    table = np.array([[0.1]] * 9 + [[0.7]])
    nearly = np.nextafter(table, 1.0)
    assert KOLMOGOROV_SMIRNOV.compute(Pair(table, nearly, ("a",))).value == 0.0
    constant = Pair(table[:9], nearly[:9], ("a",))
    assert KOLMOGOROV_SMIRNOV.compute(constant).value == WASSERSTEIN.compute(constant).value == 0.0
