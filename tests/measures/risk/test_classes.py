"""Uniqueness, class sizes, expected re-identification and dominance, counted class by class."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from measures.risk.pairs import (
    SEEDS,
    agrees,
    classes_of,
    collapsed,
    distinct_pair,
    percent,
    random_pair,
    weights_of,
)
from measures.risk.test_individual import slow_individual_risk
from microagg.measures.measure import Pair
from microagg.measures.risk import dominance, reidentification, uniqueness
from microagg.measures.risk.dominance import DOMINANCE
from microagg.measures.risk.reidentification import JOURNALIST, MARKETER, PROSECUTOR
from microagg.measures.risk.uniqueness import (
    SMALLEST_CLASS,
    SMALLEST_CLASS_WITH_KEPT,
    UNIQUENESS,
    UNIQUENESS_WITH_KEPT,
)

EMPTY = Pair(np.empty((0, 2)), np.empty((0, 2)), ("a", "b"), kept={"c": np.empty(0, np.int64)})


@pytest.mark.parametrize("with_kept", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_uniqueness_and_class_sizes(seed, with_kept):
    pair = random_pair(seed)
    classes = classes_of(pair, with_kept)
    sizes = {record: len(group) for group in classes for record in group}
    lengths = sorted(len(group) for group in classes)
    alone = (UNIQUENESS_WITH_KEPT if with_kept else UNIQUENESS).compute(pair)
    agrees(alone, percent([sizes[i] == 1 for i in range(len(sizes))], weights_of(pair)))
    assert alone.details["records alone"] == lengths.count(1)
    assert pair.k is not None
    assert alone.details["records in classes smaller than k"] == sum(
        x for x in lengths if x < pair.k
    )
    smallest = (SMALLEST_CLASS_WITH_KEPT if with_kept else SMALLEST_CLASS).compute(pair)
    agrees(smallest, lengths[0])
    middle = (lengths[len(lengths) // 2] + lengths[(len(lengths) - 1) // 2]) / 2
    assert smallest.details == {
        "classes": len(lengths),
        "mean size": pytest.approx(sum(lengths) / len(lengths)),
        "median size": middle,
        "largest size": lengths[-1],
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_expected_reidentification(seed):
    pair = random_pair(seed)
    classes, w = classes_of(pair), weights_of(pair)
    n = len(pair.original)
    population = [max(math.fsum(w[i] for i in group), len(group)) for group in classes]
    chances = {
        i: slow_individual_risk(len(group), size)
        for group, size in zip(classes, population, strict=True)
        for i in group
    }
    smallest = min(len(group) for group in classes)

    prosecutor = PROSECUTOR.compute(pair)
    agrees(prosecutor, 100.0 / smallest)
    assert prosecutor.details["records at this risk"] == sum(
        len(g) for g in classes if len(g) == smallest
    )
    agrees(JOURNALIST.compute(pair), 100.0 * max(chances.values()))
    marketer = MARKETER.compute(pair)
    agrees(marketer, 100.0 * len(classes) / n)
    assert marketer.details["expected records"] == len(classes)
    expected = 100.0 * math.fsum(chances.values()) / n
    assert marketer.details["percent in the population"] == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_dominance(seed):
    pair = random_pair(seed)
    threshold, p = (40.0, 25.0) if seed % 2 else (50.0, 10.0)
    w = weights_of(pair)
    columns, exceeding, failing = {}, set(), set()
    for name, x in zip(pair.names, pair.original.T.tolist(), strict=True):
        columns[name] = 0.0
        for number, group in enumerate(classes_of(pair)):
            parts = sorted((abs(x[i]) * w[i] for i in group), reverse=True)
            total = math.fsum(parts)
            if total == 0.0:
                continue
            share = 100.0 * parts[0] / total
            columns[name] = max(columns[name], share)
            if share > threshold + 1e-9:
                exceeding.add(number)
            if math.fsum(parts[2:]) < p / 100.0 * parts[0]:
                failing.add(number)
    figure = dominance.dominance(pair, threshold, p)
    agrees(figure, max(columns.values()), columns)
    # rounding may put two equal values, half the total each, on either side of the threshold
    assert figure.details[f"classes failing the {p:g} % rule"] == len(failing)
    assert abs(figure.details[f"classes over {threshold:g} %"] - len(exceeding)) <= _on_the_edge(
        pair, threshold
    )


def _on_the_edge(pair: Pair, threshold: float) -> int:
    w, edges = weights_of(pair), 0
    for group in classes_of(pair):
        for x in pair.original.T.tolist():
            parts = [abs(x[i]) * w[i] for i in group]
            total = math.fsum(parts)
            edges += total > 0.0 and abs(100.0 * max(parts) / total - threshold) <= 1e-9
    return edges


@pytest.mark.parametrize("weighted", [False, True])
def test_extremes(weighted):
    pair = distinct_pair(weighted=weighted)
    n = len(pair.original)
    for measure in (UNIQUENESS, UNIQUENESS_WITH_KEPT, PROSECUTOR, MARKETER, DOMINANCE):
        assert measure.compute(pair).value == pytest.approx(measure.highest), measure.name
    assert SMALLEST_CLASS.compute(pair).value == SMALLEST_CLASS_WITH_KEPT.compute(pair).value == 1.0
    flat = collapsed(pair)
    assert (
        UNIQUENESS.compute(flat).value
        == UNIQUENESS_WITH_KEPT.compute(flat).value
        == UNIQUENESS.lowest
    )
    assert SMALLEST_CLASS.compute(flat).value == n
    assert SMALLEST_CLASS_WITH_KEPT.compute(flat).value == n / 2
    assert (
        PROSECUTOR.compute(flat).value == MARKETER.compute(flat).value == pytest.approx(100.0 / n)
    )
    population = math.fsum(weights_of(pair))
    assert JOURNALIST.compute(flat).value == pytest.approx(
        100.0 * slow_individual_risk(n, population)
    )
    assert (JOURNALIST.compute(pair).value == JOURNALIST.highest) is not weighted
    zero = replace(flat, original=np.zeros((n, 3)))
    assert DOMINANCE.compute(zero).value == DOMINANCE.lowest


def test_weights_below_one_do_not_shrink_the_population():
    released = np.array([[1.0], [1.0], [2.0], [2.0], [2.0]])
    pair = Pair(np.zeros((5, 1)), released, ("a",), weights=np.array([0.1, 0.1, 0.2, 0.2, 0.2]))
    assert JOURNALIST.compute(pair).value == PROSECUTOR.compute(pair).value == 50.0


def test_the_two_zeros_are_one_value():
    pair = Pair(np.zeros((2, 1)), np.array([[0.0], [-0.0]]), ("a",))
    assert SMALLEST_CLASS.compute(pair).value == 2.0


def test_nobody_makes_up_a_part_of_nothing():
    """A record alone with the value 0 beside one alone with 5: only the latter's class tells a
    value.
    """
    pair = Pair(np.array([[5.0], [0.0]]), np.array([[1.0], [2.0]]), ("a",))
    figure = DOMINANCE.compute(pair)
    assert (figure.value, figure.details) == (
        100.0,
        {"classes over 50 %": 1.0, "classes failing the 10 % rule": 1.0},
    )


def test_without_records():
    for measure in (
        UNIQUENESS,
        UNIQUENESS_WITH_KEPT,
        SMALLEST_CLASS,
        PROSECUTOR,
        JOURNALIST,
        MARKETER,
        DOMINANCE,
    ):
        assert measure.compute(EMPTY).value == 0.0, measure.name
    assert uniqueness.smallest_class(EMPTY, with_kept=True).value == 0.0
    assert reidentification.marketer_risk(EMPTY).details == {}
