"""Counts behind the notes on a table in memory, from its cells, groups and confidential columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from microagg.release.note_facts import (
    DominatedColumn,
    RoundedColumn,
    SharedValueColumn,
    StrataFacts,
    UnitFacts,
)
from microagg.table.aggregates import AGGREGATES
from microagg.table.columns.distinct import number_of
from microagg.table.schema import Kind

if TYPE_CHECKING:
    from microagg.table.aggregate import Aggregated
    from microagg.table.confidential import Attribute
    from microagg.table.encoder import Space
    from microagg.table.variable import Cells, Variable

MANY_NUMBERS = 20  # fewer different numbers in a column of text may be codes
COMPARED_ROWS = 16  # columns that differ in one of these rows are not compared in all


def dominated_columns(
    cells: Cells,
    labels: np.ndarray,
    classes: np.ndarray,
    made: Aggregated | None = None,
    weights: np.ndarray | None = None,
) -> list[DominatedColumn]:
    """Count the groups in which one value dominates the mean, column by column.

    `cells` are those that were averaged, `labels` the groups (for each column, where they differ),
    `classes` the records that are alike in all that is released, `made` the released cells of mixed
    tables: only values that made a mean count. Totals of times and of 0 and 1 tell nothing. With
    `weights`, a record makes up its weighted value.
    """
    from microagg.measures.risk.classes import classes_of
    from microagg.measures.risk.dominance import dominated_groups, is_indicator

    counts, all_records = [], None
    for j, variable in enumerate(cells.variables):
        if variable.kind is not Kind.NUMERIC or variable.unit:
            continue
        if made is not None and not AGGREGATES[made.how[j]].dominance_applies:
            continue
        groups_of = classes if labels.ndim == 1 else labels[:, j]
        column = cells.values[:, j]
        column = column + float(variable.origin) if variable.origin else column
        counted = ~np.isnan(column)
        if made is not None and not made.is_plain:
            counted &= ~np.isnan(made.cells.values[:, j])
        if is_indicator(column[counted]):
            continue
        column = column if weights is None else column * weights
        if counted.all() and labels.ndim == 1:
            groups = all_records = all_records or classes_of([groups_of])
        else:
            groups = classes_of([groups_of[counted]])
        if dominated := dominated_groups(column[counted], groups):
            counts.append(DominatedColumn(variable.name, dominated, len(groups)))
    return counts


def shared_value_columns(
    classes: np.ndarray, attributes: Sequence[Attribute]
) -> list[SharedValueColumn]:
    """Count the groups in which all known values of a confidential column are the same.

    `classes` are the records that are alike in all that is released of their quasi-identifiers.
    Missing values and special codes are not known: beside one value they hide nothing.

    >>> from microagg.table.confidential import Attribute
    >>> ill = Attribute("ill", Kind.NOMINAL, np.array([4, 4, 4, 5]))
    >>> shared_value_columns(np.array([0, 0, 1, 1]), [ill])[0].groups
    1
    """
    columns = []
    groups = int(classes.max()) + 1
    sizes = np.bincount(classes, minlength=groups)
    for attribute in attributes:
        has_value = attribute.codes < attribute.known
        codes, holders = attribute.codes[has_value], classes[has_value]
        low, high = np.full(groups, attribute.known), np.full(groups, -1)
        np.minimum.at(low, holders, codes)
        np.maximum.at(high, holders, codes)
        shared = low == high
        only = len(codes) if attribute.known == 1 else None
        columns.append(
            SharedValueColumn(
                attribute.name, int(shared.sum()), int(sizes[shared].sum()), groups, only
            )
        )
    return columns


def records_without_value(attributes: Sequence[Attribute]) -> dict[str, int]:
    """Count the records without a known value in each confidential column.

    >>> from microagg.table.confidential import attributes_of
    >>> import pyarrow as pa
    >>> ill = attributes_of(pa.table({"ill": ["flu", None, "cold"]}), ["ill"])
    >>> records_without_value(ill)
    {'ill': 1}
    """
    return {
        attribute.name: int((attribute.codes >= attribute.known).sum()) for attribute in attributes
    }


def unit_facts(units: Attribute | None, k: int) -> UnitFacts | None:
    """Count the units, and those with k or more records.

    >>> from microagg.table.confidential import Attribute
    >>> unit_facts(Attribute("home", Kind.NOMINAL, np.array([0, 0, 1, 2])), 2)
    UnitFacts(column='home', units=3, large_units=1)
    """
    if units is None:
        return None
    sizes = np.bincount(units.codes)
    return UnitFacts(units.name, len(sizes), int((sizes >= k).sum()))


def strata_facts(
    sizes: np.ndarray, strata_left_out: int = 0, records_left_out: int = 0
) -> StrataFacts:
    """Return the facts of strata with so many records each.

    >>> strata_facts(np.array([20, 30, 900])).median_size
    30.0
    """
    return StrataFacts(len(sizes), float(np.median(sizes)), strata_left_out, records_left_out)


def columns_with_gaps(cells: Cells) -> list[str]:
    """Return the numbers and ordered categories that have missing values or special codes."""
    names = []
    for j, variable in enumerate(cells.variables):
        atoms = cells.atoms_of(j)
        if variable.kind is not Kind.NOMINAL and atoms is not None and (atoms >= 0).any():
            names.append(variable.name)
    return names


def equal_columns(cells: Cells) -> list[list[str]]:
    """Return the sets of columns that hold the same numbers and special codes in all records."""
    candidates: dict[tuple[float, ...], list[int]] = {}
    few = min(len(cells), COMPARED_ROWS)
    rows = np.linspace(0, len(cells) - 1, few).astype(np.int64)
    for j in range(len(cells.variables)):
        sample = cells.values[rows, j]
        if len(np.unique(sample)) > 1:
            key = tuple(np.nan_to_num(sample, nan=-1e300).tolist())
            candidates.setdefault(key, []).append(j)
    equal = []
    for indices in candidates.values():
        same = [j for j in indices if _are_equal(cells, indices[0], j)]
        if len(same) > 1:
            equal.append([cells.names[j] for j in same])
    return equal


def _are_equal(cells: Cells, first: int, second: int) -> bool:
    return (
        np.array_equal(cells.values[:, second], cells.values[:, first], equal_nan=True)
        and (cells.atoms is None or np.array_equal(cells.atoms[:, second], cells.atoms[:, first]))
        and cells.variables[second].kind is cells.variables[first].kind
    )


def approximated_columns(names: Sequence[str], space: Space) -> list[str]:
    """Return the columns whose distances a search approximates."""
    return [name for name, column in zip(names, space.columns, strict=True) if not column.exact]


def numbers_as_text(variables: Sequence[Variable], kinds: Mapping[str, Any]) -> list[str]:
    """Return the columns of text with many different numbers that no setting calls categories."""
    return [
        variable.name
        for variable in variables
        if variable.kind is Kind.NOMINAL
        and variable.name not in kinds
        and _are_many_numbers(variable.levels)
    ]


def _are_many_numbers(levels: Sequence[Any]) -> bool:
    values = [level for level in levels if level is not None]
    return len(values) > MANY_NUMBERS and all(
        isinstance(value, str) and number_of(value) is not None for value in values
    )


def rounded_columns(
    names: Sequence[str], decimals: Sequence[int | None], reasons: Sequence[str]
) -> list[RoundedColumn]:
    """Return the columns with their decimals and what decided on these."""
    return [RoundedColumn(*column) for column in zip(names, decimals, reasons, strict=True)]
