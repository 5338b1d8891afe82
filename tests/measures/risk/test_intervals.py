"""Interval disclosure, against a look at all ranks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from measures.risk.pairs import (
    SEEDS,
    agrees,
    collapsed,
    deviation,
    distinct_pair,
    percent,
    random_pair,
    weights_of,
)
from microagg.errors import InputError
from microagg.measures.measure import Pair
from microagg.measures.risk import intervals
from microagg.measures.risk.intervals import DEVIATION_INTERVALS, RANK_INTERVALS


def in_rank_interval(x: list[float], y: list[float], width: float) -> list[bool]:
    n = len(y)
    rank_of = {a: sum(b < a for b in y) + (y.count(a) + 1) / 2 for a in set(y)}
    ranks = [rank_of[a] for a in y]
    inside = []
    for i in range(n):
        near = [
            y[j] for j in range(n) if abs(ranks[i] - ranks[j]) < width * n / 100.0 or y[j] == y[i]
        ]
        inside.append(min(near) <= x[i] <= max(near))
    return inside


def in_deviation_interval(x: list[float], y: list[float], width: float) -> list[bool]:
    reach = width * deviation(x) / 100.0
    return [abs(a - b) <= reach for a, b in zip(x, y, strict=True)]


KINDS = {
    "rank": (RANK_INTERVALS, in_rank_interval),
    "deviation": (DEVIATION_INTERVALS, in_deviation_interval),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_equals_its_formula(kind, seed):
    pair = random_pair(seed)
    if seed % 2:  # enough records that a percent of them is more than one
        pair = replace(
            pair,
            original=np.repeat(pair.original, 5, axis=0),
            released=_jittered(pair.released),
            weights=None,
        )
    measure, inside = KINDS[kind]
    w = weights_of(pair)
    table = {}
    for name, x, y in zip(
        pair.names, pair.original.T.tolist(), pair.released.T.tolist(), strict=True
    ):
        table[name] = [inside(x, y, width) for width in range(1, 11)]
    shares = {name: [percent(row, w) for row in rows] for name, rows in table.items()}
    columns = {name: math.fsum(row) / 10 for name, row in shares.items()}
    figure = measure.compute(pair)
    agrees(figure, math.fsum(columns.values()) / len(columns), columns)
    for position in (0, 9):
        by_width = math.fsum(row[position] for row in shares.values()) / len(shares)
        assert figure.details[f"width {position + 1} %"] == pytest.approx(by_width)
    together = [
        [all(rows) for rows in zip(*(table[name][p] for name in table), strict=True)]
        for p in range(10)
    ]
    expected = math.fsum(percent(row, w) for row in together) / 10
    assert figure.details["in all columns at once"] == pytest.approx(expected)


def _jittered(released: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(0)
    wide = np.repeat(released, 5, axis=0)
    return wide + rng.integers(-2, 3, wide.shape) * 0.03 * np.ptp(released, axis=0)


@pytest.mark.parametrize(
    "measure", [RANK_INTERVALS, DEVIATION_INTERVALS], ids=lambda measure: measure.name
)
@pytest.mark.parametrize("weighted", [False, True])
def test_extremes(measure, weighted):
    pair = distinct_pair(weighted=weighted)
    assert measure.compute(pair).value == pytest.approx(measure.highest)
    far = replace(pair, released=pair.original + 1000.0)
    assert measure.compute(far).value == measure.lowest
    if measure is RANK_INTERVALS:
        assert measure.compute(collapsed(pair)).value == measure.lowest
    two = Pair(np.array([[0.0], [10.0]]), np.full((2, 1), 5.0), ("a",))
    assert measure.compute(two).value == measure.lowest


def test_ranks_differ_by_less_than_the_width():
    """Of 100 records, 2 percent is less than two ranks: one neighbour to each side."""
    values = np.arange(100.0).reshape(-1, 1)
    one, two = Pair(values - 1.0, values, ("a",)), Pair(values - 2.0, values, ("a",))
    assert intervals.rank_interval_disclosure(one, [2]).value == 99.0
    assert intervals.rank_interval_disclosure(two, [2]).value == 0.0
    assert intervals.rank_interval_disclosure(two, [2.01]).value == 98.0


def test_a_constant_column_is_known_where_it_is_unchanged():
    pair = Pair(np.ones((3, 1)), np.array([[1.0], [1.0], [1.001]]), ("a",))
    assert DEVIATION_INTERVALS.compute(pair).value == pytest.approx(200.0 / 3.0)
    assert RANK_INTERVALS.compute(pair).value == pytest.approx(200.0 / 3.0)


def test_strange_input():
    empty = Pair(np.empty((0, 2)), np.empty((0, 2)), ("a", "b"))
    assert RANK_INTERVALS.compute(empty).value == DEVIATION_INTERVALS.compute(empty).value == 0.0
    for widths in ([], [-1]):
        with pytest.raises(InputError, match="width"):
            intervals.rank_interval_disclosure(random_pair(1), widths)
    still = Pair(np.array([[0.0], [1.0]]), np.array([[0.0], [3.0]]), ("a",))
    assert intervals.rank_interval_disclosure(still, [0]).value == 50.0
    small = Pair(np.array([[0.0], [1e-200]]), np.array([[4e-202], [1e-200]]), ("a",))
    assert intervals.deviation_interval_disclosure(small, [10]).value == 100.0
