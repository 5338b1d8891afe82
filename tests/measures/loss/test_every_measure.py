"""Properties of all measures, on hard tables: finite, within the declared range, the right end
where nothing changed.

They are found in the registry, so a new one is held to this the day it is registered.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from measures.loss.pairs import SEEDS, collapsed, identical, is_constant, random_pair
from microagg.measures.loss import eigenvalues, prediction, probabilistic, squared
from microagg.measures.measure import Figure, Measure, Pair
from microagg.measures.registry import assess_pair, measures

MEASURES = measures("loss")


def checked(measure: Measure, pair: Pair) -> float:
    return checked_figure(measure, measure.compute(pair))


def checked_figure(measure: Measure, figure: Figure) -> float:
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
        figure = checked(measure, unchanged)
        assert figure == nothing_lost or measure.of == "release", (
            f"{measure.name} must see that nothing was lost"
        )
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
            nothing_lost = 0.0 if measure.lower_is_better else 100.0
            assert measure.compute(pair).value == nothing_lost or measure.of == "release", (
                measure.name
            )


@pytest.mark.parametrize("seed", SEEDS)
def test_risks_on_hard_tables(seed: int) -> None:
    pair = random_pair(seed)
    whole = replace(pair, kept={"town": np.arange(len(pair.original)) % 3}, k=2)
    for released in (whole, identical(whole), collapsed(whole)):
        before = released.original.copy(), released.released.copy()
        figures = assess_pair(released, [measure.name for measure in measures("risk")])
        assert [measure for measure, _ in figures] == list(measures("risk")), "one was left out"
        for measure, figure in figures:
            checked_figure(measure, figure)
        assert np.array_equal(released.original, before[0])
        assert np.array_equal(released.released, before[1])


def test_a_loss_needs_no_more_than_the_two_tables_and_categories() -> None:
    assert {measure.needs for measure in MEASURES} <= {"", "numbers", "points", "categories"}


def test_one_record() -> None:
    table = np.array([[3.0, 4.0]])
    for measure in MEASURES:
        checked(measure, Pair(table, table + 1.0, ("a", "b"), {"sick": np.array([1])}))
