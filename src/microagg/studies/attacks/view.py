"""A rerun of a release as an intruder sees it: classes of equal records, and distances to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.guarantees.k import anonymity
from microagg.measures.pairing import in_the_same_terms
from microagg.release.cells import confidential_of, read_cells
from microagg.release.settings import Settings
from microagg.studies.attacks.people import People
from microagg.studies.other_tools import cells_of_release
from microagg.table.columns.frames import to_arrow
from microagg.table.confidential import Attribute
from microagg.table.encoder import Space
from microagg.table.schema import Kind, Role
from microagg.table.variable import NO_ATOM, Cells, Variable

_RANGE = re.compile(r"\s*(-?[\d.]+(?:e[+-]?\d+)?)\s*\.\.\s*(-?[\d.]+(?:e[+-]?\d+)?)\s*", re.I)
LARGEST_BLOCK = 4_000_000
"""Cells of a block of distances, so that memory stays small."""
TIE = 1e-9
"""Relative difference below which squared distances are equal."""
ROUNDING = 1e-12
"""Squared distances below this share of the points' lengths are 0 but for rounding."""


@dataclass(frozen=True)
class ReleaseView:
    """Classes of the released records, in the terms of the original's columns.

    `class_of` is the class of each released record, `first` one record of each class. Released
    records are in the order of `people.rest`.
    """

    people: People
    original: Cells
    """Cells of all people."""
    released: Cells
    """Cells of the released records."""
    class_of: np.ndarray
    first: np.ndarray
    stratum_of_people: np.ndarray
    stratum_of_classes: np.ndarray
    confidential: tuple[Attribute, ...]
    """Confidential columns: the values of all people, and behind them those released."""
    notes: tuple[str, ...] = ()
    _spaces: dict[tuple[str, ...], tuple[Space, np.ndarray]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def columns(self) -> list[str]:
        """Columns by which an intruder can compare: those whose released values have a place."""
        return [variable.name for variable in self.released.variables if not variable.coarse]

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.first)

    def distances(self, rows: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """Return squared distances from people to classes by some columns; no class of another
        stratum is near.
        """
        points, centres = self.points(rows, names)
        lengths = (points**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)
        distances = np.maximum(lengths - 2.0 * (points @ centres.T), 0.0)
        distances[distances <= ROUNDING * lengths] = 0.0
        strata = self.stratum_of_people[rows]
        distances[strata[:, None] != self.stratum_of_classes[None, :]] = np.inf
        return distances

    def points(self, rows: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the points of people and of classes, on the scale of the people in the rerun."""
        key = tuple(names)
        if not key:
            return np.zeros((len(rows), 0)), np.zeros((self.classes, 0))
        indices = [self.original.names.index(name) for name in key]
        people = _part(self.original, indices)
        if key not in self._spaces:
            space = Space.fit(people.rows(self.people.rest), self.people.settings.scale)
            self._spaces[key] = space, space.points(_part(self.released, indices).rows(self.first))
        space, centres = self._spaces[key]
        return space.points(people.rows(rows)), centres

    def blocks(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return the rows in blocks whose distances to all classes fit into little memory."""
        size = max(1, LARGEST_BLOCK // max(1, self.classes))
        return [rows[start : start + size] for start in range(0, len(rows), size)]


def nearest_classes(
    distances: np.ndarray, rng: np.random.Generator, count: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest classes of each person and their squared distances; ties are drawn.

    >>> nearest_classes(np.array([[4.0, 1.0, 9.0]]), np.random.default_rng(0), 2)[0].tolist()
    [[1, 0]]
    """
    count = min(count, distances.shape[1])
    noise = rng.random(distances.shape[1])
    slack = TIE * (1.0 + distances.min(axis=1, keepdims=True))
    rounded = np.where(np.isfinite(distances), np.rint(distances / slack), np.inf)
    order = np.empty((len(distances), count), np.int64)
    for i, row in enumerate(rounded):
        few = np.argpartition(row, count - 1)[:count] if count < len(row) else np.arange(len(row))
        near = np.flatnonzero(row <= row[few].max())
        order[i] = near[np.lexsort((noise[near], row[near]))][:count]
    return order, np.take_along_axis(distances, order, axis=1)


def view_of(people: People, released: Any, *, same_rows: bool = True) -> ReleaseView:
    """Return the view of a released table.

    Its rows are in the order of `people.rest`, unless not `same_rows`: then nothing is known of
    them but their values.
    """
    schema, settings = people.schema, people.settings
    frame = nw.from_native(released, eager_only=True)
    if same_rows and len(frame) != len(people.rest):
        raise InputError(
            f"the rerun has {len(frame)} records instead of {len(people.rest)}; an attack needs "
            "a release that leaves no record out."
        )
    quasi = [column for column in schema.columns if column.role is Role.QUASI]
    strata = schema.names(Role.STRATUM)
    before = read_cells(people.frame, schema, settings)
    after, notes = cells_of_release(before, frame, quasi, settings.columns)
    before, after = _with_midpoints(*in_the_same_terms(before, after), before)
    table = to_arrow(frame.select(*(column.name for column in quasi), *strata))
    classes = anonymity(table, table.column_names, max(2, settings.k))
    codes = _codes([people.frame, frame], strata)
    first = np.asarray(classes.first_rows, np.int64) - 1
    attributes = [
        shared_attribute(name, [people.frame, frame], settings)
        for name in schema.names(Role.CONFIDENTIAL)
    ]
    coarse = [variable.name for variable in after.variables if variable.coarse]
    if coarse:
        notes = (*notes, f"columns that the intruder cannot compare: {', '.join(coarse)}")
    return ReleaseView(
        people=people,
        original=before,
        released=after,
        class_of=np.asarray(classes.labels, np.int64),
        first=first,
        stratum_of_people=codes[: len(people.frame)],
        stratum_of_classes=codes[len(people.frame) :][first],
        confidential=tuple(attributes),
        notes=notes,
    )


def shared_attribute(
    name: str, frames: Sequence[nw.DataFrame[Any]], settings: Settings
) -> Attribute:
    """Return a confidential column of several tables, one behind the other, with one numbering of
    its values.
    """
    parts = [to_arrow(frame.select(name)) for frame in frames]
    try:
        whole = pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        texts = [pa.table({name: part[name].cast(pa.string())}) for part in parts]
        whole = pa.concat_tables(texts)
    return confidential_of(whole.combine_chunks(), [name], settings)[0]


def _codes(frames: list[nw.DataFrame[Any]], strata: list[str]) -> np.ndarray:
    """Return a number for each combination of strata of the records of all tables."""
    if not strata:
        return np.zeros(sum(len(frame) for frame in frames), np.int64)
    tables = [to_arrow(frame.select(*strata)) for frame in frames]
    texts = [pa.table({name: table[name].cast(pa.string()) for name in strata}) for table in tables]
    return np.asarray(anonymity(pa.concat_tables(texts), strata, 2).labels, np.int64)


def _part(cells: Cells, columns: list[int]) -> Cells:
    """Return the cells of some columns."""
    return Cells(
        tuple(cells.variables[j] for j in columns),
        np.ascontiguousarray(cells.values[:, columns]),
        None if cells.atoms is None else np.ascontiguousarray(cells.atoms[:, columns]),
    )


def _with_midpoints(before: Cells, after: Cells, original: Cells) -> tuple[Cells, Cells]:
    """Give released ranges of plain numbers, such as "30..39", the number in their middle."""
    variables, values = list(after.variables), after.values.copy()
    olds = list(before.variables)
    atoms = None if after.atoms is None else after.atoms.copy()
    for j, (old, new) in enumerate(zip(original.variables, after.variables, strict=True)):
        if not new.coarse or old.kind is not Kind.NUMERIC or old.unit or old.origin:
            continue
        middles = [_middle(level) for level in new.levels]
        codes = values[:, j]
        has_value = ~np.isnan(codes)
        if any(middles[int(code)] is None for code in np.unique(codes[has_value])):
            continue
        numbers = np.array([np.nan if middle is None else middle for middle in middles])
        values[has_value, j] = numbers[codes[has_value].astype(np.int64)]
        variables[j] = olds[j] = Variable(old.name, Kind.NUMERIC, marks=new.marks or old.marks)
        if atoms is not None:
            atoms[has_value, j] = NO_ATOM
    return replace(before, variables=tuple(olds)), Cells(tuple(variables), values, atoms)


def _middle(level: Any) -> float | None:
    if isinstance(level, int | float):
        return float(level)
    match = _RANGE.fullmatch(level) if isinstance(level, str) else None
    try:
        return (float(match[1]) + float(match[2])) / 2.0 if match else float(level)
    except (TypeError, ValueError):
        return None
