"""The individual risk of Benedetti and Franconi: against the series it is defined by, the published
forms, and an integral.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from microagg.measures.measure import Pair
from microagg.measures.risk.reidentification import (
    individual_risk,
    journalist_risk,
    marketer_risk,
    prosecutor_risk,
)


def slow_individual_risk(f: int, population: float) -> float:
    """Σ over h from f on of Pr(F = h) / h, F the draws up to the f-th success at p = f /
    population: term by term.
    """
    p = f / population
    if p == 1.0:
        return 1.0 / f
    chance, terms, seen, h = p**f, [], 0.0, f
    while seen < 1.0 - 1e-13 and h < 400 * (population + 10):
        terms.append(chance / h)
        seen += chance
        chance *= (1.0 - p) * h / (h + 1 - f)
        h += 1
    return math.fsum(terms)


def closed_form(f: int, p: float) -> float:
    """For one, two and three records of a class: as in the manual of µ-Argus 4.1, quoted in the
    source of sdcMicro.
    """
    q = 1.0 - p
    if f == 1:
        return p / q * math.log(1.0 / p)
    if f == 2:
        return p / q**2 * (p * math.log(p) + q)
    return p / (2.0 * q**3) * (q * (3.0 * q - 2.0) - 2.0 * p**2 * math.log(p))


def exact_series(f: int, p: Fraction, terms: int) -> tuple[Fraction, Fraction]:
    """The same sum in fractions up to h = f + terms - 1, and a bound on what is left of it."""
    chance, total, seen = p**f, Fraction(0), Fraction(0)
    for h in range(f, f + terms):
        total += chance / h
        seen += chance
        chance *= (1 - p) * Fraction(h, h + 1 - f)
    return total, (1 - seen) / (f + terms)


def integral(f: int, p: float, steps: int = 20_000) -> float:
    """p ∫ y^(f-1) / (p + q y) dy by Simpson's rule on y = u³, which smooths what happens near 0."""
    u = np.linspace(0.0, 1.0, 2 * steps + 1)
    y = u**3
    values = 3.0 * u**2 * y ** (f - 1) / (p + (1.0 - p) * y)
    weights = np.ones(len(u))
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    return p * math.fsum((values * weights).tolist()) / (6.0 * steps)


def risk(f: int, population: float) -> float:
    return float(individual_risk(np.array([f]), np.array([population]))[0])


def test_a_sample_unique_with_a_weight_of_a_hundred():
    pair = Pair(np.zeros((1, 1)), np.ones((1, 1)), ("a",), weights=np.array([100.0]))
    assert round(journalist_risk(pair).value, 2) == 4.65
    assert risk(1, 100.0) == pytest.approx(math.log(100.0) / 99.0, rel=1e-14)


@pytest.mark.parametrize("f", [1, 2, 3])
@pytest.mark.parametrize("p", [0.002, 0.01, 0.05, 0.0999, 0.1001, 0.3, 0.6, 0.9])
def test_the_printed_forms(f, p):
    assert risk(f, f / p) == pytest.approx(closed_form(f, p), rel=1e-9)


@pytest.mark.parametrize("f", [1, 2, 3, 4, 7, 20, 21, 22, 40, 100])
@pytest.mark.parametrize("weight", [1.0, 1.000001, 1.3, 2.0, 5.0, 9.99, 10.01, 17.5, 100.0])
def test_the_series_it_is_defined_by(f, weight):
    assert risk(f, f * weight) == pytest.approx(slow_individual_risk(f, f * weight), rel=1e-9)


@pytest.mark.parametrize("f", [1, 2, 3, 5, 19, 20, 21, 30, 300])
@pytest.mark.parametrize("weight", [3.0, 9.9, 10.1, 60.0, 1000.0])
def test_an_integral(f, weight):
    assert risk(f, f * weight) == pytest.approx(integral(f, 1.0 / weight), rel=1e-7)


@pytest.mark.parametrize(
    ("f", "p"), [(1, Fraction(1, 4)), (3, Fraction(1, 2)), (6, Fraction(2, 3))]
)
def test_fractions(f, p):
    total, rest = exact_series(f, p, 160)
    assert rest < Fraction(1, 10**16)
    assert risk(f, float(f / p)) == pytest.approx(float(total), rel=1e-13)


def test_more_than_one_over_the_weights_and_less_than_one_over_the_records():
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 2000, 5000)
    population = sizes * (1.0 + rng.lognormal(0.0, 3.0, 5000))
    risks = individual_risk(sizes, population)
    assert (risks > 1.0 / population).all()
    assert (risks < 1.0 / sizes).all()
    assert np.isfinite(individual_risk(np.array([1, 50]), np.array([1e300, 1e300]))).all()
    assert len(individual_risk(np.empty(0, np.int64), np.empty(0))) == 0


def test_without_weights_nothing_changes():
    released = np.array([[1.0], [1.0], [1.0], [2.0], [2.0]])
    pair = Pair(np.zeros((5, 1)), released, ("a",))
    assert journalist_risk(pair) == prosecutor_risk(pair)
    assert journalist_risk(pair).value == 50.0
    assert marketer_risk(pair).details["percent in the population"] == 40.0
