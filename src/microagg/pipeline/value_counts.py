"""Exact places in the order of values that are never in memory as a whole: order statistics, and
how often each different value occurs.

Order statistics are counted: the values between the extremes of a column fall into buckets of equal
width in a whole number that keeps their order (the bits of float64), and whatever bucket holds a
place that is asked for is looked at closer in the next pass, between its own extremes. A bucket of
one value is the answer, one of few values is collected. Two passes do for most columns; four at
most for one or two ranges, more where many columns are counted at once and each gets fewer buckets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microagg.errors import OnlyInMemoryError
from microagg.kernels import counting
from microagg.pipeline.column_stats import NumberFacts
from microagg.runtime.chunk_map import ChunkMap
from microagg.table.columns.column_encoding import cells_in
from microagg.table.reduction import Reduction, combine_chunks
from microagg.table.variable import Variable

MOST_BITS = 16
"""Buckets of a range are at most 2 to this, and those of all ranges of a pass twice as many: what a
task tells stays at 3 MB.
"""
COLLECTED = 1 << 16
"""A range with no more values than this is collected instead of counted."""
OF_A_VALUE, IN_MERGING = 24, 64
"""Bytes that each different value takes, with how often it occurs and its place; and besides while
its column is put together.
"""


@dataclass(frozen=True)
class Span:
    """A range of the order of a column in which places are looked for, by keys from `low` to
    `high`.
    """

    column: int
    low: int
    high: int
    count: int
    """How many values lie in it."""
    before: int
    """How many lie below."""
    places: tuple[int, ...]
    bits: int = 0
    """Its buckets are 2 to this; 0 where its values are collected."""

    @property
    def shift(self) -> int:
        """Buckets have 2 to this keys each."""
        return max(0, (self.high - self.low).bit_length() - self.bits)


def key_of(value: float) -> int:
    """A whole number in the order of values; both zeros are one.

    >>> key_of(-1.0) < key_of(-0.0) == key_of(0.0) < key_of(5e-324)
    True
    """
    return int(counting.keys_of((np.array([value]) + 0.0).view(np.uint64))[0])


def value_of(key: int) -> float:
    """The value that has this key.

    >>> value_of(key_of(-2.5))
    -2.5
    """
    bits = key - (1 << 63) if key >> 63 else (1 << 64) - 1 - key
    return float(np.array([bits], np.uint64).view(np.float64)[0])


def values_at(
    passes: ChunkMap,
    variables: tuple[Variable, ...],
    facts: Mapping[int, NumberFacts],
    places: Mapping[int, Sequence[int]],
) -> dict[int, dict[int, float]]:
    """By column the values at these places, from 0, among all its values in ascending order."""
    values: dict[int, dict[int, float]] = {j: {} for j in places}
    open_spans = []
    for j, wanted in places.items():
        ends = key_of(facts[j].least), key_of(facts[j].most)
        open_spans.append(Span(j, *ends, facts[j].known, 0, tuple(sorted(set(wanted)))))
    while True:
        for span in open_spans:
            if span.low == span.high:
                values[span.column].update(dict.fromkeys(span.places, value_of(span.low)))
        open_spans = [span for span in open_spans if span.low < span.high and span.places]
        if not open_spans:
            return values
        open_spans = _narrowed(passes, variables, _with_buckets(open_spans), values)


def _with_buckets(spans: Sequence[Span]) -> tuple[Span, ...]:
    counted = sum(span.count > COLLECTED for span in spans)
    bits = max(1, min(MOST_BITS, MOST_BITS + 1 - math.ceil(math.log2(max(counted, 1)))))
    return tuple(
        Span(
            span.column,
            span.low,
            span.high,
            span.count,
            span.before,
            span.places,
            bits if span.count > COLLECTED else 0,
        )
        for span in spans
    )


def _narrowed(
    passes: ChunkMap,
    variables: tuple[Variable, ...],
    spans: tuple[Span, ...],
    values: dict[int, dict[int, float]],
) -> list[Span]:
    """One pass: what is left to look at. Values of spans that were collected are entered in
    `values`.
    """
    counts = combine_chunks(passes.map_chunks("counting", count_chunk, variables, spans))
    left = []
    for span, (kept, buckets) in zip(spans, counts.finish(), strict=True):
        if span.bits == 0:
            values[span.column].update(
                {position: float(kept[position - span.before]) for position in span.places}
            )
        else:
            left += _buckets_with_places(span, *buckets)
    return left


Buckets = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Number of values in each bucket, and the least and the largest key."""


