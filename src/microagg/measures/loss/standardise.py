"""What most measures of loss start from: both tables in units of the original's standard deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microagg.measures.measure import Pair

NEGLIGIBLE = 1e-9
"""A difference of less than this many standard deviations is rounding, not loss."""

WIDE = 64
"""Columns; with more, measures go through the smaller side (the records, where they are fewer): same figures but for rounding."""

_ROUNDINGS = 16.0 * np.finfo(np.float64).eps  # of a mean of equal numbers, relative to their size
_UNCHANGED = 1e-12  # the same for a constant column, where no other value is near enough to be taken for it


@dataclass(frozen=True)
class StandardPair:
    """A pair column by column: the original's (weighted) mean became 0 and its population standard deviation 1.

    A constant column is all 0 before, and after in its own unit: by how much the release has changed it.
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


def standardise(pair: Pair) -> StandardPair:
    """Both tables in the original's units, each record counted by its weight.

    >>> pair = Pair(np.array([[0.0], [2.0]]), np.array([[1.0], [1.0]]), ("age",))
    >>> standardise(pair).before.tolist(), standardise(pair).after.tolist()
    ([[-1.0, 1.0]], [[0.0, 0.0]])
    """
    columns = np.ascontiguousarray(pair.original.T, np.float64)
    weights = np.ones(columns.shape[1]) if pair.weights is None else np.asarray(pair.weights, np.float64)
    shares = weights / weights.sum()
    low, spread = columns.min(axis=1), np.ptp(columns, axis=1)
    constant = spread == 0.0
    # squares of very small or very large numbers leave the range of float64: first to 0..1, then to mean 0 and deviation 1
    unit = np.where(constant, 1.0, spread)[:, None]
    before = (columns - low[:, None]) / unit
    after = (np.ascontiguousarray(pair.released.T, np.float64) - low[:, None]) / unit
    centre = mean(before, shares)[:, None]
    deviation = np.where(constant, 1.0, np.sqrt(mean((before - centre) ** 2, shares)))[:, None]
    before, after = (before - centre) / deviation, (after - centre) / deviation
    largest = np.abs(columns).max(axis=1)
    rounding = np.maximum(NEGLIGIBLE, _ROUNDINGS * largest / (unit * deviation)[:, 0])
    rounding[constant] = _UNCHANGED * largest[constant]
    after[constant[:, None] & (np.abs(after) <= rounding[:, None])] = 0.0
    return StandardPair(before, after, shares, float(1.0 / np.sum(shares**2)), constant, rounding)


def mean(values: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The weighted mean along the last axis. Not a matrix product: that adds in another order with more threads.

    >>> float(mean(np.array([1.0, 4.0]), np.array([0.75, 0.25])))
    1.75
    """
    return np.sum(values * shares, axis=-1)


def covariance(columns: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """(d, d): the population covariances of the rows of `columns`.

    >>> covariance(np.array([[0.0, 2.0], [3.0, 1.0]]), np.array([0.5, 0.5])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    centred = columns - mean(columns, shares)[:, None]
    matrix = np.empty((len(columns), len(columns)))
    for j in range(len(columns)):
        matrix[j, : j + 1] = matrix[: j + 1, j] = mean(centred[: j + 1] * centred[j], shares)
    return matrix
