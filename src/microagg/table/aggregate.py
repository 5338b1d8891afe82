"""Aggregation: one released value per group and quasi-identifying column."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from microagg.errors import InputError
from microagg.kernels import sums
from microagg.table.aggregates import (
    Aggregate,
    RandomDraw,
    Texts,
    aggregate_of,
    check_aggregates,
)
from microagg.table.coarse import texts_of
from microagg.table.column_aggregate import (
    GroupColumn,
    WholeTable,
    at_precision,
    column_of_members,
    column_of_values,
)
from microagg.table.grouping import Groups
from microagg.table.linear import KeptSums
from microagg.table.precision import (
    FINEST,
    Precision,
    decimals_of,
    precision_of,
    round_to,
)
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Cells, Variable

__all__ = [
    "FINEST",
    "Aggregated",
    "aggregated",
    "decimals_of",
    "group_means_for_records",
    "round_to",
]


class Errors(Protocol):
    """Squared errors on the exact encoding of all columns; implemented by `Space`."""

    def record_errors(self, before: Cells, after: Cells, labels: np.ndarray) -> np.ndarray:
        """(n,): the squared error of each record; where a column is coarse, its squared distance to
        the group's centroid.
        """
        ...


@dataclass(frozen=True)
class Aggregated:
    """The released values of all groups, with counts of changed cells."""

    _cells: Cells
    """The released cells, one row for each record, or (`by_group`) for each group."""
    how: tuple[str, ...]
    """The aggregate of each column."""
    decimals: list[int | None]
    """Of each column the decimals that its means were rounded to; None where nothing was."""
    of_values: np.ndarray
    """(groups, columns): whether the group releases a value, not an atom. Where each column has its
    own groups, those that a column lacks count as False.
    """
    filled: tuple[int, ...]
    """Of each column how many atoms were replaced by a value; inside only."""
    blanked: tuple[int, ...]
    """Of each column how many values were replaced by an atom; inside only."""
    labels: np.ndarray
    _unrounded: np.ndarray | list[np.ndarray] | None
    """By group and column the values before rounding; None where they are those released."""
    by_group: bool = False
    reasons: tuple[str, ...] = ()
    """Why each column is rounded to its decimals: see `Precision.reason`; empty where it is not."""

    @property
    def cells(self) -> Cells:
        """The released cells, one row for each record. Those of a plain table are put together each
        time: kept, they would be another table.
        """
        if not self.by_group:
            return self._cells
        return Cells(self._cells.variables, _for_records(self._cells.values, self.labels))

    def rows(self, chosen: slice) -> Cells:
        """Return the released cells of some records."""
        if not self.by_group:
            return self._cells.rows(chosen)
        return Cells(self._cells.variables, _for_records(self._cells.values, self.labels[chosen]))

    def __len__(self) -> int:
        """The number of records."""
        return len(self.labels) if self.by_group else len(self._cells)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Return the released columns."""
        return self._cells.variables

    @property
    def is_plain(self) -> bool:
        """Return True if all released columns are plain numbers without special codes."""
        return self._cells.is_plain

    @functools.cached_property
    def means(self) -> Cells:
        """The released cells as they would be without rounding."""
        if self._unrounded is None:
            return self.cells
        return Cells(self.variables, _for_records(self._unrounded, self.labels), self._cells.atoms)

    def unrounded(self, rows: slice) -> np.ndarray:
        """The values of some records as they would be without rounding."""
        if self._unrounded is not None:
            return _for_records(self._unrounded, self.labels[rows])
        return self._cells.values[self.labels[rows] if self.by_group else rows]


