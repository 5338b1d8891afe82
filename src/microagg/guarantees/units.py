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
from typing import Any

import numpy as np

from microagg.guarantees.tally import Tally
from microagg.kernels import guarantee_tables

LARGEST_SHARE = 0.5


@dataclass(frozen=True)
class Units:
    """Required number of different units in every class.

    >>> from microagg.guarantees.tally import tally
    >>> households = np.array([1, 2, 1, 1, 1, 2])
    >>> Units(2).kept(tally(households, np.array([0, 0, 1, 1, 1, 1]), 2)).tolist()
    [True, False]
    """

    k: int

    @property
    def name(self) -> str:
        """Return the name of the guarantee.

        >>> Units(5).name
        '5 different units, none with more than half'
        """
        return f"{self.k} different units, none with more than half"

    @property
    def words(self) -> str:
        """Return what holds for every class, in plain words."""
        return f"has records of {self.k} or more different units"

    @property
    def words_on_share(self) -> str:
        """Return what holds for the largest unit of every class."""
        return "has no unit with more than half of its records"

    def reached(self, counts: Tally) -> np.ndarray:
        """Count the different units of each class."""
        return counts.distinct

    def shares(self, counts: Tally) -> np.ndarray:
        """The share of each class's records that its largest unit has."""
        return self._largest(counts) / counts.sizes

    def kept(self, counts: Tally) -> np.ndarray:
        """Return a mask of the classes with enough units, none too large. Counts are integers, so a
        half is exact.
        """
        return ~self.too_few(counts) & ~self.too_large(counts)

    def has_too_few(self, different: Any) -> Any:
        """Check if so many different units are too few; an array is checked entry by entry."""
        return different < self.k

    def has_too_large(self, largest: Any, records: Any) -> Any:
        """Check if a unit with so many of some records is too large; arrays entry by entry."""
        return largest > LARGEST_SHARE * records

    def too_few(self, counts: Tally) -> np.ndarray:
        """Return a mask of the classes with too few units."""
        return self.has_too_few(self.reached(counts))

    def too_large(self, counts: Tally) -> np.ndarray:
        """Return a mask of the classes of which one unit has more than half."""
        return self.has_too_large(self._largest(counts), counts.sizes)

    def _largest(self, counts: Tally) -> np.ndarray:
        return np.maximum.reduceat(counts.amounts, counts.starts)

    def ask(self, requirements: np.ndarray) -> None:
        """Write the requirement into the vector that the kernel reads."""
        requirements[guarantee_tables.DISTINCT], requirements[guarantee_tables.SHARE] = (
            self.k,
            LARGEST_SHARE,
        )
