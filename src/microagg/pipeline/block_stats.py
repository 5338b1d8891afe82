"""Statistics that a block writes for measures, reports and notes: sums, facts of groups, samples.

One sample is of records, by a hash of their number and the seed: the original and the released
cells of each. The other is of whole classes, by the hash of their released values alone: so it
follows from the release, and a public report may show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microagg.kernels import hashing, partial_sums, random, sums
from microagg.measures.columns import columns_of
from microagg.measures.loss.number_sums import NumberScale
from microagg.measures.risk.classes import columns_to_compare
from microagg.pipeline.block_sums import amounts_of, indicator_columns, record_sums
from microagg.pipeline.class_stats import ClassStatsSpec, group_stats
from microagg.pipeline.column_stats import Facts, NumberFacts
from microagg.pipeline.spill_index import NUMBER
from microagg.release.cells import confidential_of
from microagg.release.measuring import can_be_read_again, is_table_of_numbers
from microagg.release.note_columns import formula_columns
from microagg.release.settings import Settings
from microagg.release.weighting import Weighting, heavy_groups
from microagg.runtime.spill import write_spill_file
from microagg.table.aggregate import Aggregated
from microagg.table.columns.arrow import comparable, is_text
from microagg.table.columns.arrow import compute as pc
from microagg.table.columns.frames import to_arrow
from microagg.table.columns.matrix_values import values_of
from microagg.table.columns.row_hashes import bucket_of, class_hashes
from microagg.table.encoder import Space
from microagg.table.grouping import Groups
from microagg.table.normalise import normalise
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Cells, Variable

SAMPLE = 100_000
"""Records of a sample, about."""
CELLS = 4_000_000
"""Cells of a sample at most, about."""
LOW = 10_000
"""Different values of a column that are counted to tell whether nearly every record has its own,
about.
"""
BEFORE, AFTER, PLACE, ATOM = "before ", "after ", "place ", "atom "
"""What columns of a sample begin with: original values, released values, released cells and their
atoms.
"""


@dataclass(frozen=True)
class BlockStatsSpec:
    """Specification of the statistics that blocks collect for measures."""

    records: int
    key: tuple[int, int]
    wanted: int
    numbers: tuple[NumberScale, ...]
    classes: tuple[str, ...]
    """The columns that make a class."""
    bits: int
    """Groups are set aside by so many first bits of the hash of their class."""
    kept: tuple[str, ...] = ()
    """Columns released as they were, where classes with them are counted by themselves."""
    coarse: frozenset[str] = frozenset()
    """Quasi-identifiers that are released as ranges or ancestors."""
    confidential: tuple[str, ...] = ()
    as_they_are: tuple[str, ...] = ()
    """Columns that are released as they are."""

    @staticmethod
    def of(
        variables: Sequence[Variable],
        facts: Sequence[Facts],
        records: int,
        columns: int,
        seed: int,
        classes: tuple[str, ...],
        bits: int,
        kept: tuple[str, ...] = (),
        coarse: frozenset[str] = frozenset(),
        confidential: tuple[str, ...] = (),
        as_they_are: tuple[str, ...] = (),
    ) -> BlockStatsSpec:
        """For a table of so many records and columns."""
        first, second = (int(random.seeded(seed, "measures", part)[0]) for part in (0, 1))
        numbers = [
            NumberScale(
                j,
                variable.name,
                column_facts.mean,
                column_facts.most - column_facts.least or 1.0,
                column_facts.least,
                column_facts.most,
            )
            for j, (variable, column_facts) in enumerate(zip(variables, facts, strict=True))
            if isinstance(column_facts, NumberFacts)
            and variable.kind is Kind.NUMERIC
            and column_facts.missing == 0
            if variable.name not in coarse
        ]
        wanted = min(SAMPLE, max(1_000, CELLS // columns))
        return BlockStatsSpec(
            records,
            (first, second),
            wanted,
            tuple(numbers),
            classes,
            bits,
            kept,
            coarse,
            confidential,
            as_they_are,
        )

    @property
    def below(self) -> int:
        """Hashes below this are those of a sample of about so many records."""
        return min((self.wanted << 64) // self.records, (1 << 64) - 1)

    @property
    def everything(self) -> bool:
        """Return True if the sample is the whole table."""
        return self.wanted >= self.records

    def keys(self, numbers: np.ndarray) -> np.ndarray:
        """The hashes of record numbers that decide on the sample of records."""
        return hashing.order_keys_of(numbers, np.array(self.key, np.uint64))

    def class_spec(self, variables: Sequence[Variable], *, weighted: bool) -> ClassStatsSpec:
        """Return the specification of statistics over classes."""
        amounts = tuple(
            variable.name
            for variable in variables
            if variable.kind is Kind.NUMERIC
            and not variable.unit
            and variable.name not in self.coarse
        )
        ranges = tuple((scale.name, scale.most / 2.0 - scale.least / 2.0) for scale in self.numbers)
        return ClassStatsSpec(amounts, ranges, weighted, self.confidential)


@dataclass(frozen=True)
class Block:
    """A block that is done: its records before and after."""

    numbers: np.ndarray
    frame: nw.DataFrame[Any]
    cells: Cells
    averaged: Cells
    """The cells that groups release aggregates of: capped ones, where there is a cap."""
    made: Aggregated
    released: nw.DataFrame[Any]
    arrow: pa.Table
    labels: np.ndarray
    weighting: Weighting | None
    settings: Settings
    space: Space
    """In which loss is measured first."""

    @property
    def plain(self) -> bool:
        """Return True if quasi-identifiers are plain numbers before and after, as tables of numbers
        are measured.
        """
        return (
            is_table_of_numbers(self.cells)
            and self.made.is_plain
            and can_be_read_again(self.frame, self.cells.names)
        )

    @property
    def weights(self) -> np.ndarray | None:
        """Of the records, as they were."""
        return None if self.weighting is None else self.weighting.before

    @property
    def released_weights(self) -> np.ndarray | None:
        """As everybody sees them; 1 where there are none."""
        if self.weighting is None:
            return None
        if self.weighting.name not in self.released.columns:
            return np.ones(len(self.labels))
        return values_of(self.released, [self.weighting.name])[:, 0]


def collect_block_stats(aside: BlockStatsSpec, block: Block, path: str) -> dict[str, Any]:
    """Write what is asked of groups and samples beside `path`; returns what the records of the
    block come to.
    """
    before, after = block.cells, block.made.cells
    if block.plain:
        after = Cells.plain(values_of(block.released, before.names), before.names)
    first = np.unique(block.labels, return_index=True)[1]
    hashes = class_hashes(block.arrow.take(pa.array(first)), aside.classes)
    shared = _confidential(aside, block)
    amounts = amounts_of(block.averaged, after, block.weights)
    groups = group_stats(
        block.labels,
        hashes,
        amounts,
        {
            scale.name: np.ascontiguousarray(before.values[:, scale.position])
            for scale in aside.numbers
        },
        None
        if block.weights is None or block.released_weights is None
        else (block.weights, block.released_weights),
        shared,
    )
    write_spill_file(f"{path}.groups", groups, bucket_of(hashes, aside.bits), {})
    if aside.kept:
        _write_kept(aside, block, f"{path}.kept")
    in_classes = (hashes[:, 0] <= np.uint64(aside.below))[block.labels]
    _write_samples(aside, block, after, in_classes, f"{path}.sample")
    stats = {
        "plain": block.plain,
        **record_sums(aside.numbers, before, after, block.weights, block.released_weights),
    }
    return stats | {
        "unrounded": _unrounded(block),
        "heavy": 0
        if block.weights is None
        else heavy_groups(block.weights, Groups.of(block.labels)),
        "prints": _prints(block),
        "low": _low_hashes(aside, block),
        "indicators": indicator_columns(block.averaged, amounts),
        "formulas": formula_columns(block.arrow),
        "values": {
            name: [np.unique(values[known])[:2].tolist(), int(known.sum())]
            for name, (values, known) in shared.items()
        },
    }


def _confidential(aside: BlockStatsSpec, block: Block) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of each confidential column a hash of every value, which spellings of one value share, and
    which records have one.
    """
    columns = {}
    for attribute in confidential_of(block.arrow, aside.confidential, block.settings):
        column = comparable(block.arrow.column(attribute.name))
        if is_text(column.type) and not block.settings.exact:
            words = column.unique().to_pylist()
            meant = pa.array(
                [None if word is None else str(normalise(word)) for word in words], pa.string()
            )
            places = pc.index_in(column, value_set=pa.array(words, column.type))
            column = pa.chunked_array([meant.take(places.combine_chunks())])
        hashes = class_hashes(pa.table({"": column}), [""])[:, 0]
        columns[attribute.name] = hashes, attribute.codes < attribute.known
    return columns


