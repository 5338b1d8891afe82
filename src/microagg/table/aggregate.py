"""Replacing the cells of a group by one: what a release shows of each quasi-identifying column."""

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
    SortedMembers,
    Texts,
    aggregate_of,
    check_aggregates,
)
from microagg.table.coarse import texts_of
from microagg.table.grouping import Groups
from microagg.table.linear import KeptSums
from microagg.table.precision import (
    FINEST,
    Precision,
    decimals_of,
    precision_of,
    round_to,
    rounded_means,
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

# values that a group with atoms needs at least to release one of them, where k is not less
FEWEST = 3


class Errors(Protocol):
    """What tells squared errors on the exact encoding of all columns: a Space."""

    def record_errors(self, before: Cells, after: Cells, labels: np.ndarray) -> np.ndarray:
        """(n,): the squared error of each record; where a column is coarse, its squared distance to
        the group's centroid.
        """
        ...


@dataclass(frozen=True)
class Aggregated:
    """What all groups release, and what became of the cells."""

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

    def __len__(self) -> int:
        """The number of records."""
        return len(self.labels) if self.by_group else len(self._cells)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """What the released columns are."""
        return self._cells.variables

    @property
    def is_plain(self) -> bool:
        """Whether all released columns are plain numbers without atoms."""
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


@dataclass(frozen=True)
class WholeTable:
    """What decides what a group releases besides its own records, where only a part of a table is
    at hand; column by column.
    """

    precisions: tuple[Precision, ...]
    """Of numeric columns: what means are rounded to."""
    levels: tuple[np.ndarray | None, ...]
    """Of nominal and ordinal columns: how often each level occurs."""
    atoms: tuple[np.ndarray | None, ...]
    """How often each mark occurs, where a column has any."""
    heaviest: float | None = None
    """The largest weight."""


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
    numbers: np.ndarray | None = None,
    kept: KeptSums | None = None,
) -> Aggregated:
    """What each group releases: for each record the cells of its group. O(n log n) for each
    column.

    `how` names aggregates by column; others get that of their kind. A group with atoms and values
    releases the aggregate of its values if they are more than half of its records and at least
    min(k, 3), else its most frequent atom. `exact` are the cells before any cap: their decimals are
    the columns' precision. `space` is needed for medoids only. `texts` writes the numbers of a
    column as the table would, for ranges and hierarchies of times. With `weights` (n,) means are
    weighted, and nothing else is. `whole` is needed where the cells are those of a part of a table,
    `numbers` (groups,) where something is drawn, too: those that the groups have among all of the
    table. With precision="column" the sums that are to be `kept` are: columns that are made of
    others become the sums of their rounded parts, where a group releases values of all of them.

    >>> cells = Cells.plain(np.array([[30.0], [33.0], [60.0]]), ["age"])
    >>> aggregated(cells, np.array([0, 0, 1], np.int32), how={}, precision="column", k=2, seed=0).cells.values[:, 0].tolist()
    [32.0, 32.0, 60.0]
    """
    how = how or {}
    check_aggregates(
        cells.variables, how, {each.name for each in cells.variables if each.hierarchy}
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
    if cells.is_plain and labels.ndim == 1 and all(entry.name == "mean" for entry in chosen):
        heaviest = None if whole is None else whole.heaviest
        means = Groups.of(labels).means(cells.values, weights, heaviest)
        return _of_means(cells, labels, means, precisions, precision, kept)

    @functools.cache
    def distances() -> np.ndarray:
        if space is None or labels.ndim == 2:
            raise InputError(
                "medoid needs groups of whole records; choose another aggregate or method."
            )
        return _centroid_distances(space, cells, labels)

    partitions = [Groups.of(labels)] if labels.ndim == 1 else [Groups.of(each) for each in labels.T]
    columns = []
    for j, entry in enumerate(chosen):
        groups = partitions[j % len(partitions)]
        if entry.member is not None:
            record = entry.member(
                RandomDraw(cells.variables[j].name, groups, seed, distances, numbers)
            )
            columns.append(_of_members(cells, j, record))
        else:
            columns.append(
                _of_values(
                    cells,
                    j,
                    groups,
                    entry,
                    k=k,
                    precision=precision,
                    own=precisions[j],
                    texts=texts,
                    weights=weights,
                    whole=whole,
                )
            )
    made = kept.applied({j: each.values for j, each in enumerate(columns)}, precisions)
    columns = [replace(each, values=made.get(j, each.values)) for j, each in enumerate(columns)]
    return _assembled(cells, labels, tuple(entry.name for entry in chosen), columns)


@dataclass(frozen=True)
class _Column:
    """What the groups of one column release."""

    variable: Variable
    values: np.ndarray
    """(groups,): NaN where an atom is released."""
    atoms: np.ndarray | None
    """(groups,): the atom, or -1; None where the column has none."""
    unrounded: np.ndarray
    decimals: int | None = None
    reason: str = ""


def _of_means(
    cells: Cells,
    labels: np.ndarray,
    means: np.ndarray,
    precisions: Sequence[Precision],
    precision: str,
    kept: KeptSums,
) -> Aggregated:
    """Plain tables: the means of all columns at once."""
    decimals = [each.decimals for each in precisions]
    reasons = ["" if each.decimals is None else each.reason for each in precisions]
    rounded = np.empty_like(means)
    for j, variable in enumerate(cells.variables):
        rounded[:, j] = _at_precision(variable, means[:, j], decimals[j], precision)
    for j, column in kept.applied(dict(enumerate(rounded.T)), precisions).items():
        rounded[:, j] = column
    none = (0,) * len(decimals)
    every, how = np.broadcast_to(True, means.shape), ("mean",) * len(decimals)
    released = Cells(cells.variables, rounded)
    return Aggregated(
        released,
        how,
        decimals,
        every,
        none,
        none,
        labels,
        means,
        by_group=True,
        reasons=tuple(reasons),
    )


def _precision(
    variable: Variable, exact: np.ndarray, precision: str, whole: WholeTable | None, j: int
) -> Precision:
    """What means of a column are rounded to, and how its values are written."""
    if variable.kind is not Kind.NUMERIC or precision != "column":
        return Precision()
    return precision_of(variable, exact) if whole is None else whole.precisions[j]


def _at_precision(
    variable: Variable, means: np.ndarray, decimals: int | None, precision: str
) -> np.ndarray:
    return rounded_means(variable, means, decimals) if precision == "column" else means + 0.0


def _centroid_distances(space: Errors, cells: Cells, labels: np.ndarray) -> np.ndarray:
    """(n,): the squared distance of each record to its group's centroid, on all columns: their
    errors if all were coarse.
    """
    coarse = tuple(replace(variable, coarse=True) for variable in cells.variables)
    return space.record_errors(cells, Cells(coarse, cells.values, cells.atoms), labels)


def _of_members(cells: Cells, j: int, records: np.ndarray) -> _Column:
    """What groups release that take the cell of one of their members as it is."""
    atoms, values = cells.atoms_of(j), cells.values[records, j] + 0.0  # 0 and -0 are one value
    return _Column(cells.variables[j], values, None if atoms is None else atoms[records], values)


def _of_values(
    cells: Cells,
    j: int,
    groups: Groups,
    entry: Aggregate,
    *,
    k: int,
    precision: str,
    own: Precision,
    texts: Texts,
    weights: np.ndarray | None,
    whole: WholeTable | None,
) -> _Column:
    """What groups release that make one value of their values: the rule for atoms, the aggregate,
    and rounding.
    """
    variable, column = cells.variables[j], np.ascontiguousarray(cells.values[:, j])
    atoms = cells.atoms_of(j)
    released_atoms, of_values, values, counted = None, np.ones(groups.count, bool), column, groups
    frequency, heaviest = (None, None) if whole is None else (whole.levels[j], whole.heaviest)
    if heaviest is None and weights is not None:  # of all records, whichever column has gaps
        heaviest = float(weights.max())
    if atoms is not None:
        of_values = releases_value(atoms, groups, k)
        released_atoms = _most_frequent_atoms(
            atoms, groups, of_values, len(variable.marks), None if whole is None else whole.atoms[j]
        )
        known = (atoms == NO_ATOM) & of_values[groups.labels]
        numbers = np.cumsum(of_values) - 1
        values, counted = column[known], Groups(numbers[groups.labels[known]], int(of_values.sum()))
        weights = None if weights is None else weights[known]
    assert entry.values is not None
    found = entry.values(
        SortedMembers(
            variable, values, counted, column, own.written, texts, weights, frequency, heaviest
        )
    )
    unrounded, rounded = np.full(groups.count, np.nan), np.full(groups.count, np.nan)
    unrounded[of_values] = found.values
    if found.rounds:
        rounded[of_values] = _at_precision(variable, found.values, own.decimals, precision)
    is_rounded = found.rounds and own.decimals is not None
    return _Column(
        found.variable, rounded if found.rounds else unrounded, released_atoms, unrounded,
        own.decimals if found.rounds else None, own.reason if is_rounded else "",
    )  # fmt: skip


def releases_value(atoms: np.ndarray, groups: Groups, k: int) -> np.ndarray:
    """(groups,): whether a group releases a value of a column with these atoms (-1 where there
    is a value).

    It does if all its records have one, or if more than half of them do, and at least min(k, 3).

    >>> releases_value(np.array([-1, -1, 0, -1, 0]), Groups.of(np.array([0, 0, 0, 1, 1])), 2).tolist()
    [True, False]
    """
    known = groups.counts(atoms == NO_ATOM)
    return (known == groups.sizes) | ((2 * known > groups.sizes) & (known >= min(k, FEWEST)))


def _most_frequent_atoms(
    atoms: np.ndarray,
    groups: Groups,
    of_values: np.ndarray,
    marks: int,
    frequency: np.ndarray | None,
) -> np.ndarray:
    """(groups,): the atom that each group releases which releases no value, -1 for the others."""
    released = np.full(groups.count, NO_ATOM, np.int16)
    if frequency is None:
        frequency = np.bincount(atoms[atoms != NO_ATOM], minlength=marks)
    wanted = (atoms != NO_ATOM) & ~of_values[groups.labels]
    numbers = np.cumsum(~of_values) - 1
    among = Groups(numbers[groups.labels[wanted]], int((~of_values).sum()))
    released[~of_values] = among.most_frequent(atoms[wanted].astype(np.int64), frequency)
    return released


def _assembled(
    cells: Cells, labels: np.ndarray, how: tuple[str, ...], columns: list[_Column]
) -> Aggregated:
    """What the groups release, as cells of the records."""
    variables = tuple(column.variable for column in columns)
    values = _for_records([column.values for column in columns], labels)
    atoms, of_values = (
        None,
        np.zeros((max(len(each.values) for each in columns), len(columns)), bool),
    )
    for j, column in enumerate(columns):
        own = column.atoms
        of_values[: len(column.values), j] = True if own is None else own == NO_ATOM
        if own is not None and (own != NO_ATOM).any():
            atoms = np.full(values.shape, NO_ATOM, np.int16) if atoms is None else atoms
            atoms[:, j] = own[labels if labels.ndim == 1 else labels[:, j]]
    released = Cells(variables, values, atoms)
    before, after = ([_missing(each, j) for j in range(len(columns))] for each in (cells, released))
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

    >>> group_means_for_records(np.array([[1.0], [2.0], [9.0]]), np.array([0, 0, 1], np.int32)).tolist()
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
