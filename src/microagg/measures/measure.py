"""What a measure is: a formula with its direction, its range and what its extremes mean, on a pair of tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from microagg.measures.loss.standardise import StandardPair, standardise
from microagg.measures.risk.classes import ReleasedClasses, classes_of_kept, classes_of_released

Found = TypeVar("Found")


@dataclass(frozen=True)
class Pair:
    """A table and its release, record by record in the same order, as numbers.

    What several measures start from is computed for the first of them and kept until `forget`.

    >>> pair = Pair(np.array([[0.0], [2.0]]), np.array([[1.0], [1.0]]), ("age",))
    >>> pair.standard.before.tolist(), len(pair.classes), pair.classes is pair.classes
    ([[-1.0, 1.0]], 1, True)
    """

    original: np.ndarray
    """(n, d) float64: the quasi-identifiers before"""
    released: np.ndarray
    """(n, d) float64: and after"""
    names: tuple[str, ...]
    """The names of these d columns."""
    confidential: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Confidential columns of the release: float64 where numeric, integer codes where nominal."""
    ordered: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Confidential columns of ordered categories: integer codes in their order."""
    atoms: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Of confidential columns that have some: the number of the atom (missing, special codes), -1 for a value. NaN is one without that."""
    kept: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Columns that are released as they were: integer codes."""
    weights: np.ndarray | None = None
    """Of the records, all greater than 0; None where each counts once."""
    k: int | None = None
    capped: np.ndarray | None = None
    """(n, d) float64: the quasi-identifiers that groups were formed of, where values were capped before."""
    _known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, compute: Callable[..., Found], *settings: Hashable) -> Found:
        """compute(pair, *settings), from memory if it was asked for before.

        >>> pair = Pair(np.array([[0.0], [2.0]]), np.array([[1.0], [1.0]]), ("age",))
        >>> pair.once(lambda found, digits: round(float(found.original.std()), digits), 3)
        1.0
        """
        asked = (compute, *settings)
        if asked not in self._known:
            self._known[asked] = compute(self, *settings)
        return self._known[asked]

    def forget(self) -> None:
        """Let go of all that was computed: it takes more memory than the tables."""
        self._known.clear()

    @property
    def averaged(self) -> np.ndarray:
        """The values whose means were released: the original's, unless they were capped."""
        return self.original if self.capped is None else self.capped

    @property
    def standard(self) -> StandardPair:
        """Both tables in units of the original's standard deviations."""
        return self.once(standardise)

    @property
    def classes(self) -> ReleasedClasses:
        """The classes of the released quasi-identifiers."""
        return self.once(classes_of_released)

    @property
    def classes_with_kept(self) -> ReleasedClasses:
        """The classes of these and of the columns released as they were."""
        return self.once(classes_of_kept) if self.kept else self.classes


@dataclass(frozen=True)
class Figure:
    """What a measure found: one number, one for each column where that makes sense, and what else is worth telling."""

    value: float
    columns: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """One measure, declared: everything that a report says of it besides the figure."""

    name: str
    """A short word for tables and machines, such as `il` or `linkage`."""
    title: str
    """A few words for people, such as "information loss"."""
    side: str
    """loss | risk"""
    unit: str
    """percent, records, …: what the number counts"""
    lower_is_better: bool
    lowest: float
    highest: float
    """The range; inf where there is no end."""
    zero_means: str
    """What a figure of 0 says, in one sentence."""
    highest_means: str
    """What the other end says, in one sentence."""
    source: str
    """Who defined it, and where we had to read it in one way or another."""
    compute: Callable[[Pair], Figure]
    of: str = "pair"
    """What it is computed from, which decides who may see it:
    "release": the released table alone (weights and confidential columns are released as they are); everybody may see it.
    "pair": both tables; it stays inside unless the data holder publishes it by name.
    "record": both, and single records decide it (a largest value, a range); it stays inside whatever is asked for."""
    needs: str = ""
    """What the pair must have besides the quasi-identifiers: "" | "confidential" | "categories" (confidential ones) | "kept" | "k"."""
