"""The five probabilistic measures: could the release's statistics be those of a sample from the
original?

Source: Mateo-Sanz, Domingo-Ferrer and Sebé 2005, "Probabilistic information loss measures in
confidentiality protection of continuous microdata" (Data Mining and Knowledge Discovery 11). The
original is taken for the population and the release for a sample of n records from it. For a
statistic that is θ in the original and θ' in the release, Z = (θ' - θ) / √Var is then nearly N(0,
1), and PIL = 100 · 2 P(0 ≤ Z ≤ |θ' - θ| / √Var): 0 if it is the same, near 100 if sampling could
hardly explain it.

Our reading, with μ_rs the central moment of orders r and s of two columns of the ORIGINAL
(population moments, divided by n):

    means         Var = μ_2 / n
    variances     Var = (μ_4 - μ_2²) / n
    covariances   Var = (μ_22 - μ_11²) / n
    correlations  Var = ρ²/n · [μ_22/μ_11² + (μ_40/μ_20² + μ_04/μ_02² + 2 μ_22/(μ_20 μ_02))/4
                                - (μ_31/μ_20 + μ_13/μ_02)/μ_11]
    quantiles     Var = q (1 - q) / (n f(Q_q)²) for q = 5 %, 10 %, ..., 95 %

Q_q is the smallest value whose share of records up to it is at least q; f a Gaussian kernel
estimate from the original with Silverman's width 0.9 min(σ, IQR/1.34) n^(-1/5) (σ alone where the
quartiles coincide). A measure is the plain mean over its statistics: columns, pairs of different
columns, or columns and quantiles; per column it is the mean over those it is part of.

With weights all moments, shares and the density are weighted and n is Kish's effective number
(Σw)²/Σw².

Where Var is 0 (a constant column; perfect correlation), any difference beyond rounding counts 100.
A correlation that the original does not have (a constant column) is left out; one that only the
release no longer has counts 100. Without a pair of columns, covariances and correlations lose 0.
Means are what microaggregation keeps: all records at the mean lose 0 there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from microagg.measures.loss.standardise import (
    NEAR,
    NEGLIGIBLE,
    StandardPair,
    is_wide,
    mean,
    mean_products,
)
from microagg.measures.measure import Basis, Figure, Measure, Pair

QUANTILES = np.arange(5, 100, 5) / 100.0

TOGETHER = 1 << 20  # numbers worked on at once

_NO_VARIANCE = 1e-12  # of a statistic of standardised columns; what is below is rounding
_erf = np.vectorize(math.erf, otypes=[np.float64])


def means_loss(pair: Pair) -> Figure:
    """PIL of the means.

    >>> pair = Pair(np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]]), ("age",))
    >>> round(means_loss(pair).value, 3)
    84.27
    """
    standard = pair.standard
    moved = mean(standard.after, standard.shares) - mean(standard.before, standard.shares)
    losses = _losses(moved, (~standard.constant).astype(float), standard.size, standard.rounding)
    return _figure(losses, pair.names)


def variances_loss(pair: Pair) -> Figure:
    """PIL of the variances.

    >>> pair = Pair(np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [1.0], [1.0]]), ("age",))
    >>> round(variances_loss(pair).value, 3)
    98.569
    """
    standard = pair.standard
    moved, variances = np.empty(len(pair.names)), np.empty(len(pair.names))
    for j, (before, after) in enumerate(zip(standard.before, standard.after, strict=True)):
        squares = _centred(before, standard.shares) ** 2
        second = mean(squares, standard.shares)
        moved[j] = mean(_centred(after, standard.shares) ** 2, standard.shares) - second
        variances[j] = mean(squares**2, standard.shares) - second**2
    losses = _losses(moved, variances, standard.size, 2.0 * standard.rounding)
    return _figure(losses, pair.names)


def covariances_loss(pair: Pair) -> Figure:
    """PIL of the covariances of all pairs of different columns.

    >>> table = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    >>> round(covariances_loss(Pair(table, np.ones((3, 2)), ("age", "income"))).value, 3)
    98.569
    """
    standard = pair.standard
    moved = standard.covariances[1] - standard.covariances[0]
    variances = _variances_of_covariances(standard)
    return _figure_of_pairs(_losses_of_pairs(moved, variances, standard), pair.names)


def correlations_loss(pair: Pair) -> Figure:
    """PIL of the correlations of all pairs of different columns.

    >>> table = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 0.0]])
    >>> round(correlations_loss(Pair(table, table[:, ::-1], ("age", "income"))).value, 3)
    0.0
    >>> round(correlations_loss(Pair(table, table * [1.0, -1.0], ("age", "income"))).value, 3)
    44.802
    """
    standard = pair.standard
    before, after = (_correlations(matrix, standard.rounding) for matrix in standard.covariances)
    variances = _variances_of_correlations(before, standard)
    moved = np.nan_to_num(after) - np.nan_to_num(before)
    losses = _losses_of_pairs(moved, variances, standard)
    losses[np.isnan(after)] = 100.0
    losses[np.isnan(before)] = np.nan
    return _figure_of_pairs(losses, pair.names)


def quantiles_loss(pair: Pair) -> Figure:
    """PIL of the quantiles from 5 % to 95 % in steps of 5.

    >>> table = np.arange(100.0)[:, None]
    >>> round(quantiles_loss(Pair(table, np.sort(table + 1.0), ("age",))).value, 2)
    18.76
    """
    standard = pair.standard
    moved, variances = np.zeros((2, len(pair.names), len(QUANTILES)))
    for j, column in enumerate(standard.before):
        before = _quantiles(column, standard.shares, QUANTILES)
        moved[j] = _quantiles(standard.after[j], standard.shares, QUANTILES) - before
        if not standard.constant[j]:
            density = _density(column, standard.shares, standard.size, before)
            variances[j] = QUANTILES * (1.0 - QUANTILES) / density**2
    losses = _losses(moved, variances, standard.size, standard.rounding[:, None])
    return _figure(losses.mean(axis=1), pair.names)


def _losses(
    moved: np.ndarray, variances: np.ndarray, size: float, rounding: np.ndarray | float
) -> np.ndarray:
    """PIL in percent of statistics that moved by so much and have these variances in a sample of
    one record.
    """
    moved = np.where(np.abs(moved) <= rounding, 0.0, np.abs(moved))
    variable = variances > _NO_VARIANCE
    scores = moved * np.sqrt(size / np.where(variable, variances, 1.0))
    probabilities = (moved > 0.0).astype(float)
    probabilities[variable] = _erf(scores[variable] / math.sqrt(2.0))
    return 100.0 * probabilities


def _centred(columns: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """One column, or several as rows, about their means."""
    return columns - np.asarray(mean(columns, shares))[..., None]


def _pairs(columns: np.ndarray) -> Iterator[tuple[int, slice]]:
    """Every pair of different rows once: a row, and some of those after it, together of a size that
    memory has room for.
    """
    d, n = columns.shape
    step = max(1, TOGETHER // n)
    for i in range(d):
        for first in range(i + 1, d, step):
            yield i, slice(first, min(first + step, d))


def _variances_of_covariances(standard: StandardPair) -> np.ndarray:
    """(d, d), above the diagonal: those of a sample of one record."""
    centred = _centred(standard.before, standard.shares)
    if is_wide(centred):
        return mean_products(centred**2, centred**2, standard.shares) - standard.covariances[0] ** 2
    variances = np.zeros((len(centred), len(centred)))
    for i, later in _pairs(centred):
        product = centred[i] * centred[later]
        variances[i, later] = (
            mean(product**2, standard.shares) - mean(product, standard.shares) ** 2
        )
    return variances


def _variances_of_correlations(rho: np.ndarray, standard: StandardPair) -> np.ndarray:
    """(d, d), above the diagonal: those of a sample of one record."""
    # deviations are 1: μ_20 = μ_02 = 1 and μ_11 = ρ
    centred = _centred(standard.before, standard.shares)
    fourth = mean(centred**4, standard.shares)
    if is_wide(centred):
        mixed = mean_products(centred**2, centred**2, standard.shares)
        skewed = mean_products(centred**3, centred, standard.shares)
        skewed = skewed + skewed.T
        return mixed + rho**2 * (fourth + fourth[:, None] + 2.0 * mixed) / 4.0 - rho * skewed
    variances = np.zeros_like(rho)
    for i, later in _pairs(centred):
        rho_i, product = rho[i, later], centred[i] * centred[later]
        mixed = mean(product**2, standard.shares)
        skewed = mean(product * (centred[i] ** 2 + centred[later] ** 2), standard.shares)
        variances[i, later] = (
            mixed + rho_i**2 * (fourth[i] + fourth[later] + 2.0 * mixed) / 4.0 - rho_i * skewed
        )
    return variances


def _losses_of_pairs(
    moved: np.ndarray, variances: np.ndarray, standard: StandardPair
) -> np.ndarray:
    """(d, d): PIL in percent of statistics of pairs, above the diagonal; 0 elsewhere."""
    losses = np.zeros(moved.shape)
    step = max(1, NEAR // max(1, len(moved)))
    for first in range(0, len(moved), step):
        rows = slice(first, first + step)
        rounding = standard.rounding[rows, None] + standard.rounding[first:]
        of_rows = _losses(moved[rows, first:], variances[rows, first:], standard.size, rounding)
        losses[rows, first:] = np.triu(of_rows, 1)
    return losses


def _correlations(matrix: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """(d, d), NaN where a column does not vary."""
    deviations = np.sqrt(np.diag(matrix))
    flat = deviations <= rounding
    deviations[flat] = np.nan
    return matrix / deviations / deviations[:, None]


def _quantiles(column: np.ndarray, shares: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """The smallest values whose share of records up to them is at least the quantiles'."""
    if (
        shares.min() == shares.max()
    ):  # no record counts for more than another: values alone are sorted, far faster
        ascending, summed = np.sort(column), np.cumsum(shares)
    else:
        order = np.argsort(column, kind="stable")
        ascending, summed = column[order], np.cumsum(shares[order])
    # a share that should equal a quantile may fall short of it by rounding, never by as much as a
    # record's own share
    places = np.searchsorted(summed, quantiles - NEGLIGIBLE)
    return ascending[np.minimum(places, len(column) - 1)]


