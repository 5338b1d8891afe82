"""Digests of tables: of their values in order, and of their rows in whatever order.

Both are made run by run (65,536 records, by record number) and put together, so that a table that
is never in memory as a whole has the same ones. Manifests up to format 2 have digests of whole
columns; `repeat` still makes those.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.kernels import hashing
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.arrow import without_unknown_zone
from microagg.table.columns.row_hashes import row_hashes

RUN = 1 << 16
"""Records: what is computed chunk by chunk is computed for each run of so many, so that no chunk
makes a difference.
"""
_AT_ONCE = 16  # runs whose digests are worth threads


def digest_of(table: pa.Table) -> str:
    """SHA-256 over the names and values of a table, whatever file or library it came from.

    >>> digest_of(pa.table({"a": [1, 2]})) == digest_of(pa.table({"a": pa.chunked_array([[1], [2]])}))
    True
    """
    return digest_of_runs(table.column_names, table.num_rows, digests_of_runs(table))


def digests_of_runs(table: pa.Table) -> list[bytes]:
    """The digest of each run of a table, or of a part of one that begins where a run does."""
    starts = range(0, table.num_rows, RUN)
    if len(starts) < _AT_ONCE:
        return [_digest_of_run(table.slice(first, RUN)) for first in starts]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda first: _digest_of_run(table.slice(first, RUN)), starts))


def digest_of_runs(names: Sequence[str], records: int, runs: Iterable[bytes]) -> str:
    """The digest of a table from those of its runs.

    >>> table = pa.table({"a": [1, 2]})
    >>> digest_of_runs(["a"], 2, digests_of_runs(table)) == digest_of(table)
    True
    """
    digest = hashlib.sha256("\0".join(["runs", str(records), *names, ""]).encode())
    for run in runs:
        digest.update(run)
    return digest.hexdigest()


def _digest_of_run(table: pa.Table) -> bytes:
    digest = hashlib.sha256()
    _take_in(digest, table)
    return digest.digest()


def digest_of_whole_columns(table: pa.Table) -> str:
    """The digest that manifests up to format 2 have."""
    digest = hashlib.sha256()
    _take_in(digest, table)
    return digest.hexdigest()


def _take_in(digest: Any, table: pa.Table) -> None:
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind, parts = _parts_of(column)
        digest.update(f"{name}\0{kind}\0{len(column)}\0".encode())
        digest.update(np.packbits(column.is_valid().to_numpy()).tobytes())
        for part in parts:
            digest.update(part)


class RowSums:
    """What all rows of a table come to, whatever their order: added up run by run or all at once.

    >>> table = pa.table({"a": [1, 2, 3]})
    >>> sums = RowSums.of(table.slice(2)).combine(RowSums.of(table.slice(0, 2)))
    >>> sums.digest(table.schema) == digest_of_rows(table)
    True
    """

    def __init__(self, records: int = 0, totals: tuple[int, int] = (0, 0)) -> None:
        self.records, self.totals = records, totals

    @staticmethod
    def of(table: pa.Table) -> RowSums:
        """Those of the rows of one table."""
        first, second = hashing.added_up(row_hashes(table))
        return RowSums(table.num_rows, (int(first), int(second)))

    def combine(self, other: RowSums) -> RowSums:
        """Those of the rows of two tables."""
        totals = tuple((a + b) % 2**64 for a, b in zip(self.totals, other.totals, strict=True))
        return RowSums(self.records + other.records, (totals[0], totals[1]))

    def digest(self, schema: pa.Schema) -> str:
        """SHA-256 over them, and over the names of the columns and which hold floats."""
        kinds = [
            f"{field.name}\0{'float' if pa.types.is_floating(field.type) else ''}"
            for field in schema
        ]
        return hashlib.sha256(
            "\0".join(["rows", str(self.records), *map(str, self.totals), *kinds]).encode()
        ).hexdigest()


def digest_of_rows(table: pa.Table) -> str:
    """SHA-256 over the names of the columns and the sums of hashes of all rows: the same whatever
    the order of the rows.

    >>> digest_of_rows(pa.table({"a": [1, 2]})) == digest_of_rows(pa.table({"a": [2, 1]}))
    True
    """
    found = RowSums()
    for first in range(0, table.num_rows, RUN):
        found = found.combine(RowSums.of(table.slice(first, RUN)))
    return found.digest(table.schema)


def _parts_of(column: pa.ChunkedArray) -> tuple[str, Iterable[Any]]:
    """What kind of values a column has, and their bytes, piece by piece and without a copy where
    Arrow has them.
    """
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        kind = "whole" if pa.types.is_integer(column.type) else "float"
        target = pa.int64() if kind == "whole" else pa.float64()
        numbers = pc.cast(column, target, safe=False).fill_null(0)
        return kind, (np.ascontiguousarray(chunk.to_numpy()) for chunk in numbers.chunks)
    column = without_unknown_zone(column)
    try:
        texts = pc.cast(column, pa.large_string()).fill_null("")
    # lists and the like, bytes that are no text
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return "other", ("\0".join(repr(value) for value in column.to_pylist()).encode(),)
    lengths = (np.ascontiguousarray(chunk.to_numpy()) for chunk in pc.binary_length(texts).chunks)
    return "text", itertools.chain(lengths, map(_letters_of, texts.chunks))


def _letters_of(texts: pa.LargeStringArray) -> memoryview:
    """The bytes of all texts, one after another."""
    if len(texts) == 0:
        return memoryview(b"")
    _, offsets, letters = texts.buffers()
    places = np.frombuffer(offsets, np.int64)[[texts.offset, texts.offset + len(texts)]]
    return memoryview(letters or b"")[places[0] : places[1]]
