"""Accuracy of models fitted on the release and tested on the original, beside models fitted on
the original.

Both split the records the same way, by record number alone: record i (from 0) is held out if
2654435761 i mod 2³² is below 2³²/3, which takes a third of the records, evenly and without a period
that survey data could share. A model sees the training records of the original or of the release;
both are tried on the held-out records of the ORIGINAL. The score of each is compared with that of
knowing nothing, and what the original's model gains over that is what can be kept: 100 means all of
it, 0 nothing. A gain beyond the original's counts as all. Several targets are pooled: kept gains
added up, over gains added up.

Regression: each column in turn is predicted from all others by least squares; the score is R² (1 -
squared errors / squared deviations from the held-out mean), 0 if that is negative. Classification:
each confidential column of categories, ordered ones as well, is predicted from the
quasi-identifiers by linear discriminant analysis: the class whose centroid is nearest in the
Mahalanobis distance within classes, counting how common it is (its share enters as a logarithm;
ties go to the lower code); the score is the share classified rightly beyond that of always guessing
the commonest class of the training records.

All columns are in units of the original's standard deviations, and 1e-6 is added to the variance of
every predictor: columns that determine each other, or no longer vary, do no harm. Where the
original's model gains nothing (one column; no relation; a confidential column that cannot be
predicted) nothing can be lost: 100. Weights count in fits and in scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from microagg.measures.loss.standardise import WIDE, StandardPair, covariance, mean
from microagg.measures.measure import Basis, Figure, Measure, Pair

RIDGE = 1e-6
"""Added to the variance of each predictor, in squared standard deviations."""

_NO_GAIN = 1e-6  # a score that small is chance or rounding
_TIE = 1e-6  # of the logarithms by which classes are compared


def held_out(n: int) -> np.ndarray:
    """Return a mask of the records held out for testing.

    >>> np.flatnonzero(held_out(9)).tolist()
    [0, 2, 5, 7]
    """
    return (np.arange(n, dtype=np.uint64) * np.uint64(2654435761)) % np.uint64(2**32) < 2**32 // 3


def regression_kept(pair: Pair) -> Figure:
    """Compute the share of the R² of columns on each other that is kept, in percent.

    >>> table = np.column_stack([np.arange(9.0), np.arange(9.0)])
    >>> regression_kept(Pair(table, table, ("age", "income"))).value
    100.0
    >>> regression_kept(Pair(table, np.full((9, 2), 4.0), ("age", "income"))).value
    0.0
    """
    standard = pair.standard
    original = _determinations(standard, standard.before)
    released = _determinations(standard, standard.after)
    return _kept(
        dict(zip(pair.names, original, strict=True)),
        dict(zip(pair.names, released, strict=True)),
        {"r2_original": _mean(original), "r2_release": _mean(released)},
    )


def _determinations(standard: StandardPair, columns: np.ndarray) -> list[float]:
    """R² of each column on the held-out original, for least squares on the training records of
    `columns`.
    """
    trial = held_out(columns.shape[1])
    if trial.all():
        return [0.0] * len(columns)
    known = np.compress(~trial, columns, axis=1)
    shares = standard.shares[~trial] / standard.shares[~trial].sum()
    centres = mean(known, shares)
    tried = np.compress(trial, standard.before, axis=1) - centres[:, None]
    weights = standard.shares[trial] / standard.shares[trial].sum()
    left = _left_over(known, centres, shares, tried)
    determinations = []
    for target, errors in enumerate(left):
        total = float(mean((tried[target] - mean(tried[target], weights)) ** 2, weights))
        remaining = float(mean(errors**2, weights))
        determinations.append(
            max(0.0, 1.0 - remaining / total) if total > standard.rounding[target] ** 2 else 0.0
        )
    return determinations


def _left_over(
    known: np.ndarray, centres: np.ndarray, shares: np.ndarray, tried: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield the residuals of predicting each column from all others. `tried` is measured from the
    centres of `known`.
    """
    d = len(known)
    if d > WIDE:
        yield from _left_over_of_many(known - centres[:, None], shares, tried)
        return
    covariances = covariance(known, shares)
    for target in range(d):
        others = np.arange(d) != target
        gram = covariances[np.ix_(others, others)] + RIDGE * np.eye(others.sum())
        slopes = np.linalg.solve(gram, covariances[others, target])
        yield tried[target] - np.sum(slopes[:, None] * tried[others], axis=0)


def _left_over_of_many(known: np.ndarray, shares: np.ndarray, tried: np.ndarray) -> np.ndarray:
    """Compute the residuals from one inverse instead of one system a column: with P = (C +
    ridge)⁻¹ they are (P x)_j / P_jj for column j.

    Where the known records are fewer than columns, C = A Aᵀ for an A with a column for each of
    them, and the inverse comes from the smaller side: ridge P = I - A (AᵀA + ridge)⁻¹ Aᵀ.
    """
    d, n = known.shape
    if n >= d:
        inverse = np.linalg.inv(covariance(known, shares) + RIDGE * np.eye(d))
        return np.einsum("ij,jk->ik", inverse, tried) / np.diag(inverse)[:, None]
    half = known * np.sqrt(shares)
    solved = np.linalg.solve(np.einsum("ji,jk->ik", half, half) + RIDGE * np.eye(n), half.T)
    explained = np.einsum("ij,jk->ik", half, np.einsum("ij,jk->ik", solved, tried))
    return (tried - explained) / (1.0 - np.sum(half * solved.T, axis=1))[:, None]


