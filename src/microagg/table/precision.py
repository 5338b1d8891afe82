"""How precise the values of a numeric column are, and rounding a group's mean to that."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from microagg.table.variable import Variable

FINEST = 9  # a column that needs more decimals than this is taken to have no precision of its own


def decimals_of(column: np.ndarray, *, single: bool = False) -> int | None:
    """How many decimals a column's values have; None if it takes more than nine.

    Values that were stored in single precision carry some seven digits: what lies beyond is not theirs.

    >>> decimals_of(np.array([1.5, 2.25])), decimals_of(np.array([3.0, 4.0])), decimals_of(np.array([1 / 3]))
    (2, 0, None)
    """
    # what rounding left over is small beside the value and the column's usual ones, but one large value excuses no other
    sizes = np.abs(column)
    usual = np.partition(sizes, len(sizes) // 2)[len(sizes) // 2]
    slack = (1e-7 if single else 2e-15) * np.maximum(sizes, usual)
    for decimals in range(FINEST + 1):
        scaled = column * 10.0**decimals
        if (np.abs(scaled - np.rint(scaled)) <= slack * 10.0**decimals).all():
            return decimals
    return None


def round_to(column: np.ndarray, decimals: int | None) -> np.ndarray:
    """The column rounded to so many decimals; as it is for None. Never leaves a negative zero."""
    rounded = column if decimals is None else np.round(column, decimals)
    return rounded + 0.0


def decimals_of_variable(variable: Variable, column: np.ndarray) -> int | None:
    """The decimals of a numeric column with atoms, and of one whose numbers are differences; None for times, which have steps.

    >>> decimals_of_variable(Variable("x", origin=Decimal("0.25")), np.array([0.0, np.nan, 1.5]))
    2
    """
    if variable.unit:
        return None
    known = column if not np.isnan(column).any() else column[~np.isnan(column)]
    if len(known) == 0:
        return None
    own = decimals_of(known, single=variable.single)
    exponent = Decimal(variable.origin).normalize().as_tuple().exponent
    return own if own is None or not isinstance(exponent, int) else max(own, -exponent)


def rounded_means(variable: Variable, means: np.ndarray, decimals: int | None) -> np.ndarray:
    """Means of a numeric column at its own precision: to its decimals, or to the step of its times; halves to even.

    Even is what the value itself is, not its difference from the origin.

    >>> rounded_means(Variable("year", origin=1999), np.array([0.5, 1.5]), 0).tolist()
    [1.0, 1.0]
    """
    if variable.unit:
        step = variable.step or 1
        odd = int(variable.origin) // step % 2
        return (np.rint(means / step + odd) - odd) * step + 0.0
    if not variable.origin or decimals is None:
        return round_to(means, decimals)
    odd = int(Decimal(variable.origin).scaleb(decimals)) % 2
    return (np.rint(means * 10.0**decimals + odd) - odd) / 10.0**decimals + 0.0
