"""Counts of confidential values by class, used by guarantees and measures alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from microagg.table.confidential import numbered


class Tally(NamedTuple):
    """Counts of the values of a confidential column, in each class and in the whole table.

    Entries are sorted by class, then by value. With weights, counts are sums of weights. Special
    codes and missing values are "atoms".
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
    n_values: int
    """How many of the values are such: all from there on are atoms, missing or special codes."""
    of_part: bool = False
    """Whether these are some classes only of the table that `overall` counts."""

    @property
    def atoms(self) -> int:
        """Return the number of different atoms."""
        return len(self.overall) - self.n_values

    @property
    def distinct(self) -> np.ndarray:
        """Count the different values and atoms of each class."""
        return np.diff(np.append(self.starts, len(self.classes)))

    @property
    def shares(self) -> np.ndarray:
        """Return the share of each entry in its class."""
        return self.amounts / self.sizes[self.classes]


def tally(
    column: np.ndarray,
    labels: np.ndarray,
    classes: int,
    weights: np.ndarray | None = None,
    atoms: np.ndarray | None = None,
) -> Tally:
    """Count the values of a column by class, 0 to classes - 1. O(n log n) time, O(n) memory.

    `atoms` holds the atom of each record, or -1 for an ordinary value (see `table/variable.py`).
    NaN is always an atom.

    >>> tally(np.array([7.0, 9.0, 9.0]), np.array([1, 0, 0]), 2).amounts.tolist()
    [2.0, 1.0]
    """
    codes, n_values = numbered(column, atoms)
    values = int(codes.max(initial=-1)) + 1
    return _counted(codes, values, n_values, labels, classes, weights)


def tally_of_part(
    codes: np.ndarray, labels: np.ndarray, classes: int, overall: np.ndarray, n_values: int
) -> Tally:
    """The same for some classes of a table of which it is known how often each number of a value
    occurs in all of it.

    >>> tally_of_part(
    ...     np.array([2, 2]), np.array([0, 0]), 1, np.array([5, 1, 2]), 3
    ... ).overall.tolist()
    [5.0, 1.0, 2.0]
    """
    counts = _counted(codes.astype(np.int64), len(overall), n_values, labels, classes)
    return counts._replace(overall=overall.astype(np.float64), of_part=True)


def _counted(
    codes: np.ndarray,
    values: int,
    n_values: int,
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
        n_values,
    )


def over_known(counts: Tally, compute: Callable[[Tally], np.ndarray], nothing: float) -> np.ndarray:
    """Compute a statistic of each class over its ordinary values only; `nothing` for a class
    without any.

    >>> found = tally(np.array([7.0, np.nan, np.nan]), np.array([0, 0, 1]), 2)
    >>> over_known(found, lambda part: part.distinct, 0.0).tolist()
    [1.0, 0.0]
    """
    if counts.atoms == 0:
        return compute(counts).astype(np.float64)
    results = np.full(len(counts.sizes), nothing)
    proper = counts.values < counts.n_values
    present, classes = np.unique(counts.classes[proper], return_inverse=True)
    if len(present):
        part = _counted(
            counts.values[proper],
            counts.n_values,
            counts.n_values,
            classes,
            len(present),
            counts.amounts[proper],
        )
        results[present] = compute(part._replace(overall=counts.overall[: counts.n_values]))
    return results


def entropies(counts: Tally) -> np.ndarray:
    """The entropy of the values in each class, in natural units.

    >>> entropies(tally(np.array([1, 1]), np.array([0, 0]), 1)).tolist()
    [0.0]
    """
    return np.add.reduceat(-counts.shares * np.log(counts.shares), counts.starts) + 0.0


