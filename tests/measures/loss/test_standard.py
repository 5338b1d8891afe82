"""Both tables in the original's units."""

from __future__ import annotations

import numpy as np
import pytest

from measures.loss.pairs import (
    SEEDS,
    columns_of,
    deviation,
    is_constant,
    random_pair,
    rounding,
    size_of,
    standardised,
    weights_of,
)
from microagg.measures.loss.standardise import covariance, standardise
from microagg.measures.measure import Pair


@pytest.mark.parametrize("seed", SEEDS)
def test_equals_the_transcription(seed: int) -> None:
    pair = random_pair(seed)
    w = weights_of(pair)
    before, after = standardised(pair)
    result = standardise(pair)
    assert result.before == pytest.approx(np.array(before), rel=1e-6, abs=1e-6)
    assert result.after == pytest.approx(np.array(after), rel=1e-6, abs=1e-6)
    assert result.size == pytest.approx(size_of(w))
    assert result.shares == pytest.approx(np.array(w) / sum(w))
    assert result.constant.tolist() == [is_constant(x) for _, x, _ in columns_of(pair)]
    limits = [rounding(x, w) / deviation(x, w) for _, x, _ in columns_of(pair)]
    assert result.rounding == pytest.approx(np.array(limits))


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1.0, 1e99])
def test_numbers_whose_squares_leave_the_range(size: float) -> None:
    table = np.array([[0.0], [2.0], [1.0], [1.0]]) * size
    result = standardise(Pair(table, table, ("a",)))
    assert result.before[0] == pytest.approx(np.array([-(2.0**0.5), 2.0**0.5, 0.0, 0.0]))


def test_the_input_is_left_alone() -> None:
    table = np.array([[1.0, 5.0], [2.0, 5.0]])
    released = table + 1e-16
    kept = table.copy(), released.copy()
    standardise(Pair(table, released, ("a", "b"), weights=np.array([1.0, 2.0])))
    assert (table == kept[0]).all()
    assert (released == kept[1]).all()


def test_covariance_equals_numpy() -> None:
    rng = np.random.default_rng(0)
    columns, weights = rng.normal(size=(5, 40)), rng.uniform(1, 2, 40)
    expected = np.cov(columns, aweights=weights, bias=True)
    assert covariance(columns, weights / weights.sum()) == pytest.approx(expected)
