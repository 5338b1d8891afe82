"""Intervals of attacks: formulas from the sources, and their coverage in simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from microagg.studies.attacks.rates import Rate, Z, excess_of


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Wilson 1927: the p for which |p_hat - p| = z·sqrt(p(1 - p)/n), by bisection."""
    p_hat = successes / trials

    def outside(p: float) -> bool:
        return abs(p_hat - p) > Z * math.sqrt(p * (1.0 - p) / trials)

    def limit(inner: float, outer: float) -> float:
        for _ in range(200):
            middle = (inner + outer) / 2.0
            inner, outer = (inner, middle) if outside(middle) else (middle, outer)
        return inner

    return limit(p_hat, 0.0), limit(p_hat, 1.0)


@pytest.mark.parametrize(("successes", "trials"), [(1, 7), (3, 10), (9, 10), (50, 400), (399, 400)])
def test_wilson_limits_solve_their_equation(successes: int, trials: int) -> None:
    rate = Rate.of(successes, trials)
    low, high = wilson(successes, trials)
    assert rate.low == pytest.approx(low, abs=1e-9)
    assert rate.high == pytest.approx(high, abs=1e-9)


def test_limits_at_the_ends() -> None:
    assert (Rate.of(0, 9).low, Rate.of(9, 9).high) == (0.0, 1.0)
    assert 0.0 < Rate.of(0, 9).high < 1.0
    assert Rate.of(0, 0) == Rate(0.0, 0.0, 1.0, 0)


@pytest.mark.parametrize(
    ("attack", "control", "trials"),
    [(0.5, 0.5, 100), (0.05, 0.02, 300), (0.9, 0.2, 60), (0.3, 0.0, 200), (0.97, 0.9, 400)],
)
def test_intervals_cover_in_simulations(attack: float, control: float, trials: int) -> None:
    rng = np.random.default_rng([trials, round(1000 * attack)])
    excess = (attack - control) / (1.0 - control)
    covered = covered_rate = 0
    for _ in range(1_000):
        rates = [Rate.of(int(rng.binomial(trials, p)), trials) for p in (attack, control)]
        interval = excess_of(*rates)
        covered += interval.low <= excess <= interval.high
        covered_rate += rates[0].low <= attack <= rates[0].high
    assert covered >= 930, covered
    assert covered_rate >= 925, covered_rate


def test_excess_of_nothing_left() -> None:
    assert excess_of(Rate.of(7, 7), Rate.of(7, 7)).value == 0.0
    assert excess_of(Rate.of(0, 50), Rate.of(0, 50)).value == 0.0
    everything = excess_of(Rate.of(50, 50), Rate.of(0, 50))
    assert everything.value == 1.0
    assert everything.low > 0.9
