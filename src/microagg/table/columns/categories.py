"""Categories out of core: processed as plain values, and restored with the released categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import of_plain_type, sorted_places, with_one_dictionary


def in_plain_types(table: pa.Table) -> pa.Table:
    """Return a table without views and categories, whose parts can be concatenated.

    >>> towns = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["Bonn", "Ulm"]))
    >>> in_plain_types(pa.table({"town": towns})).column("town").to_pylist()
    ['Ulm', 'Bonn']
    """
    columns = []
    for column in table.columns:
        column = of_plain_type(column)
        columns.append(
            pc.cast(column, column.type.value_type)
            if pa.types.is_dictionary(column.type)
            else column
        )
    return pa.table(columns, names=table.column_names)


def categories_in(table: pa.Table) -> dict[str, pa.Array]:
    """Return the categories of each categorical column in their order, used or not."""
    categories = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            categories[name] = with_one_dictionary(of_plain_type(column)).dictionary
    return categories


def joined(one: pa.Array, other: pa.Array) -> pa.Array:
    """Return the categories of two parts of a column, those of the first part first.

    >>> joined(pa.array(["a", "b"]), pa.array(["c", "a"])).to_pylist()
    ['a', 'b', 'c']
    """
    new = other.filter(pc.invert(pc.is_in(other, value_set=one)))
    return pa.concat_arrays([one, new]) if len(new) else one


def with_categories(
    rows: pa.Table, kinds: Mapping[str, Any], categories: Mapping[str, pa.Array]
) -> pa.Table:
    """Convert columns of values to these categories; `kinds` has their types."""
    for name, values_of_column in categories.items():
        kind = kinds[name]
        values = rows.column(name).combine_chunks()
        values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
        indices = pc.cast(pc.index_in(values, value_set=values_of_column), kind.index_type)
        column = pa.DictionaryArray.from_arrays(indices, values_of_column, ordered=kind.ordered)
        rows = rows.set_column(rows.schema.get_field_index(name), name, column)
    return rows


def with_kinds(schema: pa.Schema, kinds: Mapping[str, Any]) -> pa.Schema:
    """Return the schema of such rows."""
    return pa.schema([field.with_type(kinds.get(field.name, field.type)) for field in schema])


def used_among(categories: pa.Array, values: Any, *, ordered: bool) -> pa.Array:
    """Return the categories that occur among some values: in their order, or (not `ordered`)
    sorted.

    >>> used_among(pa.array(["c", "a", "b"]), pa.array(["b", None, "c"]), ordered=True).to_pylist()
    ['c', 'b']
    >>> used_among(pa.array(["c", "a", "b"]), pa.array(["b", None, "c"]), ordered=False).to_pylist()
    ['b', 'c']
    """
    used = used_in(values)
    if ordered:
        return pc.unique(categories.filter(pc.is_in(categories, value_set=used)))
    return used.take(pa.array(sorted_places(used)))


def used_in(values: Any) -> pa.Array:
    """Return the distinct values of a column."""
    unique = pc.unique(pc.drop_null(values))
    return unique.combine_chunks() if isinstance(unique, pa.ChunkedArray) else unique
