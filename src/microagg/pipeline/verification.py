"""Verification in bounded memory: the classes of a written file by a 128-bit hash of their values,
counted bucket by bucket.

All records of a class are in one bucket, for a bucket is the first bits of its hash. That two
classes share a hash would hide one that is too small with a chance of about n² / 2¹²⁹: for 10¹⁰
records, less than one in 10¹⁸.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.errors import GuaranteeError
from microagg.files.chunks import Source
from microagg.guarantees.promise import Finding, Guarantees
from microagg.guarantees.tally import tally_of_part
from microagg.kernels import partial_sums
from microagg.pipeline.confidential_codes import UNKNOWN_CODE, EncodedColumn, GuaranteeContext
from microagg.pipeline.spill_index import Holding, batches_in
from microagg.pipeline.units import UNIT, unit_numbers
from microagg.runtime.spill import read_result, write_spill_file
from microagg.table.columns.digests import RowSums
from microagg.table.columns.profile import ProfileStats
from microagg.table.columns.row_hashes import bucket_of, class_hashes, take_in
from microagg.table.reduction import Reduction

KEY = "microagg key"
"""What rows are written in the order of."""
OF_CLASS = ("microagg class 0", "microagg class 1")
"""The hash of a row's class as it was released, beside that of its unit."""


@dataclass
class ClassCounts(Reduction):
    """Counts of the classes of some buckets."""

    records: int = 0
    sizes: dict[int, int] = field(default_factory=dict)
    """How many classes have so many records."""
    all_sizes: dict[int, int] = field(default_factory=dict)
    """The same where all released columns are known."""
    largest_error: float = 0.0
    """The largest squared error of one class."""
    findings: tuple[Finding, ...] = ()
    """What classes reach of a promise; only failing ones are told."""
    numbers: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    """Of each confidential column the numbers of values that occur, and how often."""
    released: int = 0
    """Classes as they were released, where units are verified by them."""
    met: int = 0
    """Pairs of such a class and one of the file that have a row in common."""
    promise: Guarantees | None = None
    """Guarantees by which findings are combined."""

    @classmethod
    def of_chunk(
        cls, hashes: Holding, errors: Holding, promised: GuaranteeContext | None = None
    ) -> ClassCounts:
        """Count the classes of one bucket."""
        return count_bucket(hashes, errors, promised)

    def combine(self, other: ClassCounts) -> ClassCounts:
        """Add other buckets, which have other classes."""
        self.records += other.records
        self.released += other.released
        self.met += other.met
        if self.promise is not None and other.findings:
            both = zip(self.findings, other.findings, strict=True)
            self.findings = (
                tuple(itertools.starmap(self.promise.together, both))
                if self.findings
                else other.findings
            )
        for counts, more in ((self.sizes, other.sizes), (self.all_sizes, other.all_sizes)):
            for size, count in more.items():
                counts[size] = counts.get(size, 0) + count
        self.largest_error = max(self.largest_error, other.largest_error)
        return self

    def class_sizes(self) -> np.ndarray:
        """(classes,): the size of each class, in ascending order."""
        sizes = np.array(sorted(self.sizes), np.int32)
        return np.repeat(sizes, [self.sizes[size] for size in sizes.tolist()])


def hash_chunk(
    source: Any,
    first: int,
    count: int,
    classes: tuple[str, ...],
    others: tuple[str, ...],
    bits: int,
    folder: str,
    promised: GuaranteeContext | None = None,
    units: Any = None,
) -> dict[str, Any]:
    """A task: the hashes of a chunk of a written file, by bucket; and what its rows and its other
    columns come to.

    With what is promised of confidential values, their numbers go with the hashes; so do those of
    `units`, which has them in the order in which rows were written.
    """
    path = f"{folder}/hashes-{first}-{count}.arrow"
    if (stats := read_result(path)) is not None:
        return {**stats, "path": path}
    written = source.as_written(first, count)
    table = source.typed(written)
    lanes = class_hashes(written, classes, exact=True)
    every = class_hashes(table, [*classes, *(name for name in others if name not in classes)])
    rows = RowSums.of_chunk(written)
    looks = {name: ProfileStats.of_chunk(name, table.column(name)).as_data() for name in others}
    hashes = pa.table({"h0": lanes[:, 0], "h1": lanes[:, 1], "a0": every[:, 0], "a1": every[:, 1]})
    if promised is not None:
        hashes = _with_numbers(hashes, table, promised)
    if units is not None:
        beside = units.read(first, count)
        for name in beside.column_names:
            hashes = hashes.append_column(name, beside.column(name))
    stats = {"records": rows.records, "rows": list(rows.totals), "looks": looks}
    return {**write_spill_file(path, hashes, bucket_of(lanes, bits), stats), "path": path}


