"""Success rates of attacks with Wilson intervals, and the excess over a control group.

Sources: Wilson 1927 for one rate; Donner and Zou 2012 (MOVER-R) for the ratio of two rates, from
the limits of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

Z = 1.959963984540054
"""Normal quantile of a two-sided interval of 95 %."""


@dataclass(frozen=True)
class Rate:
    """Success rate with its interval of 95 %.

    >>> rate = Rate.of(8, 10)
    >>> round(rate.value, 2), round(rate.low, 3), round(rate.high, 3)
    (0.8, 0.49, 0.943)
    """

    value: float
    low: float
    high: float
    trials: int

    @staticmethod
    def of(successes: int, trials: int) -> Rate:
        """Return the rate of some successes in some trials, with its Wilson interval."""
        if trials == 0:
            return Rate(0.0, 0.0, 1.0, 0)
        p, weight = successes / trials, Z * Z / trials
        centre = (p + weight / 2.0) / (1.0 + weight)
        half = Z * math.sqrt(p * (1.0 - p) / trials + weight / (4.0 * trials)) / (1.0 + weight)
        low = 0.0 if successes == 0 else max(0.0, centre - half)
        high = 1.0 if successes == trials else min(1.0, centre + half)
        return Rate(p, low, high, trials)

    def as_data(self) -> dict[str, Any]:
        """Return plain data."""
        return {"value": self.value, "low": self.low, "high": self.high, "trials": self.trials}


@dataclass(frozen=True)
class Excess:
    """Share of the attack's success that the control group does not explain: (a - c) / (1 - c).

    >>> excess = excess_of(Rate.of(60, 100), Rate.of(20, 100))
    >>> round(excess.value, 3), round(excess.low, 3), round(excess.high, 3)
    (0.5, 0.358, 0.618)
    """

    value: float
    low: float
    high: float

    def as_data(self) -> dict[str, Any]:
        """Return plain data."""
        return {"value": self.value, "low": self.low, "high": self.high}


def excess_of(attack: Rate, control: Rate) -> Excess:
    """Return the excess of an attack's rate over that of its control group.

    The excess is 1 minus the ratio of the two rates of failure; its interval follows from theirs.
    Where the control group always fails to resist (c = 1) there is nothing left to leak: 0, with
    the widest interval.

    >>> excess_of(Rate.of(5, 5), Rate.of(5, 5))
    Excess(value=0.0, low=-1.0, high=1.0)
    """
    p, q = 1.0 - attack.value, 1.0 - control.value
    if q == 0.0:
        return Excess(0.0, -1.0, 1.0)
    p_low, p_high = 1.0 - attack.high, 1.0 - attack.low
    q_low, q_high = 1.0 - control.high, 1.0 - control.low
    low = _ratio_limit(p, q, p_low, q_high, lower=True)
    high = _ratio_limit(p, q, p_high, q_low, lower=False)
    return Excess(1.0 - p / q, max(-1.0, 1.0 - high), min(1.0, 1.0 - low))


def _ratio_limit(p: float, q: float, p_limit: float, q_limit: float, *, lower: bool) -> float:
    """Return one limit of the ratio p / q from a limit of each (Donner and Zou 2012)."""
    divisor = q_limit * (2.0 * q - q_limit)
    if divisor <= 0.0:
        return 0.0 if lower else math.inf
    inside = (p * q) ** 2 - p_limit * (2.0 * p - p_limit) * divisor
    root = math.sqrt(max(0.0, inside))
    return (p * q - root if lower else p * q + root) / divisor
