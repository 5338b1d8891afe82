"""Distance-based record linkage: how many released records lie nearest to their own original.

Distances that differ by no more than rounding are equal: at k = 2 both originals are equally far
from their mean. What rounding may do is said by the numbers themselves: with u = 2**-52, a column
of centre c and width w whose coordinates reach up to z moves a point by up to 4 u (|c| / w + 2 z)
on its axis (a mean of some numbers, rounded, and the way to coordinates).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from microagg.errors import InputError
from microagg.kernels import tree_build
from microagg.kernels.tree import handle_of
from microagg.kernels.tree_levels import EPSILON, link
from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.measures.parts import Lookup
from microagg.measures.risk.classes import (
    ReleasedClasses,
    classes_of,
    columns_to_compare,
    percent_of_records,
)
from microagg.table.encoder import Space
from microagg.table.suggestions import list_names

_ROUNDINGS = 4.0 * EPSILON


def record_linkage(
    pair: Pair, columns: Sequence[str] | None = None, scale: str = "zscore"
) -> Figure:
    """The records, in percent, that an intruder links who knows all originals and joins each
    release to the nearest.

    `columns` are those the intruder knows (all, if none are named). Columns are scaled by their
    originals. Where m originals are nearest, the intruder draws one of them, so each counts 1/m.
    The second nearest are the originals at the next larger distance, shared in the same way.
    Distances equal within rounding are equal. Exact; O(n log n) for all but strange data, O(n)
    memory.

    >>> pair = Pair(np.array([[0.0], [1.0], [5.0]]), np.array([[0.5], [0.5], [4.0]]), ("age",))
    >>> figure = record_linkage(pair)
    >>> round(figure.value, 3), figure.details["second nearest"]
    (66.667, 0.0)
    """
    nearest, second = linked_parts(pair, columns, scale)
    return linkage_of(nearest, second, pair.weights)


def linkage_of(nearest: np.ndarray, second: np.ndarray, weights: np.ndarray | None) -> Figure:
    """The figure of each record's parts in the ties.

    >>> linkage_of(np.array([0.5, 0.0]), np.array([0.0, 1.0]), None).value
    25.0
    """
    first, other = percent_of_records(nearest, weights), percent_of_records(second, weights)
    return Figure(first, details={"second nearest": other, "nearest or second": first + other})


def _linkage_of_lookup(lookup: Lookup) -> Figure:
    return linkage_of(lookup.nearest, lookup.second, lookup.weights)


def linked_parts(
    pair: Pair, columns: Sequence[str] | None = None, scale: str = "zscore"
) -> tuple[np.ndarray, np.ndarray]:
    """Each record's part in the tie for the nearest original, and for the second nearest; 0 if it
    is in neither.

    >>> pair = Pair(np.array([[0.0], [1.0], [5.0]]), np.array([[0.5], [0.5], [4.0]]), ("age",))
    >>> linked_parts(pair)[0].tolist()
    [0.5, 0.5, 1.0]
    """
    if len(pair.original) == 0:
        return np.empty(0), np.empty(0)
    if pair.cells is not None:
        return _linked_parts_of_cells(
            pair if columns is None else pair.of_columns(_known(pair, columns)), scale
        )
    known = _positions(pair.names, columns)
    values = _chosen(pair.original, known)
    space = Space.fit(values, scale)
    originals = space.points(values)
    # what is released may be beyond all originals: infinitely far, then
    with np.errstate(over="ignore"):
        released = space.points(_chosen(pair.released, known))
    classes = pair.classes if len(known) == len(pair.names) else classes_of([*released.T])
    return _linked(originals, None, released, classes, _slack(space, originals))


def _linked_parts_of_cells(pair: Pair, scale: str) -> tuple[np.ndarray, np.ndarray]:
    """The same on the encoding of a mixed table. Ranges and ancestors have no point: such columns
    are left out.
    """
    pair = with_points(pair)
    space = Space.fit(pair.before, scale)
    originals, released = space.points(pair.before), space.points(pair.after)
    # equal cells, not equal points: those may differ in their last digits
    equal = classes_of(columns_to_compare(pair.before))
    return _linked(originals, equal, released, pair.classes, slack_of_turned(originals))


def with_points(pair: Pair) -> Pair:
    """The same without columns released as ranges or ancestors, which have no point."""
    kept = [variable.name for variable in pair.after.variables if not variable.coarse]
    return pair if len(kept) == len(pair.quasi) else pair.of_columns(kept)


def _linked(
    points: np.ndarray,
    equal: ReleasedClasses | None,
    released: np.ndarray,
    classes: ReleasedClasses,
    slack: float,
) -> tuple[np.ndarray, np.ndarray]:
    """From the points of both tables, and which of them are equal, to each record's part in the
    ties.
    """
    originals, original_of, counts = distinct_points(points, equal)
    tree = tree_build.build(originals)
    nearest, second = np.empty(len(released)), np.empty(len(released))
    link(
        released,
        classes.order,
        classes.starts,
        original_of,
        counts,
        slack,
        handle_of(tree),
        nearest,
        second,
    )
    return nearest, second


def slack_of(space: Space, points: np.ndarray, *, mixed: bool) -> float:
    """Return how far rounding may move a point of a plain or a mixed table.

    >>> slack_of(Space.fit(np.array([[0.0], [1.0]])), np.array([[-1.0], [1.0]]),
    ...     mixed=False) < 1e-14
    True
    """
    return slack_of_turned(points) if mixed else _slack(space, points)


def slack_of_turned(points: np.ndarray) -> float:
    """Return how far rounding may move a point that is a sum over all axes before the rotation."""
    return _ROUNDINGS * points.shape[1] * math.hypot(*(2.0 * np.abs(points).max(axis=0)))


def _slack(space: Space, points: np.ndarray) -> float:
    """Return how far rounding may move a point. A constant column moves all points alike, which
    changes no tie.
    """
    axes = [j for j in range(points.shape[1]) if j not in space.constant]
    offsets, extents = np.abs(space.centre) / space.width, np.abs(points).max(axis=0)
    return _ROUNDINGS * math.hypot(*(float(offsets[j] + 2.0 * extents[j]) for j in axes))


def _positions(names: Sequence[str], columns: Sequence[str] | None) -> list[int]:
    if columns is None:
        return list(range(len(names)))
    unknown = [name for name in columns if name not in names]
    if unknown or len(columns) == 0:
        raise InputError(
            f"an intruder's columns must be among the quasi-identifiers {list_names(names)}; "
            + (f"{unknown[0]!r} is not." if unknown else "name at least one.")
        )
    return [names.index(name) for name in dict.fromkeys(columns)]


def _known(pair: Pair, columns: Sequence[str]) -> list[str]:
    return [pair.quasi[j] for j in _positions(pair.quasi, columns)]


def _chosen(values: np.ndarray, known: list[int]) -> np.ndarray:
    """These columns; the table itself where they are all, unless it is read-only, which kernels
    were not compiled for.
    """
    everything = known == list(range(values.shape[1]))
    return np.require(values if everything else values[:, known], np.float64, ["C", "W"])


def distinct_points(
    points: np.ndarray, equal: ReleasedClasses | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct points, the one that each point is, and how often each occurs; `equal` tells
    which of them are the same.
    """
    classes = classes_of([*points.T]) if equal is None else equal
    if len(classes) == len(points):  # no copy, then
        return points, np.arange(len(points), dtype=np.int32), np.ones(len(points), np.int32)
    firsts = classes.order[classes.starts[:-1]]
    return points[firsts], classes.labels.astype(np.int32), classes.sizes.astype(np.int32)


LINKAGE = Measure(
    name="linkage",
    title="records linked to their originals",
    side="risk",
    unit="percent of the records",
    lower_is_better=True,
    lowest=0.0,
    highest=100.0,
    zero_means="No record's nearest original is its own.",
    highest_means="Every released record is nearer to its own original than to any other.",
    source="Pagliuca and Seri 1999, as used by Abidi, Ben Yahia and Perera 2020: from each "
    "released record to the "
    "originals, Euclidean on z-scores of the original columns. Distances equal within "
    "rounding tie, and a tie among m "
    "originals counts 1/m, so guessing blindly (all records released alike) links one "
    "record. The second nearest are those at "
    "the next distance. Weights count the linked records; they change no distance. "
    "Categories and gaps are as far apart as where "
    "groups are formed; columns released as ranges or ancestors are left out.",
    compute=record_linkage,
    basis=Basis.LOOKUP,
    from_lookup=_linkage_of_lookup,
    lookup_scores=lambda lookup: 100.0 * lookup.nearest,
    needs="points",
)
