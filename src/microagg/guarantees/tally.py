"""Counting confidential values by class: what l-diversity and t-closeness, guarantees and measures alike, go by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Tally(NamedTuple):
    """How often the values of a confidential column occur: in each class that has them, and in the whole table.

    Entries are sorted by class, then by value. With weights, occurrences are sums of weights.
    """

    classes: np.ndarray
    """(entries,): the class"""
    values: np.ndarray
    """(entries,): the number of the value, in ascending order of the values"""
    amounts: np.ndarray
    """(entries,): how often it occurs there"""
    starts: np.ndarray
    """(classes,): the first entry of each class"""
    sizes: np.ndarray
    """(classes,): all occurrences in a class"""
    overall: np.ndarray
    """(values,): the occurrences of each value in the table"""

    @property
    def distinct(self) -> np.ndarray:
        """How many different values each class has."""
        return np.diff(np.append(self.starts, len(self.classes)))

    @property
    def shares(self) -> np.ndarray:
        """The share of each entry in its class."""
        return self.amounts / self.sizes[self.classes]


def tally(column: np.ndarray, labels: np.ndarray, classes: int, weights: np.ndarray | None = None) -> Tally:
    """Count the values of a column by class, 0 to classes - 1. O(n log n) time, O(n) memory.

    >>> tally(np.array([7.0, 9.0, 9.0]), np.array([1, 0, 0]), 2).amounts.tolist()
    [2.0, 1.0]
    """
    values, codes = np.unique(column, return_inverse=True)
    pairs, which = np.unique(labels.astype(np.int64) * len(values) + codes, return_inverse=True)
    holders = pairs // len(values)
    return Tally(
        holders,
        pairs % len(values),
        np.bincount(which, weights, len(pairs)).astype(np.float64),
        np.searchsorted(holders, np.arange(classes)),
        np.bincount(labels, weights, classes).astype(np.float64),
        np.bincount(codes, weights, len(values)).astype(np.float64),
    )


def entropies(found: Tally) -> np.ndarray:
    """The entropy of the values in each class, in natural units.

    >>> entropies(tally(np.array([1, 1]), np.array([0, 0]), 1)).tolist()
    [0.0]
    """
    return np.add.reduceat(-found.shares * np.log(found.shares), found.starts) + 0.0


def tops_and_tails(found: Tally, l: int) -> tuple[np.ndarray, np.ndarray]:
    """How often the most frequent value of each class occurs, and all from the l-th most frequent one on.

    >>> column, labels = np.array([1, 1, 1, 2, 2, 3]), np.zeros(6, int)
    >>> [part.tolist() for part in tops_and_tails(tally(column, labels, 1), 2)]
    [[3.0], [3.0]]
    """
    order = np.lexsort((-found.amounts, found.classes))
    ranks = np.arange(len(order)) - found.starts[found.classes]
    amounts = found.amounts[order]
    return amounts[found.starts], np.add.reduceat(np.where(ranks >= l - 1, amounts, 0.0), found.starts)


def nominal_distances(found: Tally) -> np.ndarray:
    """The earth mover's distance of each class from the table, all values being equally far apart.

    It is what the shares in the class exceed those in the table by: as much as they fall short elsewhere.

    >>> nominal_distances(tally(np.array([1, 1, 2, 2]), np.array([0, 0, 1, 1]), 2)).tolist()
    [0.5, 0.5]
    """
    excess = np.maximum(found.shares - (found.overall / found.overall.sum())[found.values], 0.0)
    return np.add.reduceat(excess, found.starts)


def ordered_distances(found: Tally) -> np.ndarray:
    """The earth mover's distance of each class from the table, values being as far apart as their places.

    It is the sum over the values of |cumulative share in the class - in the table|, divided by their number less one.
    Between two values that a class has, its own cumulative share stands still and the table's rises. So what lies
    between them is summed by two looks into running sums, before and after the point where the table overtakes.

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
