"""PFSOM: a possibilistic fuzzy self-organising map that finds the number of clusters by itself.

Source: Abidi, Ben Yahia and Perera 2020 (Journal of Ambient Intelligence and Humanized Computing
11), section 3.3, who leave the details to Abidi and Ben Yahia 2013; learning after Pal, Pal, Keller
and Bezdek 2005 (possibilistic fuzzy c-means, with a = b = 1 and m = eta = 2); the validity index
PCAES after Wu and Yang 2005.

1. The first level: about √n prototypes on a rectangular map, started at random records. Every pass
moves each of them
   to the mean of all records, weighted by the squared memberships and smoothed over the map by a
   Gaussian that shrinks to nothing.
2. From the memberships then reached come the widths gamma; passes weighted by squared memberships
and typicalities
   follow.
3. Each next level has half as many prototypes, down to 2, trained in the same way on those of the
level below, each
   weighing as much as the records nearest to it. Where they start: prototypes below merged pair by
   pair at the least cost (Ward 1963).
4. Every level is judged on the records by the validity index; around the best number c of clusters,
c - 2 to c + 2
   prototypes are trained on the records themselves. The best of these is refined in turn until it
   stays (at most 10 times).
5. Each record goes to its nearest prototype. Prototypes without a record are dropped.

Ties go to the lower record number, the lower prototype number and the smaller number of clusters.
Points are taken as they are.

Readings and departures, each found by computing (docs/hybrid.md has those of the indices):
- Typicalities come in once the memberships have settled, with widths that then stay, as Pal et al.
  advise. Used from the start, they draw all prototypes of a large map to one place, for a squared
  membership is of the order 1/c² and a typicality is not.
- PCAES compares a cluster with the most compact one: u_M is the largest of the sums of squared
  memberships. It is commonly printed as the smallest (`pcaes-min`); then every cluster that is cut
  to pieces raises the index, and far too many prototypes win.
- PCAES measures the distance of two clusters against the spread of all prototypes, so two clusters
  far apart count as one if others are much farther away, and hardly finds that there is but one.
  `validity="own-spread"`, the default, measures the squared distance of a cluster from the nearest
  one by the variances gamma of both along the line between them, 2 (gamma_i + gamma_l), and counts
  from 4 on, since adjoining pieces of one even distribution have 3. `validity="pcaes"` leaves that
  as it is.
- A single cluster is judged by the same formula: it is the most compact one and near no other,
  which makes 1. `fewest=2` leaves it out; if then nothing is judged better than a single cluster
  would be, `pcaes` chooses how to cut the one cloud.
- Prototypes that meet (fuzzy clustering of one cloud in many columns ends so) are not counted as
  clusters.
- Clusters trained on the records with typicalities are kept only where they are judged no worse
  than those with memberships alone: where one cluster has most of the records, its typicalities
  draw all prototypes to it (all three reference data sets).
- Refining goes on while the number of clusters moves; the reading at hand does it once.

O(n √n d) time for each of some 40 passes of the first level, O(n + √n d) memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microagg.kernels import random, sums
from microagg.kernels.possibilistic import (
    label_nearest,
    merge_down,
    pull_on,
    smoothed,
    spreads_of,
)
from microagg.methods.clustering.validity import _by_column, _squared_distances_between, validity_of
from microagg.problem.problem import Progress

FIRST_MAP, NEXT_MAP = 20, 5  # passes with a neighbourhood, on the first level and on the others
FIRST_FUZZY, FIRST_POSSIBILISTIC = (
    5,
    10,
)  # passes without, on the first level: it only has to cover the records
PASSES = 30  # at most, of either kind, on the others
SETTLED = 1e-4  # of the extent of the records: no prototype moves farther
REFINEMENTS = 10
AROUND = 2
ALONE = 1.0  # how a single cluster is judged

NO_WIDTHS = np.empty(0)


@dataclass(frozen=True)
class Clustering:
    """Result of a clustering."""

    labels: np.ndarray
    """(n,) int32: the cluster of each record, numbered by each cluster's first record."""
    prototypes: np.ndarray
    """(clusters, d): in the order of the labels."""
    judged: dict[int, float]
    """The validity index for each number of clusters that was trained on the records, the larger
    the better.
    """

    @property
    def clusters(self) -> int:
        """Return the number of clusters."""
        return len(self.prototypes)


