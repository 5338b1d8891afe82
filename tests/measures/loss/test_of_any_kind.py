"""Cells unchanged, marginals and associations of mixed tables, against slow transcriptions by the
words of the cells.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from measures.loss.pairs import random_pair
from measures.test_mixed_pairs import mixed_pair
from microagg.measures.loss.associations import ASSOCIATIONS, MOST_PAIRS
from microagg.measures.loss.shares import MARGINALS
from microagg.measures.loss.unchanged import CELLS_UNCHANGED, cells_unchanged
from microagg.measures.measure import Figure, Pair
from microagg.release.changes import changes
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable
from mixed_tables import words

SEEDS = range(50)
Words = list[Any]


def some_pair(seed: int) -> Pair:
    """Mixed tables and, every third time, plain ones; some have weights."""
    return random_pair(seed) if seed % 3 == 2 else mixed_pair(seed)


def columns_in_words(pair: Pair) -> list[tuple[Variable, Words, Words]]:
    olds, news = words(pair.before), words(pair.after)
    return [
        (variable, [row[j] for row in olds], [row[j] for row in news])
        for j, variable in enumerate(pair.before.variables)
    ]


def weights_of(pair: Pair) -> list[float]:
    return [1.0] * len(pair.original) if pair.weights is None else pair.weights.tolist()


def agrees(figure: Figure, columns: dict[str, float]) -> None:
    assert figure.columns == pytest.approx(columns, rel=1e-9, abs=1e-9)
    assert figure.value == pytest.approx(
        math.fsum(columns.values()) / len(columns), rel=1e-9, abs=1e-9
    )


def equal(x: Any, y: Any) -> bool:
    if isinstance(x, float) and isinstance(y, float):
        return x == y or (abs(x - y) <= 3.6e-15 * max(abs(x), abs(y)) and y != round(y))
    return x == y


@pytest.mark.parametrize("seed", SEEDS)
def test_cells_unchanged(seed: int) -> None:
    pair = some_pair(seed)
    weights = weights_of(pair)
    expected = {
        variable.name: 100
        * math.fsum(w for x, y, w in zip(old, new, weights, strict=True) if equal(x, y))
        / math.fsum(weights)
        for variable, old, new in columns_in_words(pair)
    }
    agrees(CELLS_UNCHANGED.compute(pair), expected)
    if pair.weights is None:
        of_changes = {
            name: change.unchanged for name, change in changes(pair.before, pair.after).items()
        }
        assert CELLS_UNCHANGED.compute(pair).columns == pytest.approx(of_changes)


def bins(values: list[float]) -> list[float]:
    """The deciles that have a larger value above them."""
    ascending = sorted(values)
    deciles = (
        [ascending[math.ceil(len(ascending) * q / 10) - 1] for q in range(1, 10)]
        if ascending
        else []
    )
    return sorted({decile for decile in deciles if decile < ascending[-1]})


def slot(word: Any, deciles: list[float], values: list[float]) -> Any:
    """The bin of a number: how many deciles lie below it; a number nearer to a decile than to the
    next larger value is in its bin.
    """
    if isinstance(word, tuple):
        return word
    below = 0
    for decile in deciles:
        following = min(x for x in values if x > decile)
        below += word > decile / 2 + following / 2
    return below


def categories(variable: Variable, old: Words, new: Words) -> tuple[Words, Words]:
    if variable.kind is not Kind.NUMERIC:
        return old, new
    values = [word for word in old if not isinstance(word, tuple)]
    deciles = bins(values)
    return [slot(word, deciles, values) for word in old], [
        slot(word, deciles, values) for word in new
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_marginals(seed: int) -> None:
    pair = some_pair(seed)
    weights = weights_of(pair)
    expected = {}
    for variable, old, new in columns_in_words(pair):
        before, after = categories(variable, old, new)
        change = defaultdict[Any, float](float)
        for x, y, w in zip(before, after, weights, strict=True):
            change[x] += w
            change[y] -= w
        expected[variable.name] = math.fsum(map(abs, change.values())) / math.fsum(weights) / 2
    figure = MARGINALS.compute(pair)
    agrees(figure, expected)
    assert figure.details["largest"] == max(figure.columns.values())


def as_numbers(variable: Variable, column: Words) -> Words | None:
    """Numbers and places in an order, None where there is none; None for a column of categories."""
    if variable.kind is Kind.NOMINAL:
        return None
    return [
        None
        if isinstance(word, tuple)
        else float(variable.levels.index(word))
        if variable.levels
        else word
        for word in column
    ]


def constant(values: list[float]) -> bool:
    return max(values) - min(values) <= 1e-12 * max(map(abs, values))


def mean(values: list[float], weights: list[float]) -> float:
    return math.fsum(x * w for x, w in zip(values, weights, strict=True)) / math.fsum(weights)


def slow_association(
    x: tuple[Variable, Words], y: tuple[Variable, Words], weights: list[float]
) -> float:
    numbers = [as_numbers(*x), as_numbers(*y)]
    columns = [
        x[1] if numbers[0] is None else numbers[0],
        y[1] if numbers[1] is None else numbers[1],
    ]
    rows = [
        (a, b, w)
        for a, b, w in zip(*columns, weights, strict=True)
        if not (numbers[0] is not None and a is None) and not (numbers[1] is not None and b is None)
    ]
    if not rows:
        return 0.0
    one, other, w = (list(column) for column in zip(*rows, strict=True))
    total = math.fsum(w)
    if numbers[0] is None and numbers[1] is None:
        few = min(len(set(one)), len(set(other)))
        if few < 2:
            return 0.0
        chi = 0.0
        for a, b in itertools.product(set(one), set(other)):
            due = math.fsum(u for p, u in zip(one, w, strict=True) if p == a) * math.fsum(
                u for q, u in zip(other, w, strict=True) if q == b
            )
            seen = math.fsum(u for p, q, u in zip(one, other, w, strict=True) if (p, q) == (a, b))
            chi += (seen - due / total) ** 2 / (due / total)
        return math.sqrt(chi / total / (few - 1))
    if numbers[0] is None or numbers[1] is None:
        codes, values = (one, other) if numbers[0] is None else (other, one)
        if constant(values):
            return 0.0
        centre = mean(values, w)
        all_of_it = math.fsum(u * (v - centre) ** 2 for v, u in zip(values, w, strict=True))
        between = 0.0
        for code in set(codes):
            inside = [(v, u) for c, v, u in zip(codes, values, w, strict=True) if c == code]
            weight = math.fsum(u for _, u in inside)
            between += weight * (math.fsum(v * u for v, u in inside) / weight - centre) ** 2
        return math.sqrt(between / all_of_it)
    if constant(one) or constant(other):
        return 0.0
    p, q = mean(one, w), mean(other, w)
    both = math.fsum(u * (a - p) * (b - q) for a, b, u in zip(one, other, w, strict=True))
    return both / math.sqrt(
        math.fsum(u * (a - p) ** 2 for a, u in zip(one, w, strict=True))
        * math.fsum(u * (b - q) ** 2 for b, u in zip(other, w, strict=True))
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_associations(seed: int) -> None:
    pair = some_pair(seed)
    weights, columns = weights_of(pair), columns_in_words(pair)
    by_column: dict[str, list[float]] = {}
    changed = []
    for (v, x, x2), (u, y, y2) in itertools.combinations(columns, 2):
        change = abs(
            slow_association((v, x2), (u, y2), weights) - slow_association((v, x), (u, y), weights)
        )
        changed.append(change)
        by_column.setdefault(v.name, []).append(change)
        by_column.setdefault(u.name, []).append(change)
    figure = ASSOCIATIONS.compute(pair)
    assert figure.columns == pytest.approx(
        {name: math.fsum(c) / len(c) for name, c in by_column.items()}, abs=1e-6
    )
    assert figure.value == pytest.approx(
        math.fsum(changed) / len(changed) if changed else 0.0, abs=1e-6
    )
    assert figure.details["pairs of columns"] == len(changed)


def test_what_a_town_tells_of_a_school_is_lost() -> None:
    """Two columns that say the same, one of which is released at random: 1 becomes next to
    nothing.
    """
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, 3_000) * 1.0
    variables = (
        Variable("town", Kind.NOMINAL, ("a", "b", "c")),
        Variable("school", Kind.NOMINAL, ("x", "y", "z")),
    )
    before = Cells(variables, np.column_stack([codes, codes]))
    after = Cells(variables, np.column_stack([codes, rng.permutation(codes)]))
    assert 0.9 < ASSOCIATIONS.compute(Pair.of_cells(before, after)).value <= 1.0
    assert MARGINALS.compute(Pair.of_cells(before, after)).value == 0.0, (
        "each column holds what it held"
    )


def test_wide_tables_are_looked_at_in_part() -> None:
    table = np.random.default_rng(0).normal(size=(20, 60))
    figure = ASSOCIATIONS.compute(Pair(table, table[::-1].copy(), tuple(map(str, range(60)))))
    assert 0.5 * MOST_PAIRS < figure.details["pairs of columns"] <= MOST_PAIRS
    assert figure.value < 1e-12, "the same records in another order"
    assert len(figure.columns) > 50


@pytest.mark.parametrize("factor", [0.0, 1.0, 1e9, -3.0])
def test_a_column_that_does_not_vary_goes_with_none(factor: float) -> None:
    """The same number throughout, or but for rounding: no correlation, no ratio, no warning."""
    values = np.random.default_rng(1).normal(size=40)
    still = factor * (1.0 + 1e-14 * values)
    codes = np.arange(40) % 3
    for table in (np.column_stack([still, values]), np.column_stack([values, still])):
        figure = ASSOCIATIONS.compute(Pair(table, np.column_stack([values, values]), ("a", "b")))
        assert figure.value == pytest.approx(1.0), "0 before, 1 after"
    classes = Variable("c", Kind.NOMINAL, ("x", "y", "z"))
    before = Cells((Variable("a"), classes), np.column_stack([still, codes]))
    after = Cells((Variable("a"), classes), np.column_stack([codes, codes]))
    assert ASSOCIATIONS.compute(Pair.of_cells(before, after)).value == pytest.approx(1.0)


def test_ranges_and_ancestors() -> None:
    """Only a range or an ancestor that is the value itself is as it was; marginals have nothing in
    common.
    """
    before = Cells(
        (Variable("age"), Variable("town", Kind.NOMINAL, ("Pisa", "Rome"))),
        np.array([[30.0, 0.0], [32.0, 0.0], [40.0, 1.0]]),
    )
    coarse = (
        replace(before.variables[0], levels=("30..32", "40", "4*"), coarse=True),
        Variable("town", Kind.NOMINAL, ("Italy", "Rome"), coarse=True),
    )
    after = Cells(coarse, np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]))
    pair = Pair.of_cells(before, after)
    assert cells_unchanged(pair).columns == pytest.approx({"age": 100 / 3, "town": 100 / 3})
    starred = Cells(coarse, np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 1.0]]))
    assert cells_unchanged(Pair.of_cells(before, starred)).columns["age"] == 0.0
    assert MARGINALS.compute(pair).columns == pytest.approx({"age": 1.0, "town": 2 / 3})
    assert ASSOCIATIONS.compute(pair).value == pytest.approx(0.0), (
        "classes tell towns from towns as before"
    )
