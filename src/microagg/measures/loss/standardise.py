"""Standardised tables: both in units of the original's standard deviations, as most measures of
loss need them.

Everything goes column by column: at a million records each further copy of a table would be felt.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from microagg.measures.measure import Pair

NEGLIGIBLE = 1e-9
"""A difference of less than this many standard deviations is rounding, not loss."""

WIDE = 64
"""Columns; with more, measures go through the smaller side (the records, where they are fewer):
same figures but for rounding.
"""

# numbers that are worked on at once; more of them column by column, for want of room
AT_ONCE = 1 << 20
NEAR = 1 << 16  # numbers that a processor keeps near at hand

_ROUNDINGS = 16.0 * np.finfo(np.float64).eps  # of a mean of equal numbers, relative to their size
# the same for a constant column, where no other value is near enough to be taken for it
_UNCHANGED = 1e-12


@dataclass(frozen=True)
class StandardPair:
    """A pair column by column: the original's (weighted) mean became 0 and its population standard
    deviation 1.

    A constant column is all 0 before, and after in its own unit: by how much the release has
    changed it.
    """

    before: np.ndarray
    """(d, n): a row for each column of the original"""
    after: np.ndarray
    """(d, n): the same of the release"""
    shares: np.ndarray
    """(n,): the weights, divided by their sum"""
    size: float
    """The number of records; with weights (Σw)²/Σw², Kish's effective number."""
    constant: np.ndarray
    """(d,): which columns of the original are constant"""
    rounding: np.ndarray
    """(d,): differences up to this are rounding, given the size of the column's numbers"""

    @functools.cached_property
    def covariances(self) -> tuple[np.ndarray, np.ndarray]:
        """(d, d) before and (d, d) after."""
        return covariance(self.before, self.shares), covariance(self.after, self.shares)


def standardise(pair: Pair) -> StandardPair:
    """Both tables in the original's units, each record counted by its weight; measures ask for
    `pair.standard`.

    >>> from microagg.measures.measure import Pair
    >>> pair = Pair(np.array([[0.0], [2.0]]), np.array([[1.0], [1.0]]), ("age",))
    >>> standardise(pair).before.tolist(), standardise(pair).after.tolist()
    ([[-1.0, 1.0]], [[0.0, 0.0]])
    """
    n, d = pair.original.shape
    weights = np.ones(n) if pair.weights is None else np.asarray(pair.weights, np.float64)
    shares = weights / weights.sum()
    before, after = np.empty((d, n)), np.empty((d, n))
    constant, rounding = np.empty(d, bool), np.empty(d)
    for j in range(d):
        before[j], after[j] = pair.original[:, j], pair.released[:, j]
        constant[j], rounding[j] = _standardise_column(before[j], after[j], shares)
    return StandardPair(before, after, shares, float(1.0 / np.sum(shares**2)), constant, rounding)


def _standardise_column(
    before: np.ndarray, after: np.ndarray, shares: np.ndarray
) -> tuple[bool, float]:
    """Bring a column into the original's units, in place; whether it is constant, and what is
    rounding in it.
    """
    low, high = before.min(), before.max()
    largest = max(abs(low), abs(high))
    constant = bool(high - low == 0.0)
    # squares of very small or very large numbers leave the range of float64: first to 0..1, then to
    # mean 0 and deviation 1
    unit = 1.0 if constant else high - low
    for column in (before, after):
        column -= low
        column /= unit
    centre = mean(before, shares)
    before -= centre
    after -= centre
    deviation = 1.0 if constant else np.sqrt(mean(before**2, shares))
    before /= deviation
    after /= deviation
    if not constant:
        return constant, max(NEGLIGIBLE, _ROUNDINGS * largest / (unit * deviation))
    rounding = _UNCHANGED * largest
    after[np.abs(after) <= rounding] = 0.0
    return constant, rounding


def mean(values: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The weighted mean along the last axis. Not a matrix product: that adds in another order with
    more threads.

    >>> float(mean(np.array([1.0, 4.0]), np.array([0.75, 0.25])))
    1.75
    """
    if values.ndim == 1 or values.size <= AT_ONCE:
        return np.sum(values * shares, axis=-1)
    return np.array([np.sum(row * shares) for row in values])


def is_wide(columns: np.ndarray) -> bool:
    """Return True if pairs of the rows of `columns` are computed faster record by record: there are
    many rows, and fewer records.
    """
    d, n = columns.shape
    return d > WIDE and n < d


def mean_products(left: np.ndarray, right: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """(d, d): the weighted mean of the products of each row of `left` with each row of `right`,
    for few records.

    Record by record, for some rows at a time so that what is added to stays near at hand. `left`
    and `right` can change places without a change in the last digit.

    >>> mean_products(np.array([[0.0, 2.0], [3.0, 1.0]]), np.array([[1.0, 1.0], [0.0, 4.0]]),
    ...     np.array([0.5, 0.5])).tolist()
    [[1.0, 4.0], [2.0, 2.0]]
    """
    products = np.zeros((len(left), len(right)))
    step = max(1, NEAR // len(right))
    room = np.empty((step, len(right)))
    records = np.ascontiguousarray(right.T)
    for first in range(0, len(left), step):
        part = products[first : first + step]
        product = room[: len(part)]
        columns = left[first : first + step].T
        for record, share, column in zip(records, shares, columns, strict=True):
            np.multiply(column[:, None], record, out=product)
            product *= share
            part += product
    return products


def covariance(columns: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """(d, d): the population covariances of the rows of `columns`.

    >>> covariance(np.array([[0.0, 2.0], [3.0, 1.0]]), np.array([0.5, 0.5])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    means = mean(columns, shares)
    if is_wide(columns):
        about = columns - means[:, None]
        return mean_products(about, about, shares)
    matrix = np.empty((len(columns), len(columns)))
    if columns.size <= AT_ONCE:
        about = columns - means[:, None]
        for j in range(len(columns)):
            matrix[j, : j + 1] = matrix[: j + 1, j] = mean(about[: j + 1] * about[j], shares)
        return matrix
    for j in range(len(columns)):
        centred = columns[j] - means[j]
        for i in range(j + 1):
            product = columns[i] - means[i]
            product *= centred
            matrix[i, j] = matrix[j, i] = mean(product, shares)
    return matrix
