"""What all measures of loss promise, on hard tables: finite, within the declared range, the right end where nothing changed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from measures.loss.pairs import SEEDS, collapsed, identical, is_constant, random_pair
from microagg.measures.loss import eigenvalues, il1s, marginals, prediction, probabilistic, squared
from microagg.measures.measure import Measure, Pair

MEASURES = [
    value
    for module in (squared, il1s, probabilistic, eigenvalues, marginals, prediction)
    for value in vars(module).values()
    if isinstance(value, Measure)
]


def checked(measure: Measure, pair: Pair) -> float:
    figure = measure.compute(pair)
    for value in (figure.value, *figure.columns.values()):
        assert type(value) is float, measure.name
        assert measure.lowest <= value <= measure.highest * (1.0 + 1e-12), measure.name
        assert math.isfinite(value), measure.name
    assert all(math.isfinite(value) for value in figure.details.values()), measure.name
    return figure.value


@pytest.mark.parametrize("seed", SEEDS)
def test_hard_tables(seed: int) -> None:
    pair = random_pair(seed)
    unchanged = identical(pair)
    before = pair.original.copy()
    for measure in MEASURES:
        nothing_lost = 0.0 if measure.lower_is_better else measure.highest
        assert checked(measure, unchanged) == nothing_lost, measure.name
        checked(measure, collapsed(pair))
        checked(measure, pair)
    assert (pair.original == before).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_all_records_at_the_means(seed: int) -> None:
    pair = collapsed(random_pair(seed))
    varies = not all(is_constant(column) for column in pair.original.T)
    full = 100.0 if varies else 0.0
    for measure in (squared.IL, squared.IL_MINMAX, squared.IL_RAW, eigenvalues.EIGENVALUES):
        assert measure.compute(pair).value == pytest.approx(full, rel=1e-6), measure.name
    assert probabilistic.PIL_MEANS.compute(pair).value == 0.0
    assert prediction.REGRESSION_KEPT.compute(pair).value in (0.0, 100.0)
    assert prediction.CLASSIFICATION_KEPT.compute(pair).value in (0.0, 100.0)
    if not varies:
        for measure in MEASURES:
            assert measure.compute(pair).value == (0.0 if measure.lower_is_better else 100.0), measure.name


def test_every_measure_is_declared_in_full() -> None:
    assert len(MEASURES) == len({measure.name for measure in MEASURES}) == 18
    for measure in MEASURES:
        assert measure.side == "loss"
        assert all((measure.title, measure.unit, measure.zero_means, measure.highest_means, measure.source))
        assert measure.needs == ("categories" if measure.name == "classification-kept" else "")


def test_one_record() -> None:
    table = np.array([[3.0, 4.0]])
    for measure in MEASURES:
        checked(measure, Pair(table, table + 1.0, ("a", "b"), {"sick": np.array([1])}))