def _density(column: np.ndarray, shares: np.ndarray, size: float, values: np.ndarray) -> np.ndarray:
    """A Gaussian kernel estimate from a standardised column, where it takes the values `at`."""
    quartiles = _quantiles(column, shares, np.array([0.25, 0.75]))
    spread = (quartiles[1] - quartiles[0]) / 1.34
    width = 0.9 * min(1.0, spread if spread > NEGLIGIBLE else 1.0) * size**-0.2
    if len(values) * len(column) <= NEAR:
        heights = mean(np.exp(-0.5 * ((column - values[:, None]) / width) ** 2), shares)
        return heights / (width * math.sqrt(2.0 * math.pi))
    heights, room = np.empty(len(values)), np.empty(len(column))
    for index, x in enumerate(values):
        np.subtract(column, x, out=room)
        room /= width
        np.square(room, out=room)
        room *= -0.5
        np.exp(room, out=room)
        heights[index] = mean(room, shares)
    return heights / (width * math.sqrt(2.0 * math.pi))


def _figure(losses: np.ndarray, names: tuple[str, ...]) -> Figure:
    """The mean of one loss for each column."""
    return Figure(
        float(losses.mean()),
        dict(zip(names, losses.tolist(), strict=True)),
        {"largest": float(losses.max())},
    )


