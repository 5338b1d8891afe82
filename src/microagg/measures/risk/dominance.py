"""Dominance: classes in which one record makes up most of a column's total, so that the released
mean tells its value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.measures.risk.classes import ReleasedClasses
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM

THRESHOLD = 50.0
P = 10.0
DOMINANT = 75.0
"""From this part of a group's total on, in percent, one record is told about, measured or not: the
(n, k) rule with n = 1.
"""


@dataclass(frozen=True)
class ClassTotals:
    """Total of a column in each class, and what its two largest records make up of it."""

    total: np.ndarray
    """(classes,): sums of absolute values, times weights where there are any."""
    largest: np.ndarray
    second: np.ndarray
    """(classes,): 0 where there is no second record."""
    counted: np.ndarray
    """(classes,): records that have a value before and after."""

    @property
    def percent(self) -> np.ndarray:
        """Return the part of each total that the largest record makes up; 0 of a total of 0."""
        share = np.divide(
            self.largest, self.total, out=np.zeros(len(self.total)), where=self.total > 0.0
        )
        return 100.0 * share

    def fails_p_rule(self, p: float) -> np.ndarray:
        """Return the classes in which the second record can estimate the largest to p percent."""
        return self.total - self.largest - self.second < self.largest * (p / 100.0)

    def is_dominated(self, share: float, p: float) -> np.ndarray:
        """Return the classes that one record dominates; see `dominated_groups`."""
        by_share = self.largest > self.total * (share / 100.0)
        by_p_rule = (self.counted > 2) & self.fails_p_rule(p)
        return (by_share | by_p_rule) & (self.counted > 0)


@dataclass
class DominanceCounts:
    """Dominance counted over classes: a reduction, put together from any parts of a release."""

    threshold: float = THRESHOLD
    p: float = P
    percents: dict[str, float] = field(default_factory=dict)
    """Of each column the largest part of a class's total that one record makes up."""
    exceeding: int = 0
    """Classes in which a record makes up more than the threshold of some column."""
    failing: int = 0
    """Classes that fail the p % rule in some column."""
    heavy: int = 0
    """Classes in which one record has over half of the weight."""
    dominated: dict[str, int] = field(default_factory=dict)
    """Of each column the classes that one record dominates."""
    averaged: dict[str, int] = field(default_factory=dict)
    """Of each column the classes in which it has a value."""

    @staticmethod
    def of_classes(
        columns: Mapping[str, ClassTotals], classes: int, threshold: float = THRESHOLD, p: float = P
    ) -> DominanceCounts:
        """Count some classes, with their totals in each column.

        >>> three = ClassTotals(*(np.array([x]) for x in (100.0, 97.0, 2.0, 3)))
        >>> DominanceCounts.of_classes({"turnover": three}, 1).percents
        {'turnover': 97.0}
        """
        counts = DominanceCounts(threshold, p)
        exceeding, failing = np.zeros(classes, bool), np.zeros(classes, bool)
        for name, totals in columns.items():
            percent = totals.percent
            exceeding |= percent > threshold
            failing |= totals.fails_p_rule(p)
            counts.percents[name] = float(percent.max(initial=0.0))
            counts.dominated[name] = int(totals.is_dominated(DOMINANT, P).sum())
            counts.averaged[name] = int((totals.counted > 0).sum())
        counts.exceeding, counts.failing = int(exceeding.sum()), int(failing.sum())
        return counts

    def combine(self, more: DominanceCounts) -> None:
        """Add the counts of other classes."""
        for name, percent in more.percents.items():
            self.percents[name] = max(percent, self.percents.get(name, 0.0))
        self.exceeding += more.exceeding
        self.failing += more.failing
        self.heavy += more.heavy
        for mine, others in (
            (self.dominated, more.dominated),
            (self.averaged, more.averaged),
        ):
            for name, count in others.items():
                mine[name] = mine.get(name, 0) + count

    def figure(self, *, weighted: bool) -> Figure | None:
        """Return the figure; None where there are no amounts."""
        if not self.percents:
            return None
        details = {
            f"classes over {self.threshold:g} %": float(self.exceeding),
            f"classes failing the {self.p:g} % rule": float(self.failing),
        }
        if weighted:
            details["classes in which one record has over half of the weight"] = float(self.heavy)
        return Figure(max(self.percents.values()), dict(self.percents), details)


def dominance(pair: Pair, threshold: float = THRESHOLD, p: float = P) -> Figure:
    """The largest part, in percent, of a class's total in a column that one record makes up.

    A record makes up |value| (times its weight, where there are any) of the column that means were
    taken of. A class whose values are all 0 has no part to give: 0. What is no number before
    (missing, a special code), or is released as none, made no mean. The details tell how many
    classes exceed the threshold in any column, and how many fail the p % rule: what is left of the
    total without the two largest is less than p percent of the largest, so the second largest could
    work out the largest that closely.

    >>> pair = Pair(np.array([[1.0], [2.0], [97.0]]), np.full((3, 1), 100.0 / 3.0), ("turnover",))
    >>> dominance(pair).value, dominance(pair).details["classes failing the 10 % rule"]
    (97.0, 1.0)
    """
    classes, columns = pair.classes, {}
    for name in amounts_of(pair):
        amounts = np.abs(_amounts(pair, name))
        parts = amounts if pair.weights is None else amounts * pair.weights
        columns[name] = totals_of(parts, classes)
    counts = DominanceCounts.of_classes(columns, len(classes), threshold, p)
    if pair.weights is not None:
        weights = totals_of(pair.weights, classes)
        counts.heavy = int((2 * weights.largest > weights.total).sum())
    figure = counts.figure(weighted=pair.weights is not None)
    assert figure is not None
    return figure


