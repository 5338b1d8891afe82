"""Statistics over equivalence classes, from facts of groups by the hash of their class.

Groups of several blocks may be of one class; those of one hash are put together bucket by bucket.
Of a class that gives how many records and weights it has, how much of a column's total its two
largest records make up, and how far its values reach.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.kernels import partial_sums, sums
from microagg.measures.loss.generalisation import covered_sums
from microagg.measures.risk.dominance import ClassTotals, DominanceCounts, two_largest
from microagg.measures.risk.reidentification import chances_of
from microagg.pipeline.spill_index import Holding
from microagg.pipeline.verification import pairs_in, runs_of, table_in
from microagg.table.reduction import Reduction

_NO_VALUE, _ZERO = np.uint64(2**64 - 1), np.uint64(0)


@dataclass(frozen=True)
class ClassStatsSpec:
    """Specification of statistics over classes."""

    amounts: tuple[str, ...] = ()
    """Columns whose totals a record can make up a part of."""
    ranges: tuple[tuple[str, float], ...] = ()
    """Columns of numbers, and half of what the whole column covers."""
    weighted: bool = False
    confidential: tuple[str, ...] = ()
    """Columns of which it is asked in how many classes all records share one value."""


@dataclass
class ClassStats(Reduction):
    """Statistics over the classes of some buckets."""

    classes: int = 0
    chance: float = 0.0
    """The highest chance of a record among the people that the weights tell of, and how many
    records have it.
    """
    at_chance: int = 0
    expected: np.ndarray = field(default_factory=lambda: np.zeros((3, 1)))
    """The records found by drawing one of the population of its class for each."""
    dominance: DominanceCounts = field(default_factory=DominanceCounts)
    sharing: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each confidential column the classes in which all known values are one, and their records.
    """
    covered: dict[str, np.ndarray] = field(default_factory=dict)
    """Of each column the part of the whole that a record's class covers, summed over records by
    their weights.
    """

    @classmethod
    def of_chunk(cls, groups: Holding, spec: ClassStatsSpec) -> ClassStats:
        """Return the statistics of the classes whose groups lie in one bucket."""
        return class_stats_in_bucket(groups, spec)

    def combine(self, more: ClassStats) -> ClassStats:
        """Take in other buckets."""
        self.classes += more.classes
        if more.chance > self.chance:
            self.chance, self.at_chance = more.chance, 0
        if more.chance == self.chance:
            self.at_chance += more.at_chance
        partial_sums.add_sums(self.expected, more.expected)
        self.dominance.combine(more.dominance)
        for name, (classes, records) in more.sharing.items():
            before = self.sharing.get(name, (0, 0))
            self.sharing[name] = before[0] + classes, before[1] + records
        for name, part in more.covered.items():
            partial_sums.add_sums(self.covered.setdefault(name, np.zeros((3, 1))), part)
        return self

    @property
    def dominated(self) -> dict[str, int]:
        """Return of each column the classes that one record dominates."""
        return self.dominance.dominated

    @property
    def averaged(self) -> dict[str, int]:
        """Return of each column the classes in which it has a value."""
        return self.dominance.averaged


def group_stats(
    labels: np.ndarray,
    hashes: np.ndarray,
    amounts: dict[str, tuple[np.ndarray, np.ndarray | None]],
    numbers: dict[str, np.ndarray],
    weights: tuple[np.ndarray, np.ndarray] | None,
    shared: dict[str, tuple[np.ndarray, np.ndarray]] | None = None,
) -> pa.Table:
    """Return statistics of the groups of a block, one row each, with the hash of their class.

    Of `amounts` the parts that records make up, and which of them count (None: all); of `numbers`
    the values; `weights` before and as released; of confidential columns (`shared`) a hash of each
    value, and which records have one. `hashes` is (groups, 2).
    """
    groups = len(hashes)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(groups))
    columns: dict[str, Any] = {
        "h0": hashes[:, 0],
        "h1": hashes[:, 1],
        "records": np.bincount(labels, minlength=groups),
    }
    if weights is not None:
        before, released = weights
        columns["weight"] = np.bincount(labels, before, groups)
        columns["largest weight"] = np.maximum.reduceat(before[order], starts)
        columns["released weight"] = np.bincount(labels, released, groups)
    for j, (parts, counted) in enumerate(amounts.values()):
        largest, second = two_largest(parts[order], starts, labels[order])
        columns[f"total {j}"] = np.bincount(labels, parts, groups)
        columns[f"largest {j}"], columns[f"second {j}"] = largest, second
        if counted is not None:
            columns[f"counted {j}"] = np.bincount(labels[counted], minlength=groups)
    for j, values in enumerate(numbers.values()):
        columns[f"least {j}"] = np.minimum.reduceat(values[order], starts)
        columns[f"most {j}"] = np.maximum.reduceat(values[order], starts)
    for j, (values, has_value) in enumerate((shared or {}).values()):
        low, high = np.where(has_value, values, _NO_VALUE), np.where(has_value, values, _ZERO)
        columns[f"lowest hash {j}"] = np.minimum.reduceat(low[order], starts)
        columns[f"highest hash {j}"] = np.maximum.reduceat(high[order], starts)
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def class_stats_in_bucket(groups: Holding, spec: ClassStatsSpec) -> ClassStats:
    """Return the statistics of the classes of one bucket: a task."""
    table, stats = table_in(groups), ClassStats()
    if table is None:
        return stats
    rows = _ClassRows.of(table)
    stats.classes = len(rows.starts)
    sizes = rows.summed("records").astype(np.int64)
    weights = sizes.astype(np.float64)
    totals = {name: rows.class_totals(j, sizes) for j, name in enumerate(spec.amounts)}
    stats.dominance = DominanceCounts.of_classes(totals, len(sizes))
    if spec.weighted:
        weights = rows.summed("weight")
        stats.dominance.heavy = int((2 * rows.most("largest weight") > weights).sum())
        chances = chances_of(sizes, rows.summed("released weight"))
        stats.chance = float(chances.max())
        stats.at_chance = int(sizes[chances == stats.chance].sum())
        stats.expected = sums.column_sums((sizes * chances).reshape(-1, 1))
    for j, name in enumerate(spec.confidential):
        one = rows.least(f"lowest hash {j}") == rows.most(f"highest hash {j}")
        stats.sharing[name] = int(one.sum()), int(sizes[one].sum())
    for j, (name, half_range) in enumerate(spec.ranges):
        least, most = rows.least(f"least {j}"), rows.most(f"most {j}")
        stats.covered[name] = covered_sums(least, most, half_range, weights)
    return stats