def _low_hashes(aside: BlockStatsSpec, block: Block) -> dict[str, tuple[list[int], list[int]]]:
    """Of columns of numbers and dates that are released as they are: hashes of values, if they are
    low, and how often each occurs.
    """
    low_hashes = {}
    highest = np.uint64(min((LOW << 64) // aside.records, (1 << 64) - 1))
    for name in aside.as_they_are:
        column = comparable(block.arrow.column(name))
        if (
            is_text(column.type)
            or pa.types.is_boolean(column.type)
            or pa.types.is_nested(column.type)
        ):
            continue
        hashes = class_hashes(pa.table({"": column.drop_null()}), [""])[:, 0]
        values, often = np.unique(hashes[hashes <= highest], return_counts=True)
        low_hashes[name] = values.tolist(), often.tolist()
    return low_hashes


def _unrounded(block: Block) -> list[Any]:
    """Squared errors of what groups would release without rounding, as sums in three parts: of all
    columns, or of each.
    """
    space = block.space
    if space.is_plain and not any(variable.coarse for variable in block.made.variables):
        points = space.points(block.cells)
        means = space.points(np.ascontiguousarray(block.made.unrounded(slice(None))))
        every = np.arange(len(points), dtype=np.int32)
        return [partial_sums.squared_error_sums(points, means, every).tolist()]
    errors = space.errors_by_column(block.cells, block.made.means, block.labels)
    return [
        sums.column_sums(np.ascontiguousarray(column).reshape(-1, 1)).tolist() for column in errors
    ]


def _prints(block: Block) -> list[int]:
    """Of each column the sum of hashes of its cells and their record numbers: columns that hold the
    same have the same.
    """
    prints = []
    record_keys = hashing.order_keys_of(block.numbers, np.zeros(2, np.uint64))
    for j in range(len(block.cells.variables)):
        total = record_keys.copy()
        for values in columns_to_compare(columns_of(block.cells, [j])):
            words = np.ascontiguousarray(values, np.float64).view(np.uint64) ^ total
            total = hashing.order_keys_of(words.view(np.int64), np.ones(2, np.uint64))
        prints.append(int(total.sum(dtype=np.uint64)))
    return prints


def _write_kept(aside: BlockStatsSpec, block: Block, path: str) -> None:
    """The records by the hash of their class and what is kept as it was."""
    hashes = class_hashes(block.arrow, [*aside.classes, *aside.kept])
    columns = {"h0": hashes[:, 0], "h1": hashes[:, 1]}
    if block.released_weights is not None:
        columns["w"] = block.released_weights
    write_spill_file(path, pa.table(columns), bucket_of(hashes, aside.bits), {})


def _write_samples(
    aside: BlockStatsSpec, block: Block, after: Cells, in_classes: np.ndarray, path: str
) -> None:
    """Records of both samples: those chosen by their number under the key 0, those of chosen
    classes under 1.
    """
    rows = [
        np.flatnonzero(aside.keys(block.numbers) <= np.uint64(aside.below)),
        np.flatnonzero(in_classes),
    ]
    if aside.everything:
        rows = [np.arange(len(block.numbers))] * 2
    chosen = np.concatenate(rows)
    keys = np.repeat([0, 1], [len(part) for part in rows])
    names = [*block.cells.names, *([] if block.weighting is None else [block.weighting.name])]
    columns: dict[str, Any] = {NUMBER: pa.array(block.numbers[chosen])}
    places = pa.array(chosen)
    original = to_arrow(block.frame.select(*names))
    columns |= {f"{BEFORE}{name}": original.column(name).take(places) for name in names}
    columns |= {
        f"{AFTER}{name}": block.arrow.column(name).take(places) for name in block.arrow.column_names
    }
    if not block.plain:
        for j, variable in enumerate(after.variables):
            values, atoms = after.values[chosen, j], after.atoms_of(j)
            columns[f"{PLACE}{j}"] = (
                _as_levels(values, variable) if variable.coarse else pa.array(values)
            )
            columns[f"{ATOM}{j}"] = pa.array(
                np.full(len(chosen), NO_ATOM, np.int16)
                if atoms is None
                else atoms[chosen].astype(np.int16)
            )
    table = pa.table(columns)
    write_spill_file(path, table.combine_chunks(), keys, {})


def _as_levels(values: np.ndarray, variable: Variable) -> pa.Array:
    """Ranges and ancestors as their words: each block numbers its own."""
    words = [None if level is None else str(level) for level in variable.levels]
    return pa.array(
        [None if np.isnan(value) else words[int(value)] for value in values.tolist()], pa.string()
    )
