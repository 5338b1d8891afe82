"""Arrow's compute functions, which are made at run time, where no type checker sees them: their one
door; what they compare; and tables that hold their values and nothing else.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

compute: Any = pyarrow.compute

MUCH = 1 << 26
"""Bytes below which an estimate of what texts take need not be exact."""
OURS = b"microagg"
"""How the names of our marks begin; `marks.py` has the others."""
NUMBERS_AS_TEXT = {OURS: b"numbers as text"}
"""What a text column of a file without types carries along if it means numbers: its text is given
back to the letter.
"""


def strip_metadata(table: pa.Table, *, marked: bool = False) -> pa.Table:
    """A table's values and nothing else: no metadata of any kind, no category that no record has,
    plain types where Arrow has views.

    Columns of a type that some library has added become what they are stored as. With `marked`,
    columns keep our marks, such as that they mean numbers. Whatever is written goes through here.

    >>> towns = pa.DictionaryArray.from_arrays(pa.array([2, 2]), pa.array(["Bonn", "Kiel", "Ulm"]))
    >>> strip_metadata(pa.table({"town": towns})).column("town").chunk(0).dictionary.to_pylist()
    ['Ulm']
    """
    fields, columns = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        kept = {
            name: mark
            for name, mark in (field.metadata or {}).items()
            if marked and name.startswith(OURS)
        }
        columns.append(of_used_categories(of_plain_type(column)))
        fields.append(pa.field(field.name, columns[-1].type, metadata=kept or None))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def means_numbers(field: pa.Field) -> bool:
    """Whether a text column is marked as one of numbers."""
    return (field.metadata or {}).get(OURS) == NUMBERS_AS_TEXT[OURS]


def is_text(kind: pa.DataType) -> bool:
    """Whether a type holds text, in whichever way."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def bytes_of(rows: pa.Table | pa.RecordBatch) -> int:
    """How many bytes rows take; where Arrow before 24 cannot tell, for views of text, those of all
    their buffers.

    >>> bytes_of(pa.table({"age": pa.array([31, 32], pa.int64())}))
    16
    >>> bytes_of(pa.table({"town": pa.array(["Ulm", "Bonn"], pa.string_view())})) >= 32
    True
    """
    try:
        return rows.nbytes
    except pa.ArrowTypeError:
        return rows.get_total_buffer_size()


def without_runs(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without runs (run-end encoding), which few functions of Arrow know.

    >>> runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["Ulm", "Bonn"]))
    >>> without_runs(pa.chunked_array([runs])).to_pylist()
    ['Ulm', 'Ulm', 'Bonn']
    """
    if not pa.types.is_run_end_encoded(column.type):
        return column
    kind: Any = column.type
    return pa.chunked_array(
        [compute.run_end_decode(chunk) for chunk in column.chunks], kind.value_type
    )


def names_within(fields: Iterable[pa.Field]) -> list[str]:
    """The names of all fields and of the parts of their types, and those of time zones; raises
    UnicodeDecodeError.

    >>> names_within(pa.schema([("seen", pa.timestamp("s", "UTC")), ("home", pa.struct([("town", pa.string())]))]))
    ['seen', 'UTC', 'home', 'town']
    """
    found = []
    for field in fields:
        kind: Any = field.type
        while pa.types.is_dictionary(kind):
            kind = kind.value_type
        zone = kind.tz if pa.types.is_timestamp(kind) else None
        found += [field.name, *([zone] if zone else ())]
        found += names_within(kind.field(place) for place in range(kind.num_fields))
    return found


def without_unknown_zone(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of moments without its time zone, if nobody here knows that one: then they can be
    told as text.
    """
    if not pa.types.is_timestamp(column.type) or _is_known_zone(column.type.tz):
        return column
    return compute.cast(column, pa.timestamp(column.type.unit))


@functools.cache
def _is_known_zone(zone: str | None) -> bool:
    """Whether both Arrow and Python can tell the time in a zone, or there is none to know."""
    if zone is None:
        return True
    moment = pa.array([0], pa.timestamp("s", zone))
    try:
        compute.cast(moment, pa.string())
        moment.to_pylist()
    except (pa.ArrowException, LookupError, ValueError, OSError):
        return False
    return True


