"""Distance-based record linkage: how many released records lie nearest to their own original."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microagg.errors import InputError
from microagg.kernels import tree_build
from microagg.kernels.tree import handle_of
from microagg.kernels.tree_levels import link
from microagg.measures.measure import Figure, Measure, Pair
from microagg.measures.risk.classes import ReleasedClasses, classes_of, columns_to_compare, percent_of_records
from microagg.table.encoder import Space


def record_linkage(pair: Pair, columns: Sequence[str] | None = None, scale: str = "zscore") -> Figure:
    """The records, in percent, that an intruder links who knows all originals and joins each release to the nearest.

    `columns` are those the intruder knows (all, if none are named). Columns are scaled by their originals. Where m
    originals are nearest, the intruder draws one of them, so each counts 1/m. The second nearest are the originals at
    the next larger distance, shared in the same way. Exact; O(n log n) for all but strange data, O(n) memory.

    >>> pair = Pair(np.array([[0.0], [1.0], [5.0]]), np.array([[0.5], [0.5], [4.0]]), ("age",))
    >>> figure = record_linkage(pair)
    >>> round(figure.value, 3), figure.details["second nearest"]
    (66.667, 0.0)
    """
    nearest, second = linked_parts(pair, columns, scale)
    first, other = percent_of_records(nearest, pair.weights), percent_of_records(second, pair.weights)
    return Figure(first, details={"second nearest": other, "nearest or second": first + other})


def linked_parts(
    pair: Pair, columns: Sequence[str] | None = None, scale: str = "zscore"
) -> tuple[np.ndarray, np.ndarray]:
    """Each record's part in the tie for the nearest original, and for the second nearest; 0 if it is in neither.

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
    space = Space.fit(_chosen(pair.original, known), scale)
    originals = space.points(_chosen(pair.original, known))
    with np.errstate(over="ignore"):  # what is released may be beyond all originals: infinitely far, then
        released = space.points(_chosen(pair.released, known))
    classes = pair.classes if len(known) == len(pair.names) else classes_of([*released.T])
    return _linked(originals, classes_of([*originals.T]), released, classes)


def _linked_parts_of_cells(pair: Pair, scale: str) -> tuple[np.ndarray, np.ndarray]:
    """The same on the encoding of a mixed table. Ranges and ancestors have no point: such columns are left out."""
    kept = [variable.name for variable in pair.after.variables if not variable.coarse]
    if len(kept) < len(pair.quasi):
        pair = pair.of_columns(kept)
    space = Space.fit(pair.before, scale)
    originals, released = space.points(pair.before), space.points(pair.after)
    # equal cells, not equal points: those may differ in their last digits
    return _linked(originals, classes_of(columns_to_compare(pair.before)), released, pair.classes)


def _linked(
    originals: np.ndarray, equal: ReleasedClasses, released: np.ndarray, classes: ReleasedClasses
) -> tuple[np.ndarray, np.ndarray]:
    """From the points of both tables, and which of them are equal, to each record's part in the ties."""
    if len(equal) < len(originals):  # no copy otherwise
        originals = originals[equal.order[equal.starts[:-1]]]
        own, counts = equal.labels.astype(np.int32), equal.sizes.astype(np.int32)
    else:
        own, counts = np.arange(len(originals), dtype=np.int32), np.ones(len(originals), np.int32)
    tree = tree_build.build(originals)
    nearest, second = np.empty(len(released)), np.empty(len(released))
    link(released, classes.order, classes.starts, own, counts, handle_of(tree), nearest, second)
    return nearest, second


def _positions(names: Sequence[str], columns: Sequence[str] | None) -> list[int]:
    if columns is None:
        return list(range(len(names)))
    unknown = [name for name in columns if name not in names]
    if unknown or len(columns) == 0:
        raise InputError(
            f"an intruder's columns must be among the quasi-identifiers {', '.join(map(repr, names))}; "
            + (f"{unknown[0]!r} is not." if unknown else "name at least one.")
        )
    return [names.index(name) for name in dict.fromkeys(columns)]


def _known(pair: Pair, columns: Sequence[str]) -> list[str]:
    return [pair.quasi[j] for j in _positions(pair.quasi, columns)]


def _chosen(values: np.ndarray, known: list[int]) -> np.ndarray:
    """These columns; the table itself where they are all, unless it is read-only, which kernels were not compiled for."""
    everything = known == list(range(values.shape[1]))
    return np.require(values if everything else values[:, known], np.float64, ["C", "W"])


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
    source="Pagliuca and Seri 1999, as used by Abidi, Ben Yahia and Perera 2020: from each released record to the "
    "originals, Euclidean on z-scores of the original columns. A tie among m originals counts 1/m, so guessing "
    "blindly (all records released alike) links one record. The second nearest are those at the next distance. "
    "Weights count the linked records; they change no distance. Categories and gaps are as far apart as where groups are "
    "formed; columns released as ranges or ancestors are left out.",
    compute=record_linkage,
    needs="points",
)