def aggregated(
    cells: Cells,
    labels: np.ndarray,
    *,
    how: Mapping[str, str] | None = None,
    precision: str = "column",
    k: int = 2,
    seed: int = 0,
    space: Errors | None = None,
    exact: Cells | None = None,
    texts: Texts = texts_of,
    weights: np.ndarray | None = None,
    whole: WholeTable | None = None,
    kept: KeptSums | None = None,
) -> Aggregated:
    """Return for each record the released cells of its group. O(n log n) for each column.

    `how` names aggregates by column; others get that of their kind. A group with atoms and values
    releases the aggregate of its values if they are more than half of its records and at least
    min(k, 3), else its most frequent atom. `exact` are the cells before any cap: their decimals are
    the columns' precision. `space` is needed for medoids only. `texts` writes the numbers of a
    column as the table would, for ranges and hierarchies of times. With `weights` (n,) means are
    weighted, and nothing else is. `whole` is needed where the cells are those of a part of a table.
    With precision="column" the sums that are to be `kept` are: columns that are made of
    others become the sums of their rounded parts, where a group releases values of all of them.

    >>> cells = Cells.plain(np.array([[30.0], [33.0], [60.0]]), ["age"])
    >>> aggregated(cells, np.array([0, 0, 1], np.int32), how={}, precision="column", k=2,
    ...     seed=0).cells.values[:, 0].tolist()
    [32.0, 32.0, 60.0]
    """
    how = how or {}
    check_aggregates(
        cells.variables, how, {part.name for part in cells.variables if part.hierarchy}
    )
    chosen = [aggregate_of(variable, how) for variable in cells.variables]
    source = cells if exact is None else exact
    precisions = [
        _precision(variable, source.values[:, j], precision, whole, j)
        for j, variable in enumerate(cells.variables)
    ]
    if kept is None or precision != "column" or labels.ndim == 2:
        kept = KeptSums()
    precisions = kept.precisions(precisions)
    of_matrix = chosen[0].of_matrix if len(set(chosen)) == 1 else None
    if of_matrix is not None and cells.is_plain and labels.ndim == 1:
        heaviest = None if whole is None else whole.heaviest
        made = of_matrix(Groups.of(labels), cells.values, weights, heaviest)
        return _of_matrix(cells, labels, chosen[0], made, precisions, precision, kept)

    @functools.cache
    def distances() -> np.ndarray:
        if space is None or labels.ndim == 2:
            raise InputError(
                "medoid needs a method that groups whole records; choose another aggregate or "
                "method."
            )
        return _centroid_distances(space, cells, labels)

    partitions = [Groups.of(labels)] if labels.ndim == 1 else [Groups.of(part) for part in labels.T]
    options = {"k": k, "precision": precision, "texts": texts, "weights": weights, "whole": whole}
    numbers = None if whole is None else whole.group_numbers
    columns = []
    for j, entry in enumerate(chosen):
        groups = partitions[j % len(partitions)]
        if entry.member is not None:
            name = cells.variables[j].name
            record = entry.member(RandomDraw(name, groups, seed, distances, numbers))
            columns.append(column_of_members(cells, j, record))
        else:
            columns.append(column_of_values(cells, j, groups, entry, precisions[j], **options))
    made = kept.applied({j: part.values for j, part in enumerate(columns)}, precisions)
    columns = [replace(part, values=made.get(j, part.values)) for j, part in enumerate(columns)]
    return _assembled(cells, labels, tuple(entry.name for entry in chosen), columns)


def _of_matrix(
    cells: Cells,
    labels: np.ndarray,
    entry: Aggregate,
    values: np.ndarray,
    precisions: Sequence[Precision],
    precision: str,
    kept: KeptSums,
) -> Aggregated:
    """Round the values of all columns of a plain table, which were computed at once."""
    if not entry.rounds:
        precisions, precision = [Precision()] * len(precisions), "full"
    decimals = [item.decimals for item in precisions]
    reasons = ["" if item.decimals is None else item.reason for item in precisions]
    rounded = np.empty_like(values)
    for j, variable in enumerate(cells.variables):
        rounded[:, j] = at_precision(variable, values[:, j], decimals[j], precision)
    for j, column in kept.applied(dict(enumerate(rounded.T)), precisions).items():
        rounded[:, j] = column
    none = (0,) * len(decimals)
    every, how = np.broadcast_to(True, values.shape), (entry.name,) * len(decimals)
    released = Cells(cells.variables, rounded)
    return Aggregated(
        released,
        how,
        decimals,
        every,
        none,
        none,
        labels,
        values,
        by_group=True,
        reasons=tuple(reasons),
    )


