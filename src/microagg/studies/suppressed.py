"""Suppressed rows and cells of a release: counted, and left out of all other figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.formatting import counted, listed
from microagg.guarantees.suppression import STAR, check_suppressed, find_suppressed
from microagg.studies.other_tools import is_value
from microagg.table.columns.frames import to_arrow
from microagg.table.schema import ColumnSettings
from microagg.table.variable import Cells

FEWEST_LEFT = 2
"""Records without suppressed cells that figures need; with fewer, suppressed cells count as
missing.
"""


@dataclass(frozen=True)
class SuppressedRecords:
    """Counts of what is suppressed in a release, and which records the figures are of."""

    records: int
    rows: int
    """Records of which every quasi-identifier is suppressed."""
    cells: int
    """Suppressed cells of all other records, columns that are suppressed as a whole aside."""
    partial: int
    """Records that have such cells."""
    columns: Mapping[str, int]
    """The number of these cells by column."""
    whole_columns: tuple[str, ...]
    """Columns that are suppressed in every record."""
    rest: np.ndarray
    """The places of the records that the figures are of."""
    starred: int = 0
    """Records with nothing but ``*``, which is a value here because a hierarchy has it."""
    smallest: int | None = None
    """The smallest class of all records but the suppressed rows, if a suppressed cell is a value of
    its own.
    """
    smallest_fitting: int | None = None
    """The smallest number of records that fit one, if a suppressed cell fits any value."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to tell about suppressed records."""
        notes = (str(self),) if self.is_some else ()
        if self.smallest is not None:
            notes += (
                f"with the records that have suppressed cells, the smallest class has "
                f"{counted(self.smallest, 'record')} if such a "
                f"cell is a value of its own; if it fits any value, "
                f"{self.smallest_fitting:,} or more records fit each",
            )
        if self.starred:
            notes += (
                f"{counted(self.starred, 'record')} with {STAR} in every "
                f"quasi-identifier, which a hierarchy has as a value; "
                f"if they are suppressed, suppressed={STAR!r} leaves them out",
            )
        return notes

    @property
    def is_some(self) -> bool:
        """Whether anything is suppressed."""
        return bool(self.rows or self.cells or self.whole_columns)

    def __str__(self) -> str:
        parts = []
        if self.rows:
            parts.append(
                f"all quasi-identifiers of {self.rows:,} of {counted(self.records, 'record')}"
            )
        if self.cells:
            cells = ", ".join(f"{name} {count:,}" for name, count in self.columns.items())
            parts.append(f"{counted(self.cells, 'cell')} of {self.partial:,} others ({cells})")
        if self.whole_columns:
            parts.append(f"{listed(self.whole_columns)} in every record")
        return f"suppressed: {'; '.join(parts)}. {self._what_figures_are_of()}"

    def _what_figures_are_of(self) -> str:
        left = len(self.rest)
        if self.partial and left == self.records - self.rows:
            which = f"the other {left:,} records" if self.rows else "all records"
            return f"The figures are of {which}, with suppressed cells as missing values."
        if left == self.records:
            return "The figures are of all records."
        return f"Every other figure is of the {left:,} records without suppressed cells."

    def as_data(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {
            "rows": self.rows,
            "cells": self.cells,
            "records_with_cells": self.partial,
            "columns": dict(self.columns),
            "whole_columns": list(self.whole_columns),
            "smallest_class": self.smallest,
            "smallest_if_blanks_fit_anything": self.smallest_fitting,
        }


def find_suppressed_records(
    before: nw.DataFrame[Any],
    after: nw.DataFrame[Any],
    quasi: Sequence[str],
    strata: Sequence[str],
    old: Cells,
    asked: ColumnSettings,
    markers: Sequence[str],
    k: int,
) -> SuppressedRecords:
    """Count suppressed rows and cells of a release, whose rows are in the order of the original.

    Without `markers`, ``*`` is one, unless the original or the column's hierarchy has such a value.
    What is missing in the original is not suppressed.
    """
    table = to_arrow(after.select(*quasi, *(name for name in strata if name not in quasi)))
    cells = np.column_stack(
        [
            _of_column(
                table,
                name,
                [
                    mark
                    for mark in markers or (STAR,)
                    if markers or not is_value(mark, old, place, asked)
                ],
            )
            for place, name in enumerate(quasi)
        ]
    )
    cells &= ~_missing(to_arrow(before.select(*quasi)))
    rows = cells.all(axis=1)
    whole = np.zeros(len(quasi), bool) if rows.all() else np.asarray(cells[~rows].all(axis=0))
    single = cells[~rows][:, ~whole]
    names = [name for name, gone in zip(quasi, whole, strict=True) if not gone]
    rest = np.flatnonzero(~rows & ~cells[:, ~whole].any(axis=1))
    if len(rest) < FEWEST_LEFT:
        rest = np.flatnonzero(~rows)
    if len(rest) < FEWEST_LEFT:
        rest = np.arange(len(cells))
    stars = find_suppressed(table, quasi, [STAR]).all(axis=1) & ~rows
    of_original = any(STAR in each.levels for each in old.variables)
    found = check_suppressed(table, quasi, strata, k, cells)[0] if single.any() else None
    return SuppressedRecords(
        records=len(cells),
        rows=int(rows.sum()),
        cells=int(single.sum()),
        partial=int(single.any(axis=1).sum()),
        columns={
            name: int(count) for name, count in zip(names, single.sum(axis=0), strict=True) if count
        },
        whole_columns=tuple(name for name, gone in zip(quasi, whole, strict=True) if gone),
        rest=rest,
        starred=0 if markers or of_original else int(stars.sum()),
        smallest=None if found is None else int(found.sizes.min()),
        smallest_fitting=None
        if found is None or found.suppression is None
        else found.suppression.smallest,
    )


def _of_column(table: pa.Table, name: str, markers: Sequence[str]) -> np.ndarray:
    return (
        find_suppressed(table, [name], markers)[:, 0] if markers else np.zeros(table.num_rows, bool)
    )


def _missing(table: pa.Table) -> np.ndarray:
    return find_suppressed(table, table.column_names, [""])
