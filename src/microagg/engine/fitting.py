"""The space of a table that is never in memory as a whole: what `Space.fit` finds, in a few passes over its chunks.

Each pass is one task for each chunk, whose results are put together in the order of the chunks; moments of principal axes are those of
runs of 65,536 records, as in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microagg.engine.executor import Executor
from microagg.engine.scanning import Facts, LevelFacts, NumberFacts, cells_in, excused_values
from microagg.errors import InputError, OnlyInMemory
from microagg.kernels import partial_sums, sums
from microagg.table.axes import (
    Coded,
    ColumnAxes,
    Scaled,
    axes_of_atoms,
    axes_of_categories,
    scaled_by,
    with_atoms,
)
from microagg.table.encoder import (
    RUN,
    Space,
    can_be_turned,
    extents,
    moments_of_run,
    principal_axes,
    turned_to,
)
from microagg.table.scales import Axis
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable

SCALES_IN_PASSES = ("zscore", "minmax", "none")


@dataclass
class Passes:
    """The chunks of a table, and who works on them."""

    source: Any
    chunks: list[tuple[int, int]]
    executor: Executor
    tell: Callable[[str, int], None] = lambda what, records: None
    """Told after each chunk which pass it was and how many records it has."""
    a_record: int = 0
    """Bytes that a record of a chunk takes at the peak."""

    def over(
        self, what: str, task: Callable[..., Any], *arguments: Any, each: Sequence[Any] | None = None
    ) -> Iterator[Any]:
        """What `task(source, first, count, *arguments)` returns for each chunk, in their order; `each` has one more for every chunk."""
        more = [()] * len(self.chunks) if each is None else [(own,) for own in each]
        given = (
            (self.source, first, count, *arguments, *own)
            for (first, count), own in zip(self.chunks, more, strict=True)
        )
        needs = (count * self.a_record for _, count in self.chunks)
        done = self.executor.in_order(task, given, needs=needs)
        for (_, count), result in zip(self.chunks, done, strict=True):
            self.tell(what, count)
            yield result


@dataclass(frozen=True)
class Fitted:
    """The space, and what else these passes found."""

    space: Space
    decimals: tuple[int | None, ...]


def fit(passes: Passes, variables: Sequence[Variable], facts: Sequence[Facts], scale: str) -> Fitted:
    """What `Space.fit` and `decimals_of_variable` find in the whole table."""
    if scale not in SCALES_IN_PASSES:
        raise OnlyInMemory(
            f"scale {scale} is not worked on beyond memory yet; give it more memory, or say another scale."
        )
    squares, excused = _squares(passes, variables, facts, scale)
    decimals = tuple(
        each.decimals(excused.get(j)) if isinstance(each, NumberFacts) else None
        for j, each in enumerate(facts)
    )
    plain = all(each.kind is Kind.NUMERIC and not each.marks for each in variables)
    columns: list[ColumnAxes] = [
        _column(variable, each, squares.get(j), scale)
        for j, (variable, each) in enumerate(zip(variables, facts, strict=True))
    ]
    if plain:
        return Fitted(Space(scale, tuple(columns)), decimals)
    columns = _with_atoms(passes, variables, facts, columns, scale)
    return Fitted(_turned(passes, variables, Space(scale, tuple(columns)), facts[0].records), decimals)


def _squares(
    passes: Passes, variables: Sequence[Variable], facts: Sequence[Facts], scale: str
) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
    """The sums of squares around the mean, and what usual values excuse, by column; one pass, if it is needed at all."""
    asked = {
        j: each
        for j, each in enumerate(facts)
        if isinstance(each, NumberFacts) and each.known and (scale == "zscore" or each.asks_for_usual)
    }
    squares = {j: np.zeros((3, 1)) for j in asked}
    excused = {j: np.zeros(len(each.off), np.int64) for j, each in asked.items() if each.asks_for_usual}
    if asked:
        for found, counted in passes.over("measuring", measure_chunk, tuple(variables), asked):
            for j, more in found.items():
                partial_sums.add_sums(squares[j], more)
            for j, more in counted.items():
                excused[j] += more
    return squares, excused


def measure_chunk(
    source: Any, first: int, count: int, variables: tuple[Variable, ...], asked: dict[int, NumberFacts]
) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
    """A task: of each numeric column the sum of squares around its mean, and what usual values excuse."""
    chosen = [variables[j] for j in asked]
    cells = cells_in(source.read(first, count, [each.name for each in chosen]), chosen, first)
    squares, excused = {}, {}
    for place, (j, facts) in enumerate(asked.items()):
        values = cells.values[:, place]
        known = np.ascontiguousarray(values[~np.isnan(values)])
        squares[j] = partial_sums.square_sums(known.reshape(-1, 1), np.array([facts.mean]))
        if facts.asks_for_usual:
            excused[j] = excused_values(known, facts)
    return squares, excused


def _column(variable: Variable, facts: Facts, squares: np.ndarray | None, scale: str) -> ColumnAxes:
    """The axes of a column, without those of atoms."""
    if isinstance(facts, LevelFacts):
        return axes_of_categories(variable, facts.frequency(), scale, 1.0)
    if variable.kind is Kind.NOMINAL:  # nothing but gaps
        return axes_of_categories(variable, np.array([facts.records]), scale, 1.0)
    constant = facts.least == facts.most
    if facts.missing and constant:
        return axes_of_atoms(facts.known, np.array([facts.missing]), 1, scale, 1.0)
    axis = Axis(0.0, 1.0)
    if scale == "minmax":
        axis = Axis(facts.least, facts.most - facts.least)
    elif scale == "zscore" and squares is not None:
        axis = Axis(facts.mean, float(np.sqrt(sums.rounded(squares, 0) / facts.known)))

    def too_small() -> float:
        raise InputError(
            f"column {variable.name!r} holds numbers so small that their squares vanish; multiply them by a large one first."
        )

    return scaled_by(axis, scale, variable.unit, 1.0, constant, too_small)


def _with_atoms(
    passes: Passes,
    variables: Sequence[Variable],
    facts: Sequence[Facts],
    columns: list[ColumnAxes],
    scale: str,
) -> list[ColumnAxes]:
    """The same with axes for atoms, which lie where the mean of the values does; two passes."""
    scaled = [j for j, column in enumerate(columns) if isinstance(column, Scaled)]
    if not scaled:
        return columns
    chosen, axes = tuple(variables[j] for j in scaled), tuple(columns[j] for j in scaled)
    centres = np.zeros(len(scaled))
    known = np.array([_known(facts[j]) for j in scaled])
    totals = _folded(passes.over("measuring", coordinates_chunk, chosen, axes, None), len(scaled))
    for place in range(len(scaled)):
        centres[place] = sums.rounded(totals, place) / known[place]
    squares = _folded(passes.over("measuring", coordinates_chunk, chosen, axes, centres), len(scaled))
    found = list(columns)
    for place, j in enumerate(scaled):
        facts_j, column = facts[j], columns[j]
        assert isinstance(facts_j, NumberFacts)
        assert isinstance(column, Scaled)
        deviation = float(np.sqrt(sums.rounded(squares, place) / facts_j.known))
        counts = np.array([facts_j.missing]) if facts_j.missing else np.zeros(0, np.int64)
        found[j] = with_atoms(column, float(centres[place]), deviation, facts_j.known, counts, scale, 1.0)
    return found


def _known(facts: Facts) -> int:
    assert isinstance(facts, NumberFacts)
    return facts.known


def _folded(parts: Iterator[np.ndarray], width: int) -> np.ndarray:
    total = np.zeros((3, width))
    for part in parts:
        partial_sums.add_sums(total, part)
    return total


def coordinates_chunk(
    source: Any,
    first: int,
    count: int,
    variables: tuple[Variable, ...],
    columns: tuple[Scaled, ...],
    centres: np.ndarray | None,
) -> np.ndarray:
    """A task: (3, columns), the sums of the coordinates of the values, or of their squares around the centres."""
    cells = cells_in(source.read(first, count, [each.name for each in variables]), variables, first)
    found = np.zeros((3, len(variables)))
    for j, column in enumerate(columns):
        values = cells.values[:, j]
        places = column.coordinates(np.ascontiguousarray(values[~np.isnan(values)]), None)
        told = (
            sums.column_sums(places)
            if centres is None
            else partial_sums.square_sums(places, np.array([centres[j]]))
        )
        found[:, j] = told[:, 0]
    return found


def _turned(passes: Passes, variables: Sequence[Variable], space: Space, records: int) -> Space:
    """The space on principal axes, where it has those: one or two passes."""
    if not can_be_turned(space):
        return space
    chosen = tuple(variables)
    first, second = np.zeros(space._size), np.zeros((space._size, space._size))
    for runs in passes.over("turning", moments_chunk, chosen, space):
        for run in runs:
            first, second = first + run[0], second + run[1]
    mean, axes, doubtful = principal_axes(first, second, records)
    low, high = np.full(int(doubtful.sum()), np.inf), np.full(int(doubtful.sum()), -np.inf)
    if doubtful.any():
        for least, most in passes.over("turning", extents_chunk, chosen, space, axes[:, doubtful]):
            low, high = np.minimum(low, least), np.maximum(high, most)
    return turned_to(space, mean, axes, doubtful, low, high)


def moments_chunk(
    source: Any, first: int, count: int, variables: tuple[Variable, ...], space: Space
) -> list[tuple[np.ndarray, np.ndarray]]:
    """A task: the moments of each run of a chunk, which begins where a run does."""
    cells = cells_in(source.read(first, count, [each.name for each in variables]), variables, first)
    return [
        moments_of_run(space, cells.rows(slice(start, start + RUN))) for start in range(0, len(cells), RUN)
    ]


def extents_chunk(
    source: Any, first: int, count: int, variables: tuple[Variable, ...], space: Space, axes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A task: how far a chunk reaches along some axes."""
    cells = cells_in(source.read(first, count, [each.name for each in variables]), variables, first)
    return extents(space, cells, axes)