@dataclass
class SpanCounts(Reduction):
    """Values of spans: collected, or counted by bucket."""

    values: list[list[np.ndarray]]
    """Of each span the values of each chunk; empty where they are counted."""
    buckets: list[Buckets | None]

    @classmethod
    def of_chunk(cls, columns: Mapping[int, np.ndarray], spans: Sequence[Span]) -> SpanCounts:
        """Collect or count the values of a chunk, by column."""
        counts = cls([], [])
        for span in spans:
            values = columns[span.column]
            bits, low, high = values.view(np.uint64), np.uint64(span.low), np.uint64(span.high)
            if span.bits == 0:
                keys = counting.keys_of(bits)
                counts.values.append([values[(keys >= low) & (keys <= high)]])
                counts.buckets.append(None)
                continue
            number = ((span.high - span.low) >> span.shift) + 1
            totals, most = np.zeros(number, np.int64), np.zeros(number, np.uint64)
            least = np.full(number, np.iinfo(np.uint64).max, np.uint64)
            counting.count_keys(bits, low, high, np.uint64(span.shift), totals, least, most)
            counts.values.append([])
            counts.buckets.append((totals, least, most))
        return counts

    def combine(self, other: SpanCounts) -> SpanCounts:
        """Add another chunk."""
        for number, (mine, more) in enumerate(zip(self.buckets, other.buckets, strict=True)):
            self.values[number] += other.values[number]
            if mine is not None and more is not None:
                extremes = np.minimum(mine[1], more[1]), np.maximum(mine[2], more[2])
                self.buckets[number] = mine[0] + more[0], *extremes
        return self

    def finish(self) -> list[tuple[np.ndarray, Any]]:
        """Return the sorted values of each span that was collected, and the counts of others."""
        return [
            (np.sort(np.concatenate(values)) if values else np.zeros(0), buckets)
            for values, buckets in zip(self.values, self.buckets, strict=True)
        ]


def _buckets_with_places(
    span: Span, counts: np.ndarray, least: np.ndarray, most: np.ndarray
) -> list[Span]:
    up_to = span.before + np.cumsum(counts)
    buckets: dict[int, list[int]] = {}
    for position in span.places:
        buckets.setdefault(int(np.searchsorted(up_to, position, side="right")), []).append(position)
    return [
        Span(
            span.column, int(least[bucket]), int(most[bucket]), int(counts[bucket]),
            int(up_to[bucket] - counts[bucket]), tuple(places),
        )
        for bucket, places in buckets.items()
    ]  # fmt: skip


def count_chunk(
    source: Any, first: int, count: int, variables: tuple[Variable, ...], spans: tuple[Span, ...]
) -> SpanCounts:
    """Collect or count the values of a chunk that lie in spans: a task."""
    columns = tuple(dict.fromkeys(span.column for span in spans))
    return SpanCounts.of_chunk(_known_in(source, first, count, variables, columns), spans)


def _known_in(
    source: Any, first: int, count: int, variables: tuple[Variable, ...], columns: tuple[int, ...]
) -> dict[int, np.ndarray]:
    """The values of some columns of a chunk, negative zeros made positive."""
    chosen = [variables[j] for j in columns]
    cells = cells_in(
        source.read(first, count, [variable.name for variable in chosen]), chosen, first
    )
    values_by_column = {}
    for index, j in enumerate(columns):
        values = cells.values[:, index]
        values_by_column[j] = values[~np.isnan(values)] + 0.0
    return values_by_column


@dataclass(frozen=True)
class Quantile:
    """A quantile of so many values, as numpy finds it: between which places it lies, and how far
    from the first to the second.
    """

    first: int
    second: int
    part: float

    @staticmethod
    def of(share: float, count: int, method: str = "linear") -> Quantile:
        """That of a share.

        >>> Quantile.of(0.25, 4)
        Quantile(first=0, second=1, part=0.75)
        >>> Quantile.of(0.25, 4, "lower").first, Quantile.of(0.25, 4, "higher").first
        (0, 1)
        """
        position = (count - 1) * share
        if method != "linear":
            nearest = math.floor(position) if method == "lower" else math.ceil(position)
            return Quantile(nearest, nearest, 0.0)
        first = math.floor(position)
        return Quantile(first, min(first + 1, count - 1), position - first)

    @property
    def places(self) -> tuple[int, int]:
        """Both places."""
        return self.first, self.second

    def value(self, values: Mapping[int, float]) -> float:
        """From the values at its places."""
        if self.first == self.second:
            return values[self.first]
        return float(np.quantile(np.array([values[self.first], values[self.second]]), self.part))


