"""Linkability: two sources about the same people, linked through the release.

An intruder has some columns of a person from one source, and the other columns of many people, the
person among them, from another. The release says which values go together. The link succeeds if
the intruder picks the person. The control group has the same chance by what holds for everybody.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microagg.studies.attacks.view import ReleaseView, nearest_classes

ATTACKERS = ("least way through a class", "values of the nearest class", "same nearest class")
NEAR_CLASSES = 200
"""Classes near a person that a way may lead through."""
MOST_PEOPLE = 1_000
"""Most people of a source, among whom the right one is picked."""


def link_sources(
    view: ReleaseView,
    names: Sequence[str],
    rng: np.random.Generator,
    attackers: Sequence[str] = ATTACKERS,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return, for each attacker, which targets and which controls are linked."""
    names = [name for name in names if name in view.columns]
    first, second = list(names[0::2]), list(names[1::2])
    outcomes = [
        _linked(view, rng.permutation(rows)[:MOST_PEOPLE], first, second, rng)
        for rows in (view.people.targets, view.people.controls)
    ]
    return {name: (outcomes[0][name], outcomes[1][name]) for name in attackers}


def _linked(
    view: ReleaseView,
    rows: np.ndarray,
    first: Sequence[str],
    second: Sequence[str],
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    by_second = np.concatenate([view.distances(part, second) for part in view.blocks(rows)])
    parts = [
        nearest_classes(view.distances(part, first), rng, NEAR_CLASSES)
        for part in view.blocks(rows)
    ]
    near = np.concatenate([classes for classes, _ in parts])
    near_distances = np.concatenate([distances for _, distances in parts])
    nearest_of_second = np.concatenate(
        [nearest_classes(view.distances(part, second), rng)[0][:, 0] for part in view.blocks(rows)]
    )
    linked = {name: np.zeros(len(rows), bool) for name in ATTACKERS}
    for i in range(len(rows)):
        ways = by_second[:, near[i]] + near_distances[i]
        same = np.where(nearest_of_second == near[i, 0], 0.0, 1.0)
        for name, costs in zip(
            ATTACKERS, (ways.min(axis=1), by_second[:, near[i, 0]], same), strict=True
        ):
            linked[name][i] = _picked(costs, rng) == i
    return linked


def _picked(costs: np.ndarray, rng: np.random.Generator) -> int:
    """Return the person of least cost; a tie is drawn."""
    best = costs.min()
    if not np.isfinite(best):
        return -1
    ties = np.flatnonzero(costs <= best + 1e-9 * (1.0 + best))
    return int(ties[rng.integers(len(ties))])