def pfsom(
    points: np.ndarray,
    *,
    rng: np.ndarray,
    validity: str = "own-spread",
    fewest: int = 1,
    progress: Progress | None = None,
) -> Clustering:
    """Split the points into as many clusters as they have, two or more with `fewest=2` (if they can
    be told apart).

    >>> cloud = np.array([[0.0], [0.1], [0.2], [0.3]])
    >>> found = pfsom(np.vstack([cloud, cloud + 5.0, cloud + 10.0]), rng=random.seeded(0))
    >>> found.labels.tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    """
    centre, extent, unit = _in_units(points)
    start = _distinct_records(unit, max(2, round(len(unit) ** 0.5)), rng)
    # they are equal, or what tells them apart is lost in rounding
    if extent == 0.0 or len(start) < 2:
        return Clustering(np.zeros(len(points), np.int32), points[:1].copy(), {})
    level = _first_level(unit, start, _Reports(progress, len(points)))
    prototypes_of, judged = _refined(unit, level, validity)
    if fewest > 1 and max(judged.values()) <= ALONE and validity == "own-spread":
        prototypes_of, judged = _refined(unit, level, "pcaes")
    prototypes_of[1] = np.zeros((1, unit.shape[1]))  # they are measured from their mean
    judged[1] = ALONE if fewest == 1 else -np.inf
    prototypes = prototypes_of[_largest(judged)]
    labels = label_nearest(unit, _by_column(prototypes))
    order = _order_of_first_records(labels)
    return Clustering(
        sums.number_by_first_record(labels), prototypes[order] * extent + centre, judged
    )


def learn(
    points: np.ndarray,
    weights: np.ndarray,
    prototypes: np.ndarray,
    *,
    mapped: int = 0,
    width: float = 0.0,
    fuzzy: int = PASSES,
    possibilistic: int = PASSES,
) -> np.ndarray:
    """Train: `mapped` passes in a neighbourhood shrinking from `width`, then fuzzy, then
    possibilistic ones.
    """
    for number in range(mapped):
        prototypes = one_pass(
            points, weights, prototypes, NO_WIDTHS, width * (1.0 - number / mapped)
        )
    prototypes = _until_settled(points, weights, prototypes, NO_WIDTHS, fuzzy)
    if possibilistic > 0:
        masses, spreads = spreads_of(points, weights, _by_column(prototypes))
        widths = np.divide(spreads, masses, out=np.zeros_like(spreads), where=masses > 0.0)
        prototypes = _until_settled(points, weights, prototypes, widths, possibilistic)
    return prototypes


def one_pass(
    points: np.ndarray,
    weights: np.ndarray,
    prototypes: np.ndarray,
    widths: np.ndarray,
    neighbourhood: float = 0.0,
) -> np.ndarray:
    """Where the prototypes move in one pass; one that no record pulls at stays.

    Without `widths` (the gammas) the pass is a fuzzy one, with a neighbourhood of 0 every prototype
    moves by itself.
    """
    pulls = pull_on(points, weights, _by_column(prototypes), widths)
    if neighbourhood > 0.0:
        pulls = smoothed(pulls, _places_across(len(prototypes)), neighbourhood)
    masses = pulls[-1]
    return np.where(
        masses > 0.0, pulls[:-1] / np.where(masses > 0.0, masses, 1.0), prototypes.T
    ).T.copy()


def _until_settled(
    points: np.ndarray, weights: np.ndarray, prototypes: np.ndarray, widths: np.ndarray, passes: int
) -> np.ndarray:
    for _ in range(passes):
        before, prototypes = prototypes, one_pass(points, weights, prototypes, widths)
        if np.abs(prototypes - before).max() <= SETTLED:
            break
    return prototypes


def _first_level(
    points: np.ndarray, start: np.ndarray, reports: _Reports
) -> tuple[np.ndarray, np.ndarray]:
    """The prototypes of the map and the number of records nearest to each."""
    weights = np.ones(len(points))
    prototypes, width = _arranged(points[start], points), max(0.5, len(start) ** 0.5 / 4.0)
    for number in range(FIRST_MAP):
        reports.tell(number / (2 * FIRST_MAP))
        prototypes = one_pass(
            points, weights, prototypes, NO_WIDTHS, width * (1.0 - number / FIRST_MAP)
        )
    reports.tell(0.5)
    prototypes = learn(
        points, weights, prototypes, fuzzy=FIRST_FUZZY, possibilistic=FIRST_POSSIBILISTIC
    )
    reports.tell(0.8)
    return prototypes, _masses(points, prototypes)


