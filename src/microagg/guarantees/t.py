"""t-closeness: the confidential values of every class are spread nearly as in the whole table.

Source: Li, Li and Venkatasubramanian 2007. The distance is the earth mover's: of nominal values,
all equally far apart, half the sum of the differences of shares; ordered and numeric values are as
far apart as their places among the distinct values of the table, divided by the longest way. Each
confidential column by itself; spellings of one value are one, as for l.

Atoms (what is missing, as one, and each special code) are categories of a nominal column. They have
no place in an order, so for ordered and numeric columns with atoms it is

    total variation between class and table over {each atom, a value} + m × the ordered distance of
    the values' distributions,

m being the share of values in the class or in the table, whichever is smaller, if the column has
one atom, and the one in the class if it has more; without values in the class the second term is 0.
That is never less than the earth mover's distance with atoms at distance 1 from all else. Two
classes that are close stay so together (with several atoms the smaller share would break that).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.guarantees.tally import Tally, distances
from microagg.kernels import guarantee_tables

SLACK = 10 * guarantee_tables.CLOSE


@dataclass(frozen=True)
class Closeness:
    """Required t-closeness.

    >>> from microagg.guarantees.tally import tally
    >>> Closeness(0.2).kept(
    ...     tally(np.array([1, 2, 3, 4]), np.array([0, 1, 1, 0]), 2), nominal=False
    ... ).tolist()
    [True, True]
    """

    t: float

    @staticmethod
    def of(t: Any) -> Closeness:
        """Return validated requirements."""
        try:
            largest = math.nan if isinstance(t, bool) else float(t)
        except (TypeError, ValueError):
            largest = math.nan
        if not 0.0 <= largest <= 1.0:
            raise InputError(
                "t must be a number from 0 to 1: the largest distance between a class "
                "and the whole table."
            )
        return Closeness(largest)

    @property
    def name(self) -> str:
        """Return the name of the guarantee.

        >>> Closeness(0.2).name
        '0.2-closeness'
        """
        return f"{self.t:g}-closeness"

    @property
    def words(self) -> str:
        """Return what holds for every class, in plain words."""
        return (
            f"differs from the whole table by at most {self.t:g} (0 to 1) in the "
            f"distribution of the values"
        )

    def reached(self, counts: Tally, *, nominal: bool) -> np.ndarray:
        """The distance of each class from the table."""
        return distances(counts, nominal=nominal)

    def kept(self, counts: Tally, *, nominal: bool) -> np.ndarray:
        """Return a mask of the classes that are close enough."""
        return self.reached(counts, nominal=nominal) <= self.t + SLACK

    def ask(self, requirements: np.ndarray) -> None:
        """Write the requirement into the vector that the kernel reads."""
        requirements[guarantee_tables.T] = self.t
