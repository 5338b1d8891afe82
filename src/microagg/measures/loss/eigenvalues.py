"""Eigenvalue difference: has the shape of the cloud of records changed?

λ_1 ≥ λ_2 ≥ ... are the eigenvalues of the original's correlation matrix, λ'_1 ≥ λ'_2 ≥ ... those of
the release's. The measure is 100 Σ|λ_j - λ'_j| / Σ max(λ_j, λ'_j): 0 if they are the same, 100 if
the release does not vary at all. The R package sdcMicro (Templ, Kowarik and Meindl 2015) adds up
|λ_j - λ'_j| / λ_j instead, where one eigenvalue near 0 outweighs all others and the figure has no
upper end; so we set the sum of the differences against the sum of what could differ.

`details["covariance"]` is the same of the covariance matrices, both in units of the original's
standard deviations. When records are replaced by group means that one equals IL, for then Σ(λ_j -
λ'_j) is the variance within groups.

A column that is constant in the original is left out; one that only the release holds constant has
correlation 0 with all columns, itself included. With weights the matrices are weighted.
"""

from __future__ import annotations

import numpy as np

from microagg.measures.loss.standardise import WIDE, StandardPair, mean
from microagg.measures.measure import Basis, Figure, Measure, Pair


def eigenvalue_difference(pair: Pair) -> Figure:
    """The relative difference of the eigenvalues, in percent.

    >>> table = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])
    >>> straight = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    >>> round(eigenvalue_difference(Pair(table, straight, ("age", "income"))).value, 6)
    66.666667
    """
    standard = pair.standard
    varying = ~standard.constant
    if int(varying.sum()) > max(len(standard.shares), WIDE):
        return _through_records(standard)
    before, after = (matrix[np.ix_(varying, varying)] for matrix in standard.covariances)
    rounding = standard.rounding[varying]
    value = _difference(_correlations(before, rounding), _correlations(after, rounding))
    return Figure(value, details={"covariance": _difference(before, after)})


def _correlations(covariances: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    deviations = np.sqrt(np.diag(covariances))
    flat = deviations <= rounding
    matrix = covariances / np.where(flat, np.inf, deviations)
    return matrix / np.where(flat, np.inf, deviations)[:, None]


def _difference(before: np.ndarray, after: np.ndarray) -> float:
    if len(before) == 0:
        return 0.0
    first, second = (np.maximum(np.linalg.eigvalsh(matrix), 0.0) for matrix in (before, after))
    return float(100.0 * np.sum(np.abs(first - second)) / np.sum(np.maximum(first, second)))


def _through_records(standard: StandardPair) -> Figure:
    """The same where columns are more than records: A Aᵀ (columns by columns) and AᵀA have the same
    eigenvalues but for 0s.
    """
    varying, shares = ~standard.constant, standard.shares
    covariances, correlations = [], []
    for columns in (standard.before[varying], standard.after[varying]):
        half = (columns - mean(columns, shares)[:, None]) * np.sqrt(shares)
        deviations = np.sqrt(np.sum(half**2, axis=1))
        flat = deviations <= standard.rounding[varying]
        covariances.append(_gram(half))
        correlations.append(_gram(half / np.where(flat, np.inf, deviations)[:, None]))
    return Figure(_difference(*correlations), details={"covariance": _difference(*covariances)})


def _gram(half: np.ndarray) -> np.ndarray:
    return np.einsum("ji,jk->ik", half, half)


EIGENVALUES = Measure(
    name="eigenvalues",
    title="eigenvalue difference",
    side="loss",
    unit="percent",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="The principal components of the release explain what those of the original "
    "explain.",
    highest_means="The release no longer varies at all.",
    source="After the eigen measure of sdcMicro (Templ, Kowarik and Meindl 2015), as Σ|λ - λ'| "
    "/ Σ max(λ, λ') on correlations.",
    compute=eigenvalue_difference,
    basis=Basis.SAMPLE,
    needs="numbers",
)
