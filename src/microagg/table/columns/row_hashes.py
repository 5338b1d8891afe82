"""Hashes of the rows of a table, in bounded memory: rows that are alike have one, others hardly
ever (128 bits).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from microagg.kernels import hashing
from microagg.table.columns.arrow import comparable, without_unknown_zone
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.canonical import exactly, has_other_forms


def class_hashes(table: pa.Table, names: Sequence[str], *, exact: bool = False) -> np.ndarray:
    """(n, 2) uint64: a hash of the values that decide a class: 0 and -0 are one number, whatever
    is missing is alike.

    With `exact`, 0 and -0 are different, and so are NaN and a missing value.

    >>> hashes = class_hashes(pa.table({"age": [30.0, 30.0, None], "sex": ["f", "f", "f"]}), ["age", "sex"])
    >>> bool((hashes[0] == hashes[1]).all()), bool((hashes[0] == hashes[2]).any())
    (True, False)
    """
    lanes = np.zeros((table.num_rows, 2), np.uint64)
    for name in names:
        column = table.column(name)
        take_in(lanes, exactly(column) if exact and has_other_forms(column) else comparable(column))
    return lanes


def row_hashes(table: pa.Table) -> np.ndarray:
    """(n, 2) uint64: a hash of all values of each row, to the bit: 0.0 and -0.0 differ.

    >>> hashes = row_hashes(pa.table({"age": [0.0, -0.0]}))
    >>> bool((hashes[0] == hashes[1]).any())
    False
    """
    lanes = np.zeros((table.num_rows, 2), np.uint64)
    for column in table.columns:
        take_in(lanes, column)
    return lanes


def take_in(lanes: np.ndarray, column: pa.ChunkedArray) -> None:
    """Let the hash of each row go on with the value of this column: numbers by value, texts by
    their letters, all else as text.
    """
    kind = column.type
    missing = column.is_null().to_numpy()
    if pa.types.is_integer(kind):
        words = pc.cast(column, pa.int64(), safe=False).fill_null(0).to_numpy().view(np.uint64)
        return hashing.take_in_words(lanes, words, missing)
    if pa.types.is_floating(kind):
        words = pc.cast(column, pa.float64()).fill_null(0.0).to_numpy().view(np.uint64)
        return hashing.take_in_words(lanes, words, missing)
    return hashing.take_in_texts(lanes, *_letters(_texts(column)), missing)


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    column = without_unknown_zone(column)
    try:
        return pc.cast(column, pa.large_string())
    # lists and the like, bytes that are no text
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        told = [None if value is None else repr(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(told, pa.large_string())])


def _letters(texts: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Where each text begins, the end of the last, and the bytes of all of them."""
    whole = texts.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], pa.large_string())
    if len(whole) == 0:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    _, offsets, letters = whole.buffers()
    places = np.frombuffer(offsets, np.int64)[whole.offset : whole.offset + len(whole) + 1]
    return places, np.frombuffer(letters, np.uint8) if letters is not None else np.zeros(
        0, np.uint8
    )


def bucket_of(hashes: np.ndarray, bits: int) -> np.ndarray:
    """(n,): which bucket rows are set aside in: the first bits of their hashes, so that rows that
    are alike are in one.

    >>> bucket_of(np.array([[1 << 63, 0]], np.uint64), 1).tolist()
    [1]
    """
    if bits == 0:
        return np.zeros(len(hashes), np.int64)
    return (hashes[:, 0] >> np.uint64(64 - bits)).astype(np.int64)