def _figure_of_pairs(losses: np.ndarray, names: tuple[str, ...]) -> Figure:
    """The mean over pairs of columns, from the upper triangle of a matrix in which NaN is none."""
    above = np.triu(np.ones(losses.shape, bool), 1)
    upper, both = losses[above], np.where(above, losses, losses.T)
    np.fill_diagonal(both, np.nan)
    columns = {name: _mean_or_nothing(row) for name, row in zip(names, both, strict=True)}
    return Figure(
        _mean_or_nothing(upper), columns, {"largest": float(np.nanmax(upper, initial=0.0))}
    )


def _mean_or_nothing(values: np.ndarray) -> float:
    """The mean of those that are not NaN; 0 if there is none."""
    valid = values[~np.isnan(values)]
    return float(np.mean(valid)) if len(valid) > 0 else 0.0


def _declared(statistics: str, compute: Callable[[Pair], Figure]) -> Measure:
    return Measure(
        name=f"pil-{statistics}",
        title=f"probabilistic loss of {statistics}",
        side="loss",
        unit="percent",
        lower_is_better=True,
        lowest=0.0,
        highest=100.0,
        zero_means=f"The release has the {statistics} of the original.",
        highest_means=f"No sample of that many records would have {statistics} so far from the "
        f"original's.",
        source="Mateo-Sanz, Domingo-Ferrer and Sebé 2005; variances of the statistics as "
        "written in the module.",
        compute=compute,
        basis=Basis.WHOLE_TABLE,
        needs="numbers",
    )


PIL_MEANS = _declared("means", means_loss)
PIL_VARIANCES = _declared("variances", variances_loss)
PIL_COVARIANCES = _declared("covariances", covariances_loss)
PIL_CORRELATIONS = _declared("correlations", correlations_loss)
PIL_QUANTILES = _declared("quantiles", quantiles_loss)