def bytes_spelled_out(table: pa.Table) -> int:
    """How many bytes a table takes if each text of a column of categories, or of runs, is written
    for each of its records.

    >>> towns = pa.table({"town": pa.array(["Ulm", "Ulm", "Ulm"]).dictionary_encode()})
    >>> bytes_spelled_out(towns) > 9
    True
    """
    total = bytes_of(table)
    for column in table.columns:
        for chunk in column.chunks:
            total += _bytes_repeated(chunk)
    return total


def _bytes_repeated(chunk: Any) -> int:
    """What values take that are held once and stand for several records; at most, and exactly only
    where it is much.
    """
    if pa.types.is_dictionary(chunk.type):
        values, times = chunk.dictionary, chunk.indices
    elif pa.types.is_run_end_encoded(chunk.type):
        values, times = chunk.values, None
    else:
        return 0
    if len(values) == 0:
        return 0
    if not (is_text(values.type) or _is_bytes(values.type)):
        return len(chunk) * 8
    lengths = compute.cast(
        compute.binary_length(of_plain_type(pa.chunked_array([values]))), pa.int64()
    )
    at_most = len(chunk) * ((compute.max(lengths).as_py() or 0) + 8)
    if times is None or at_most <= MUCH:
        return at_most
    return 8 * len(chunk) + (compute.sum(compute.take(lengths, times)).as_py() or 0)


def _is_bytes(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or kind == pa.binary_view()


def of_plain_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without views, runs and types that some library has added."""
    column = without_runs(column)
    while isinstance(column.type, pa.BaseExtensionType):
        chunks = [chunk.storage for chunk in column.chunks]
        column = pa.chunked_array(chunks, column.type.storage_type)
    plain = _plain(column.type)
    if plain == column.type:
        return column
    if pa.types.is_nested(column.type):  # Arrow cannot cast all that lies within
        return pa.chunked_array([pa.array(column.to_pylist(), plain)])
    return compute.cast(column, plain)


def _plain(kind: pa.DataType, *, within: bool = False) -> pa.DataType:
    """The type without views and, within lists and the like, without categories, which cannot be
    tidied there.
    """
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(kind.storage_type, within=within)
    if pa.types.is_run_end_encoded(kind):
        return _plain(kind.value_type, within=within)
    if kind == pa.string_view():
        return pa.large_string()
    if kind == pa.binary_view():
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        values = _plain(kind.value_type, within=True)
        return values if within else pa.dictionary(kind.index_type, values, kind.ordered)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(part.name, _plain(part.type, within=True)) for part in kind])
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type, within=True))
    if pa.types.is_large_list(kind):
        return pa.large_list(_plain(kind.value_type, within=True))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain(kind.value_type, within=True), kind.list_size)
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type, within=True), _plain(kind.item_type, within=True))
    return kind


def of_used_categories(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of categories without those that do not occur: in the order of an ordered type, else
    sorted.

    The order that a library gave to categories without one is often that in which they first
    appear: it would tell who came first. So a dictionary follows from the values that a column
    holds, and from a declared order alone.

    >>> towns = pa.array(["Ulm", "Bonn", "Ulm"]).dictionary_encode()
    >>> of_used_categories(pa.chunked_array([towns])).chunk(0).dictionary.to_pylist()
    ['Bonn', 'Ulm']
    """
    if not pa.types.is_dictionary(column.type):
        return column
    kind: Any = column.type
    whole = with_one_dictionary(column)
    used = compute.unique(compute.drop_null(whole.indices))
    places = compute.take(used, compute.sort_indices(used))
    held = _encoded_categories(compute.take(whole.dictionary, places))
    order = np.arange(len(held.dictionary)) if kind.ordered else sorted_places(held.dictionary)
    new_places = np.full(len(whole.dictionary) + 1, -1, np.int64)  # the last is what is missing
    ranks = np.append(np.argsort(order), -1)
    new_places[places.to_numpy()] = ranks[compute.fill_null(held.indices, -1).to_numpy()]
    if column.num_chunks <= 1 and np.array_equal(new_places[:-1], np.arange(len(whole.dictionary))):
        return column
    indices = new_places[compute.fill_null(compute.cast(whole.indices, pa.int64()), -1).to_numpy()]
    tidy = pa.DictionaryArray.from_arrays(
        pa.array(indices, mask=indices < 0).cast(kind.index_type),
        compute.take(held.dictionary, pa.array(order)),
        ordered=kind.ordered,
    )
    return pa.chunked_array([tidy])


def with_one_dictionary(column: pa.ChunkedArray) -> Any:
    """A column of categories as one array.

    >>> parts = [pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(each, pa.string())) for each in (["a"], [None])]
    >>> with_one_dictionary(pa.chunked_array(parts)).to_pylist()
    ['a', None]
    """
    # which Arrow cannot put together
    if any(chunk.dictionary.null_count for chunk in column.chunks):
        column = pa.chunked_array(
            [_without_missing_categories(chunk) for chunk in column.chunks], column.type
        )
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        return whole.chunk(0) if whole.num_chunks else pa.array([], column.type)
    return whole


def _without_missing_categories(array: Any) -> pa.DictionaryArray:
    """Categories of which none is missing: cells that had such a one are missing themselves."""
    there = array.dictionary.is_valid().to_numpy(zero_copy_only=False)
    places = np.append(np.where(there, np.cumsum(there) - 1, -1), -1)
    indices = places[compute.fill_null(compute.cast(array.indices, pa.int64()), -1).to_numpy()]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, mask=indices < 0).cast(array.type.index_type),
        array.dictionary.drop_null(),
        ordered=array.type.ordered,
    )


