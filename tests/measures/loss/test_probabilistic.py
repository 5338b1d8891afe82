"""The five probabilistic measures."""

from __future__ import annotations

import math
from collections.abc import Callable

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
    size_of,
    standardised,
    weights_of,
)
from microagg.measures.loss import probabilistic
from microagg.measures.measure import Measure, Pair

ALL = (
    probabilistic.PIL_MEANS,
    probabilistic.PIL_VARIANCES,
    probabilistic.PIL_COVARIANCES,
    probabilistic.PIL_CORRELATIONS,
    probabilistic.PIL_QUANTILES,
)
Losses = dict[tuple[str, ...], list[float]]


class Slow:
    """The standardised columns of a pair and the words of the formulas."""

    def __init__(self, pair: Pair) -> None:
        self.names, self.weights = pair.names, weights_of(pair)
        self.size = size_of(self.weights)
        self.before, self.after = standardised(pair)
        table = columns_of(pair)
        self.constant = [is_constant(x) for _, x, _ in table]
        self.rounding = [
            rounding(x, self.weights) / deviation(x, self.weights) for _, x, _ in table
        ]

    def moment(self, columns: list[list[float]], i: int, j: int, r: int, s: int) -> float:
        """The central moment of order r of column i and order s of column j."""
        p, q = average(columns[i], self.weights), average(columns[j], self.weights)
        terms = [(a - p) ** r * (b - q) ** s for a, b in zip(columns[i], columns[j], strict=True)]
        return average(terms, self.weights)

    def percent(self, moved: float, variance: float, limit: float) -> float:
        """100 · 2 P(0 ≤ Z ≤ |moved| / √variance), by adding up the normal curve."""
        if abs(moved) <= limit:
            return 0.0
        if variance * self.size <= 1e-12:
            return 100.0
        z, steps = abs(moved) / math.sqrt(variance), 2000
        if z > 10.0:
            return 100.0
        heights = [math.exp(-0.5 * (z * t / steps) ** 2) for t in range(steps + 1)]
        simpson = heights[0] + heights[-1] + 4.0 * sum(heights[1:-1:2]) + 2.0 * sum(heights[2:-1:2])
        return 200.0 * simpson * z / steps / 3.0 / math.sqrt(2.0 * math.pi)


def slow_means(slow: Slow) -> Losses:
    losses: Losses = {}
    for j, name in enumerate(slow.names):
        moved = average(slow.after[j], slow.weights) - average(slow.before[j], slow.weights)
        variance = slow.moment(slow.before, j, j, 2, 0) / slow.size
        losses[name,] = [slow.percent(moved, variance, slow.rounding[j])]
    return losses


def slow_variances(slow: Slow) -> Losses:
    losses: Losses = {}
    for j, name in enumerate(slow.names):
        second = slow.moment(slow.before, j, j, 2, 0)
        moved = slow.moment(slow.after, j, j, 2, 0) - second
        variance = (slow.moment(slow.before, j, j, 4, 0) - second**2) / slow.size
        losses[name,] = [slow.percent(moved, variance, 2.0 * slow.rounding[j])]
    return losses


def slow_covariances(slow: Slow) -> Losses:
    losses: Losses = {}
    for i, first in enumerate(slow.names):
        for j in range(i + 1, len(slow.names)):
            both = slow.moment(slow.before, i, j, 1, 1)
            moved = slow.moment(slow.after, i, j, 1, 1) - both
            variance = (slow.moment(slow.before, i, j, 2, 2) - both**2) / slow.size
            limit = slow.rounding[i] + slow.rounding[j]
            losses[first, slow.names[j]] = [slow.percent(moved, variance, limit)]
    return losses


def slow_correlations(slow: Slow) -> Losses:
    losses: Losses = {}

    def width(columns: list[list[float]], j: int) -> float:
        return math.sqrt(slow.moment(columns, j, j, 2, 0))

    def correlation(columns: list[list[float]], i: int, j: int) -> float:
        return slow.moment(columns, i, j, 1, 1) / width(columns, i) / width(columns, j)

    for i, first in enumerate(slow.names):
        for j in range(i + 1, len(slow.names)):
            if slow.constant[i] or slow.constant[j]:
                continue
            if any(width(slow.after, c) <= slow.rounding[c] for c in (i, j)):
                losses[first, slow.names[j]] = [100.0]
                continue
            m = {(r, s): slow.moment(slow.before, i, j, r, s) for r in range(5) for s in range(5)}
            rho = correlation(slow.before, i, j)
            bracket = (
                m[4, 0] / m[2, 0] ** 2
                + m[0, 4] / m[0, 2] ** 2
                + 2.0 * m[2, 2] / (m[2, 0] * m[0, 2])
            ) / 4.0
            # the ρ² before the bracket is multiplied in, for it cancels the covariance below the
            # line
            variance = m[2, 2] / (m[2, 0] * m[0, 2]) + rho**2 * bracket
            scale = math.sqrt(m[2, 0] * m[0, 2])
            variance -= rho * (m[3, 1] / m[2, 0] + m[1, 3] / m[0, 2]) / scale
            moved = correlation(slow.after, i, j) - rho
            limit = slow.rounding[i] + slow.rounding[j]
            losses[first, slow.names[j]] = [slow.percent(moved, variance / slow.size, limit)]
    return losses


