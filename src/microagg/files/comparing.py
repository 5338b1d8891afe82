"""Comparison of a written file with its table, value by value and label by label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from microagg.errors import GuaranteeError
from microagg.files.format import Format
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import is_text, of_plain_type
from microagg.table.columns.labels import labels_of

OTHER_VALUES = "the file does not give back the values of column {!r}; nothing was written."


def check_altered(
    written: pa.Table,
    schema: pa.Schema,
    column_of: Callable[[str], pa.ChunkedArray],
    format: Format,
) -> None:
    """Refuse a file of a format with types if a column read back from it differs from the original.

    `column_of` returns one original column at a time, because both tables at once would take too
    much memory.

    >>> from microagg.files.columnar.parquet_format import PARQUET
    >>> table = pa.table({"age": [31]})
    >>> check_altered(table, table.schema, table.column, PARQUET)
    """
    for field in schema:
        column = of_plain_type(column_of(field.name))
        expected = as_read_back(field, column, format)
        if not same_values(written.column(field.name), expected):
            raise GuaranteeError(OTHER_VALUES.format(field.name))
        if format.holds is None:
            continue
        held, labels = (
            format.holds(labels_of(field), column),
            labels_of(written.schema.field(field.name)),
        )
        same = (held.label, dict(held.values), held.measure) == (
            labels.label,
            dict(labels.values),
            labels.measure,
        )
        if not same or set(held.missing) != set(labels.missing):
            raise GuaranteeError(
                f"the file does not give back the labels of column {field.name!r}; "
                f"nothing was written."
            )


def as_read_back(field: pa.Field, column: pa.ChunkedArray, format: Format) -> pa.ChunkedArray:
    """Return a column as a file of a format should give it back: recoded, empty texts missing."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if is_text(column.type) and not format.empties:
        return pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
    codes = format.codes(labels_of(field), column) if format.codes else {}
    return _recoded(column, codes) if codes else column


def in_codes_of(written: pa.Table, table: pa.Table, format: Format) -> pa.Table:
    """Replace the codes of a table that was read back by those of the table that was written."""
    for index, field in enumerate(table.schema):
        codes = format.codes(labels_of(field), table.column(index)) if format.codes else {}
        if codes:
            column = _recoded(
                written.column(index), {code: original for original, code in codes.items()}
            )
            written = written.set_column(
                index, written.schema.field(index).with_type(column.type), column
            )
    return written


def _recoded(column: pa.ChunkedArray, codes: Mapping[Any, Any]) -> pa.ChunkedArray:
    """Replace some numbers of a column."""
    numbers = pc.cast(column, pa.float64())
    places = pc.index_in(numbers, value_set=pa.array(list(codes), pa.float64()))
    others = pc.take(
        pa.array(list(codes.values()), pa.float64()),
        pa.array(places.to_numpy(), from_pandas=True).cast(pa.int64()),
    )
    return pc.coalesce(pa.chunked_array([others]), numbers)


def same_values(written: pa.ChunkedArray, expected: pa.ChunkedArray) -> bool:
    """Check if two columns hold the same values, whatever their types.

    >>> same_values(pa.chunked_array([[1, None]]), pa.chunked_array([[True, None]]))
    True
    """
    written, expected = _plainly(written), _plainly(expected)
    if pa.types.is_null(expected.type):
        return written.null_count == len(written) == len(expected)
    if written.type != expected.type:
        try:
            written, expected = _alike(written, expected)
        except pa.ArrowException:
            return False
    if written.equals(expected) or (written.null_count == len(written) == expected.null_count):
        return True
    # what is no number equals nothing, itself included, wherever it lies
    return pa.types.is_nested(expected.type) and repr(written.to_pylist()) == repr(
        expected.to_pylist()
    )


def _plainly(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _plainly(pc.cast(column, kind.value_type))
    if pa.types.is_boolean(kind):
        return pc.cast(column, pa.int64())
    if pa.types.is_floating(kind):
        numbers = pc.cast(column, pa.float64())
        return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)
    if pa.types.is_date(kind):
        return pc.cast(column, pa.timestamp("ms"))
    if pa.types.is_time(kind):
        return pc.cast(
            column,
            pa.time64("us" if kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us")) else "ns"),
        )
    return column


def _alike(
    written: pa.ChunkedArray, expected: pa.ChunkedArray
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Convert both columns to a type that holds the values of both."""
    kind: pa.DataType
    if is_text(expected.type):
        kind = pa.large_string()
    elif pa.types.is_time(expected.type):
        kind = pa.time64("ns")
    elif pa.types.is_decimal(expected.type) and not pa.types.is_decimal(written.type):
        return pc.cast(written, pa.float64()), pc.cast(expected, pa.float64())
    elif pa.types.is_integer(expected.type) and pa.types.is_integer(written.type):
        kind = pa.int64()
    elif pa.types.is_floating(written.type) or pa.types.is_floating(expected.type):
        kind = pa.float64()
    else:
        kind = expected.type
    return pc.cast(written, kind), pc.cast(expected, kind)