def _with_numbers(hashes: pa.Table, table: pa.Table, promised: GuaranteeContext) -> pa.Table:
    """The numbers of confidential values beside the hashes, as they are in the file."""
    for column, name in zip(promised.columns, promised.carried, strict=True):
        codes = column.numbers(table.column(column.name))
        if (codes == UNKNOWN_CODE).any():
            raise GuaranteeError(
                f"the file holds values of column {column.name!r} that the table does "
                f"not have; nothing was written."
            )
        hashes = hashes.append_column(name, pa.array(codes))
    return hashes


def count_bucket(
    hashes: Holding, errors: Holding, promised: GuaranteeContext | None = None
) -> ClassCounts:
    """A task: the classes of one bucket; `errors` has those of groups by the hash of their
    class.
    """
    table, groups = table_in(hashes), table_in(errors)
    counts = ClassCounts()
    with_units = promised is not None and promised.unit is not None
    if groups is not None and with_units:
        counts.released = _labels(pairs_in(groups, "h0", "h1"))[1]
    if groups is not None:
        counts.largest_error = _largest(groups)
    if table is None:
        return counts
    counts.records = table.num_rows
    pairs = pairs_in(table, "h0", "h1")
    counts.sizes = _sizes(pairs)
    if promised is not None:
        counts.findings, counts.numbers = _judged(table, pairs, promised)
    if with_units:
        lanes = [*pairs.T, *(table.column(name).to_numpy() for name in OF_CLASS)]
        counts.met = len(np.unique(np.column_stack(lanes), axis=0))
    counts.all_sizes = _sizes(pairs_in(table, "a0", "a1"))
    return counts


def _judged(
    table: pa.Table, pairs: np.ndarray, promised: GuaranteeContext
) -> tuple[tuple[Finding, ...], tuple[tuple[np.ndarray, np.ndarray], ...]]:
    """Return the findings on the classes of a bucket, and the codes of its values."""
    labels, classes = _labels(pairs)
    findings, numbers = [], []
    for column, name in zip(promised.columns, promised.carried, strict=True):
        codes = table.column(name).to_numpy()
        numbers.append(np.unique(codes, return_counts=True))
        counts = tally_of_part(codes, labels, classes, column.counts, column.known)
        findings += promised.promise.findings_on_values(column.name, column.kind, counts)
    if promised.unit is not None:
        units, different = unit_numbers(table)
        counts = tally_of_part(units, labels, classes, np.bincount(units), different)
        findings += promised.promise.findings_on_units(promised.unit.name, counts)
    return tuple(
        replace(finding, failing=finding.failing[finding.failing]) for finding in findings
    ), tuple(numbers)


@dataclass
class GuaranteeRecount:
    """Recount of the confidential values of a file, bucket by bucket."""

    columns: tuple[EncodedColumn, ...]
    counts: list[np.ndarray] = field(default_factory=list)

    def add(self, part: ClassCounts) -> None:
        """Add another bucket."""
        self.counts = self.counts or [
            np.zeros(len(column.counts), np.int64) for column in self.columns
        ]
        for total, (codes, often) in zip(self.counts, part.numbers, strict=False):
            total[codes] += often

    def check_others(self) -> None:
        """Raise unless the file has the values of the whole table, each as often: what l and t were
        judged by.
        """
        for column, total in zip(self.columns, self.counts, strict=False):
            if not np.array_equal(total, column.counts):
                raise GuaranteeError(
                    f"the file does not hold the values of column {column.name!r} as "
                    f"often as the table does; nothing was written."
                )


