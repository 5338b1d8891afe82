"""Columns of categories beyond memory: on their way they are their values, and in the end they get
the categories that are released.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import of_plain_type, sorted_places, with_one_dictionary


def in_plain_types(table: pa.Table) -> pa.Table:
    """The same cells without views, and with values in place of categories: what can be put
    together and taken apart at will.

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
    """The categories of each column that has some, in their order, whether they occur or not."""
    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            found[name] = with_one_dictionary(of_plain_type(column)).dictionary
    return found


def joined(one: pa.Array, other: pa.Array) -> pa.Array:
    """The categories of two parts of a column, those of the first part first.

    >>> joined(pa.array(["a", "b"]), pa.array(["c", "a"])).to_pylist()
    ['a', 'b', 'c']
    """
    new = other.filter(pc.invert(pc.is_in(other, value_set=one)))
    return pa.concat_arrays([one, new]) if len(new) else one


def with_categories(
    rows: pa.Table, kinds: Mapping[str, Any], categories: Mapping[str, pa.Array]
) -> pa.Table:
    """Columns of values as columns of these categories; `kinds` has their types."""
    for name, own in categories.items():
        kind = kinds[name]
        values = rows.column(name).combine_chunks()
        values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
        indices = pc.cast(pc.index_in(values, value_set=own), kind.index_type)
        column = pa.DictionaryArray.from_arrays(indices, own, ordered=kind.ordered)
        rows = rows.set_column(rows.schema.get_field_index(name), name, column)
    return rows


def with_kinds(schema: pa.Schema, kinds: Mapping[str, Any]) -> pa.Schema:
    """The schema of such rows."""
    return pa.schema([field.with_type(kinds.get(field.name, field.type)) for field in schema])


def used_among(categories: pa.Array, values: Any, *, ordered: bool) -> pa.Array:
    """Those categories that occur among some values: in their order, or (not `ordered`) sorted.

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
    """The different values of a column."""
    found = pc.unique(pc.drop_null(values))
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
