"""Texts that a spreadsheet would take for formulas: detected, escaped with an apostrophe."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


FORMULA = r"(?s)^'*[=+\-@\t\r]."
ESCAPED = r"(?s)^'+[=+\-@\t\r]."


def formulas_in(column: pa.ChunkedArray) -> bool:
    """Check if a column holds texts that a spreadsheet would take for formulas.

    Such texts are no numbers, but begin with =, +, - or @.
    """
    import pyarrow as pa

    from microagg.table.columns.arrow import compute, is_text

    if pa.types.is_dictionary(column.type):
        column = compute.cast(column, column.type.value_type)
    if (
        not is_text(column.type)
        or not compute.any(compute.match_substring_regex(column, FORMULA)).as_py()
    ):
        return False  # numbers are looked for only where there is need to
    return bool(compute.any(_matches(column, FORMULA)).as_py())


def _matches(column: Any, pattern: str) -> Any:
    from microagg.files.reading import NUMBER
    from microagg.table.columns.arrow import compute

    number = compute.match_substring_regex(column, NUMBER)
    return compute.and_(compute.match_substring_regex(column, pattern), compute.invert(number))


def escaped_column(column: Any) -> Any:
    """Put an apostrophe before texts that a spreadsheet would run."""
    from microagg.table.columns.arrow import compute

    with_mark = compute.binary_join_element_wise("'", column, "")
    return compute.if_else(_matches(column, FORMULA), with_mark, column)


def unescaped(table: pa.Table) -> pa.Table:
    """Remove the apostrophes that `escape_formulas` put before texts."""
    return with_texts(table, _unescaped)


def _unescaped(column: Any) -> Any:
    from microagg.table.columns.arrow import compute

    return compute.if_else(
        _matches(column, ESCAPED), compute.utf8_slice_codeunits(column, 1), column
    )


def with_texts(table: pa.Table, change: Callable[[Any], Any]) -> pa.Table:
    """Apply a function to all texts of a table, and to the names of its columns."""
    import pyarrow as pa

    from microagg.table.columns.arrow import compute, is_text

    columns = []
    for column in table.columns:
        if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
            column = compute.cast(column, column.type.value_type)
        columns.append(change(column) if is_text(column.type) else column)
    names = change(pa.array(table.column_names, pa.string())).to_pylist()
    fields = [
        pa.field(name, column.type, metadata=field.metadata)
        for name, column, field in zip(names, columns, table.schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))
