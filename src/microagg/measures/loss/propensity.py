"""Can original and released records be told apart: the mean squared error of propensity scores
(pMSE).

Both tables are put together, N = 2n records, half of them released. A logistic regression estimates
from a record's values the chance p_i that it is a released one. Where it cannot tell, all p_i are
1/2.

    pMSE = 1/N Σ (p_i - 1/2)²        0 to 1/4

The regression sees each column, its square and the products of columns: means alone would not do,
for a release of group means keeps them. All terms have mean 0 and deviation 1 over both tables
together; with more than 12 columns products are left out, with more than 64 only those 64 columns
count that changed most (mean squared change in standard deviations; ties to the first). The
coefficients maximise the mean log-likelihood less 1e-5 / 2 times the sum of their squares, the
intercept's left out: so they exist where the tables can be told apart for sure, too, and columns
that determine each other do no harm. Newton's method, with steps halved until they help.

Categories and gaps count as the axes that they are encoded as; columns released as ranges or
ancestors are left out. Of more than 10,000 records so many are taken, the same of both tables, by
record number alone. Weights count records.
"""

from __future__ import annotations

import math

import numpy as np

from microagg.measures.loss.standardise import WIDE, mean
from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.measures.risk.linkage import with_points
from microagg.table.encoder import Space

PENALTY = 1e-5
PRODUCTS_UP_TO = 12
"""Columns; with more, the regression has no products of two columns."""
RECORDS = 10_000
"""As many are taken of each table at most."""

_STEPS = 200
_HALVINGS = 40
_SETTLED = 1e-22  # the squared Newton decrement: what a further step could still gain
_CONSTANT = 1e-9  # a term that varies by less than this share of its size varies by rounding


def propensity(pair: Pair) -> Figure:
    """Compute how well a model separates released from original records: 0 not at all, 0.25 fully.

    >>> table = np.array([[0.0], [1.0], [4.0], [9.0]])
    >>> propensity(Pair(table, table, ("age",))).value
    0.0
    >>> round(propensity(Pair(table, table + 100.0, ("age",))).value, 3)
    0.25
    """
    chosen = spread_out(len(pair.original), RECORDS)
    weights = (
        np.ones(len(chosen))
        if pair.weights is None
        else np.asarray(pair.weights, np.float64)[chosen]
    )
    shares = weights / weights.sum()
    before, after = _columns(pair)
    error, terms = propensity_error(before[:, chosen], after[:, chosen], shares)
    size = 1.0 / float(np.sum(shares**2))
    return Figure(
        error,
        details={
            "percent of the highest": 400.0 * error,
            "terms": float(terms),
            "expected by chance": terms / (16.0 * size),
        },
    )


