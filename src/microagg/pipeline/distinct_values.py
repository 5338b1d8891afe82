"""Distinct values of confidential columns, counted by chunk in order of first appearance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import OnlyInMemoryError
from microagg.table.columns.arrow import comparable
from microagg.table.columns.arrow import compute as pc
from microagg.table.reduction import Reduction

A_VALUE = 100
"""Bytes that a different value takes at the peak, about: itself, its count, its place in what
groups are measured against.
"""
AT_LEAST = 1 << 16
"""Different values that are counted whatever the memory."""


def distinct_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column whose different values Arrow can count, of the type that it has: NaN is null, and 0
    and -0 are one.
    """
    kind = column.type
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
        return pc.add(column, pa.scalar(0.0, kind))
    return comparable(column)


@dataclass
class DistinctValues(Reduction):
    """The different values of a column in the order in which they first appear, how often each
    occurs, and in which record first.
    """

    values: pa.Array
    counts: np.ndarray
    rows: np.ndarray

    @classmethod
    def of_chunk(cls, column: pa.ChunkedArray, first: int = 0) -> DistinctValues:
        """Those of a chunk that begins with this record."""
        encoded = pc.dictionary_encode(
            distinct_values(column), null_encoding="encode"
        ).combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0)
        codes, rows = np.asarray(encoded.indices), np.zeros(len(encoded.dictionary), np.int64)
        rows[codes[::-1]] = np.arange(
            first + len(codes) - 1, first - 1, -1
        )  # what is written last stays: the first
        return DistinctValues(encoded.dictionary, np.bincount(codes, minlength=len(rows)), rows)

    def combine(self, other: DistinctValues) -> DistinctValues:
        """Add the chunk that follows."""
        return DistinctValues.merged([self, other])

    @staticmethod
    def merged(parts: Sequence[DistinctValues]) -> DistinctValues:
        """Those of several chunks, in their order.

        >>> chunks = pa.chunked_array([["b", "a", "b"]]), pa.chunked_array([["c", None, "a"]])
        >>> both = DistinctValues.merged([DistinctValues.of_chunk(chunk) for chunk in chunks])
        >>> both.values.to_pylist(), both.counts.tolist(), both.rows.tolist()
        (['b', 'a', 'c', None], [2, 2, 1, 1], [0, 1, 0, 1])
        """
        whole = pa.concat_arrays([part.values for part in parts])
        encoded = pc.dictionary_encode(whole, null_encoding="encode")
        codes = np.asarray(encoded.indices)
        counts, rows = (
            np.zeros(len(encoded.dictionary), np.int64),
            np.zeros(len(encoded.dictionary), np.int64),
        )
        np.add.at(counts, codes, np.concatenate([part.counts for part in parts]))
        rows[codes[::-1]] = np.concatenate([part.rows for part in parts])[::-1]
        return DistinctValues(encoded.dictionary, counts, rows)


def different_chunk(
    source: Any, first: int, count: int, names: tuple[str, ...]
) -> list[DistinctValues]:
    """A task: the different values of some columns in a chunk."""
    rows = source.read(first, count, names)
    return [DistinctValues.of_chunk(rows.column(name), first) for name in names]


@dataclass
class ValueCounting:
    """The different values of a column so far; chunks are merged when they have grown to as much as
    is there.
    """

    name: str
    memory: int
    whole: list[DistinctValues] = field(default_factory=list)
    held: int = 0
    waiting: int = 0

    def add(self, more: DistinctValues) -> None:
        self.whole.append(more)
        self.waiting += len(more.values)
        if self.waiting > max(self.held, AT_LEAST):
            self._merge()

    def result(self) -> DistinctValues:
        self._merge()
        return self.whole[0]

    def _merge(self) -> None:
        self.whole = [DistinctValues.merged(self.whole)]
        self.held, self.waiting = len(self.whole[0].values), 0
        needed = self.held * A_VALUE + self.whole[0].values.nbytes
        if self.held > AT_LEAST and needed > self.memory:
            raise OnlyInMemoryError(
                f"the different values of column {self.name!r}, {self.held:,} or more, "
                f"need {needed / 1e6:,.0f} MB or more to be "
                "counted for l and t, and a quarter of the memory given is "
                f"{self.memory / 1e6:,.0f} MB; give it more memory, or round "
                "the values."
            )