def units_in_order(bucket: int, holding: Holding, folder: str) -> dict[str, Any]:
    """A task: the units of the rows of a bucket, in the order in which these are written."""
    path = f"{folder}/units-{bucket}.arrow"
    if (stats := read_result(path)) is not None:
        return {**stats, "path": path}
    table = pa.Table.from_batches(batches_in(holding)).replace_schema_metadata(None)
    table = table.take(
        pa.array(np.argsort(table.column(KEY).to_numpy(), kind="stable"))
    ).drop_columns([KEY])
    return {**write_spill_file(path, table, np.zeros(len(table), np.int64), {}), "path": path}


def units_source(buckets: Sequence[dict[str, Any]]) -> Source:
    """The units of all rows, by the number of the row."""
    files, pieces = (
        tuple(bucket["path"] for bucket in buckets),
        tuple((bucket["index"][0][1],) for bucket in buckets),
    )
    schema = pa.schema([(name, pa.uint64()) for name in (*UNIT, *OF_CLASS)])
    return Source(files, "Arrow", pieces, schema)


def values_chunk(
    source: Any, first: int, count: int, name: str, bits: int, folder: str, number: int
) -> dict[str, Any]:
    """A task: the hashes of one column's values, by bucket: to count how many there are, and how
    many occur once.
    """
    path = f"{folder}/values-{number}-{first}-{count}.arrow"
    if (stats := read_result(path)) is not None:
        return {**stats, "path": path}
    lanes = class_hashes(source.read(first, count, [name]), [name])
    missing = np.zeros((1, 2), np.uint64)
    take_in(missing, pa.chunked_array([pa.array([None], pa.int64())]))
    lanes = lanes[~(lanes == missing).all(axis=1)]
    table = pa.table({"h0": lanes[:, 0], "h1": lanes[:, 1]})
    return {**write_spill_file(path, table, bucket_of(lanes, bits), {}), "path": path}


def count_values(hashes: Holding) -> tuple[int, int]:
    """A task: how many different values a bucket has, and how many of them occur once."""
    table = table_in(hashes)
    if table is None:
        return 0, 0
    sizes = _sizes(pairs_in(table, "h0", "h1"))
    return sum(sizes.values()), sizes.get(1, 0)


def table_in(holding: Holding) -> pa.Table | None:
    """All that lies there; None where that is nothing."""
    batches = batches_in(holding)
    return pa.Table.from_batches(batches).replace_schema_metadata(None) if batches else None


def pairs_in(table: pa.Table, *names: str) -> np.ndarray:
    """(n, 2) uint64: the hashes that lie in these two columns."""
    pairs = np.empty((table.num_rows, 2), np.uint64)
    for lane, name in enumerate(names):
        pairs[:, lane] = table.column(name).to_numpy()
    return pairs


def runs_of(pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order in which equal pairs are side by side, and where each run of them starts."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    ordered = pairs[order]
    new = np.ones(len(pairs), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return order, np.flatnonzero(new)


def _labels(pairs: np.ndarray) -> tuple[np.ndarray, int]:
    """(n,) int32: numbers for different pairs, and how many there are."""
    order, starts = runs_of(pairs)
    labels = np.empty(len(pairs), np.int32)
    labels[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(pairs))))
    return labels, len(starts)


def _sizes(pairs: np.ndarray) -> dict[int, int]:
    """Count pairs by how often they occur."""
    _, starts = runs_of(pairs)
    sizes, counts = np.unique(np.diff(np.append(starts, len(pairs))), return_counts=True)
    return dict(zip(sizes.tolist(), counts.tolist(), strict=True))


def _largest(groups: pa.Table) -> float:
    """The largest error of a class, whose groups may be of several blocks."""
    labels, classes = _labels(pairs_in(groups, "h0", "h1"))
    parts = np.column_stack([groups.column(f"e{row}").to_numpy() for row in range(3)])
    total = partial_sums.group_error_sums(np.ascontiguousarray(parts), labels, classes)
    return float(partial_sums.rounded_each(total).max())