INDEX_TYPE = pa.int32()
"""Of the categories in files: that of a table in memory would tell how many categories there were
before.
"""


def with_written_indices(table: pa.Table) -> pa.Table:
    """A table whose columns of categories have indices of the type that files have.

    >>> towns = pa.array(["Ulm"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    >>> with_written_indices(pa.table({"town": towns})).schema.field("town").type.index_type
    DataType(int32)
    """
    for place, field in enumerate(table.schema):
        kind: Any = field.type
        if pa.types.is_dictionary(kind) and kind.index_type != INDEX_TYPE:
            kind = pa.dictionary(INDEX_TYPE, kind.value_type, kind.ordered)
            chunks = [
                pa.DictionaryArray.from_arrays(
                    compute.cast(chunk.indices, INDEX_TYPE), chunk.dictionary, ordered=kind.ordered
                )
                for chunk in table.column(place).chunks
            ]
            table = table.set_column(place, field.with_type(kind), pa.chunked_array(chunks, kind))
    return table


def _encoded_categories(categories: pa.Array) -> Any:
    """Categories as different values and the place of each: a dictionary may hold one value twice,
    or a missing one.
    """
    try:
        return compute.dictionary_encode(categories)
    except pa.ArrowNotImplementedError:  # lists and the like
        texts = compute.dictionary_encode(pa.array([repr(each) for each in categories.to_pylist()]))
        _, first = np.unique(texts.indices.to_numpy(), return_index=True)
        return pa.DictionaryArray.from_arrays(
            texts.indices, compute.take(categories, pa.array(first))
        )


def sorted_places(values: pa.Array) -> np.ndarray:
    """The places of different values in ascending order; that of their texts where their type has
    no order.

    >>> sorted_places(pa.array(["b", "a"])).tolist()
    [1, 0]
    """
    try:
        return compute.sort_indices(values).to_numpy()
    except pa.ArrowNotImplementedError:
        return np.argsort(np.array([repr(value) for value in values.to_pylist()]), kind="stable")


def release_unused_memory() -> None:
    """Return memory that Arrow and the C library have kept for their next need: after work on whole
    columns that is a lot.
    """
    pa.default_memory_pool().release_unused()
    # there is such a call in GNU's C library only
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _without_nan(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """What is no number is missing, like what is null."""
    wrong = compute.is_nan(numbers)
    if not compute.any(wrong).as_py():
        return numbers
    return compute.if_else(compute.fill_null(wrong, True), pa.scalar(None, numbers.type), numbers)


def comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column that Arrow can group by, with equal values where the given one has them."""
    kind = column.type
    if pa.types.is_floating(kind):
        numbers = compute.add(compute.cast(column, pa.float64()), 0.0)  # 0 and -0 are one number
        return _without_nan(numbers)
    if pa.types.is_dictionary(kind):
        return comparable(compute.cast(column, kind.value_type))
    if pa.types.is_nested(kind):
        return pa.chunked_array(
            [[None if value is None else repr(value) for value in column.to_pylist()]], pa.string()
        )
    if isinstance(kind, pa.BaseExtensionType) or kind in (pa.string_view(), pa.binary_view()):
        return comparable(of_plain_type(column))
    return column