def _judged_levels(
    points: np.ndarray, level: tuple[np.ndarray, np.ndarray], validity: str
) -> dict[int, float]:
    """Return the validity of each level, from the first one down to 2, by its number of
    prototypes.
    """
    prototypes, masses = level
    judged = {len(prototypes): validity_of(points, prototypes, validity)}
    while len(prototypes) > 2 and (masses > 0.0).sum() > 2:
        start = _arranged(merge_down(prototypes, masses, max(2, len(prototypes) // 2)), points)
        prototypes = learn(prototypes, masses, start, mapped=NEXT_MAP, width=0.5)
        masses = _masses(points, prototypes)
        judged[len(prototypes)] = validity_of(points, prototypes, validity)
    return judged


def _refined(
    points: np.ndarray, level: tuple[np.ndarray, np.ndarray], validity: str
) -> tuple[dict[int, np.ndarray], dict[int, float]]:
    """Prototypes trained on the records, in numbers around the best until it stays, and how each is
    judged.
    """
    most = int((level[1] > 0.0).sum())
    best = max(2, min(_largest(_judged_levels(points, level, validity)), most))
    prototypes: dict[int, np.ndarray] = {1: level[0][:1]}
    judged: dict[int, float] = {1: -np.inf}
    for _ in range(REFINEMENTS):
        for c in range(max(2, best - AROUND), min(most, best + AROUND) + 1):
            if c not in judged:
                prototypes[c], judged[c] = _clusters_of(points, merge_down(*level, c), validity)
        before, best = best, _largest(judged)
        if best == before:
            break
    return prototypes, judged


def _clusters_of(points: np.ndarray, start: np.ndarray, validity: str) -> tuple[np.ndarray, float]:
    """Prototypes trained on the records, with typicalities if that is judged better, and how they
    are judged.
    """
    weights = np.ones(len(points))
    fuzzy = learn(points, weights, start, possibilistic=0)
    both = learn(points, weights, fuzzy, fuzzy=0)
    judged = [_judged_if_apart(points, prototypes, validity) for prototypes in (both, fuzzy)]
    return (both, judged[0]) if judged[0] >= judged[1] else (fuzzy, judged[1])


def _judged_if_apart(points: np.ndarray, prototypes: np.ndarray, validity: str) -> float:
    """Return the validity index; the worst one where two prototypes coincide, as rounding would
    decide.
    """
    if _squared_distances_between(prototypes).min() <= (10.0 * SETTLED) ** 2:
        return -np.inf
    return validity_of(points, prototypes, validity)


def _largest(judged: dict[int, float]) -> int:
    return min(judged, key=lambda c: (-judged[c], c))


def _in_units(points: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Centre, extent, and the points measured from the centre in units of the extent: no squares
    vanish or overflow.
    """
    centre = sums.mean_of(points, np.arange(len(points)))
    shifted = points - centre
    constant = points.min(axis=0) == points.max(axis=0)
    shifted[:, constant] = 0.0  # a mean may be off by the last digit
    extent = float(np.abs(shifted).max())
    if extent == 0.0:
        return centre, 0.0, shifted
    shifted /= extent
    shifted += 0.0  # -0.0 becomes 0.0: equal points have equal bytes
    return centre, extent, shifted


def _distinct_records(points: np.ndarray, wanted: int, rng: np.ndarray) -> np.ndarray:
    """Random records, no two of which lie in one place: as many as wanted, or as there are."""
    seen: dict[bytes, int] = {}
    for record in random.permutation(rng, len(points)):
        seen.setdefault(points[record].tobytes(), int(record))
        if len(seen) == wanted:
            break
    return np.array(list(seen.values()))


def _arranged(prototypes: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The prototypes in the order of the map: row by row along the column that varies most, in a
    row along the next.
    """
    varies = np.argsort(-sums.column_moments(points)[1], kind="stable")
    down, along = varies[0], varies[min(1, len(varies) - 1)]
    across = _places_across(len(prototypes))
    ordered = prototypes[np.argsort(prototypes[:, down], kind="stable")]
    rows = [ordered[first : first + across] for first in range(0, len(ordered), across)]
    return np.vstack([row[np.argsort(row[:, along], kind="stable")] for row in rows])


def _places_across(prototypes: int) -> int:
    """Return the number of nodes in a row of the map; the last row may have fewer."""
    return -(-prototypes // max(1, int(prototypes**0.5)))


def _masses(points: np.ndarray, prototypes: np.ndarray) -> np.ndarray:
    labels = label_nearest(points, _by_column(prototypes))
    return sums.group_sizes(labels, len(prototypes)).astype(np.float64)


def _order_of_first_records(labels: np.ndarray) -> np.ndarray:
    """The labels in the order in which they first appear."""
    values, firsts = np.unique(labels, return_index=True)
    return values[np.argsort(firsts, kind="stable")]


class _Reports:
    """Progress of the map: nearly all of the work is in its passes."""

    def __init__(self, progress: Progress | None, records: int) -> None:
        self._progress, self._records = progress, records

    def tell(self, share: float) -> None:
        if self._progress is not None:
            self._progress(int(share * self._records), self._records)