def slow_quantile(values: list[float], weights: list[float], q: float) -> float:
    total = math.fsum(weights)
    for value in sorted(values):
        share = math.fsum(w for x, w in zip(values, weights, strict=True) if x <= value) / total
        if share >= q - 1e-9:
            return value
    raise AssertionError("the shares do not come to 1")


def slow_quantiles(slow: Slow) -> Losses:
    losses: Losses = {}
    for j, name in enumerate(slow.names):
        losses[name,] = []
        x, w = slow.before[j], slow.weights
        spread = (slow_quantile(x, w, 0.75) - slow_quantile(x, w, 0.25)) / 1.34
        h = 0.9 * (min(1.0, spread) if spread > 1e-9 else 1.0) * slow.size ** (-1.0 / 5.0)
        for percent in range(5, 100, 5):
            q = percent / 100.0
            quantile = slow_quantile(x, w, q)
            variance = 0.0
            if not slow.constant[j]:
                kernel = [
                    math.exp(-(((a - quantile) / h) ** 2) / 2.0) / math.sqrt(2.0 * math.pi)
                    for a in x
                ]
                variance = q * (1.0 - q) / (slow.size * (average(kernel, w) / h) ** 2)
            moved = slow_quantile(slow.after[j], w, q) - quantile
            losses[name,].append(slow.percent(moved, variance, slow.rounding[j]))
    return losses


TRANSCRIPTIONS = (slow_means, slow_variances, slow_covariances, slow_correlations, slow_quantiles)


def mean_or_nothing(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


@pytest.mark.parametrize(
    ("measure", "transcription"),
    list(zip(ALL, TRANSCRIPTIONS, strict=True)),
    ids=[measure.name for measure in ALL],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_equals_the_transcription(
    seed: int, measure: Measure, transcription: Callable[[Slow], Losses]
) -> None:
    pair = random_pair(seed)
    losses = transcription(Slow(pair))
    columns = {
        name: mean_or_nothing(
            [x for names, values in losses.items() if name in names for x in values]
        )
        for name in pair.names
    }
    figure = measure.compute(pair)
    agrees(
        figure, mean_or_nothing([x for values in losses.values() for x in values]), columns, 1e-6
    )
    assert 0.0 <= figure.value <= 100.0
    largest = max((mean_or_nothing(values) for values in losses.values()), default=0.0)
    assert figure.details["largest"] == pytest.approx(largest, abs=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_extremes(weighted: bool) -> None:
    pair = related_pair(2000, weighted)
    assert [measure.compute(identical(pair)).value for measure in ALL] == [0.0] * 5
    figures = {measure.name: measure.compute(collapsed(pair)) for measure in ALL}
    assert figures["pil-means"].value == 0.0
    assert figures["pil-variances"].columns == pytest.approx(
        {"a": 100.0, "b": 100.0, "c": 100.0, "d": 0.0}
    )
    assert figures["pil-covariances"].details["largest"] == pytest.approx(100.0)
    assert figures["pil-covariances"].columns["d"] == 0.0
    assert figures["pil-correlations"].value == 100.0
    # close to the mean a quantile is where it was, so the very end is not reached
    assert all(94.0 < figures["pil-quantiles"].columns[name] <= 100.0 for name in "abc")


def test_what_is_moved_far_away_loses_all() -> None:
    pair = related_pair(500)
    away = Pair(pair.original, pair.original + 10.0, pair.names)
    assert probabilistic.PIL_MEANS.compute(away).value == pytest.approx(100.0)
    assert probabilistic.PIL_QUANTILES.compute(away).value == pytest.approx(100.0)
    assert probabilistic.PIL_VARIANCES.compute(away).value == 0.0
    assert probabilistic.PIL_CORRELATIONS.compute(away).value == 0.0


@pytest.mark.parametrize("measure", ALL, ids=lambda measure: measure.name)
def test_a_sample_of_the_original_loses_as_chance_does(measure: Measure) -> None:
    """If its variance is right, a statistic loses less than q percent in q percent of all samples:
    50 on average.
    """
    rng = np.random.default_rng(7)
    x = rng.gamma(4.0, 1.0, 1000)
    table = np.column_stack([x, x + 2.0 * rng.gamma(3.0, 1.0, 1000)])
    losses = []
    for _ in range(150):
        sample = table[rng.integers(0, 1000, 1000)]
        losses.append(measure.compute(Pair(table, sample, ("x", "y"))).columns["x"])
    assert 43.0 < np.mean(losses) < 57.0


def test_one_column_has_no_pairs() -> None:
    table = np.arange(10.0)[:, None]
    pair = Pair(table, table[::-1], ("a",))
    for measure in ALL[2:4]:
        figure = measure.compute(pair)
        assert (figure.value, figure.columns, figure.details) == (0.0, {"a": 0.0}, {"largest": 0.0})


def test_what_has_no_variance_is_lost_by_any_change() -> None:
    halves = np.array([[0.0, 0.0], [1.0, 1.0]] * 10)
    turned = Pair(halves, halves * [1.0, -1.0], ("a", "b"))
    assert probabilistic.PIL_CORRELATIONS.compute(turned).value == 100.0
    assert probabilistic.PIL_COVARIANCES.compute(turned).value == 100.0
    constant = np.full((4, 1), 5.0)
    assert probabilistic.PIL_MEANS.compute(Pair(constant, constant + 1.0, ("a",))).value == 100.0
    assert (
        probabilistic.PIL_QUANTILES.compute(Pair(constant, constant + 1.0, ("a",))).value == 100.0
    )