def tops_and_tails(counts: Tally, l: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each class, the count of the most frequent value and of the l-th most frequent
    and all rarer ones.

    >>> column, labels = np.array([1, 1, 1, 2, 2, 3]), np.zeros(6, int)
    >>> [part.tolist() for part in tops_and_tails(tally(column, labels, 1), 2)]
    [[3.0], [3.0]]
    """
    order = np.lexsort((-counts.amounts, counts.classes))
    ranks = np.arange(len(order)) - counts.starts[counts.classes]
    amounts = counts.amounts[order]
    return amounts[counts.starts], np.add.reduceat(
        np.where(ranks >= l - 1, amounts, 0.0), counts.starts
    )


def distances(counts: Tally, *, nominal: bool) -> np.ndarray:
    """The distance of each class from the table as t-closeness has it (see `guarantees/t.py`), not
    above 1.

    >>> found = tally(np.array([1.0, 2.0, np.nan, np.nan]), np.array([0, 0, 1, 1]), 2)
    >>> distances(found, nominal=False).tolist()
    [0.5, 0.5]
    """
    if nominal:
        apart = nominal_distances(counts)
    else:
        apart = distances_with_atoms(counts) if counts.atoms else ordered_distances(counts)
    return np.clip(apart, 0.0, 1.0)


def distances_with_atoms(counts: Tally) -> np.ndarray:
    """The total variation over {each atom, a value}, and the ordered distance of the values
    times their share.

    The share is the one in the class, or, if there is one atom only, the one in the table if that
    is smaller.

    >>> distances_with_atoms(
    ...     tally(np.array([1.0, 2.0, np.nan, 3.0]), np.array([0, 0, 1, 1]), 2)
    ... ).tolist()
    [0.4375, 0.5]
    """
    sorts = np.maximum(counts.values - counts.n_values + 1, 0)  # 0 for values
    coarse = _counted(
        sorts, counts.atoms + 1, counts.atoms + 1, counts.classes, len(counts.sizes), counts.amounts
    )
    if counts.of_part:
        values, atoms = np.split(counts.overall, [counts.n_values])
        coarse = coarse._replace(overall=np.append(values.sum(), atoms))
    proper = np.bincount(
        counts.classes, np.where(sorts == 0, counts.amounts, 0.0), len(counts.sizes)
    )
    shares = proper / counts.sizes
    if counts.atoms == 1:
        shares = np.minimum(shares, coarse.overall[0] / coarse.overall.sum())
    return nominal_distances(coarse) + shares * over_known(counts, ordered_distances, 0.0)


def nominal_distances(counts: Tally) -> np.ndarray:
    """The earth mover's distance of each class from the table, all values being equally far apart.

    It is what the shares in the class exceed those in the table by: as much as they fall short
    elsewhere.

    >>> nominal_distances(tally(np.array([1, 1, 2, 2]), np.array([0, 0, 1, 1]), 2)).tolist()
    [0.5, 0.5]
    """
    excess = np.maximum(counts.shares - (counts.overall / counts.overall.sum())[counts.values], 0.0)
    return np.add.reduceat(excess, counts.starts)


def ordered_distances(counts: Tally) -> np.ndarray:
    """Compute the earth mover's distance of each class from the table, by the ranks of the values.

    It is the sum over the values of |cumulative share in the class - in the table|, divided by the
    number of values less one. Between two values of a class, the class's cumulative share is
    constant and the table's rises. The sum over such a range takes two look-ups in running sums,
    before and after the table overtakes.

    >>> ordered_distances(tally(np.array([1, 2, 3, 4]), np.array([0, 1, 1, 0]), 2)).round(
    ...     6
    ... ).tolist()
    [0.166667, 0.166667]
    """
    m = len(counts.overall)
    if m == 1:
        return np.zeros(len(counts.sizes))
    table = np.cumsum(counts.overall)
    running = np.append(0.0, np.cumsum(table))  # exact for counts, as they are whole numbers
    total = table[-1]

    before = np.cumsum(counts.amounts) - counts.amounts
    here = before + counts.amounts - before[counts.starts][counts.classes]
    level = here / counts.sizes[counts.classes]
    begin, end = counts.values, np.append(counts.values[1:], m)
    end[np.append(counts.starts[1:], len(counts.values)) - 1] = m
    cross = np.clip(np.searchsorted(table / total, level), begin, end)
    above = level * (cross - begin) - (running[cross] - running[begin]) / total
    below = (running[end] - running[cross]) / total - level * (end - cross)
    first = counts.values[counts.starts]  # up to a class's first value its own share is 0
    return (np.add.reduceat(above + below, counts.starts) + running[first] / total) / (m - 1)
