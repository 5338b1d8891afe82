"""Inference: guesses of a confidential value from what an intruder knows and the release.

A guess of a category succeeds if it is the value; one of a number, if it is within 5 % of it. The
control group tells how much of that is knowledge about everybody.

Minimality: groups are as compact and as small as the guarantees allow, which the attacker with a
register uses. Groups that were merged for the sake of l have a most frequent value all the more
(Wong et al. 2007); attackers guess that value anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from microagg.studies.attacks.view import ReleaseView, nearest_classes
from microagg.table.confidential import Attribute
from microagg.table.schema import Kind

FILLED = "classes filled from a register"
CLASS_ATTACKERS = ("nearest class", "nearest classes, weighted", FILLED)
ATTACKERS = (*CLASS_ATTACKERS, "most frequent of all")
BOOSTED = "boosted trees"
NEAR_CLASSES = 15
TOLERANCE = 0.05
"""How close to a number a guess must be, as a share of it."""
MOST_DISTANCES = 200_000_000
"""Most distances from the people of a register to classes; larger tables do without it."""


def infer_values(
    view: ReleaseView,
    attribute: Attribute,
    names: Sequence[str],
    rng: np.random.Generator,
    *,
    attackers: Sequence[str] | None = None,
    boosted: bool = True,
    use_target: bool = True,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return, for each attacker, for which targets and controls the guess is right.

    People whose value is missing are left out. Without `use_target`, attackers by classes do not
    see the record of the target itself: what is left is told by others.
    """
    names = [name for name in names if name in view.columns]
    values = _values(attribute)
    released = values[len(view.original) :]
    groups = [
        rows[_is_known(attribute, rows)] for rows in (view.people.targets, view.people.controls)
    ]
    if attackers is None:
        attackers = (*ATTACKERS, BOOSTED) if boosted else ATTACKERS
    outcomes: dict[str, list[np.ndarray]] = {}
    by_class = [name for name in attackers if name != BOOSTED]
    guesser = _Guesser.of(view, attribute, released, names, rng, register=FILLED in by_class)
    for rows in groups if by_class else ():
        for name, guesses in guesser.guesses(rows, names, rng, use_target=use_target).items():
            if name in by_class:
                outcomes.setdefault(name, []).append(_is_right(attribute, values[rows], guesses))
    if BOOSTED in attackers:
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


@dataclass(frozen=True)
class _Guesser:
    """Released values by class, and the class of each person if classes are filled."""

    view: ReleaseView
    released: np.ndarray
    numeric: bool
    members: list[np.ndarray]
    """Released records of each class."""
    of_register: np.ndarray | None

    @staticmethod
    def of(
        view: ReleaseView,
        attribute: Attribute,
        released: np.ndarray,
        names: Sequence[str],
        rng: np.random.Generator,
        *,
        register: bool,
    ) -> _Guesser:
        """Return a guesser; with a register if the table is small enough for that."""
        order = np.argsort(view.class_of, kind="stable")
        starts = np.searchsorted(view.class_of[order], np.arange(view.classes + 1))
        members = [order[starts[c] : starts[c + 1]] for c in range(view.classes)]
        register &= len(view.original) * view.classes <= MOST_DISTANCES
        filled = filled_classes(view, names, rng) if register else None
        return _Guesser(view, released, attribute.kind is Kind.NUMERIC, members, filled)

    def guesses(
        self, rows: np.ndarray, names: Sequence[str], rng: np.random.Generator, *, use_target: bool
    ) -> dict[str, np.ndarray]:
        """Return the guesses of each attacker for some people."""
        everybody = self._best(np.arange(len(self.released)))
        guesses = {name: np.full(len(rows), everybody) for name in ATTACKERS}
        if self.of_register is None:
            del guesses[FILLED]
        index = 0
        for part in self.view.blocks(rows):
            classes, distances = nearest_classes(
                self.view.distances(part, names), rng, NEAR_CLASSES
            )
            for row, near, squared in zip(part, classes, distances, strict=True):
                members = [self.members[c] for c in near]
                filled = None if self.of_register is None else self.members[self.of_register[row]]
                if not use_target:
                    record = self._record_of(row)
                    members[0] = _one_less(members[0], record, rng)
                    filled = None if filled is None else _one_less(filled, record, rng)
                guesses["nearest class"][index] = self._best(members[0])
                guesses["nearest classes, weighted"][index] = _weighted_guess(
                    self.released, members, squared, numeric=self.numeric
                )
                if filled is not None:
                    guesses[FILLED][index] = self._best(filled)
                index += 1
        return guesses

    def _best(self, records: np.ndarray) -> float:
        return _best_guess(self.released[records], np.ones(len(records)), numeric=self.numeric)

    def _record_of(self, row: int) -> int:
        """Return the released record of a person; -1 if the person was left out."""
        rest = self.view.people.rest
        position = int(np.searchsorted(rest, row))
        return position if position < len(rest) and rest[position] == row else -1


def _one_less(records: np.ndarray, hidden: int, rng: np.random.Generator) -> np.ndarray:
    """Return a class without a person's record, or without a drawn one if it is not there: so all
    guesses are from as many records.
    """
    others = records[records != hidden]
    return others if len(others) < len(records) else np.delete(others, rng.integers(len(others)))


def filled_classes(view: ReleaseView, names: Sequence[str], rng: np.random.Generator) -> np.ndarray:
    """Return the class of each person on a register that has everybody, targets and controls.

    A release says how many records each class has, and methods make compact groups. So classes
    take the nearest people of the register until they are full; who is left over gets the nearest.
    """
    everybody = np.arange(len(view.original))
    near, squared = [], []
    for part in view.blocks(everybody):
        classes, distances = nearest_classes(view.distances(part, names), rng, NEAR_CLASSES)
        near.append(classes)
        squared.append(distances)
    classes, distances = np.concatenate(near), np.concatenate(squared)
    filled, room = np.full(len(everybody), -1), np.bincount(view.class_of, minlength=view.classes)
    room = room.tolist()
    order = np.lexsort((rng.random(distances.size), distances.ravel()))
    order = order[np.isfinite(distances.ravel()[order])]
    for person, wanted in zip(
        (order // classes.shape[1]).tolist(), classes.ravel()[order].tolist(), strict=True
    ):
        if filled[person] < 0 and room[wanted] > 0:
            filled[person] = wanted
            room[wanted] -= 1
    return np.where(filled < 0, classes[:, 0], filled)


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
