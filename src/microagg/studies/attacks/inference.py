"""Inference: guesses of a confidential value from what an intruder knows and the release.

A guess of a category succeeds if it is the value; one of a number, if it is within 5 % of it. The
control group tells how much of that is knowledge about everybody.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microagg.studies.attacks.view import ReleaseView, nearest_classes
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind

ATTACKERS = ("nearest class", "nearest classes, weighted", "most frequent of all")
BOOSTED = "boosted trees"
NEAR_CLASSES = 15
TOLERANCE = 0.05
"""How close to a number a guess must be, as a share of it."""


def infer_values(
    view: ReleaseView,
    attribute: Attribute,
    names: Sequence[str],
    rng: np.random.Generator,
    *,
    boosted: bool = True,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return, for each attacker, for which targets and controls the guess is right.

    People whose value is missing are left out.
    """
    names = [name for name in names if name in view.columns]
    values = _values(attribute)
    released = values[len(view.original) :]
    groups = [
        rows[_is_known(attribute, rows)] for rows in (view.people.targets, view.people.controls)
    ]
    outcomes: dict[str, list[np.ndarray]] = {}
    for rows in groups:
        for name, guesses in _guesses(view, attribute, released, rows, names, rng).items():
            outcomes.setdefault(name, []).append(_is_right(attribute, values[rows], guesses))
    if boosted:
        for rows, guesses in zip(
            groups, _boosted_guesses(view, attribute, released, groups, names), strict=True
        ):
            outcomes.setdefault(BOOSTED, []).append(_is_right(attribute, values[rows], guesses))
    return {name: (targets, controls) for name, (targets, controls) in outcomes.items()}


def _values(attribute: Attribute) -> np.ndarray:
    """Return numbers as they are, categories as codes."""
    if attribute.kind is Kind.NUMERIC:
        return np.asarray(attribute.values, np.float64)
    return attribute.codes.astype(np.float64)


def _is_known(attribute: Attribute, rows: np.ndarray) -> np.ndarray:
    if attribute.kind is Kind.NUMERIC:
        return ~np.isnan(attribute.values[rows])
    return attribute.codes[rows] < attribute.known


def _is_right(attribute: Attribute, values: np.ndarray, guesses: np.ndarray) -> np.ndarray:
    if attribute.kind is Kind.NUMERIC:
        return np.abs(guesses - values) <= TOLERANCE * np.abs(values)
    return guesses == values


def _guesses(
    view: ReleaseView,
    attribute: Attribute,
    released: np.ndarray,
    rows: np.ndarray,
    names: Sequence[str],
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    order = np.argsort(view.class_of, kind="stable")
    starts = np.searchsorted(view.class_of[order], np.arange(view.classes + 1))
    members = [order[starts[c] : starts[c + 1]] for c in range(view.classes)]
    numeric = attribute.kind is Kind.NUMERIC
    everybody = _best_guess(released, np.ones(len(released)), numeric=numeric)
    guesses = {name: np.full(len(rows), everybody) for name in ATTACKERS}
    index = 0
    for part in view.blocks(rows):
        classes, distances = nearest_classes(view.distances(part, names), rng, NEAR_CLASSES)
        for near, squared in zip(classes, distances, strict=True):
            guesses["nearest class"][index] = _best_guess(
                released[members[near[0]]], np.ones(len(members[near[0]])), numeric=numeric
            )
            guesses["nearest classes, weighted"][index] = _weighted_guess(
                released, [members[c] for c in near], squared, numeric=numeric
            )
            index += 1
    return guesses


def _weighted_guess(
    released: np.ndarray, members: list[np.ndarray], squared: np.ndarray, *, numeric: bool
) -> float:
    """Return the best guess from several classes, which count less the farther they are."""
    width = squared[min(2, len(squared) - 1)] or 1.0
    weights = np.exp(-(squared - squared[0]) / width) if np.isfinite(width) else squared == 0.0
    values = np.concatenate([released[rows] for rows in members])
    shares = np.concatenate(
        [np.full(len(rows), weight) for rows, weight in zip(members, weights, strict=True)]
    )
    return _best_guess(values, shares, numeric=numeric)


def _best_guess(values: np.ndarray, weights: np.ndarray, *, numeric: bool) -> float:
    """Return the guess that is right for most of the weight: the value itself of a category, for
    numbers the value with most others within the tolerance.

    >>> _best_guess(np.array([100.0, 101.0, 150.0]), np.ones(3), numeric=True)
    100.0
    """
    has_value = ~np.isnan(values)
    values, weights = values[has_value], weights[has_value]
    if len(values) == 0:
        return np.nan
    unique, inverse = np.unique(values, return_inverse=True)
    totals = np.bincount(inverse.reshape(-1), weights)
    if not numeric:
        return float(unique[np.argmax(totals)])
    low = np.where(unique >= 0, unique / (1 + TOLERANCE), unique / (1 - TOLERANCE))
    high = np.where(unique >= 0, unique / (1 - TOLERANCE), unique / (1 + TOLERANCE))
    sums = np.concatenate([[0.0], np.cumsum(totals)])
    reach = sums[np.searchsorted(unique, high, "right")] - sums[np.searchsorted(unique, low)]
    return float(unique[np.argmax(reach)])


def _boosted_guesses(
    view: ReleaseView,
    attribute: Attribute,
    released: np.ndarray,
    groups: list[np.ndarray],
    names: Sequence[str],
) -> list[np.ndarray]:
    """Return guesses of boosted trees that were trained on the released records."""
    from microagg.estimator.boosted import predict_boosted

    people, centres = view.points(np.concatenate(groups), names)
    has_value = ~np.isnan(released)
    if attribute.kind is not Kind.NUMERIC:
        has_value &= released < attribute.known
    predictions = predict_boosted(
        centres[view.class_of][has_value],
        released[has_value],
        people,
        numeric=attribute.kind is Kind.NUMERIC,
    )
    return [predictions[: len(groups[0])], predictions[len(groups[0]) :]]
