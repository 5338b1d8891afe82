"""Cells of a text file that mean missing because they go without quotes: NA beside quoted text, as
R's write.csv has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg.files.text.decoding import Source

MARKERS = ("NA", "na", "Na", "N/A", "n/a", "NaN", "nan", "NAN", "NULL", "null", "Null", ".")
"""Spellings of what means missing in columns of numbers; in columns of quoted text it does where it
has no quotes.
"""
LOOKED_AT = 1 << 20
MOST_CELLS = 100_000
BLOCKS = 1 << 22, 1 << 30
"""Bytes that are parsed at a time; a record that is longer takes a longer block."""


def quoted_columns(source: Source, delimiter: str, names: list[str], *, header: bool) -> list[str]:
    """Return the columns whose texts are in double quotes, by the first records of a file.

    All cells there are quoted but for empty ones and those that mean missing.
    """
    text = source.beginning(LOOKED_AT)
    whole = len(text) < LOOKED_AT
    quoted, bare = set(), set()
    for number, record in enumerate(
        records_in(text.decode("utf-8", errors="ignore"), delimiter, whole=whole)
    ):
        if number == 0 and header:
            continue
        for place, (cell, has_quotes) in enumerate(record):
            if has_quotes:
                quoted.add(place)
            elif cell and cell not in MARKERS:
                bare.add(place)
    return [name for place, name in enumerate(names) if place in quoted - bare]


def records_in(text: str, delimiter: str, *, whole: bool) -> Iterator[list[tuple[str, bool]]]:
    """Yield the cells of the first records, each with whether it has quotes; the last one only if
    the text is `whole`.

    >>> list(records_in('"a",NA\\n"b",2', ",", whole=True))
    [[('"a"', True), ('NA', False)], [('"b"', True), ('2', False)]]
    """
    sign = re.escape(delimiter)
    cell = re.compile(rf'("(?:[^"]|"")*"|[^{sign}\r\n]*)({sign}|\r\n|\n|\r|\Z)')
    record: list[tuple[str, bool]] = []
    place, cells = 0, 0
    while place < len(text) and cells < MOST_CELLS:
        match = cell.match(text, place)
        if match is None:  # a quote in the middle of a cell, or one that is not closed
            return
        record.append((match[1], match[1].startswith('"')))
        place, cells = match.end(), cells + 1
        if match[2] != delimiter:
            if place < len(text) or whole:
                yield record
            record = []


def columns_with_markers(table: pa.Table, names: Iterable[str]) -> list[str]:
    """Return those of some columns of texts that hold a marker, quoted or not."""
    return [name for name in names if _any_marker(table.column(name))]


def with_unquoted_gaps(
    table: pa.Table, source: Source, delimiter: str, *, header: bool
) -> pa.Table:
    """Return a table that was read from a text file with null in place of markers without quotes.

    How these are written is a mark of their columns.
    """
    names = table.column_names
    wanted = columns_with_markers(table, quoted_columns(source, delimiter, names, header=header))
    for name, unquoted in unquoted_markers(source, delimiter, names, wanted, header=header).items():
        place = names.index(name)
        column, marker = without_unquoted(table.column(place), unquoted)
        table = table.set_column(place, marked_missing(table.schema.field(place), marker), column)
    return table


def with_gaps_at(
    table: pa.Table, source: Source, delimiter: str, places: Sequence[int], *, header: bool
) -> pa.Table:
    """Return the same of a file that was just written: only the columns at these places have such
    gaps.
    """
    names = table.column_names
    wanted = [names[place] for place in places]
    masks = unquoted_markers(source, delimiter, names, wanted, header=header)
    for place, name in zip(places, wanted, strict=True):
        if name in masks:
            column, _ = without_unquoted(table.column(place), masks[name])
            table = table.set_column(place, table.schema.field(place), column)
    return table


def without_unquoted(
    column: pa.ChunkedArray, unquoted: pa.ChunkedArray
) -> tuple[pa.ChunkedArray, str]:
    """Return texts with null where a marker is `unquoted`, and the most frequent of these; "" where
    there is none.
    """
    import pyarrow as pa

    from microagg.table.columns.arrow import compute

    gone = compute.and_(unquoted, column.is_valid())
    counts = compute.value_counts(compute.filter(column, gone)).to_pylist()
    marker = min(((-each["counts"], each["values"]) for each in counts), default=(0, ""))[1]
    return (
        compute.if_else(gone, pa.scalar(None, column.type), column) if marker else column
    ), marker


def marked_missing(field: pa.Field, marker: str) -> pa.Field:
    """Return a field that remembers how a missing cell is written, unless it knows that already."""
    from microagg.table.columns.field_metadata import MISSING, field_metadata

    marks = dict(field.metadata or {})
    return (
        field
        if not marker or MISSING in marks
        else field.with_metadata({**marks, **(field_metadata(missing=marker) or {})})
    )


def unquoted_markers(
    source: Source, delimiter: str, names: list[str], wanted: list[str], *, header: bool
) -> dict[str, pa.ChunkedArray]:
    """Read some columns of a text file once more, and return where they are empty, or hold a
    marker, without quotes.
    """
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    if not wanted:
        return {}
    convert = arrow_csv.ConvertOptions(
        column_types={name: pa.string() for name in names},
        include_columns=wanted,
        strings_can_be_null=True,
        null_values=["", *MARKERS],
        quoted_strings_can_be_null=False,
    )
    parse = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    for block in BLOCKS:
        reading = arrow_csv.ReadOptions(
            use_threads=False,
            block_size=block,
            column_names=names,
            skip_rows_after_names=int(header),
        )
        try:
            with arrow_csv.open_csv(source.to_read(), reading, parse, convert) as reader:
                masks = [[batch.column(name).is_null() for name in wanted] for batch in reader]
        except (pa.ArrowException, OSError):
            if block == BLOCKS[-1]:
                raise
            continue
        columns = zip(wanted, zip(*masks, strict=True), strict=True)
        return {name: pa.chunked_array(list(chunks), pa.bool_()) for name, chunks in columns}
    return {}


def _any_marker(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    from microagg.table.columns.arrow import compute

    markers = pa.array(MARKERS, column.type)
    return bool(compute.any(compute.is_in(column, value_set=markers)).as_py())
