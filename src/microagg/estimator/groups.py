"""Released values of the groups, and the nearest group of a new row, computed from the release
alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from microagg.kernels.distances import squared_distances
from microagg.measures.pairing import counted_like
from microagg.problem.pointset import PointSet
from microagg.table.axes import Coded
from microagg.table.columns.cells import cells_of
from microagg.table.columns.distinct import Finder
from microagg.table.encoder import Space
from microagg.table.hierarchy import Hierarchy
from microagg.table.schema import Column, Kind
from microagg.table.variable import NO_ATOM, Cells, Variable

FEW = 1e8
"""Distances times axes up to which all are computed; beyond, a tree is built, whose kernels take
some seconds to compile once.
"""


@dataclass(frozen=True, repr=False)
class ReleasedGroups:
    """One released row for each group, and the space that these rows span: no scale, level or
    date that only the original had.

    >>> import pyarrow as pa
    >>> from microagg.table.schema import Role
    >>> released = nw.from_native(pa.table({"age": [30.0, 60.0]}), eager_only=True)
    >>> groups = ReleasedGroups.of(
    ...     released, np.array([2, 2]), (Column("age", Role.QUASI, Kind.NUMERIC),)
    ... )
    >>> groups.nearest(nw.from_native(pa.table({"age": [20.0, 99.0]}), eager_only=True)).tolist()
    [0, 1]
    """

    table: Any
    """The released rows, of the library that was given."""
    columns: tuple[Column, ...]
    special: Mapping[str, tuple[Any, ...]]
    na: Sequence[str]
    cells: Cells
    """Those of the released rows."""
    middle: np.ndarray
    """(columns,): the mean of the released values of numbers and levels: where a cell lies that
    tells nothing.
    """
    space: Space

    @staticmethod
    def of(
        released: nw.DataFrame[Any],
        sizes: np.ndarray,
        columns: tuple[Column, ...],
        *,
        scale: str = "zscore",
        importance: Mapping[str, float] | None = None,
        special: Mapping[str, tuple[Any, ...]] = {},
        na: Sequence[str] = (),
        hierarchies: Mapping[str, Hierarchy] = {},
    ) -> ReleasedGroups:
        """From a row for each group, and how many records each has."""
        cells = cells_of(released, columns, special=special, na=na, hierarchies=hierarchies)
        records = np.repeat(np.arange(len(sizes)), sizes)
        atoms = None if cells.atoms is None else cells.atoms[records]
        space = Space.fit(Cells(cells.variables, cells.values[records], atoms), scale, importance)
        values = np.where(np.isnan(cells.values), 0.0, cells.values)
        weights = sizes[:, None] * ~np.isnan(cells.values)
        middle = (values * weights).sum(axis=0) / np.maximum(weights.sum(axis=0), 1)
        return ReleasedGroups(
            released.to_native(), columns, special, na, cells, middle, _with_unknown(space)
        )

    def nearest(self, frame: nw.DataFrame[Any]) -> np.ndarray:
        """(n,): the group nearest to each row in the space of the release; the lower number where
        several are.

        What the release does not have (a category, a level, a gap where it has none) is equally far
        from all groups.
        """
        queries = self.space.points(self._in_our_terms(frame))
        groups = self.space.points(self.cells)
        if float(len(queries)) * groups.size <= FEW:
            return np.array(
                [int(np.argmin(squared_distances(groups, query))) for query in queries], np.int64
            )
        tree = PointSet(groups)
        return np.array([int(tree.nearest(query, 1)[0]) for query in queries], np.int64)

    def _in_our_terms(self, frame: nw.DataFrame[Any]) -> Cells:
        """Rows of another table as cells of the release's columns."""
        values = np.empty((len(frame), len(self.columns)))
        atoms = np.full(values.shape, NO_ATOM, np.int16)
        for j, column in enumerate(self.columns):
            read = _number if column.kind is Kind.NUMERIC else _level
            values[:, j], atoms[:, j] = read(
                frame, column, self.cells.variables[j], self.special, self.na, float(self.middle[j])
            )
        variables = self.cells.variables
        return Cells(
            variables, values, atoms if any(variable.marks for variable in variables) else None
        )


def _with_unknown(space: Space) -> Space:
    """Return the same space with one more category in each nominal column, in the middle of the
    others.
    """
    columns = []
    for column in space.columns:
        if isinstance(column, Coded) and not column.of_atoms:
            count = len(column.nodes)
            shares = np.append(np.full(count, 1.0 / count), 0.0)
            blends = {code: np.append(blend, 0.0) for code, blend in column.blends.items()}
            nodes = np.vstack([column.nodes, column.nodes[:1]])
            column = replace(column, nodes=nodes, blends={**blends, count: shares})
        columns.append(column)
    return Space(space.scale, tuple(columns), space.rotation)


_Read = tuple[np.ndarray, np.ndarray]
"""The values and the atoms of a column."""


def _number(
    frame: nw.DataFrame[Any],
    column: Column,
    ours: Variable,
    special: Mapping[str, Any],
    na: Sequence[str],
    middle: float,
) -> _Read:
    """A column of numbers or times, counted as the release counts them."""
    read = cells_of(frame, [column], special=special, na=na)
    (variable,), present = read.variables, ~np.isnan(read.values[:, 0])
    if variable.kind is not Kind.NUMERIC:  # nothing but gaps
        held = np.zeros(len(read), np.int64)
        marks, present = (None,), np.zeros(len(read), bool)
    else:
        held_atoms = read.atoms_of(0)
        held = np.full(len(read), NO_ATOM) if held_atoms is None else held_atoms.astype(np.int64)
        marks = variable.marks
    index_of = {mark: index for index, mark in enumerate(ours.marks)}
    atoms = np.array([*(index_of.get(mark, NO_ATOM) for mark in marks), NO_ATOM], np.int16)[held]
    if ours.kind is not Kind.NUMERIC:  # the release has nothing but gaps there
        return np.zeros(len(read)), atoms
    values = np.full(len(read), middle)
    values[present] = counted_like(ours, variable, read.values[present, 0])
    return np.where(atoms == NO_ATOM, values, np.nan), atoms


def _level(
    frame: nw.DataFrame[Any],
    column: Column,
    ours: Variable,
    special: Mapping[str, Any],
    na: Sequence[str],
    middle: float,
) -> _Read:
    """A column of categories or levels, each by its place among those of the release."""
    read = cells_of(frame, [replace(column, kind=Kind.NOMINAL, levels=None)], na=na)
    finder = Finder([level_text for level_text in ours.levels if level_text is not None])
    marks = {mark: matches for matches, mark in enumerate(ours.marks)}
    codes = Finder(list(special.get(column.name, ())))
    unknown = len(ours.levels) if ours.kind is Kind.NOMINAL else middle
    values, atoms = [], []
    for level in read.variables[0].levels:
        matches = [] if level is None else finder.places(level)
        code = [None] if level is None else codes.places(level)
        if level is None and ours.levels and ours.levels[-1] is None:
            matches = [len(ours.levels) - 1]
        atom = NO_ATOM
        if code and not matches and ours.kind is not Kind.NOMINAL:
            mark = None if level is None else special[column.name][code[0]]
            atom = marks.get(mark, NO_ATOM)
        values.append(
            float(matches[0]) if matches else np.nan if atom != NO_ATOM else float(unknown)
        )
        atoms.append(atom)
    places = read.values[:, 0].astype(np.int64)
    return np.array(values)[places], np.array(atoms, np.int16)[places]
