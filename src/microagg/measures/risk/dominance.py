"""Dominance: classes in which one record makes up most of a column's total, so that the released
mean tells its value.
"""

from __future__ import annotations

import numpy as np

from microagg.measures.measure import Figure, Measure, Pair
from microagg.measures.risk.classes import ReleasedClasses
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM

THRESHOLD = 50.0
P = 10.0
DOMINANT = 75.0
"""From this part of a group's total on, in percent, one record is told about, measured or not: the
(n, k) rule with n = 1.
"""


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
    classes = pair.classes
    exceeding, failing = np.zeros(len(classes), bool), np.zeros(len(classes), bool)
    columns: dict[str, float] = {}
    for name in amounts_of(pair):
        column = _amounts(pair, name)
        parts = np.abs(column) if pair.weights is None else np.abs(column) * pair.weights
        total, largest, second = _totals(parts, classes)
        share = 100.0 * np.divide(largest, total, out=np.zeros(len(classes)), where=total > 0.0)
        exceeding |= share > threshold
        failing |= total - largest - second < largest * (p / 100.0)
        columns[name] = float(share.max(initial=0.0))
    details = {
        f"classes over {threshold:g} %": float(exceeding.sum()),
        f"classes failing the {p:g} % rule": float(failing.sum()),
    }
    if pair.weights is not None:
        total, largest, _ = _totals(pair.weights, classes)
        details["classes in which one record has over half of the weight"] = float(
            (2 * largest > total).sum()
        )
    return Figure(max(columns.values()), columns, details)


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
    total, largest, second = _totals(np.abs(column), groups)
    found = largest > total * (share / 100.0)
    found |= (groups.sizes > 2) & (total - largest - second < largest * (p / 100.0))
    return int(found.sum())


def is_indicator(column: np.ndarray) -> bool:
    """Return whether all values are 0 or 1: their total is a count, of which no record makes up the
    most.

    >>> is_indicator(np.array([0.0, 1.0, 1.0])), is_indicator(np.array([0.0, 9.0]))
    (True, False)
    """
    return bool(((column == 0.0) | (column == 1.0)).all())


def _totals(
    parts: np.ndarray, classes: ReleasedClasses
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each class the sum, the largest and the second largest; 0 where there is no second."""
    ordered, begins = parts[classes.order], classes.starts[:-1]
    largest = np.maximum.reduceat(ordered, begins)
    # without one record that is the largest, the second largest is
    places = np.flatnonzero(ordered == np.repeat(largest, classes.sizes))
    owners = classes.labels[classes.order[places]]
    ordered[places[np.flatnonzero(np.diff(owners, prepend=-1))]] = 0.0
    second = np.maximum.reduceat(ordered, begins)
    return np.bincount(classes.labels, parts, len(classes)), largest, second


DOMINANCE = Measure(
    name="dominance",
    title="largest part of a class's total that one record makes up",
    side="risk",
    unit="percent of the total",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="All original values are 0, so there is nothing to make up a part of.",
    highest_means="In some class one record makes up the whole total of a column: its mean gives it "
    "away.",
    source="Dominance and p % rules as in Hundepool et al. 2012, applied to the classes of the "
    "release and to absolute "
    "values of the original quasi-identifiers; with weights, a record makes up its weighted value.",
    compute=dominance,
    of="record",
    needs="amounts",
)
