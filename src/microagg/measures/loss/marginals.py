"""Distances between the distributions of single columns: Kolmogorov-Smirnov and Wasserstein.

F_j and F'_j are the (weighted) shares of records up to a value in column j of the original and of
the release.

    Kolmogorov-Smirnov   max |F_j - F'_j|           0 to 1
    Wasserstein          ∫ |F_j - F'_j| dx / σ_j    in population standard deviations

The figure is the mean over columns, `details["largest"]` the largest column's. Values closer than
1e-9 standard deviations, or than rounding of numbers of that size allows to tell apart, count as
equal: a mean of equal numbers may miss them by a last digit, and must not look like another value.
A constant column has σ_j = 1.
"""

from __future__ import annotations

import numpy as np

from microagg.measures.loss.standardise import StandardPair
from microagg.measures.measure import Basis, Figure, Measure, Pair

_EQUAL_SHARES = 1e-12  # what rounding leaves of a difference of shares that are equal


def kolmogorov_smirnov(pair: Pair) -> Figure:
    """Compute the largest difference of the distribution functions.

    >>> pair = Pair(np.array([[0.0], [1.0], [5.0]]), np.array([[2.0], [2.0], [2.0]]), ("age",))
    >>> round(kolmogorov_smirnov(pair).value, 6)
    0.666667
    """
    return _figure([highest for highest, _ in pair.once(_distances)], pair.names)


def wasserstein(pair: Pair) -> Figure:
    """Compute the mean distance that values move to turn one distribution into the other, in
    standard deviations.

    >>> pair = Pair(np.array([[0.0], [2.0]]), np.array([[1.0], [1.0]]), ("age",))
    >>> wasserstein(pair).value
    1.0
    """
    return _figure([area for _, area in pair.once(_distances)], pair.names)


def _distances(pair: Pair) -> list[tuple[float, float]]:
    """Return the largest difference of the distribution functions of each column, and the area
    between them.
    """
    standard, distances = pair.standard, []
    for j in range(len(pair.names)):
        gaps, heights = _differences(standard, j)
        highest = float(np.max(heights, where=gaps > standard.rounding[j], initial=0.0))
        distances.append((highest, float(np.sum(gaps * heights))))
    return distances


def _differences(standard: StandardPair, j: int) -> tuple[np.ndarray, np.ndarray]:
    """The gaps between the values of both tables in ascending order, and |F - F'| in each."""
    values = np.concatenate([standard.before[j], standard.after[j]])
    order = np.argsort(values, kind="stable")
    heights = np.abs(np.cumsum(np.concatenate([standard.shares, -standard.shares])[order]))[:-1]
    heights[heights < _EQUAL_SHARES] = 0.0
    return np.diff(values[order]), heights


def _figure(distances: list[float], names: tuple[str, ...]) -> Figure:
    by_column = dict(zip(names, distances, strict=True))
    return Figure(float(np.mean(distances)), by_column, {"largest": max(distances)})


KOLMOGOROV_SMIRNOV = Measure(
    name="kolmogorov-smirnov",
    title="Kolmogorov-Smirnov distance of the columns",
    side="loss",
    unit="share of records, mean over columns",
    lower_is_better=True,
    lowest=0.0,
    highest=1.0,
    zero_means="Each column holds the same values as before, equally often.",
    highest_means="Each column's released values lie all above, or all below, the original ones.",
    source="Kolmogorov 1933, Smirnov 1948; weighted shares, values equal up to rounding count "
    "as equal.",
    compute=kolmogorov_smirnov,
    basis=Basis.SAMPLE,
    needs="numbers",
)

WASSERSTEIN = Measure(
    name="wasserstein",
    title="Wasserstein distance of the columns",
    side="loss",
    unit="standard deviations, mean over columns",
    lower_is_better=True,
    lowest=0.0,
    highest=float("inf"),
    zero_means="Each column holds the same values as before, equally often.",
    highest_means="There is no end; all records at the column means give at most 1.",
    source="Wasserstein-1 (Vaserstein 1969), divided by the original column's standard deviation.",
    compute=wasserstein,
    basis=Basis.SAMPLE,
    needs="numbers",
)
