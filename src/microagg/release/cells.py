"""Cells, confidential values and units of a table as the settings read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.errors import InputError
from microagg.release.settings import Settings
from microagg.sentences import Assignment, Sentence, sentence
from microagg.table.columns.cells import cells_of
from microagg.table.columns.frames import to_arrow
from microagg.table.confidential import Attribute, attributes_of, units_of
from microagg.table.ordering import ValueFrequencies
from microagg.table.schema import Role, Schema
from microagg.table.variable import NO_ATOM, Cells, missing_cells


def read_cells(frame: nw.DataFrame[Any], schema: Schema, settings: Settings) -> Cells:
    """Return the cells of the quasi-identifying columns."""
    options = settings.columns
    columns = [column for column in schema.columns if column.role is Role.QUASI]
    return cells_of(
        frame, columns, special=options.special, na=options.na, hierarchies=options.hierarchy
    )


def shown_cells(table: pa.Table, made: Cells, schema: Schema, settings: Settings) -> Cells:
    """Return the released cells as anybody reads them from the released table and the settings, for
    a public report.

    Those that were made tell more: a clock or a unit that suits the original alone. Ranges and
    ancestors are the texts released. Labels are those of the released table.
    """
    options = settings.of_table(table).columns
    quasi = [column for column in schema.columns if column.role is Role.QUASI]
    fine = [
        column
        for column, variable in zip(quasi, made.variables, strict=True)
        if not variable.coarse
    ]
    if not fine:
        return made
    read = cells_of(
        nw.from_native(table, eager_only=True), fine, special=options.special, na=options.na
    )
    position_of = {name: j for j, name in enumerate(read.names)}
    values, variables = made.values.copy(), list(made.variables)
    atoms = np.full(values.shape, NO_ATOM, np.int16) if made.atoms is None else made.atoms.copy()
    for j, name in enumerate(made.names):
        if name in position_of:
            variables[j], values[:, j] = (
                read.variables[position_of[name]],
                read.values[:, position_of[name]],
            )
            held = read.atoms_of(position_of[name])
            atoms[:, j] = NO_ATOM if held is None else held
    return Cells(tuple(variables), values, atoms if (atoms != NO_ATOM).any() else None)


def confidential_of(
    table: pa.Table,
    names: Sequence[str],
    settings: Settings,
    standing: ValueFrequencies | None = None,
) -> tuple[Attribute, ...]:
    """Return the confidential columns, with the kinds, orders and codes of the settings."""
    options = settings.columns
    return attributes_of(
        table,
        names,
        exact=settings.exact,
        kinds=options.kinds,
        ordinal=options.levels,
        special=options.special,
        na=options.na,
        standing=standing,
    )


def units_in(frame: nw.DataFrame[Any], schema: Schema, settings: Settings) -> Attribute | None:
    """Return the unit of each record; None without such a column."""
    name = schema.one(Role.UNIT)
    return (
        None
        if name is None
        else units_of(to_arrow(frame.select(name)), name, na=settings.columns.na)
    )


def without_gaps(
    frame: nw.DataFrame[Any], schema: Schema, settings: Settings
) -> tuple[nw.DataFrame[Any], int]:
    """Return the table without the records that miss a quasi-identifier, and their number, if these
    are to be left out.

    With missing="error" they are refused, with "group" they stay.
    """
    if settings.missing == "group":
        return frame, 0
    cells = read_cells(frame, schema, settings)
    gaps = missing_cells(cells)
    if settings.missing == "error":
        counts = {name: int(gaps[:, j].sum()) for j, name in enumerate(cells.names)}
        gap_counts = ", ".join(f"{count:,} in {name!r}" for name, count in counts.items() if count)
        if gap_counts:
            raise InputError(refusal_of_gaps(gap_counts))
        return frame, 0
    complete = np.asarray(~gaps.any(axis=1))
    dropped = int((~complete).sum())
    if dropped == 0:
        return frame, 0
    check_few(dropped, len(frame), settings.k)
    return frame.filter(list(map(bool, complete))), dropped


def refusal_of_gaps(counts: str) -> Sentence:
    """Return the sentence that refuses missing cells, with their counts by column."""
    return sentence(
        f"quasi-identifiers are missing: {counts}; fill them in, or say ",
        Assignment("missing", "group"),
        " to group such records with their like or ",
        Assignment("missing", "drop"),
        " to leave them out.",
    )


def check_few(dropped: int, records: int, k: int) -> None:
    """Raise where fewer than k records are left.

    >>> check_few(3, 10, k=5)
    """
    if dropped > records - k:
        raise InputError(
            sentence(
                Assignment("missing", "drop"),
                f" leaves {records - dropped:,} of {records:,} records, fewer than k; say ",
                Assignment("missing", "group"),
                " to keep them.",
            )
        )