@dataclass(frozen=True)
class _ClassRows:
    """Rows of `group_stats` in the order of their classes."""

    table: pa.Table
    order: np.ndarray
    starts: np.ndarray
    """(classes,): where each class begins in that order."""
    labels: np.ndarray
    """(rows,): the class of each row in that order."""

    @staticmethod
    def of(table: pa.Table) -> _ClassRows:
        pairs = pairs_in(table, "h0", "h1")
        order, starts = runs_of(pairs)
        sizes = np.diff(np.append(starts, len(pairs)))
        return _ClassRows(table, order, starts, np.repeat(np.arange(len(starts)), sizes))

    def column(self, name: str) -> np.ndarray:
        return self.table.column(name).to_numpy()[self.order]

    def summed(self, name: str) -> np.ndarray:
        return np.bincount(self.labels, self.column(name), len(self.starts))

    def least(self, name: str) -> np.ndarray:
        return np.minimum.reduceat(self.column(name), self.starts)

    def most(self, name: str) -> np.ndarray:
        return np.maximum.reduceat(self.column(name), self.starts)

    def class_totals(self, j: int, sizes: np.ndarray) -> ClassTotals:
        """Return the totals of the j-th column of amounts."""
        both = np.column_stack([self.column(f"largest {j}"), self.column(f"second {j}")])
        largest, second = two_largest(both.reshape(-1), 2 * self.starts, np.repeat(self.labels, 2))
        counted = sizes
        if f"counted {j}" in self.table.column_names:
            counted = self.summed(f"counted {j}")
        return ClassTotals(self.summed(f"total {j}"), largest, second, counted)


@dataclass
class KeptColumnStats(Reduction):
    """Statistics over the classes of some buckets, where classes share kept columns, too."""

    sizes: dict[int, int] = field(default_factory=dict)
    """How many classes have so many records."""
    alone: np.ndarray = field(default_factory=lambda: np.zeros((3, 1)))
    """The released weights of records alone, and of all records."""
    weights: np.ndarray = field(default_factory=lambda: np.zeros((3, 1)))

    @classmethod
    def of_chunk(cls, records: Holding) -> KeptColumnStats:
        """Return the statistics of the classes whose records lie in one bucket."""
        return kept_in_bucket(records)

    def combine(self, more: KeptColumnStats) -> KeptColumnStats:
        """Take in other buckets."""
        for size, count in more.sizes.items():
            self.sizes[size] = self.sizes.get(size, 0) + count
        partial_sums.add_sums(self.alone, more.alone)
        partial_sums.add_sums(self.weights, more.weights)
        return self


def kept_in_bucket(records: Holding) -> KeptColumnStats:
    """A task: the classes of one bucket of records, by the hash of what is released of them and
    their released weights.
    """
    table, stats = table_in(records), KeptColumnStats()
    if table is None:
        return stats
    pairs = pairs_in(table, "h0", "h1")
    order, starts = runs_of(pairs)
    sizes = np.diff(np.append(starts, len(pairs)))
    stats.sizes = dict(
        zip(*(part.tolist() for part in np.unique(sizes, return_counts=True)), strict=True)
    )
    if "w" in table.column_names:
        weights = table.column("w").to_numpy()
        stats.alone = sums.column_sums(weights[order[starts[sizes == 1]]].reshape(-1, 1))
        stats.weights = sums.column_sums(np.ascontiguousarray(weights).reshape(-1, 1))
    return stats