def amounts_of(pair: Pair) -> list[str]:
    """The columns that hold amounts, of which a record can make up a part: numbers that are no
    dates, released as such.

    >>> amounts_of(Pair(np.zeros((1, 1)), np.zeros((1, 1)), ("age",)))
    ['age']
    """
    if pair.cells is None:
        return list(pair.names)
    both = zip(pair.before.variables, pair.after.variables, strict=True)
    return [
        before.name
        for before, after in both
        if before.kind is Kind.NUMERIC and not before.unit and not after.coarse
    ]


def _amounts(pair: Pair, name: str) -> np.ndarray:
    """The values of a column that made its aggregates: 0 for an atom, and where an atom is
    released.
    """
    if pair.cells is None or name in pair.names:
        j = pair.names.index(name)
        amounts = pair.averaged[:, j]
        if np.isnan(amounts.sum() + pair.released[:, j].sum()):
            return np.where(np.isnan(amounts) | np.isnan(pair.released[:, j]), 0.0, amounts)
        return amounts if pair.cells is None else amounts + _origin(pair, name)
    j = pair.quasi.index(name)
    amounts = pair.cells.values[:, j] + _origin(pair, name)
    for cells in (pair.before, pair.after):
        atoms = cells.atoms_of(j)
        if atoms is not None:
            amounts[atoms != NO_ATOM] = 0.0
    return amounts


def _origin(pair: Pair, name: str) -> float:
    return float(pair.before.variables[pair.quasi.index(name)].origin)


def dominated_groups(
    column: np.ndarray, groups: ReleasedClasses, share: float = DOMINANT, p: float = P
) -> int:
    """In how many groups one record dominates the mean of a column.

    It does if it makes up more than `share` percent of the total of absolute values ((1, k) rule),
    or if, among three or more, the second largest could work it out to within p percent (p % rule).
    In a group of two that is always so.

    >>> from microagg.measures.risk.classes import classes_of
    >>> groups = classes_of([np.array([0, 0, 1, 1, 0, 1])])
    >>> dominated_groups(np.array([3000.0, 3000.0, 3000.0, 1e7, 2900.0, 3100.0]), groups)
    1
    """
    return int(totals_of(np.abs(column), groups).is_dominated(share, p).sum())


def is_indicator(column: np.ndarray) -> bool:
    """Return whether all values are 0 or 1: their total is a count, of which no record makes up the
    most.

    >>> is_indicator(np.array([0.0, 1.0, 1.0])), is_indicator(np.array([0.0, 9.0]))
    (True, False)
    """
    return bool(((column == 0.0) | (column == 1.0)).all())


def totals_of(parts: np.ndarray, classes: ReleasedClasses) -> ClassTotals:
    """Return the totals of a column in classes, from the part that each record makes up.

    >>> from microagg.measures.risk.classes import classes_of
    >>> totals_of(np.array([3.0, 1.0, 2.0]), classes_of([np.array([0, 0, 1])])).second.tolist()
    [1.0, 0.0]
    """
    sorted_labels = classes.labels[classes.order]
    largest, second = two_largest(parts[classes.order], classes.starts[:-1], sorted_labels)
    total = np.bincount(classes.labels, parts, len(classes))
    return ClassTotals(total, largest, second, classes.sizes)


def two_largest(
    values: np.ndarray, starts: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest and the second largest value of each run; 0 where there is no second.

    `starts` are the places where runs begin, `labels` the run of each value.

    >>> [part.tolist() for part in two_largest(np.array([2.0, 5.0, 1.0]), np.array([0, 2]),
    ...     np.array([0, 0, 1]))]
    [[5.0, 1.0], [2.0, 0.0]]
    """
    largest = np.maximum.reduceat(values, starts)
    # without one record that is the largest, the second largest is
    at_largest = np.flatnonzero(values == largest[labels])
    rest = values.copy()
    rest[at_largest[np.flatnonzero(np.diff(labels[at_largest], prepend=-1))]] = 0.0
    return largest, np.maximum.reduceat(rest, starts)


DOMINANCE = Measure(
    name="dominance",
    title="largest share of one record in a class's total",
    side="risk",
    unit="percent of the total",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="All original values are 0, so there is nothing to make up a part of.",
    highest_means="In some class one record makes up the whole total of a column: its mean gives "
    "it away.",
    source="Dominance and p % rules as in Hundepool et al. 2012, applied to the classes of the "
    "release and to absolute "
    "values of the original quasi-identifiers; with weights, a record makes up its weighted value.",
    compute=dominance,
    basis=Basis.CLASSES,
    exact=lambda parts: parts.dominance.figure(weighted=parts.weighted),
    of="record",
    needs="amounts",
)