Counted = tuple[np.ndarray, np.ndarray]
"""Different values in ascending order, and how often each occurs."""


def different_values(
    passes: ChunkMap, variables: tuple[Variable, ...], columns: Sequence[int], room: int
) -> dict[int, Counted]:
    """The different values of columns and how often each occurs, in one pass; refused where they
    take more bytes than there is room.
    """
    stacks: dict[int, list[Counted]] = {j: [] for j in columns}
    for chunk in passes.map_chunks("counting", different_chunk, variables, tuple(columns)):
        for j, more in chunk.items():
            _pile(stacks[j], more)
        if _bytes_of(stacks) > room:
            for stack in stacks.values():
                _pile_up(stack)
            if (taken := _bytes_of(stacks)) > room:
                raise OnlyInMemoryError(
                    f"scale rank has to know the place of every different value, which "
                    f"takes {taken / 1e6:,.1f} MB and more, but "
                    f"a quarter of the memory is {room / 1e6:,.1f} MB; give it more "
                    f"memory, or say another scale."
                )
    for stack in stacks.values():
        _pile_up(stack)
    return {j: stack[0] for j, stack in stacks.items()}


class ValueHistogram:
    """The order of the values of columns; what was counted is not counted again."""

    def __init__(
        self,
        passes: ChunkMap,
        variables: tuple[Variable, ...],
        facts: Mapping[int, NumberFacts],
        room: int,
    ) -> None:
        self._given = passes, variables
        self._facts, self._room = facts, room
        self._at: dict[int, dict[int, float]] = {}
        self._different: dict[int, Counted] = {}

    def lookup(self, places: Mapping[int, Sequence[int]]) -> dict[int, dict[int, float]]:
        """By column the values at these places."""
        missing = {
            j: [position for position in positions if position not in self._at.get(j, {})]
            for j, positions in places.items()
        }
        missing = {j: positions for j, positions in missing.items() if positions}
        if missing:
            for j, values in values_at(*self._given, self._facts, missing).items():
                self._at.setdefault(j, {}).update(values)
        return {j: self._at[j] for j in places}

    def different(self, columns: Sequence[int]) -> dict[int, Counted]:
        """The different values of columns, and how often each occurs."""
        missing = [j for j in columns if j not in self._different]
        if missing:
            self._different |= different_values(*self._given, missing, self._room)
        return {j: self._different[j] for j in columns}


def different_chunk(
    source: Any, first: int, count: int, variables: tuple[Variable, ...], columns: tuple[int, ...]
) -> dict[int, Counted]:
    """A task: the different values of a chunk, and how often each occurs."""
    known = _known_in(source, first, count, variables, columns)
    counts_by_column = {}
    for j, values in known.items():
        distinct, counts = np.unique(values, return_counts=True)
        counts_by_column[j] = distinct, counts.astype(np.int64)
    return counts_by_column


def _bytes_of(stacks: Mapping[int, list[Counted]]) -> int:
    """Return the bytes of these stacks at the peak: all at rest, and the longest while it is
    merged.
    """
    lengths = [sum(len(values) for values, _ in stack) for stack in stacks.values()]
    return OF_A_VALUE * sum(lengths) + IN_MERGING * max(lengths, default=0)


def _pile(stack: list[Counted], more: Counted) -> None:
    """Put more on a stack whose parts get shorter upwards, so that each value is merged but a few
    times.
    """
    stack.append(more)
    while len(stack) > 1 and len(stack[-2][0]) <= 2 * len(stack[-1][0]):
        stack.append(merged(stack.pop(), stack.pop()))


def _pile_up(stack: list[Counted]) -> None:
    while len(stack) > 1:
        stack.append(merged(stack.pop(), stack.pop()))


def merged(one: Counted, other: Counted) -> Counted:
    """The values of both, and how often they occur in both.

    >>> one, other = (np.array([1.0, 3.0]), np.array([2, 1])), (np.array([3.0]), np.array([5]))
    >>> values, counts = merged(one, other)
    >>> values.tolist(), counts.tolist()
    ([1.0, 3.0], [2, 6])
    """
    values, counts = np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])
    order = np.argsort(values, kind="stable")
    return added_up(values[order], counts[order])


def added_up(values: np.ndarray, counts: np.ndarray) -> Counted:
    """Values in ascending order without those that come again, whose counts are added up."""
    if len(values) == 0:
        return values, counts
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return values[first], np.add.reduceat(counts, first)
