"""Counting confidential values by class: what l-diversity and t-closeness, guarantees and measures
alike, go by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from microagg.table.confidential import numbered


class Tally(NamedTuple):
    """How often the values of a confidential column occur: in each class that has them, and in the
    whole table.

    Entries are sorted by class, then by value. With weights, occurrences are sums of weights.
    """

    classes: np.ndarray
    """(entries,): the class"""
    values: np.ndarray
    """(entries,): the number of the value, in ascending order of the values; atoms come behind them
    """
    amounts: np.ndarray
    """(entries,): how often it occurs there"""
    starts: np.ndarray
    """(classes,): the first entry of each class"""
    sizes: np.ndarray
    """(classes,): all occurrences in a class"""
    overall: np.ndarray
    """(values,): the occurrences of each value in the table"""
    known: int
    """How many of the values are such: all from there on are atoms, missing or special codes."""
    of_part: bool = False
    """Whether these are some classes only of the table that `overall` counts."""

    @property
    def atoms(self) -> int:
        """How many different atoms there are."""
        return len(self.overall) - self.known

    @property
    def distinct(self) -> np.ndarray:
        """How many different values and atoms each class has."""
        return np.diff(np.append(self.starts, len(self.classes)))

    @property
    def shares(self) -> np.ndarray:
        """The share of each entry in its class."""
        return self.amounts / self.sizes[self.classes]


def tally(
    column: np.ndarray,
    labels: np.ndarray,
    classes: int,
    weights: np.ndarray | None = None,
    atoms: np.ndarray | None = None,
) -> Tally:
    """Count the values of a column by class, 0 to classes - 1. O(n log n) time, O(n) memory.

    `atoms` tells which records have which atom instead of a value, -1 for none (see
    `table/variable.py`); NaN is one in any case.

    >>> tally(np.array([7.0, 9.0, 9.0]), np.array([1, 0, 0]), 2).amounts.tolist()
    [2.0, 1.0]
    """
    codes, known = numbered(column, atoms)
    values = int(codes.max(initial=-1)) + 1
    return _counted(codes, values, known, labels, classes, weights)


def tally_of_part(
    codes: np.ndarray, labels: np.ndarray, classes: int, overall: np.ndarray, known: int
) -> Tally:
    """The same for some classes of a table of which it is known how often each number of a value
    occurs in all of it.

    >>> tally_of_part(np.array([2, 2]), np.array([0, 0]), 1, np.array([5, 1, 2]), 3).overall.tolist()
    [5.0, 1.0, 2.0]
    """
    found = _counted(codes.astype(np.int64), len(overall), known, labels, classes)
    return found._replace(overall=overall.astype(np.float64), of_part=True)


def _counted(
    codes: np.ndarray,
    values: int,
    known: int,
    labels: np.ndarray,
    classes: int,
    weights: np.ndarray | None = None,
) -> Tally:
    pairs, which = np.unique(labels.astype(np.int64) * values + codes, return_inverse=True)
    holders = pairs // values
    return Tally(
        holders,
        pairs % values,
        np.bincount(which, weights, len(pairs)).astype(np.float64),
        np.searchsorted(holders, np.arange(classes)),
        np.bincount(labels, weights, classes).astype(np.float64),
        np.bincount(codes, weights, values).astype(np.float64),
        known,
    )


def over_known(found: Tally, compute: Callable[[Tally], np.ndarray], nothing: float) -> np.ndarray:
    """What `compute` finds for each class if only values count, no atoms; `nothing` for a class
    that has none.

    >>> found = tally(np.array([7.0, np.nan, np.nan]), np.array([0, 0, 1]), 2)
    >>> over_known(found, lambda part: part.distinct, 0.0).tolist()
    [1.0, 0.0]
    """
    if found.atoms == 0:
        return compute(found).astype(np.float64)
    results = np.full(len(found.sizes), nothing)
    told = found.values < found.known
    present, classes = np.unique(found.classes[told], return_inverse=True)
    if len(present):
        part = _counted(
            found.values[told], found.known, found.known, classes, len(present), found.amounts[told]
        )
        results[present] = compute(part._replace(overall=found.overall[: found.known]))
    return results


def entropies(found: Tally) -> np.ndarray:
    """The entropy of the values in each class, in natural units.

    >>> entropies(tally(np.array([1, 1]), np.array([0, 0]), 1)).tolist()
    [0.0]
    """
    return np.add.reduceat(-found.shares * np.log(found.shares), found.starts) + 0.0


def tops_and_tails(found: Tally, l: int) -> tuple[np.ndarray, np.ndarray]:
    """How often the most frequent value of each class occurs, and all from the l-th most frequent
    one on.

    >>> column, labels = np.array([1, 1, 1, 2, 2, 3]), np.zeros(6, int)
    >>> [part.tolist() for part in tops_and_tails(tally(column, labels, 1), 2)]
    [[3.0], [3.0]]
    """
    order = np.lexsort((-found.amounts, found.classes))
    ranks = np.arange(len(order)) - found.starts[found.classes]
    amounts = found.amounts[order]
    return amounts[found.starts], np.add.reduceat(
        np.where(ranks >= l - 1, amounts, 0.0), found.starts
    )


def distances(found: Tally, *, nominal: bool) -> np.ndarray:
    """The distance of each class from the table as t-closeness has it (see `guarantees/t.py`), not
    above 1.

    >>> found = tally(np.array([1.0, 2.0, np.nan, np.nan]), np.array([0, 0, 1, 1]), 2)
    >>> distances(found, nominal=False).tolist()
    [0.5, 0.5]
    """
    if nominal:
        apart = nominal_distances(found)
    else:
        apart = distances_with_atoms(found) if found.atoms else ordered_distances(found)
    return np.clip(apart, 0.0, 1.0)


def distances_with_atoms(found: Tally) -> np.ndarray:
    """The total variation over {each atom, a value}, and the ordered distance of the values
    times their share.

    The share is the one in the class, or, if there is one atom only, the one in the table if that
    is smaller.

    >>> distances_with_atoms(tally(np.array([1.0, 2.0, np.nan, 3.0]), np.array([0, 0, 1, 1]), 2)).tolist()
    [0.4375, 0.5]
    """
    sorts = np.maximum(found.values - found.known + 1, 0)  # 0 for values
    coarse = _counted(
        sorts, found.atoms + 1, found.atoms + 1, found.classes, len(found.sizes), found.amounts
    )
    if found.of_part:
        values, atoms = np.split(found.overall, [found.known])
        coarse = coarse._replace(overall=np.append(values.sum(), atoms))
    told = np.bincount(found.classes, np.where(sorts == 0, found.amounts, 0.0), len(found.sizes))
    shares = told / found.sizes
    if found.atoms == 1:
        shares = np.minimum(shares, coarse.overall[0] / coarse.overall.sum())
    return nominal_distances(coarse) + shares * over_known(found, ordered_distances, 0.0)


def nominal_distances(found: Tally) -> np.ndarray:
    """The earth mover's distance of each class from the table, all values being equally far apart.

    It is what the shares in the class exceed those in the table by: as much as they fall short
    elsewhere.

    >>> nominal_distances(tally(np.array([1, 1, 2, 2]), np.array([0, 0, 1, 1]), 2)).tolist()
    [0.5, 0.5]
    """
    excess = np.maximum(found.shares - (found.overall / found.overall.sum())[found.values], 0.0)
    return np.add.reduceat(excess, found.starts)


def ordered_distances(found: Tally) -> np.ndarray:
    """The earth mover's distance of each class from the table, values being as far apart as
    their places.

    It is the sum over the values of |cumulative share in the class - in the table|, divided by
    their number less one. Between two values that a class has, its own cumulative share stands
    still and the table's rises. So what lies between them is summed by two looks into running sums,
    before and after the point where the table overtakes.

    >>> ordered_distances(tally(np.array([1, 2, 3, 4]), np.array([0, 1, 1, 0]), 2)).round(6).tolist()
    [0.166667, 0.166667]
    """
    m = len(found.overall)
    if m == 1:
        return np.zeros(len(found.sizes))
    table = np.cumsum(found.overall)
    running = np.append(0.0, np.cumsum(table))  # exact for counts, as they are whole numbers
    total = table[-1]

    before = np.cumsum(found.amounts) - found.amounts
    here = before + found.amounts - before[found.starts][found.classes]
    level = here / found.sizes[found.classes]
    begin, end = found.values, np.append(found.values[1:], m)
    end[np.append(found.starts[1:], len(found.values)) - 1] = m
    cross = np.clip(np.searchsorted(table / total, level), begin, end)
    above = level * (cross - begin) - (running[cross] - running[begin]) / total
    below = (running[end] - running[cross]) / total - level * (end - cross)
    first = found.values[found.starts]  # up to a class's first value its own share is 0
    return (np.add.reduceat(above + below, found.starts) + running[first] / total) / (m - 1)
