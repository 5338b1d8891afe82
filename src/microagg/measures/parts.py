"""Statistics of all records that exact measures follow from, of a release that is not in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from microagg.measures.loss.number_sums import NumberTotals
    from microagg.measures.risk.classes import ClassSizes
    from microagg.measures.risk.dominance import DominanceCounts


@dataclass(frozen=True)
class PopulationChances:
    """Chances of re-identification among the people that the released weights stand for."""

    highest: float
    records: int
    """Records that have the highest chance."""
    expected: float
    """Records found by drawing one of the population of its class for each."""


@dataclass(frozen=True)
class ColumnLoss:
    """Loss of a mixed table column by column, in the encoding that groups are formed in."""

    errors: Mapping[str, float]
    percents: Mapping[str, float]
    one_value: Mapping[str, bool]
    """Whether all records have the same released cell."""


class Parts(Protocol):
    """Statistics of all records, merged from blocks. `Measure.exact` computes a figure from them.

    The functions that do so are those that `Measure.compute` uses: each measure has one formula.
    """

    @property
    def k(self) -> int: ...
    @property
    def weight(self) -> float:
        """Return the sum of the weights; the number of records where there are none."""
        ...

    @property
    def weighted(self) -> bool: ...
    @property
    def is_plain(self) -> bool:
        """Return True if all quasi-identifiers are plain numbers before and after."""
        ...

    @property
    def numbers(self) -> tuple[NumberTotals, ...]:
        """Return the totals of the quasi-identifiers that are numbers without gaps."""
        ...

    @property
    def all_numbers(self) -> bool:
        """Return True if `numbers` has all quasi-identifiers."""
        ...

    @property
    def stated_loss(self) -> Mapping[str, float]:
        """Return IL and SSE in z-scores, to the digits that the release states of itself."""
        ...

    @property
    def column_loss(self) -> ColumnLoss | None:
        """Return the loss of a mixed table in z-scores; None where it was not summed by column."""
        ...

    @property
    def unchanged(self) -> Mapping[str, float]:
        """Return the cells of each column that are as they were, in percent by weight."""
        ...

    @property
    def classes(self) -> ClassSizes: ...
    @property
    def classes_with_kept(self) -> ClassSizes | None:
        """Return the sizes of classes of released and kept columns; None where none is kept."""
        ...

    @property
    def percent_alone_with_kept(self) -> float | None:
        """Return what records alone in those make up by weight; None where there are no weights."""
        ...

    @property
    def chances(self) -> PopulationChances: ...
    @property
    def dominance(self) -> DominanceCounts: ...
    @property
    def covered(self) -> Mapping[str, np.ndarray]:
        """Return the part of each column's range that classes cover, as sums in three parts."""
        ...


@dataclass(frozen=True)
class Lookup:
    """Released records that an intruder has looked up among all originals."""

    nearest: np.ndarray
    """(n,): each record's part in the tie for the nearest original, 0 if it is not in it."""
    second: np.ndarray
    """(n,): the same for the second nearest."""
    distances: np.ndarray
    """(n,): squared distance to the nearest original."""
    next_distances: np.ndarray
    """(n,): squared distance to the second nearest."""
    weights: np.ndarray | None
    slack: float
    """Distance that rounding may make."""

    def of_records(self, rows: np.ndarray) -> Lookup:
        """Return the same of some records."""
        return Lookup(
            self.nearest[rows],
            self.second[rows],
            self.distances[rows],
            self.next_distances[rows],
            None if self.weights is None else self.weights[rows],
            self.slack,
        )
