"""Aggregation of one column: the rule for special codes, the aggregate, and rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microagg.table.aggregates import (
    Aggregate,
    SortedMembers,
    Texts,
)
from microagg.table.grouping import Groups
from microagg.table.precision import (
    Precision,
    rounded_means,
)
from microagg.table.variable import NO_ATOM, Cells, Variable

# values that a group with atoms needs at least to release one of them, where k is not less
FEWEST = 3


@dataclass(frozen=True)
class WholeTable:
    """Facts of the whole table that decide what a group releases, where only a part of it is at
    hand; column by column.
    """

    precisions: tuple[Precision, ...]
    """Of numeric columns: what means are rounded to."""
    levels: tuple[np.ndarray | None, ...]
    """Of nominal and ordinal columns: how often each level occurs."""
    atoms: tuple[np.ndarray | None, ...]
    """How often each mark occurs, where a column has any."""
    heaviest: float | None = None
    """The largest weight."""
    group_numbers: np.ndarray | None = None
    """(groups,): numbers of the groups of this part among all of the table, for draws."""


@dataclass(frozen=True)
class GroupColumn:
    """The released values of the groups in one column."""

    variable: Variable
    values: np.ndarray
    """(groups,): NaN where an atom is released."""
    atoms: np.ndarray | None
    """(groups,): the atom, or -1; None where the column has none."""
    unrounded: np.ndarray
    decimals: int | None = None
    reason: str = ""


def at_precision(
    variable: Variable, means: np.ndarray, decimals: int | None, precision: str
) -> np.ndarray:
    """Return means as a column releases them: rounded, or as they are."""
    return rounded_means(variable, means, decimals) if precision == "column" else means + 0.0


def column_of_members(cells: Cells, j: int, records: np.ndarray) -> GroupColumn:
    """Release in each group the cell of one of its members as it is."""
    atoms, values = cells.atoms_of(j), cells.values[records, j] + 0.0  # 0 and -0 are one value
    return GroupColumn(
        cells.variables[j], values, None if atoms is None else atoms[records], values
    )


def column_of_values(
    cells: Cells,
    j: int,
    groups: Groups,
    entry: Aggregate,
    column_precision: Precision,
    *,
    k: int,
    precision: str,
    texts: Texts,
    weights: np.ndarray | None,
    whole: WholeTable | None,
) -> GroupColumn:
    """Aggregate the values of each group, with the rule for special codes and rounding."""
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
        has_value = (atoms == NO_ATOM) & of_values[groups.labels]
        numbers = np.cumsum(of_values) - 1
        values = column[has_value]
        counted = Groups(numbers[groups.labels[has_value]], int(of_values.sum()))
        weights = None if weights is None else weights[has_value]
    assert entry.values is not None
    made = entry.values(
        SortedMembers(
            variable,
            values,
            counted,
            column,
            column_precision.written,
            texts,
            weights,
            frequency,
            heaviest,
        )
    )
    unrounded = np.full(groups.count, np.nan)
    unrounded[of_values] = made.values
    if not entry.rounds or counted.count == 0:
        return GroupColumn(made.variable, unrounded, released_atoms, unrounded)
    rounded, decimals = np.full(groups.count, np.nan), column_precision.decimals
    rounded[of_values] = at_precision(variable, made.values, decimals, precision)
    reason = "" if decimals is None else column_precision.reason
    return GroupColumn(made.variable, rounded, released_atoms, unrounded, decimals, reason)


def releases_value(atoms: np.ndarray, groups: Groups, k: int) -> np.ndarray:
    """(groups,): whether a group releases a value of a column with these atoms (-1 where there
    is a value).

    It does if all its records have one, or if more than half of them do, and at least min(k, 3).

    >>> releases_value(np.array([-1, -1, 0, -1, 0]), Groups.of(np.array([0, 0, 0, 1, 1])),
    ...     2).tolist()
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