def classification_kept(pair: Pair) -> Figure:
    """Compute the share of the accuracy in predicting confidential categories that is kept, in
    percent.

    >>> age, sick = np.arange(9.0)[:, None], np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])
    >>> classification_kept(Pair(age, age, ("age",), {"sick": sick})).value
    100.0
    >>> classification_kept(Pair(age, np.full((9, 1), 4.0), ("age",), {"sick": sick})).value
    0.0
    """
    standard = pair.standard
    nominal = {name: codes for name, codes in pair.confidential.items() if codes.dtype.kind in "iu"}
    targets = {**nominal, **pair.ordered}
    trial = held_out(len(pair.original))
    if trial.all():
        targets = {}
    original, released, guessed = {}, {}, {}
    for name, codes in targets.items():
        guessed[name] = _right_guesses(standard, codes, trial)
        original[name] = _right(standard, standard.before, codes, trial)
        released[name] = _right(standard, standard.after, codes, trial)
    return _kept(
        {name: original[name] - guessed[name] for name in targets},
        {name: released[name] - guessed[name] for name in targets},
        {
            "targets": float(len(targets)),
            "accuracy_original": 100.0 * _mean(list(original.values())),
            "accuracy_release": 100.0 * _mean(list(released.values())),
            "accuracy_guessing": 100.0 * _mean(list(guessed.values())),
        },
    )


def _right_guesses(standard: StandardPair, codes: np.ndarray, trial: np.ndarray) -> float:
    """The share of held-out records in the commonest class of the others."""
    classes, members = np.unique(codes[~trial], return_inverse=True)
    commonest = classes[np.argmax(np.bincount(members, weights=standard.shares[~trial]))]
    return float(
        np.sum(standard.shares[trial] * (codes[trial] == commonest))
        / np.sum(standard.shares[trial])
    )


def _right(
    standard: StandardPair, columns: np.ndarray, codes: np.ndarray, trial: np.ndarray
) -> float:
    """The share of held-out records of the original that a discriminant fitted on `columns`
    classifies rightly.

    O(records · classes · columns) time, O(records · columns) memory.
    """
    known = np.compress(~trial, columns, axis=1)
    shares = standard.shares[~trial] / standard.shares[~trial].sum()
    classes, members = np.unique(codes[~trial], return_inverse=True)
    common = np.bincount(members, weights=shares)
    centroids = np.array([np.bincount(members, weights=shares * x) / common for x in known])
    for column, centroid in zip(known, centroids, strict=True):
        column -= centroid[members]
    values, vectors = np.linalg.eigh(covariance(known, shares))
    whiten = vectors / np.sqrt(np.maximum(values, 0.0) + RIDGE)
    tried, centroids = (
        _turned(whiten, np.compress(trial, standard.before, axis=1)),
        _turned(whiten, centroids),
    )
    best, chosen = np.full(tried.shape[1], -np.inf), np.zeros(tried.shape[1], np.int64)
    for c in range(len(classes)):
        score = np.log(common[c]) - 0.5 * np.sum((tried - centroids[:, c, None]) ** 2, axis=0)
        better = score > best + _TIE
        best[better], chosen[better] = score[better], c
    right = classes[chosen] == codes[trial]
    return float(np.sum(standard.shares[trial] * right) / np.sum(standard.shares[trial]))


def _turned(axes: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The coordinates of `columns` on the columns of `axes`."""
    return np.array([np.sum(axis[:, None] * columns, axis=0) for axis in axes.T])


def _kept(
    original: Mapping[str, float], released: Mapping[str, float], details: dict[str, float]
) -> Figure:
    gains = {name: gain if gain > _NO_GAIN else 0.0 for name, gain in original.items()}
    kept = {name: min(max(released[name], 0.0), gain) for name, gain in gains.items()}
    columns = {name: 100.0 * (kept[name] / gain) if gain else 100.0 for name, gain in gains.items()}
    total = sum(gains.values())
    undefined = "" if total else "nothing can be predicted from the original either"
    value = 100.0 * (sum(kept.values()) / total) if total else 100.0
    return Figure(value, columns, details, undefined=undefined)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


REGRESSION_KEPT = Measure(
    name="regression-kept",
    title="regression kept",
    side="loss",
    unit="percent of the original's R²",
    lower_is_better=False,
    lowest=0.0,
    highest=100.0,
    zero_means="A regression fitted on the release predicts original records no better than their "
    "mean does.",
    highest_means="A regression fitted on the release predicts original records as well as one "
    "fitted on the original.",
    source="Train on the release, test on the original (Esteban, Hyland and Rätsch 2017), with "
    "least squares and R².",
    compute=regression_kept,
    basis=Basis.SAMPLE,
    needs="numbers",
)

CLASSIFICATION_KEPT = Measure(
    name="classification-kept",
    title="classification kept",
    side="loss",
    unit="percent of the original's gain over guessing",
    lower_is_better=False,
    lowest=0.0,
    highest=100.0,
    zero_means="A classifier fitted on the release is no better on original records than guessing "
    "the commonest class.",
    highest_means="A classifier fitted on the release is as good on original records as one fitted "
    "on the original.",
    source="Train on the release, test on the original (Esteban, Hyland and Rätsch 2017), with "
    "linear discriminants (Fisher 1936).",
    compute=classification_kept,
    basis=Basis.SAMPLE,
    needs="categories",
)