def _columns(pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """A row for each column of numbers, or for each axis of what a mixed table is encoded as."""
    if pair.cells is None:
        return pair.standard.before, pair.standard.after
    pair = with_points(pair)
    space = Space.fit(pair.before, "zscore")
    return space.points(pair.before).T, space.points(pair.after).T


def propensity_error(
    before: np.ndarray, after: np.ndarray, shares: np.ndarray
) -> tuple[float, int]:
    """The pMSE of two tables, and how many terms the regression has; a row of `before` and `after`
    for each column.

    Any numbers serve, those that categories were encoded as, too: columns are brought to one scale
    here.

    >>> coin = np.array([[0.0, 1.0, 0.0, 1.0]])
    >>> propensity_error(coin, coin[:, ::-1], np.full(4, 0.25))
    (0.0, 1)
    """
    terms = _terms(before, after, shares)
    scores = _scores(terms, shares)
    return float(np.sum(shares * np.sum((scores - 0.5) ** 2, axis=0)) / 2.0), len(terms)


def spread_out(n: int, at_most: int) -> np.ndarray:
    """All of n records, or so many of them, spread over the table without a period.

    >>> spread_out(9, 3).tolist()
    [0, 2, 5]
    """
    if n <= at_most:
        return np.arange(n)
    keys = (np.arange(n, dtype=np.uint64) * np.uint64(2654435761)) % np.uint64(2**32)
    return np.sort(np.argsort(keys, kind="stable")[:at_most])


def _terms(before: np.ndarray, after: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """(terms, 2, n): columns, squares and products of both tables, each with mean 0 and deviation
    1; none that is constant.
    """
    both = np.stack([before, after], axis=1)
    if len(both) > WIDE:
        change = mean((after - before) ** 2, shares)
        both = both[np.sort(np.argsort(-change, kind="stable")[:WIDE])]
    columns = [scaled for column in both if (scaled := _scaled(column, shares)) is not None]
    products = [
        columns[i] * columns[j]
        for j in range(len(columns))
        for i in range(j + 1)
        if i == j or len(both) <= PRODUCTS_UP_TO
    ]
    scaled = [term for product in products if (term := _scaled(product, shares)) is not None]
    return np.array(columns + scaled).reshape(-1, 2, before.shape[1])


def _scaled(term: np.ndarray, shares: np.ndarray) -> np.ndarray | None:
    """A term of both tables with mean 0 and deviation 1, or None for one that is constant."""
    largest = np.abs(term).max()
    if largest == 0.0:
        return None
    term = term / largest  # squares of very large numbers would leave the range of float64
    term = term - np.sum(shares * np.sum(term, axis=0)) / 2.0
    deviation = math.sqrt(np.sum(shares * np.sum(term**2, axis=0)) / 2.0)
    return term / deviation if deviation > _CONSTANT else None


def _scores(terms: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """(2, n): the estimated chance of each original and of each released record to be a released
    one.
    """
    t, _, n = terms.shape
    x = np.concatenate([np.ones((1, 2, n)), terms])
    penalty = np.append(0.0, np.full(t, PENALTY))
    sides = np.array([[0.0], [1.0]])
    slopes = np.zeros(t + 1)
    for _ in range(_STEPS):
        scores = _chances(x, slopes)
        # originals and releases are added record by record first: equal tables cancel out to the
        # last bit
        gradient = (
            np.sum(shares * np.sum((sides - scores) * x, axis=1), axis=1) / 2.0 - penalty * slopes
        )
        curved = (x * (shares * scores * (1.0 - scores) / 2.0)).reshape(t + 1, 2 * n)
        curvature = np.einsum("in,jn->ij", curved, x.reshape(t + 1, 2 * n)) + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        if np.sum(step * gradient) <= _SETTLED:
            break
        slopes = _improved(x, shares, penalty, slopes, step)
    return _chances(x, slopes)


def _improved(
    x: np.ndarray, shares: np.ndarray, penalty: np.ndarray, slopes: np.ndarray, step: np.ndarray
) -> np.ndarray:
    """The slopes after a step, which is halved until it does not make things worse."""
    now = _unlikeliness(x, shares, penalty, slopes)
    for _ in range(_HALVINGS):
        if _unlikeliness(x, shares, penalty, slopes + step) <= now:
            return slopes + step
        step = step / 2.0
    return slopes


def _unlikeliness(
    x: np.ndarray, shares: np.ndarray, penalty: np.ndarray, slopes: np.ndarray
) -> float:
    """Return the penalised negative log-likelihood, which is minimised."""
    towards = np.array([[1.0], [-1.0]]) * _leanings(x, slopes)
    missed = np.sum(shares * np.sum(np.logaddexp(0.0, towards), axis=0)) / 2.0
    return float(missed + 0.5 * np.sum(penalty * slopes**2))


def _chances(x: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    return 0.5 + 0.5 * np.tanh(0.5 * _leanings(x, slopes))


def _leanings(x: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    return np.einsum("j,jsn->sn", slopes, x)


PMSE = Measure(
    name="pmse",
    title="propensity score mean squared error",
    side="loss",
    unit="squared chance",
    lower_is_better=True,
    lowest=0.0,
    highest=0.25,
    zero_means="A logistic regression on columns, squares and products cannot tell released from "
    "original records.",
    highest_means="It tells every released record from every original one.",
    source="Woo, Reiter, Oganian and Karr 2009; Snoke, Raab, Nowok, Dibben and Slavkovic 2018. "
    "Terms of second order, "
    "ridge 1e-5, at most 10,000 records. What is expected by chance is that of records "
    "drawn anew from the original ones: (terms) / 8N.",
    compute=propensity,
    basis=Basis.SAMPLE,
    needs="points",
)
