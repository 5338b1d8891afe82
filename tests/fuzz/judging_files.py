"""Check of a released file for k, l, t and units, for everybody who reads it; counted here, by
nothing of microagg.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.readers import View, readers_of

SLACK = 1e-9


@dataclass(frozen=True)
class Confidential:
    """A confidential column of the file."""

    name: str
    ordered: bool = False
    """Whether t goes by places among the values of the table; else all values are equally far
    apart.
    """
    order: tuple[str, ...] = ()
    """Of texts with an order: all of them, in that order."""


@dataclass(frozen=True)
class Promise:
    """Guarantees that a file must keep."""

    k: int
    columns: tuple[str, ...]
    """The columns that make a class."""
    records: int | None = None
    """How many records it must have, where none may be left out."""
    each_column: bool = False
    """Whether k is promised for the values of each column alone."""
    confidential: tuple[Confidential, ...] = ()
    l: float | None = None
    diversity: str = "distinct"
    c: float | None = None
    t: float | None = None
    units: tuple[int, ...] | None = None
    """The unit of each row of the file."""
    absent: tuple[str, ...] = field(default=())
    """Columns that must not be there."""


def broken_promises(path: Path, promise: Promise) -> list[str]:
    """Return the guarantees that the file does not keep, reader by reader; nothing if all see what
    was promised.
    """
    problems = []
    for number, read in enumerate(readers_of(path)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of types that a reader guesses from a part of a file
            try:
                view = read(path)
                problems += [f"{view.reader}: {what}" for what in _broken(view, promise)]
            except Exception as error:  # of whichever library
                problems.append(
                    f"reader {number} of {path.name} fails: {type(error).__name__}: {error}"
                )
    return problems


def _broken(view: View, promise: Promise) -> Iterator[str]:
    if promise.records is not None and view.records != promise.records:
        yield f"{view.records} records instead of {promise.records}"
    if present := [name for name in promise.absent if name in view.columns]:
        yield f"columns that were to be left out: {present}"
    if lacking := [name for name in promise.columns if name not in view.columns]:
        yield f"no columns {lacking}"
        return
    if promise.each_column:
        for name in promise.columns:
            yield from _too_small(view.classes([name]), promise.k, f"values of {name}")
        return
    classes = view.classes(promise.columns)
    if sum(map(len, classes)) != view.records:
        yield "classes do not have all records"
    yield from _too_small(classes, promise.k, "classes")
    if promise.units is not None:
        yield from _few_units(classes, promise.units, promise.k)
    for column in promise.confidential:
        cells = view.values(column.name)
        if promise.l is not None:
            yield from _little_diversity(classes, cells, column, promise)
        if promise.t is not None and view.typed:
            yield from _far_away(classes, cells, column, promise.t)


def _too_small(classes: Sequence[Sequence[int]], k: int, what: str) -> Iterator[str]:
    small = [len(rows) for rows in classes if len(rows) < k]
    if small or not classes:
        yield (
            f"k = {k}: {len(small)} of {len(classes)} {what} are smaller, the smallest has "
            f"{min(small, default=0)}"
        )


def _few_units(classes: Sequence[Sequence[int]], units: Sequence[int], k: int) -> Iterator[str]:
    for rows in classes:
        counts = Counter(units[row] for row in rows)
        if len(counts) < k:
            yield f"a class of {len(counts)} units"
        if 2 * max(counts.values()) > len(rows):
            yield f"a unit has {max(counts.values())} of {len(rows)} records of a class"


def _little_diversity(
    classes: Sequence[Sequence[int]], cells: Sequence[Any], column: Confidential, promise: Promise
) -> Iterator[str]:
    assert promise.l is not None
    for rows in classes:
        counts = sorted(
            Counter(cells[row] for row in rows if cells[row] is not None).values(), reverse=True
        )
        if promise.diversity == "distinct":
            kept = len(counts) >= promise.l
        elif promise.diversity == "entropy":
            total = sum(counts)
            entropy = -sum(count / total * math.log(count / total) for count in counts)
            kept = bool(counts) and entropy >= math.log(promise.l) - SLACK
        else:
            rest = sum(counts[int(promise.l) - 1 :])
            kept = bool(counts) and counts[0] < (promise.c or 0.0) * rest + SLACK
        if not kept:
            yield f"{promise.diversity} l = {promise.l} of {column.name}: a class has {counts}"


def _far_away(
    classes: Sequence[Sequence[int]], cells: Sequence[Any], column: Confidential, t: float
) -> Iterator[str]:
    values = sorted({cell for cell in cells if cell is not None}, key=_place_in(column))
    values += [None] if any(cell is None for cell in cells) else []
    positions = {value: index for index, value in enumerate(values)}
    whole = _shares([positions[cell] for cell in cells], len(values))
    for rows in classes:
        shares = _shares([positions[cells[row]] for row in rows], len(values))
        differences = [a - b for a, b in zip(shares, whole, strict=True)]
        if column.ordered and len(values) > 1:
            moved, carried = 0.0, 0.0
            for difference in differences[:-1]:
                carried += difference
                moved += abs(carried)
            distance = moved / (len(values) - 1)
        else:
            distance = sum(map(abs, differences)) / 2
        if distance > t + SLACK:
            yield f"t = {t} of {column.name}: a class is {distance:.6f} away"


def _place_in(column: Confidential) -> Any:
    if column.order:
        return lambda value: column.order.index(str(value))
    return lambda value: (isinstance(value, str), value)


def _shares(places: Sequence[int], count: int) -> list[float]:
    counts = Counter(places)
    return [counts[index] / len(places) for index in range(count)]