def _precision(
    variable: Variable, exact: np.ndarray, precision: str, whole: WholeTable | None, j: int
) -> Precision:
    """Return what means of a column are rounded to, and how its values are written."""
    if variable.kind is not Kind.NUMERIC or precision != "column":
        return Precision()
    return precision_of(variable, exact) if whole is None else whole.precisions[j]


def _centroid_distances(space: Errors, cells: Cells, labels: np.ndarray) -> np.ndarray:
    """(n,): the squared distance of each record to its group's centroid, on all columns: their
    errors if all were coarse.
    """
    coarse = tuple(replace(variable, coarse=True) for variable in cells.variables)
    return space.record_errors(cells, Cells(coarse, cells.values, cells.atoms), labels)


def _assembled(
    cells: Cells, labels: np.ndarray, how: tuple[str, ...], columns: list[GroupColumn]
) -> Aggregated:
    """Put the released columns together as cells of the records."""
    variables = tuple(column.variable for column in columns)
    values = _for_records([column.values for column in columns], labels)
    atoms, of_values = (
        None,
        np.zeros((max(len(column.values) for column in columns), len(columns)), bool),
    )
    for j, column in enumerate(columns):
        codes = column.atoms
        of_values[: len(column.values), j] = True if codes is None else codes == NO_ATOM
        if codes is not None and (codes != NO_ATOM).any():
            atoms = np.full(values.shape, NO_ATOM, np.int16) if atoms is None else atoms
            atoms[:, j] = codes[labels if labels.ndim == 1 else labels[:, j]]
    released = Cells(variables, values, atoms)
    before, after = ([_missing(side, j) for j in range(len(columns))] for side in (cells, released))
    return Aggregated(
        released,
        how,
        [column.decimals for column in columns],
        of_values,
        tuple(int((b & ~a).sum()) for b, a in zip(before, after, strict=True)),
        tuple(int((a & ~b).sum()) for b, a in zip(before, after, strict=True)),
        labels,
        [column.unrounded for column in columns],
        reasons=tuple(column.reason for column in columns),
    )


def _missing(cells: Cells, j: int) -> np.ndarray:
    """(n,): which cells of a column hold no value: atoms, and the missing ones of a nominal column,
    where that is a level.
    """
    atoms, levels = cells.atoms_of(j), cells.variables[j].levels
    missing = np.zeros(len(cells), bool) if atoms is None else atoms != NO_ATOM
    if levels and levels[-1] is None:
        missing |= cells.values[:, j] == len(levels) - 1
    return missing


def _for_records(of_groups: np.ndarray | list[np.ndarray], labels: np.ndarray) -> np.ndarray:
    """(n, d): for each record the values of its group; those of columns one by one where they are a
    list.
    """
    if isinstance(of_groups, np.ndarray):
        return of_groups[labels]
    values = np.empty((len(labels), len(of_groups)))
    for j, column in enumerate(of_groups):
        values[:, j] = column[labels if labels.ndim == 1 else labels[:, j]]
    return values


def group_means_for_records(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n, d): for each record the mean of its group. Order of records and groups does not
    matter.

    >>> group_means_for_records(np.array([[1.0], [2.0], [9.0]]),
    ...     np.array([0, 0, 1], np.int32)).tolist()
    [[1.5], [1.5], [9.0]]
    """
    if labels.ndim == 2:  # a partition of its own for each column
        pairs = zip(values.T, labels.T, strict=True)
        columns = [
            group_means_for_records(np.ascontiguousarray(v).reshape(-1, 1), np.ascontiguousarray(g))
            for v, g in pairs
        ]
        return np.concatenate(columns, axis=1)
    means = sums.group_means(values, labels, int(labels.max()) + 1)
    return means[labels]
