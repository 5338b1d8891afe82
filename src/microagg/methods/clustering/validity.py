"""Validity of a clustering: the indices that choose the number of clusters."""

from __future__ import annotations

import numpy as np

from microagg.kernels import sums
from microagg.kernels.distances import squared_distances
from microagg.kernels.elementary import exponential
from microagg.kernels.possibilistic import (
    spreads_between,
    spreads_of,
)

# distance of clusters in units of their spread; the halves of an even distribution have 3
TOUCHING = 4.0


def _by_column(prototypes: np.ndarray) -> np.ndarray:
    return prototypes.T.copy()


def _squared_distances_between(prototypes: np.ndarray) -> np.ndarray:
    apart = np.zeros((len(prototypes), len(prototypes)))
    for j in range(prototypes.shape[1]):
        apart += (prototypes[:, j, None] - prototypes[None, :, j]) ** 2
    np.fill_diagonal(apart, np.inf)
    return apart


# and "pcaes-min", which serves no purpose but to show what it does
VALIDITIES = ("own-spread", "pcaes")


def validity_of(points: np.ndarray, prototypes: np.ndarray, validity: str = "pcaes") -> float:
    """Return compactness and separation of the clusters around two or more prototypes; larger is
    better.

    >>> points = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> validity_of(points, np.array([[0.5], [9.5]])) > validity_of(
    ...     points, np.array([[4.0], [6.0]]), "own-spread"
    ... )
    True
    """
    distances, masses = (_by_own_spread if validity == "own-spread" else _by_spread_of_all)(
        points, prototypes
    )
    compared_with = masses.min() if validity == "pcaes-min" else masses.max()
    compact = relative(total(masses), compared_with)
    near = np.array([exponential(-distance) for distance in distances.tolist()])
    return float(compact - total(near))


def _by_spread_of_all(points: np.ndarray, prototypes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each cluster's squared distance from the nearest one as PCAES measures it, and its squared
    memberships.
    """
    masses, _ = spreads_of(points, np.ones(len(points)), _by_column(prototypes))
    centre = sums.mean_of(points, np.arange(len(points)))
    spread = total(squared_distances(prototypes, centre)) / len(prototypes)
    return relative(_squared_distances_between(prototypes).min(axis=1), spread), masses


def _by_own_spread(points: np.ndarray, prototypes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same by the spread of the two clusters along the line between them; what touches is at no
    distance.
    """
    apart = _squared_distances_between(prototypes)
    partners, squares = apart.argmin(axis=1), apart.min(axis=1)
    lengths = np.sqrt(squares)
    directions = (prototypes[partners] - prototypes) / np.where(lengths > 0.0, lengths, 1.0)[
        :, None
    ]
    masses, spreads, others = spreads_between(
        points, _by_column(prototypes), partners, _by_column(directions), lengths
    )
    spread = relative(spreads, masses) + relative(others, masses[partners])
    return np.maximum(relative(squares, 2.0 * spread) - TOUCHING, 0.0), masses


def total(amounts: np.ndarray) -> np.ndarray:
    """Their sum, in whichever order they come."""
    return sums.column_sums(amounts.reshape(-1, 1))[0, 0]


def relative(amounts: np.ndarray, measure: np.ndarray | float | np.floating) -> np.ndarray:
    """Amounts in units of their measures; 0 where they are 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(amounts == 0.0, 0.0, amounts / measure)
