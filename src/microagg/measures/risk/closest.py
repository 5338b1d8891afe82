"""Distances from released records to the closest original, and to the second closest.

Both are figures of synthetic data: a generator that has learnt records by heart releases them, or
nearly. From each released record the nearest and the second nearest original are looked up,
Euclidean on z-scores of the original columns; equal originals count each. Categories and gaps are
as far apart as where groups are formed; columns released as ranges or ancestors are left out.

    distance to the closest record     d1        0: it is an original record
    nearest-neighbour distance ratio   d1 / d2   near 0: one original stands out; 1: two are as near

Of both the figure is the 5th percentile: the least value that at least a twentieth of the records
(or of their weights) does not exceed.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels import tree_build
from microagg.kernels.tree import handle_of
from microagg.kernels.tree_levels import two_nearest
from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.measures.parts import Lookup
from microagg.measures.risk.classes import classes_of, columns_to_compare, percent_of_records
from microagg.measures.risk.linkage import distinct_points, slack_of_turned, with_points
from microagg.table.encoder import Space

SHARE = 0.05
_LARGEST = float(np.finfo(np.float64).max)
_ROUNDING = 1e-12  # of a sum of shares


def closest_record(pair: Pair) -> Figure:
    """The distance to the nearest original that 95 % of the released records exceed, in standard
    deviations.

    >>> table = np.array([[0.0], [1.0], [5.0]])
    >>> closest_record(Pair(table, table, ("age",))).value
    0.0
    """
    if len(pair.original) == 0:
        return Figure(0.0)
    return closest_record_of(pair.once(two_distances)[0], pair.weights)


def closest_record_of(nearest: np.ndarray, weights: np.ndarray | None) -> Figure:
    """The figure of these distances.

    >>> closest_record_of(np.array([0.0, 1.0]), None).details["percent equal to an original"]
    50.0
    """
    return Figure(
        _percentile(nearest, weights, SHARE),
        details={
            "median": _percentile(nearest, weights, 0.5),
            "least": float(nearest.min()),
            "percent equal to an original": percent_of_records(nearest == 0.0, weights),
        },
    )


def nearest_neighbour_ratio(pair: Pair) -> Figure:
    """The ratio of the distances to the nearest and the second nearest original that 95 % of the
    released records exceed.

    Where both are equal, 0 included, it is 1; where there is one original only, 0.

    >>> pair = Pair(np.array([[0.0], [1.0], [5.0]]), np.array([[0.5], [0.5], [4.0]]), ("age",))
    >>> round(nearest_neighbour_ratio(pair).value, 6)
    0.333333
    """
    if len(pair.original) == 0:
        return Figure(0.0)
    return neighbour_ratio_of(*pair.once(two_distances), pair.weights)


def neighbour_ratio_of(
    nearest: np.ndarray, second: np.ndarray, weights: np.ndarray | None
) -> Figure:
    """The figure of the ratios of these distances.

    >>> neighbour_ratio_of(np.array([1.0, 1.0]), np.array([2.0, 1.0]), None).value
    0.5
    """
    ratios = np.divide(nearest, second, out=np.ones(len(nearest)), where=nearest < second)
    if len(nearest) == 1:
        ratios[:] = 0.0
    return Figure(
        _percentile(ratios, weights, SHARE),
        details={"median": _percentile(ratios, weights, 0.5), "least": float(ratios.min())},
    )


def _closest_of_lookup(lookup: Lookup) -> Figure:
    return closest_record_of(_lengths(lookup.distances, lookup.slack), lookup.weights)


def _ratio_of_lookup(lookup: Lookup) -> Figure:
    nearest = _lengths(lookup.distances, lookup.slack)
    second = _lengths(lookup.next_distances, lookup.slack)
    return neighbour_ratio_of(nearest, second, lookup.weights)


def two_distances(pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """From each released record to the nearest original and to the second nearest (no less than it;
    there may be none).

    >>> pair = Pair(np.array([[-1.0], [1.0]]), np.array([[0.0], [2.0]]), ("age",))
    >>> [distances.tolist() for distances in two_distances(pair)]
    [[1.0, 1.0], [1.0, 3.0]]
    """
    if pair.cells is None:
        values, equal, slack = np.require(pair.original, np.float64, ["C", "W"]), None, 0.0
        space = Space.fit(values, "zscore")
        originals = space.points(values)
        with np.errstate(over="ignore"):  # what is released may be beyond all originals
            released = space.points(pair.released)
    else:
        pair = with_points(pair)
        space, equal = Space.fit(pair.before, "zscore"), classes_of(columns_to_compare(pair.before))
        originals, released = space.points(pair.before), space.points(pair.after)
        slack = slack_of_turned(originals)
    classes = pair.classes
    points, _, counts = distinct_points(originals, equal)
    tree = tree_build.build(points)
    queries = released[classes.order[classes.starts[:-1]]]
    nearest, second = np.empty(len(queries)), np.empty(len(queries))
    two_nearest(queries, counts, handle_of(tree), nearest, second)
    return _lengths(nearest, slack)[classes.labels], _lengths(second, slack)[classes.labels]


def _lengths(squared: np.ndarray, slack: float) -> np.ndarray:
    """Distances; 0 where there is nothing but rounding."""
    lengths = np.minimum(np.sqrt(squared), _LARGEST)
    lengths[lengths <= slack] = 0.0
    return lengths


def _percentile(values: np.ndarray, weights: np.ndarray | None, share: float) -> float:
    """The least value that at least such a share of the records does not exceed."""
    order = np.argsort(values, kind="stable")
    counted = np.arange(1.0, len(values) + 1.0) if weights is None else np.cumsum(weights[order])
    return float(values[order[np.searchsorted(counted / counted[-1], share - _ROUNDING)]])


CLOSEST_RECORD = Measure(
    name="closest-record",
    title="distance to the closest original record",
    side="risk",
    unit="standard deviations, 5th percentile",
    lower_is_better=False,
    lowest=0.0,
    highest=float("inf"),
    zero_means="At least a twentieth of the released records equal an original record.",
    highest_means="There is no end; released records are then far from all original ones.",
    source="As used for synthetic data by Zhao, Kunar, Birke and Chen 2021 (DCR): from each "
    "released record to all originals, "
    "Euclidean on z-scores of the original columns, 5th percentile without "
    "interpolation. Weights count records.",
    compute=closest_record,
    basis=Basis.LOOKUP,
    from_lookup=_closest_of_lookup,
    of="record",
    needs="points",
)

NEAREST_NEIGHBOUR_RATIO = Measure(
    name="neighbour-ratio",
    title="nearest-neighbour distance ratio",
    side="risk",
    unit="ratio, 5th percentile",
    lower_is_better=False,
    lowest=0.0,
    highest=1.0,
    zero_means="At least a twentieth of the released records equal one original record and no "
    "other.",
    highest_means="Nearly every released record is equally near to two originals.",
    source="As used for synthetic data by Zhao, Kunar, Birke and Chen 2021 (NNDR), after Lowe "
    "2004: nearest over second nearest "
    "original, distances as for the closest record, 5th percentile without "
    "interpolation. Two originals in one place: 1.",
    compute=nearest_neighbour_ratio,
    basis=Basis.LOOKUP,
    from_lookup=_ratio_of_lookup,
    of="record",
    needs="points",
)
