"""Discernibility, granularity and entropy, counted record by record."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from measures.loss.pairs import (
    agrees,
    average,
    collapsed,
    identical,
    random_pair,
    related_pair,
    weights_of,
)
from microagg.measures.loss.generalisation import DISCERNIBILITY, ENTROPY, GRANULARITY
from microagg.measures.measure import Pair


def alike(pair: Pair, record: int) -> list[int]:
    """The records with the same released values, itself included."""
    return [
        i for i, row in enumerate(pair.released.tolist()) if row == pair.released[record].tolist()
    ]


@pytest.mark.parametrize("seed", range(60))
def test_discernibility(seed):
    pair = random_pair(seed)
    n = len(pair.original)
    sizes = [len(alike(pair, record)) for record in range(n)]
    agrees(DISCERNIBILITY.compute(pair), 100.0 * sum(sizes) / n**2, {})
    assert DISCERNIBILITY.compute(pair).details == {"sum of charges": sum(sizes)}
    charged = [n if size < 3 else size for size in sizes]
    figure = DISCERNIBILITY.compute(replace(pair, k=3))
    agrees(figure, 100.0 * sum(charged) / n**2, {})
    classes = len({tuple(row) for row in (pair.released + 0.0).tolist()})
    assert figure.details["mean class size over k"] == pytest.approx(n / classes / 3)


@pytest.mark.parametrize("seed", range(60))
def test_granularity(seed):
    pair = random_pair(seed)
    columns = {}
    for name, x in zip(pair.names, pair.original.T.tolist(), strict=True):
        whole, charges = max(x) - min(x), []
        for record in range(len(x)):
            inside = [x[i] for i in alike(pair, record)]
            charges.append(100.0 * (max(inside) - min(inside)) / whole if whole else 0.0)
        columns[name] = average(charges, weights_of(pair))
    agrees(GRANULARITY.compute(pair), sum(columns.values()) / len(columns), columns)


@pytest.mark.parametrize("seed", range(60))
def test_entropy(seed):
    pair = random_pair(seed)
    w = weights_of(pair)
    columns, missing, total = {}, 0.0, 0.0
    for name, x, y in zip(
        pair.names, pair.original.T.tolist(), pair.released.T.tolist(), strict=True
    ):
        of_x, of_y, of_both = (defaultdict[object, float](float) for _ in range(3))
        for a, b, weight in zip(x, y, w, strict=True):
            of_x[a] += weight
            of_y[b] += weight
            of_both[a, b] += weight
        charges = [-math.log2(of_both[a, b] / of_y[b]) for a, b in zip(x, y, strict=True)]
        whole = [-math.log2(of_x[a] / math.fsum(w)) for a in x]
        columns[name] = 100.0 * average(charges, w) / average(whole, w) if len(of_x) > 1 else 0.0
        missing += average(charges, w) if len(of_x) > 1 else 0.0
        total += average(whole, w) if len(of_x) > 1 else 0.0
    figure = ENTROPY.compute(pair)
    agrees(figure, 100.0 * missing / total if total else 0.0, columns)
    assert figure.details["bits a record"] == pytest.approx(missing, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_extremes(weighted):
    pair = related_pair(weighted=weighted)
    n = len(pair.original)
    for measure in (GRANULARITY, ENTROPY):
        assert measure.compute(identical(pair)).value == measure.lowest
    assert DISCERNIBILITY.compute(identical(pair)).value == pytest.approx(100.0 / n)
    flat = collapsed(pair)
    assert DISCERNIBILITY.compute(flat).value == DISCERNIBILITY.highest
    assert ENTROPY.compute(flat).value == pytest.approx(ENTROPY.highest)
    by_column = GRANULARITY.compute(flat).columns
    assert by_column == {name: pytest.approx(0.0 if name == "d" else 100.0) for name in pair.names}
    assert DISCERNIBILITY.compute(replace(identical(pair), k=2)).value == 100.0, "all suppressed"


def test_generalised_to_intervals():
    """Ages in intervals of ten, as tools print them: 0..9 and 10..19, even numbers only."""
    age = np.arange(0.0, 20.0, 2.0)[:, None]
    pair = Pair(age, age // 10.0, ("age",))
    assert GRANULARITY.compute(pair).value == pytest.approx(100.0 * 8.0 / 18.0)
    assert ENTROPY.compute(pair).value == pytest.approx(100.0 * math.log2(5) / math.log2(10))
    assert DISCERNIBILITY.compute(pair).details["sum of charges"] == 2 * 5**2


def test_a_table_without_records():
    assert DISCERNIBILITY.compute(Pair(np.empty((0, 1)), np.empty((0, 1)), ("a",))).value == 0.0


def test_a_column_as_wide_as_float64():
    table = np.array([[-1.7e308], [1.7e308], [0.0], [1.0]])
    pair = Pair(table, np.array([[0.0], [0.0], [0.5], [0.5]]), ("a",))
    assert GRANULARITY.compute(pair).value == pytest.approx(50.0)
