"""Releases of other tools: suppressed cells, generalised values, ranges in place of numbers.

Suppressed: "*", as ARX and others write it, or a named marker, unless the original or the column's
hierarchy has such a value. Records with suppressed cells are left out of every figure
(`suppressed.py`). A column that is suppressed in all of them counts as missing.

Generalised: a value of a nominal column that is a node of its hierarchy is the centroid of the
values below it, weighted by their frequency in the original. So the top node in every record loses
100 % (see `Hierarchy.with_nodes`). Without a hierarchy it is a category of its own.

A column of numbers, dates or ordered levels that comes back as something else (20-29, ≥ 60) is read
as categories, which have no position on the scale.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa

from microagg.errors import InputError
from microagg.files.reading import read_table
from microagg.formatting import listed
from microagg.guarantees.suppression import STAR
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text
from microagg.table.columns.cells import cells_of
from microagg.table.columns.frames import to_arrow
from microagg.table.columns.text_inference import quasi_column
from microagg.table.schema import Column, ColumnSettings, Kind
from microagg.table.variable import Cells


def read_release(
    path: str | Path, quasi: Sequence[str], settings: ColumnSettings | None, **reading: Any
) -> pa.Table:
    """A release from a file. Columns that hold other things beside numbers, which an original must
    not, stay text.
    """
    try:
        return read_table(path, quasi=quasi, settings=settings, **reading)
    except InputError:
        table = read_table(path, settings=settings, **reading)
    return with_types(table, quasi, settings or ColumnSettings())


def with_types(table: pa.Table, names: Sequence[str], options: ColumnSettings) -> pa.Table:
    """Return a table with some of its columns of text as the numbers or dates that they spell,
    where they spell nothing else.

    >>> with_types(
    ...     pa.table({"age": ["30", "40"], "wage": ["1-5", "*"]}), ["age", "wage"], ColumnSettings()
    ... ).schema.types
    [DataType(int64), DataType(string)]
    """
    for index, name in enumerate(table.column_names):
        column = table.column(name)
        if name not in names or not is_text(column.type):
            continue
        try:
            field, typed = quasi_column(name, column, options)
        except InputError:
            continue
        table = table.set_column(index, field, typed)
    return table


def without_suppressed(
    column: pa.ChunkedArray, markers: Sequence[str] = (STAR,)
) -> pa.ChunkedArray:
    """A column of text with null in place of cells that are suppressed.

    >>> without_suppressed(pa.chunked_array([["30", "*"]])).to_pylist()
    ['30', None]
    """
    texts = pa.array(markers, pa.string())
    gone = pc.is_in(
        pc.cast(pc.utf8_trim_whitespace(column), pa.string()), value_set=texts, skip_nulls=True
    )
    return pc.if_else(gone, pa.scalar(None, column.type), column)


def cells_of_release(
    before: Cells,
    release: nw.DataFrame[Any],
    columns: Sequence[Column],
    options: ColumnSettings,
    markers: Sequence[str] = (STAR,),
) -> tuple[Cells, tuple[str, ...]]:
    """Return the cells of a release of any tool, and notes on how they were read.

    `before` are the cells of the original and `columns` the columns by which they were read.
    `markers` stand for suppressed cells.

    >>> from microagg.table.schema import Role
    >>> age = Column("age", Role.QUASI, Kind.NUMERIC)
    >>> frames = [
    ...     nw.from_native(pa.table({"age": ages}), eager_only=True)
    ...     for ages in ([31, 64], ["30-39", "*"])
    ... ]
    >>> cells, notes = cells_of_release(
    ...     cells_of(frames[0], [age]), frames[1], [age], ColumnSettings()
    ... )
    >>> cells.variables[0].levels, notes[1][:35]
    (('30-39', None), 'changed in type, so their values co')
    """
    table = to_arrow(release.select(*(column.name for column in columns)))
    suppressed, others, read, changed = [], [], list(columns), False
    for j, column in enumerate(columns):
        text = _as_text(table.column(j))
        if text is None:
            continue
        gone = [marker for marker in markers if not is_value(marker, before, j, options)]
        if (freed := without_suppressed(text, gone)).null_count > text.null_count:
            suppressed.append(column.name)
            text = freed
        field, typed = _typed_again(column, text, options)
        if not _is_readable(field, typed, column, options):
            others.append(column.name)
            read[j] = replace(column, kind=Kind.NOMINAL, levels=None)
            field, typed = pa.field(column.name, text.type), text
        if typed is not text or column.name in (*suppressed, *others):
            table, changed = table.set_column(j, field, typed), True
    frame = nw.from_native(table, eager_only=True) if changed else release
    special = {name: codes for name, codes in options.special.items() if name not in others}
    cells = cells_of(frame, read, special=special, na=options.na, hierarchies=options.hierarchy)
    return cells, _notes(suppressed, others)


def _notes(suppressed: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    notes = []
    if suppressed:
        notes.append(
            f"suppressed in all records or in nearly all, so that the cells count as "
            f"missing: {listed(suppressed)}"
        )
    if others:
        notes.append(f"changed in type, so their values count as new categories: {listed(others)}")
    return tuple(notes)


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """A column of text, or of categories that are text; None for other types."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return pc.cast(column, pa.string()) if is_text(kind) else None


def is_value(text: str, cells: Cells, j: int, options: ColumnSettings) -> bool:
    """Return whether a text is a value of the original, a node of the column's hierarchy, or
    declared.
    """
    variable = cells.variables[j]
    tree = variable.hierarchy
    declared = [*options.special.get(variable.name, ()), *options.levels.get(variable.name, ())]
    nodes = () if tree is None else (name for level in tree.nodes for name in level)
    return text in variable.levels or text in declared or text in nodes


def _typed_again(
    column: Column, text: pa.ChunkedArray, options: ColumnSettings
) -> tuple[pa.Field, pa.ChunkedArray]:
    """Text of a numeric column as the numbers or dates that it means, where it means nothing
    else.
    """
    if column.kind is Kind.NUMERIC:
        with contextlib.suppress(InputError):
            return quasi_column(column.name, text, options)
    return pa.field(column.name, text.type), text


def _is_readable(
    field: pa.Field, values: pa.ChunkedArray, column: Column, options: ColumnSettings
) -> bool:
    """Return whether a column has values of its kind only; of an ordered one, levels of its order
    only.
    """
    if column.kind is Kind.NOMINAL:
        return True
    frame = nw.from_native(
        pa.Table.from_arrays([values], schema=pa.schema([field])), eager_only=True
    )
    try:
        cells_of(frame, [column], special=options.special, na=options.na)
    except InputError:
        return False
    return True
