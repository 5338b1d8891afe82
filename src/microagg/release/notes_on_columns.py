"""Notes on the columns of a release and their cells: what the data holder should know beyond the
figures. For inside eyes only.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.formatting import listed
from microagg.guarantees.k import Anonymity
from microagg.release.settings import Settings
from microagg.table.columns.distinct import number_of
from microagg.table.columns.field_metadata import columns_with_values_like_markers
from microagg.table.encoder import Space
from microagg.table.schema import Kind, Role, Schema
from microagg.table.variable import Cells, Variable

MANY = 20  # different numbers in a column of text: fewer may be codes


def notes_on_columns(
    schema: Schema, space: Space, loss: float, unrounded: float
) -> tuple[str, ...]:
    """What a user should know about this release beyond its figures."""
    notes = []
    quasi = schema.names(Role.QUASI)
    if space.constant:
        names = ", ".join(repr(quasi[j]) for j in space.constant)
        notes.append(f"constant, so without influence on the groups: {names}")
    if loss > 1.02 * unrounded and loss - unrounded > 0.01:
        notes.append(
            f"rounding to the columns' own precision raised IL from {unrounded:.3g} to "
            f"{loss:.3g} %; "
            "precision='full' avoids it"
        )
    kept = schema.names(Role.KEEP)
    if kept:
        notes.append(
            f"kept as they are, and able to single people out: {', '.join(map(repr, kept))}"
        )
    return tuple(notes)


def notes_on_precision(
    names: Sequence[str], decimals: Sequence[int | None], reasons: Sequence[str]
) -> tuple[str, ...]:
    """Tell which columns are rounded to other decimals than all of their values have.

    >>> notes_on_precision(["age", "income"], [0, -1], ["own", "spread"])
    ("no fixed number of decimals, so means are rounded by how far values are spread: 'income' to steps of 10",)
    """
    steps: dict[str, list[str]] = {"most": [], "spread": []}
    for name, places, reason in zip(names, decimals, reasons, strict=True):
        if places is not None and reason in steps:
            steps[reason].append(f"{name!r} to steps of {Decimal(1).scaleb(-places):f}")
    notes = []
    if steps["most"]:
        notes.append(
            "a few values have more decimals than the others, and means are rounded like "
            "most values: "
            f"{', '.join(steps['most'])}"
        )
    if steps["spread"]:
        notes.append(
            "no fixed number of decimals, so means are rounded by how far values are spread: "
            f"{', '.join(steps['spread'])}"
        )
    return tuple(notes)


def warning_of_single_columns(found: Anonymity) -> str:
    """What must be known of a release whose columns are protected one by one."""
    records = int(found.sizes[found.failing].sum())
    return (
        f"NOT {found.k}-anonymous: this method protects each column alone; {records} of "
        f"{int(found.sizes.sum())} records "
        f"have a combination of values that fewer than {found.k} share"
    )


def notes_on_cells(cells: Cells, space: Space, settings: Settings, dropped: int) -> tuple[str, ...]:
    """What the data holder should know of columns that are no plain numbers. For inside eyes
    only.
    """
    gaps = [
        variable.name
        for j, variable in enumerate(cells.variables)
        if variable.kind is not Kind.NOMINAL
        and (atoms := cells.atoms_of(j)) is not None
        and (atoms >= 0).any()
    ]
    return notes_on_encoding(
        cells.names, gaps, space, settings.scale, dropped, _columns_alike(cells)
    )


def notes_on_encoding(
    names: Sequence[str],
    gaps: Sequence[str],
    space: Space,
    scale: str,
    dropped: int,
    alike: Sequence[Sequence[str]],
) -> tuple[str, ...]:
    """The same from facts: which columns have gaps, how many records were left out for them, which
    columns are alike.
    """
    notes = []
    if dropped:
        notes.append(f"left out, because a quasi-identifier was missing: {dropped:,} records")
    if gaps and scale == "minmax":
        notes.append(
            f"on the scale minmax a gap in a skewed column is near everything: "
            f"{listed(gaps)}; scale='zscore' keeps it apart"
        )
    inexact = [names[j] for j, column in enumerate(space.columns) if not column.exact]
    if inexact:
        notes.append(
            f"of more than 64 values, so that groups were searched with distances that "
            f"are equal within some percent, while loss "
            f"is counted exactly: {listed(inexact)}"
        )
    notes += [
        f"{listed(same)} hold the same, so that it counts {len(same)} times; leave all "
        f"but one out, or lower their importance"
        for same in alike
    ]
    return tuple(notes)


def notes_on_numbers_as_text(variables: Sequence[Variable], settings: Settings) -> tuple[str, ...]:
    """Which columns of text hold nothing but numbers, many different ones, and were grouped as
    categories unasked.
    """
    names = [
        each.name
        for each in variables
        if each.kind is Kind.NOMINAL
        and each.name not in settings.columns.kinds
        and _are_many_numbers(each.levels)
    ]
    return tuple(
        f"{name!r} holds numbers as text, and they were taken for categories; "
        f"kinds={{{name!r}: 'numeric'}} takes them for "
        "numbers"
        for name in names
    )


def _are_many_numbers(levels: Sequence[Any]) -> bool:
    known = [level for level in levels if level is not None]
    return len(known) > MANY and all(
        isinstance(each, str) and number_of(each) is not None for each in known
    )


def notes_on_markers(source: pa.Table) -> tuple[str, ...]:
    """Which columns of text hold NA and the like, which were taken for values there."""
    names = columns_with_values_like_markers(source)
    if not names:
        return ()
    return (
        f"NA, null and the like were taken for values, because there is other text "
        f"beside them: {listed(names)}; na='NA' makes "
        "them missing",
    )


def _columns_alike(cells: Cells) -> list[Sequence[str]]:
    """The names of columns that hold the same numbers and atoms in all records."""
    found: dict[tuple[float, ...], list[int]] = {}
    spread = min(len(cells), 16)
    rows = np.linspace(0, len(cells) - 1, spread).astype(np.int64)
    for j in range(len(cells.variables)):
        if len(np.unique(cells.values[rows, j])) > 1:
            found.setdefault(
                tuple(np.nan_to_num(cells.values[rows, j], nan=-1e300).tolist()), []
            ).append(j)
    alike = []
    for places in found.values():
        first = places[0]
        same = [
            j
            for j in places
            if np.array_equal(cells.values[:, j], cells.values[:, first], equal_nan=True)
            and (cells.atoms is None or np.array_equal(cells.atoms[:, j], cells.atoms[:, first]))
            and cells.variables[j].kind is cells.variables[first].kind
        ]
        if len(same) > 1:
            alike.append([cells.names[j] for j in same])
    return alike
