"""pMSE: against least squares repeated with other weights, and where the answer is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from measures.loss.pairs import (
    collapsed,
    identical,
    random_pair,
    related_pair,
    standardised,
    weights_of,
)
from microagg.measures.loss.propensity import PMSE, RECORDS, propensity_error, spread_out
from microagg.measures.measure import Pair


def slow_terms(pair: Pair) -> list[list[float]]:
    """Columns, squares, products over both tables, originals first; each with mean 0 and deviation
    1.
    """
    before, after = standardised(pair)
    columns = [scaled for x, y in zip(before, after, strict=True) if (scaled := unit(x + y, pair))]
    products = [
        [a * b for a, b in zip(columns[i], columns[j], strict=True)]
        for j in range(len(columns))
        for i in range(j + 1)
    ]
    return columns + [scaled for product in products if (scaled := unit(product, pair))]


def unit(values: list[float], pair: Pair) -> list[float]:
    """Empty for a term that does not vary."""
    w = weights_of(pair) * 2
    largest = max(map(abs, values))
    if largest == 0.0:
        return []
    values = [x / largest for x in values]
    centre = math.fsum(a * x for a, x in zip(w, values, strict=True)) / math.fsum(w)
    spread = math.fsum(a * (x - centre) ** 2 for a, x in zip(w, values, strict=True)) / math.fsum(w)
    return [(x - centre) / math.sqrt(spread) for x in values] if spread > 1e-18 else []


def slow_pmse(pair: Pair) -> float:
    """Iteratively reweighted least squares: each turn fits the working response, the ridge as rows
    of its own.
    """
    terms, w = slow_terms(pair), np.array(weights_of(pair) * 2)
    n = len(w) // 2
    x = np.column_stack([np.ones(2 * n), *terms])
    ridge = np.sqrt(1e-5) * np.eye(x.shape[1])[1:]
    released, share = np.repeat([0.0, 1.0], n), w / w.sum()
    slopes = np.zeros(x.shape[1])

    def cost(b: np.ndarray) -> float:
        signs = np.where(released == 1.0, -1.0, 1.0)
        return float(share @ np.logaddexp(0.0, signs * (x @ b)) + 0.5e-5 * (b[1:] @ b[1:]))

    for _ in range(300):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ slopes, -500.0, 500.0)))
        curve = np.sqrt(np.maximum(share * p * (1.0 - p), 1e-300))
        working = curve * (x @ slopes) + share * (released - p) / curve
        rows = np.vstack([curve[:, None] * x, ridge])
        fitted = np.linalg.lstsq(rows, np.append(working, np.zeros(len(ridge))), rcond=None)[0]
        step, size = fitted - slopes, 1.0
        while size > 1e-9 and cost(slopes + size * step) > cost(slopes):
            size /= 2.0
        slopes = slopes + size * step if size > 1e-9 else slopes
        if size * np.abs(step).max() < 1e-11 or size <= 1e-9:
            break
    p = 1.0 / (1.0 + np.exp(-np.clip(x @ slopes, -500.0, 500.0)))
    return float(share @ (p - 0.5) ** 2)


@pytest.mark.parametrize("seed", range(60))
def test_equals_repeated_least_squares(seed):
    pair = random_pair(seed)
    figure = PMSE.compute(pair)
    assert figure.value == pytest.approx(slow_pmse(pair), rel=1e-5, abs=1e-9)
    assert figure.details["terms"] == len(slow_terms(pair))
    w = weights_of(pair)
    size = math.fsum(w) ** 2 / math.fsum(a * a for a in w)
    assert figure.details["expected by chance"] == pytest.approx(
        len(slow_terms(pair)) / 8.0 / (2.0 * size)
    )
    assert figure.details["percent of the highest"] == pytest.approx(
        figure.value / PMSE.highest * 100.0
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_extremes(weighted):
    pair = related_pair(weighted=weighted)
    assert PMSE.compute(identical(pair)).value == PMSE.lowest
    assert PMSE.compute(replace(pair, released=pair.original + 1e3)).value == pytest.approx(
        PMSE.highest, rel=1e-3
    )
    assert PMSE.compute(collapsed(pair)).value > 0.1, "all at the means: the squares tell"


@pytest.mark.slow
def test_records_drawn_anew_are_told_apart_by_chance_only():
    rng = np.random.default_rng(7)
    figures = []
    for _ in range(80):
        table = rng.normal(size=(300, 2))
        figures.append(PMSE.compute(Pair(table, table[rng.integers(0, 300, 300)], ("a", "b"))))
    mean = sum(figure.value for figure in figures) / len(figures)
    assert mean == pytest.approx(figures[0].details["expected by chance"], rel=0.25)


def test_means_are_not_enough():
    """A release that keeps means and variances, but not what columns have to do with each other, is
    told apart.
    """
    pair = related_pair()
    shuffled = pair.original.copy()
    shuffled[:, 1] = np.random.default_rng(1).permutation(shuffled[:, 1])
    assert PMSE.compute(replace(pair, released=shuffled)).value > 0.05


def test_worse_with_larger_groups():
    table = related_pair(600).original
    order = np.argsort(table[:, 0])
    values = []
    for k in (3, 30, 200):
        released = table.copy()
        for start in range(0, 600, k):
            released[order[start : start + k]] = table[order[start : start + k]].mean(axis=0)
        values.append(PMSE.compute(Pair(table, released, ("a", "b", "c", "d"))).value)
    assert values == sorted(values)
    assert values[0] < 0.5 * values[-1]


def test_any_matrix_can_be_handed_in():
    """Indicators of three categories, whose shares a release has changed: the error follows from
    the shares alone.
    """
    before, after = np.repeat([0, 1, 2], [50, 30, 20]), np.repeat([0, 1, 2], [20, 30, 50])
    error, terms = propensity_error(
        np.eye(3)[before].T.copy(), np.eye(3)[after].T.copy(), np.full(100, 0.01)
    )
    assert terms == 9, "three indicators, their squares and products"
    chance = np.array([20 / 70, 0.5, 50 / 70])
    expected = (70 * (chance[0] - 0.5) ** 2 + 70 * (chance[2] - 0.5) ** 2) / 200
    assert error == pytest.approx(expected, rel=1e-3)


def test_many_columns():
    rng = np.random.default_rng(2)
    wide = rng.normal(size=(40, 100))
    changed = wide.copy()
    changed[:, 90] += 50.0
    names = tuple(f"c{j}" for j in range(100))
    assert PMSE.compute(Pair(wide, changed, names)).value > 0.2, (
        "the column that changed is among those seen"
    )
    assert PMSE.compute(Pair(wide, changed, names)).details["terms"] == 128
    assert PMSE.compute(Pair(wide, wide.copy(), names)).value == 0.0
    some = PMSE.compute(Pair(wide[:, :13].copy(), changed[:, :13] + 0.1, names[:13]))
    assert some.details["terms"] == 26, "no products beyond twelve columns"


def test_many_records_are_sampled_evenly():
    chosen = spread_out(50_000, RECORDS)
    assert len(chosen) == RECORDS
    assert (np.diff(chosen) > 0).all()
    assert np.histogram(chosen, bins=10, range=(0, 50_000))[0].min() > 900
    assert spread_out(RECORDS, RECORDS).tolist() == list(range(RECORDS))
