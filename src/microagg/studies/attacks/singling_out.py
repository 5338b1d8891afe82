"""Singling out: predicates made of the release that hold for exactly one record.

The released record of a target gives a predicate over the columns an intruder knows; one target of
a class does, for others would give the same. It succeeds if it holds for exactly one of the people
in the rerun. The control is the same predicate on the same people with the targets exchanged for
the control group: isolating one of them is chance. A person who was not exchanged is isolated in
both, so the excess is too small where many people are not targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from microagg.studies.attacks.view import ReleaseView
from microagg.table.variable import NO_ATOM

ATTACKERS = ("equal values", "box to the neighbours", "two columns", "ball around the class")
MOST_CHECKS = 50_000_000
"""Most comparisons of a predicate with a record; fewer targets are used on larger tables."""


def single_out(
    view: ReleaseView,
    names: Sequence[str],
    rng: np.random.Generator,
    attackers: Sequence[str] = ATTACKERS,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return, for each attacker, which predicates isolate one record: in the rerun, and where the
    targets were exchanged for controls.
    """
    people = view.people
    others = np.setdiff1d(people.rest, people.targets)
    exchanged = np.concatenate([others, people.controls])
    most = max(20, MOST_CHECKS // (len(people.rest) * max(1, len(names))))
    _, of_classes = np.unique(
        view.class_of[_released_rows(view, people.targets)], return_index=True
    )
    targets = np.sort(rng.permutation(people.targets[of_classes])[:most])
    outcomes = {}
    for attacker in attackers:
        with_targets, with_controls = [], []
        predicates = _MAKERS[attacker](view, names, targets, rng)
        for target, predicate in zip(targets, predicates, strict=True):
            stratum = int(view.stratum_of_people[target])
            with_targets.append(_isolates(view, people.rest, predicate, stratum))
            with_controls.append(_isolates(view, exchanged, predicate, stratum))
        outcomes[attacker] = (np.array(with_targets), np.array(with_controls))
    return outcomes


class Predicate:
    """Conditions on single columns: lowest and highest number, or the missing or special code."""

    def __init__(self) -> None:
        self.intervals: list[tuple[int, float, float]] = []
        self.codes: list[tuple[int, int]] = []

    def holds(self, view: ReleaseView, rows: np.ndarray) -> np.ndarray:
        """Return for which of these people every condition holds."""
        holds = np.ones(len(rows), bool)
        for column, low, high in self.intervals:
            values = view.original.values[rows, column]
            holds &= (values >= low) & (values <= high)
        for column, code in self.codes:
            atoms = view.original.atoms
            holds &= False if atoms is None else atoms[rows, column] == code
        return holds


class Ball(Predicate):
    """People within a distance of a class."""

    def __init__(self, points: np.ndarray, centre: np.ndarray, radius: float) -> None:
        super().__init__()
        self.points, self.centre, self.radius = points, centre, radius

    def holds(self, view: ReleaseView, rows: np.ndarray) -> np.ndarray:
        """Return who lies within the ball, whose points are those of all people."""
        return ((self.points[rows] - self.centre) ** 2).sum(axis=1) <= self.radius


def _isolates(view: ReleaseView, rows: np.ndarray, predicate: Predicate, stratum: int) -> bool:
    same = rows[view.stratum_of_people[rows] == stratum]
    return int(predicate.holds(view, same).sum()) == 1


def _released_rows(view: ReleaseView, targets: np.ndarray) -> np.ndarray:
    return np.searchsorted(view.people.rest, targets)


def _equal_values(
    view: ReleaseView, names: Sequence[str], targets: np.ndarray, rng: np.random.Generator
) -> list[Predicate]:
    """Make predicates that demand the released values themselves."""
    return [
        _predicate(view, row, view.original.names, names, exact=True)
        for row in _released_rows(view, targets)
    ]


def _boxes(
    view: ReleaseView, names: Sequence[str], targets: np.ndarray, rng: np.random.Generator
) -> list[Predicate]:
    """Make boxes that reach half way to the next released value of each column."""
    return [
        _predicate(view, row, view.original.names, names, exact=False)
        for row in _released_rows(view, targets)
    ]


def _pairs(
    view: ReleaseView, names: Sequence[str], targets: np.ndarray, rng: np.random.Generator
) -> list[Predicate]:
    """Make boxes over two columns, drawn at random."""
    chosen = [
        list(rng.permutation(np.array(names))[:2]) if len(names) > 2 else list(names)
        for _ in targets
    ]
    rows = _released_rows(view, targets)
    return [
        _predicate(view, row, view.original.names, two, exact=False)
        for row, two in zip(rows, chosen, strict=True)
    ]


def _balls(
    view: ReleaseView, names: Sequence[str], targets: np.ndarray, rng: np.random.Generator
) -> list[Predicate]:
    """Make balls around classes: radii between nothing and half the way to the next class."""
    comparable = [name for name in names if name in view.columns]
    points, centres = view.points(np.arange(len(view.original)), comparable)
    balls: list[Predicate] = []
    for row in _released_rows(view, targets):
        index = int(view.class_of[row])
        distances = ((centres - centres[index]) ** 2).sum(axis=1)
        distances[index] = np.inf
        near = float(distances.min()) if len(centres) > 1 else 0.0
        balls.append(Ball(points, centres[index], near / 4.0 * rng.random()))
    return balls


def _predicate(
    view: ReleaseView, row: int, columns: list[str], names: Sequence[str], *, exact: bool
) -> Predicate:
    predicate = Predicate()
    for name in names:
        column = columns.index(name)
        if view.released.variables[column].coarse:
            continue
        value = view.released.values[row, column]
        atoms = view.released.atoms
        if atoms is not None and atoms[row, column] != NO_ATOM:
            predicate.codes.append((column, int(atoms[row, column])))
        elif exact:
            predicate.intervals.append((column, value, value))
        else:
            predicate.intervals.append((column, *_around(view, column, value)))
    return predicate


def _around(view: ReleaseView, column: int, value: float) -> tuple[float, float]:
    """Return the interval that reaches half way to the next released values."""
    values = np.unique(view.released.values[:, column])
    values = values[~np.isnan(values)]
    index = int(np.searchsorted(values, value))
    low = (values[index - 1] + value) / 2.0 if index > 0 else -np.inf
    high = (values[index + 1] + value) / 2.0 if index + 1 < len(values) else np.inf
    return float(low), float(high)


_MAKERS: dict[str, Any] = dict(zip(ATTACKERS, (_equal_values, _boxes, _pairs, _balls), strict=True))
