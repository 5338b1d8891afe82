"""Verification of a written out-of-core release: read back, count its classes, check guarantees.

Nothing is taken from the search: classes are those of the rows in the file.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from microagg.errors import GuaranteeError
from microagg.files.chunks import Source
from microagg.files.columnar.parquet_folder import format_to_write
from microagg.guarantees.k import LOST_RECORDS, TOO_SMALL
from microagg.pipeline.block_tasks import TaskContext
from microagg.pipeline.notes import estimate_distinct
from microagg.pipeline.read_back import read_back
from microagg.pipeline.row_output import RowOutput
from microagg.pipeline.spill_index import SpillFile, SpillIndex
from microagg.pipeline.verification import (
    ClassCounts,
    GuaranteeRecount,
    count_bucket,
    count_values,
    hash_chunk,
    units_in_order,
    units_source,
    values_chunk,
)
from microagg.proposal import rules
from microagg.proposal.rules import names_somebody
from microagg.release.manifest import name_by
from microagg.release.note_columns import RELEASED_UNCHANGED
from microagg.release.saving import OTHER_COLUMNS, OTHER_ORDER
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.spill import read_result
from microagg.table.columns.arrow import release_unused_memory
from microagg.table.columns.digests import RowSums
from microagg.table.columns.profile import ColumnProfile, ProfileStats
from microagg.table.reduction import combine_named
from microagg.table.schema import Role

if TYPE_CHECKING:
    from microagg.pipeline.run import OutOfCoreRun


@dataclass(frozen=True)
class VerifiedOutput:
    """Facts of a written table that holds its guarantees."""

    counts: ClassCounts
    name: str
    """Name of the release: a digest of its rows and its public settings."""
    exposure: dict[str, Any]
    profiles: list[ColumnProfile]
    """Profiles of the columns that are released as they are."""


@dataclass
class OutputCheck:
    """Verification of the rows that were written."""

    output: RowOutput
    layout: TaskContext
    _distinct: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Number of different values of a column, and of those that occur once, as far as counted."""

    @property
    def run(self) -> OutOfCoreRun:
        """The run whose output it is."""
        return self.output.run

    def verify(self, part: Path) -> VerifiedOutput:
        """Return the facts of a written table; raise where it misses a guarantee."""
        run = self.run
        release_unused_memory()
        written = read_back(
            part, format_to_write(run.target), self.output.schema, self.output.options,
            run.executor, self.output.work_dir, lambda records: None,
        )  # fmt: skip
        released, quasi = run.schema.released(), run.schema.names(Role.QUASI)
        if written.schema.names != released:
            raise GuaranteeError(OTHER_COLUMNS)
        if written.records != self.layout.records:
            raise GuaranteeError(LOST_RECORDS)
        others = tuple(name for name in released if name not in quasi)
        chunks, budget = written.chunks(run.budget.chunk), run.budget
        passes = ChunkMap(written, chunks, run.executor, run.telling, budget.a_record)
        rows, stats, hashes = self._hash_rows(passes, others)
        counts = self._count_classes(hashes)
        columns = {
            column.name for column in run.schema.columns if column.role in RELEASED_UNCHANGED
        }
        may_identify = [name for name in others if self._may_name(passes, stats[name])]
        names = [column.name for column in run.schema.columns if column.name in columns]
        profiles = [self._profile_for_notes(passes, stats[name]) for name in names]
        exposure = {"all_columns": self._all_columns(counts), "may_identify": may_identify}
        name = name_by(rows.digest(written.schema), run.settings)
        return VerifiedOutput(counts, name, exposure, profiles)

    def _all_columns(self, counts: ClassCounts) -> dict[str, int]:
        """Return how far all released columns together tell records apart."""
        return {
            "columns": len(self.run.schema.released()),
            "classes": sum(counts.all_sizes.values()),
            "smallest_class": min(counts.all_sizes),
            "unique_records": counts.all_sizes.get(1, 0),
        }

    def _hash_rows(
        self, passes: ChunkMap, others: tuple[str, ...]
    ) -> tuple[RowSums, dict[str, ProfileStats], SpillIndex]:
        """Hash each row by its class; return sums of rows, statistics of columns, and hashes."""
        config, work_dir = self.output.config, str(self.output.work_dir)
        rows, stats, files = RowSums(), {}, []
        results = passes.map_chunks(
            "verifying", hash_chunk, config.class_columns, others, config.class_bits, work_dir,
            self.layout.promised, self._units(),
        )  # fmt: skip
        for result in results:
            first, second = result["rows"]
            rows = rows.combine(RowSums(result["records"], (first, second)))
            files.append(SpillFile.of(result["path"], result))
            combine_named(
                stats,
                {name: ProfileStats.from_data(data) for name, data in result["looks"].items()},
            )
        return rows, stats, SpillIndex(files)

    def _units(self) -> Source | None:
        """Return the units of the rows in the order of the file, as blocks recorded them."""
        if self.run.settings.unit is None:
            return None
        index, work_dir = self._beside(".units"), str(self.output.work_dir)
        counts = index.counts(1 << self.output.config.row_bits)
        used = (int(bucket) for bucket in np.flatnonzero(counts))
        tasks = ((bucket, index.holding([bucket]), work_dir) for bucket in used)
        budget = self.run.budget
        needs = itertools.repeat(budget.a_bucket)
        return units_source(
            list(self.run.executor.map_ordered(units_in_order, tasks, budget.at_once, needs))
        )

    def _beside(self, suffix: str) -> SpillIndex:
        """Return the index of what blocks wrote beside their rows."""
        paths = [f"{block['path']}{suffix}" for block in self.output.grouped.pieces]
        return SpillIndex(
            [SpillFile.of(path, read_result(path) or {"index": []}) for path in paths]
        )

    def _count_classes(self, hashes: SpillIndex) -> ClassCounts:
        """Count the classes of the file by bucket; raise unless each holds its guarantees."""
        promised, budget = self.layout.promised, self.run.budget
        promise, errors = self.run.settings.promise, self._beside(".classes")
        tasks = (
            (hashes.holding([bucket]), errors.holding([bucket]), promised)
            for bucket in range(1 << self.output.config.class_bits)
        )
        counts = ClassCounts(promise=promise)
        recount = GuaranteeRecount(() if promised is None else promised.columns)
        needs = itertools.repeat(budget.a_bucket)
        for part in self.run.executor.map_ordered(count_bucket, tasks, budget.at_once, needs):
            recount.add(part)
            counts = counts.combine(part)
        k = self.run.settings.k
        failing = sum(count for size, count in counts.sizes.items() if size < k)
        if failing or counts.records != self.layout.records:
            raise GuaranteeError(TOO_SMALL.format(k, failing, sum(counts.sizes.values())))
        if counts.met != counts.released:
            raise GuaranteeError(OTHER_ORDER)
        recount.check_others()
        promise.check_failing(counts.findings, sum(counts.sizes.values()))
        if promise and not counts.findings:
            raise GuaranteeError(
                "the guarantees were not checked, so nothing was written. This is a bug: report it."
            )
        return counts

    def _may_name(self, passes: ChunkMap, stats: ProfileStats) -> bool:
        """Return whether a column may name people; count its values only where that decides."""
        return rules.may_name(self._profile(passes, stats, rules.may_name))

    def _profile(
        self, passes: ChunkMap, stats: ProfileStats, decide: Callable[[ColumnProfile], object]
    ) -> ColumnProfile:
        """Return the profile of a column, exact as far as that changes the decision.

        More different values make it more likely that a column names people, never less.
        """
        least, most = (stats.look(count, count) for count in (min(1, stats.values), stats.values))
        if stats.texts is not None or decide(least) == decide(most):
            return most
        if stats.name not in self._distinct:
            self._distinct[stats.name] = self._count_values(passes, stats.name)
        return stats.look(*self._distinct[stats.name])

    def _profile_for_notes(self, passes: ChunkMap, stats: ProfileStats) -> ColumnProfile:
        """Return the profile of a column for notes; a sample decides if most values are unique."""
        profile = self._profile(passes, stats, names_somebody)
        if stats.texts is not None:
            return profile
        if stats.name in self._distinct:
            return stats.look(*self._distinct[stats.name])
        blocks = [block["measured"] for block in self.output.grouped.pieces]
        return stats.look(estimate_distinct(blocks, stats), 0)

    def _count_values(self, passes: ChunkMap, name: str) -> tuple[int, int]:
        """Count the different values of a column, and those that occur once."""
        bits, number = self.output.config.class_bits, self.run.schema.released().index(name)
        args = name, bits, str(self.output.work_dir), number
        results = passes.map_chunks("verifying", values_chunk, *args)
        index = SpillIndex([SpillFile.of(result["path"], result) for result in results])
        tasks = ((index.holding([bucket]),) for bucket in range(1 << bits))
        counts = list(self.run.executor.map_ordered(count_values, tasks))
        return sum(count for count, _ in counts), sum(single for _, single in counts)
