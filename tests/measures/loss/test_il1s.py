"""IL1s, as printed and per record in percent."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from measures.loss.pairs import (
    SEEDS,
    agrees,
    collapsed,
    columns_of,
    deviation,
    identical,
    is_constant,
    random_pair,
    related_pair,
    weights_of,
)
from microagg.measures.loss.il1s import IL1S, IL1S_PERCENT
from microagg.measures.measure import Pair


def slow(pair: Pair) -> tuple[float, dict[str, float]]:
    """Equation 1, record by record; and the same for single columns."""
    w, n, d = weights_of(pair), len(pair.original), len(pair.names)
    table = columns_of(pair)
    spread = {
        name: 1.0 if is_constant(x) else deviation(x, w) * math.sqrt(n / (n - 1))
        for name, x, _ in table
    }
    whole, columns = 0.0, dict.fromkeys(pair.names, 0.0)
    for i in range(n):
        terms = {name: abs(x[i] - y[i]) / (math.sqrt(2.0) * spread[name]) for name, x, y in table}
        whole += w[i] * sum(terms.values()) / d
        for name, term in terms.items():
            columns[name] += w[i] * term
    return whole, columns


@pytest.mark.parametrize("seed", SEEDS)
def test_equals_the_transcription(seed: int) -> None:
    pair = random_pair(seed)
    whole, columns = slow(pair)
    agrees(IL1S.compute(pair), whole, columns)
    share = 100.0 / math.fsum(weights_of(pair))
    agrees(
        IL1S_PERCENT.compute(pair), share * whole, {name: share * x for name, x in columns.items()}
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_extremes(weighted: bool) -> None:
    pair = related_pair(weighted=weighted)
    assert IL1S.compute(identical(pair)).value == IL1S_PERCENT.compute(identical(pair)).value == 0.0
    columns = IL1S_PERCENT.compute(collapsed(pair)).columns
    assert columns["d"] == 0.0
    # 56.4 on the normal curve
    assert all(50.0 < columns[name] <= 100.0 / math.sqrt(2.0) for name in "abc")


def test_two_values_collapsed_come_to_the_stated_end() -> None:
    table = np.repeat([[0.0], [1.0]], 50_000, axis=0)
    figure = IL1S_PERCENT.compute(collapsed(Pair(table, table, ("a",))))
    assert figure.value == pytest.approx(100.0 / math.sqrt(2.0), rel=1e-4)


def test_weights_count_records() -> None:
    pair = replace(random_pair(1), weights=None)
    n = len(pair.original)
    doubled = replace(pair, weights=np.full(n, 2.0))
    assert IL1S.compute(doubled).value == pytest.approx(2.0 * IL1S.compute(pair).value)
    assert IL1S_PERCENT.compute(doubled).value == pytest.approx(IL1S_PERCENT.compute(pair).value)
