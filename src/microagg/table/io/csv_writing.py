"""Writing columns of a csv file as they were read: with their own markers of missing values and patterns of dates."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from microagg.table.io.arrow import compute as pc
from microagg.table.io.arrow import is_text
from microagg.table.io.marks import missing_mark, pattern_of

LINES_AT_ONCE = 1 << 16


def as_they_were_read(table: pa.Table) -> tuple[pa.Table, set[int]]:
    """The table with text where a marker or a pattern asks for it, and the places of columns whose text goes without quotes.

    >>> from microagg.table.io.marks import marks_for
    >>> ages = pa.field("age", pa.int64(), metadata=marks_for(missing="NA"))
    >>> table, bare = as_they_were_read(pa.table({"age": [30, None]}, schema=pa.schema([ages])))
    >>> table.column("age").to_pylist(), bare
    (['30', 'NA'], {0})
    """
    bare = set()
    for place, field in enumerate(table.schema):
        column = table.column(place)
        marker, pattern = missing_mark(field), pattern_of(field)
        shown = bool(marker) and column.null_count > 0
        if not shown and pattern is None:
            continue
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        if not is_text(column.type):
            bare.add(place)
            column = pc.cast(column, pa.string()) if pattern is None else pattern.written(column)
        column = pc.fill_null(column, marker) if shown else column
        table = table.set_column(place, field.name, column)
    return table, bare


def has_empty_lines(table: pa.Table) -> bool:
    """Whether a record would be an empty line, which readers skip: so it is where the only column has gaps.

    >>> has_empty_lines(pa.table({"age": [30, None]})), has_empty_lines(pa.table({"age": [30, None], "sex": [1, 2]}))
    (True, False)
    """
    return table.num_columns == 1 and table.column(0).null_count > 0


def write_lines(table: pa.Table, path: Path, delimiter: str, bare: set[int]) -> None:
    """Write a csv file as Arrow does, but for the texts of the columns at these places, which go without quotes.

    In the only column of a table a gap is a pair of quotes.
    """
    alone = table.num_columns == 1
    header = [_quoted(pa.array([name])) for name in table.column_names]
    with path.open("wb") as file:
        file.write(_lines(header, delimiter))
        for batch in table.to_batches(max_chunksize=LINES_AT_ONCE):
            cells = [
                _where_needed(column, delimiter) if place in bare else _cells(column)
                for place, column in enumerate(batch.columns)
            ]
            if alone:
                cells = [pc.if_else(pc.equal(cells[0], ""), '""', cells[0])]
            file.write(_lines(cells, delimiter))


def _cells(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if is_text(column.type):
        return _quoted(column)
    return pc.fill_null(pc.cast(column, pa.large_string()), "")


def _quoted(text: pa.Array) -> pa.Array:
    doubled = pc.replace_substring(pc.cast(text, pa.large_string()), '"', '""')
    quote, nothing = (pa.scalar(each, pa.large_string()) for each in ('"', ""))
    return pc.fill_null(pc.binary_join_element_wise(quote, doubled, quote, nothing), "")


def _where_needed(text: pa.Array, delimiter: str) -> pa.Array:
    text = pc.fill_null(pc.cast(text, pa.large_string()), "")
    needed = pc.match_substring(text, delimiter)
    for mark in ('"', "\n", "\r"):
        needed = pc.or_(needed, pc.match_substring(text, mark))
    return pc.if_else(needed, _quoted(text), text)


def _lines(cells: list[pa.Array], delimiter: str) -> memoryview:
    """The cells of some records as bytes, a line each."""
    between, end = (pa.scalar(each, pa.large_string()) for each in (delimiter, "\n"))
    lines = pc.binary_join_element_wise(*cells, between)
    ended = pc.binary_join_element_wise(lines, pa.scalar("", pa.large_string()), end)
    _, offsets, letters = ended.buffers()
    first, last = (
        memoryview(offsets).cast("q")[place] for place in (ended.offset, ended.offset + len(ended))
    )
    return memoryview(letters or b"")[first:last]
