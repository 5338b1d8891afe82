"""Units: every class is of several households, companies or patients, and none of them makes up
most of it.

k records of one household hide nobody in it: whoever knows the household knows the class. So every
class has records of at least k different units, and no unit has more than half of its records. Both
are needed: of k units, one could have all records but k - 1.

The column itself is withheld. Units are told apart as confidential values are
(`table.confidential`): spellings of one are one, which can only make this stricter. It does not
protect against somebody who knows a whole household: who knows all members can look for classes
that fit each of them.

Two classes that keep it keep it together: their units are at least those of either, and a unit with
at most half of a records and half of b has at most half of a + b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microagg.guarantees.tally import Tally
from microagg.kernels import standard

LARGEST_SHARE = 0.5


@dataclass(frozen=True)
class Units:
    """How many different units every class must have.

    >>> from microagg.guarantees.tally import tally
    >>> households = np.array([1, 2, 1, 1, 1, 2])
    >>> Units(2).kept(tally(households, np.array([0, 0, 1, 1, 1, 1]), 2)).tolist()
    [True, False]
    """

    k: int

    @property
    def name(self) -> str:
        """What it is called.

        >>> Units(5).name
        '5 different units, none with more than half'
        """
        return f"{self.k} different units, none with more than half"

    @property
    def words(self) -> str:
        """What it says of every class, in plain words."""
        return f"has records of {self.k} or more different units"

    @property
    def words_on_share(self) -> str:
        """What it says of the largest unit of every class."""
        return "has no unit with more than half of its records"

    def reached(self, found: Tally) -> np.ndarray:
        """How many different units each class has."""
        return found.distinct

    def shares(self, found: Tally) -> np.ndarray:
        """The share of each class's records that its largest unit has."""
        return np.maximum.reduceat(found.amounts, found.starts) / found.sizes

    def kept(self, found: Tally) -> np.ndarray:
        """Whether each class has enough units, none of them too large: counts are whole, so that a
        half is exact.
        """
        return ~self.too_few(found) & ~self.too_large(found)

    def too_few(self, found: Tally) -> np.ndarray:
        """Whether each class has fewer units than asked for."""
        return self.reached(found) < self.k

    def too_large(self, found: Tally) -> np.ndarray:
        """Whether one unit has more than half of each class."""
        return self.shares(found) > LARGEST_SHARE

    def ask(self, asked: np.ndarray) -> None:
        """Tell the kernel."""
        asked[standard.DISTINCT], asked[standard.SHARE] = self.k, LARGEST_SHARE