@dataclass
class Totals:
    """The squared distances of records to the centroid of all, on the exact encoding, column by column: partial sums."""

    columns: list[np.ndarray]
    """Of each column (3, axes) for sums, (3, 1) for squares."""

    def plus(self, more: Totals) -> None:
        """Take in another chunk."""
        for own, other in zip(self.columns, more.columns, strict=True):
            partial_sums.add_sums(own, other)


def coordinate_totals(space: Space, cells: Cells) -> Totals:
    """The sums of exact coordinates; of columns of categories there is nothing to be summed."""
    found = []
    for j, column in enumerate(space.columns):
        if isinstance(column, Coded):
            found.append(np.zeros((3, 1)))
        else:
            found.append(sums.column_sums(column.coordinates(cells.values[:, j], cells.atoms_of(j))))
    return Totals(found)


@dataclass(frozen=True)
class Centres:
    """Where the centroid of all records lies: coordinates of numbers, and how far each category is from it, squared."""

    columns: tuple[np.ndarray, ...]

    @staticmethod
    def of(space: Space, totals: Totals, facts: Sequence[Facts], records: int) -> Centres:
        """From the sums of all coordinates."""
        found = []
        for column, total, each in zip(space.columns, totals.columns, facts, strict=True):
            if isinstance(column, Coded):
                found.append(column.variation_of_whole(_category_counts(column, each)))
            else:
                found.append(np.array([sums.rounded(total, j) / records for j in range(total.shape[1])]))
        return Centres(tuple(found))

    def squares(self, space: Space, cells: Cells) -> Totals:
        """The squared distances of some records to it, column by column."""
        found = []
        for j, (column, centre) in enumerate(zip(space.columns, self.columns, strict=True)):
            pair = cells.values[:, j], cells.atoms_of(j)
            if isinstance(column, Coded):
                errors = centre[column.categories(*pair)]
            else:
                errors = _row_squares(column.coordinates(*pair) - centre)
            found.append(sums.column_sums(np.ascontiguousarray(errors).reshape(-1, 1)))
        return Totals(found)


def _category_counts(column: Coded, facts: Facts) -> np.ndarray:
    if isinstance(facts, LevelFacts):
        return facts.frequency()
    if not column.of_atoms:  # nothing but gaps
        return np.array([facts.records])
    return np.array([facts.known, facts.missing])


def _row_squares(differences: np.ndarray) -> np.ndarray:
    total = np.zeros(len(differences))
    for column in differences.T:
        total += column * column
    return total
