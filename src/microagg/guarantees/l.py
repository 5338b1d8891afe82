"""l-diversity: every class has several well-spread values of each confidential column.

Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam 2007. Three readings of "well-spread":

- distinct: at least l different values;
- entropy: an entropy of at least log l, as of l values that occur equally often;
- recursive: the most frequent value occurs less than c times as often as the l-th most frequent
  one and all rarer ones together.

Each confidential column by itself. What is known counts: neither a missing value nor a special code
is a value, so that A, A and missing have l = 1, and a class in which nothing is known has l = 0.
Values are counted, not spellings: numbers go by their value, texts by what is left of them after
NFKC, case folding and collapsing of white space (`table.confidential`), unless exact. Two classes
that are diverse stay so together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from microagg.errors import InputError
from microagg.guarantees.declared import DIVERSITY
from microagg.guarantees.tally import Tally, entropies, over_known, tops_and_tails
from microagg.kernels import guarantee_tables
from microagg.sentences import Assignment, sentence

SLACK = 10 * guarantee_tables.CLOSE


@dataclass(frozen=True)
class Diversity:
    """Required l-diversity.

    >>> from microagg.guarantees.tally import tally
    >>> Diversity(2).kept(tally(np.array([1, 2, 1, 1]), np.array([0, 0, 1, 1]), 2)).tolist()
    [True, False]
    """

    l: float
    kind: str = DIVERSITY.default
    c: float | None = None

    @staticmethod
    def of(l: Any, kind: str = DIVERSITY.default, c: Any = None) -> Diversity:
        """Return validated requirements."""
        kind = DIVERSITY.parse(kind)
        least = _number(l)
        if kind == "entropy" and not least > 1.0:
            raise InputError("l must be a number greater than 1.")
        if kind != "entropy" and not (least >= 2.0 and least.is_integer()):
            raise InputError(
                "l must be a whole number, at least 2: one value in a class protects nobody."
            )
        if (kind == "recursive") != (c is not None):
            raise InputError(
                sentence(
                    Assignment("diversity", "recursive"),
                    " needs c, and c needs ",
                    Assignment("diversity", "recursive"),
                    ": give both or neither.",
                )
            )
        if c is not None and not _number(c) > 0.0:
            raise InputError("c must be a number greater than 0.")
        return Diversity(
            least if kind == "entropy" else int(least), kind, None if c is None else _number(c)
        )

    @property
    def name(self) -> str:
        """Return the name of the guarantee.

        >>> Diversity(3).name, Diversity(3, "recursive", 2.0).name
        ('distinct 3-diversity', 'recursive (2, 3)-diversity')
        """
        of_l = f"({self.c:g}, {self.l:g})" if self.c is not None else f"{self.l:g}"
        return f"{self.kind} {of_l}-diversity"

    @property
    def words(self) -> str:
        """Return what holds for every class, in plain words."""
        if self.kind == "distinct":
            return f"has {self.l:g} or more different values"
        if self.kind == "entropy":
            return f"has values as evenly spread as {self.l:g} equally frequent ones, or more"
        return (
            f"has a most frequent value that occurs less than {self.c:g} times as often "
            f"as, taken together, the "
            f"{_ordinal(int(self.l))} most frequent and all rarer values"
        )

    def reached(self, counts: Tally) -> np.ndarray:
        """Return what each class reaches: values, entropy-equivalent values, or the c that it must
        exceed.
        """
        if self.kind == "distinct":
            return distinct_values(counts)
        if self.kind == "entropy":
            return even_values(counts)
        return over_known(counts, self._needed, np.inf)

    def _needed(self, counts: Tally) -> np.ndarray:
        """The c that each class needs to exceed."""
        tops, tails = tops_and_tails(counts, int(self.l))
        return np.divide(tops, tails, out=np.full(len(tops), np.inf), where=tails > 0.0)

    def kept(self, counts: Tally) -> np.ndarray:
        """Return a mask of the classes that are diverse enough."""
        return over_known(counts, self._kept_by_known, 0.0) > 0.0

    def _kept_by_known(self, counts: Tally) -> np.ndarray:
        if self.kind == "distinct":
            return counts.distinct >= self.l
        if self.kind == "entropy":
            return entropies(counts) >= math.log(self.l) - SLACK
        tops, tails = tops_and_tails(counts, int(self.l))
        return (self.c or 0.0) * tails > tops

    def worst(self, counts: Tally) -> float:
        """Return what the least diverse class reaches."""
        reached = self.reached(counts)
        return float(reached.max() if self.kind == "recursive" else reached.min())

    def ask(self, requirements: np.ndarray) -> None:
        """Write the requirement into the vector that the kernel reads."""
        if self.kind == "distinct":
            requirements[guarantee_tables.DISTINCT] = self.l
        elif self.kind == "entropy":
            requirements[guarantee_tables.ENTROPY] = math.log(self.l)
        else:
            requirements[guarantee_tables.RECURSIVE], requirements[guarantee_tables.C] = (
                self.l,
                self.c or 0.0,
            )


def distinct_values(counts: Tally) -> np.ndarray:
    """Count the different values of each class; 0 where all are missing.

    >>> from microagg.guarantees.tally import tally
    >>> distinct_values(
    ...     tally(np.array([1.0, 1.0, np.nan, np.nan]), np.array([0, 0, 0, 1]), 2)
    ... ).tolist()
    [1.0, 0.0]
    """
    return over_known(counts, lambda proper: proper.distinct, 0.0)


def even_values(counts: Tally) -> np.ndarray:
    """Return exp(entropy) of each class, the number of equally frequent values; 0 where all are
    missing.
    """
    return over_known(counts, lambda proper: np.exp(entropies(proper)), 0.0)


def _ordinal(rank: int) -> str:
    """A rank as it is written.

    >>> [_ordinal(rank) for rank in (2, 3, 4, 11, 21)]
    ['2nd', '3rd', '4th', '11th', '21st']
    """
    teens = 10 < rank % 100 < 14
    return f"{rank}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(rank % 10, 'th')}"


def _number(value: Any) -> float:
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return math.nan
