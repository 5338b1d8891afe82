"""All passes from a file to a release in place: what `protect` and `save` do in memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals as nw

from microagg.errors import InputError, OnlyInMemory
from microagg.files.chunks import Source, files_of
from microagg.files.columnar.parquet_folder import format_to_write
from microagg.files.formats import options_for, options_shared
from microagg.files.identity import InputIdentity, watched_input
from microagg.files.renaming import renamed_source
from microagg.files.stores.locations import Url, parse_location
from microagg.pipeline.block_output import BlockOutputConfig, write_block_output
from microagg.pipeline.block_plan import Cuts, Plan, TaskContext
from microagg.pipeline.block_stats import BlockStatsSpec
from microagg.pipeline.column_scan import ColumnScanResult, compared_columns, scan_columns
from microagg.pipeline.fit_space import FittedSpace, ScalingOptions, fit
from microagg.pipeline.memory_budget import (
    MemoryBudget,
    bytes_of_block,
    check_labels,
    check_out_of_core,
)
from microagg.pipeline.output import ReleaseWriter
from microagg.pipeline.progress import PassProgress
from microagg.pipeline.random_draw import draw_values, uses_draw, write_groups
from microagg.pipeline.selection import RecordSelection, key_of_run
from microagg.pipeline.strata_plan import StrataCodes
from microagg.pipeline.sum_rules import records_in
from microagg.pipeline.text_input import intake_text_file, is_text_file
from microagg.pipeline.unique_values import risks_of_unique_values
from microagg.problem.problem import Progress, checked_k, checked_threads
from microagg.release.notes_on_names import AS_THEY_ARE
from microagg.release.publishing import check_publishing
from microagg.release.release import Release
from microagg.release.renaming import with_new_names, with_old_names
from microagg.release.risks import check_unaccepted
from microagg.release.rules import KeptRules, kept_rules
from microagg.release.saving import check_places
from microagg.release.settings import Settings
from microagg.release.shuffling import key_of_order
from microagg.release.strata import class_columns
from microagg.release.true_values import check_near_unique, risks_of_categories
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.dask import WorkerPool
from microagg.runtime.executor import Executor, ThreadExecutor
from microagg.runtime.spill import SpillFolder, explain_full_disk
from microagg.runtime.spill_record import left_spill
from microagg.runtime.workers import SharedPath
from microagg.table.aggregate import WholeTable
from microagg.table.aggregates import check_aggregates
from microagg.table.columns.arrow import release_unused_memory
from microagg.table.columns.frames import check_odd_types, column_facts
from microagg.table.schema import Kind, Role, Schema, assign_roles


def protect_out_of_core(
    path: str | Path | Url,
    target: Path,
    settings: Settings,
    budget: MemoryBudget,
    *,
    keep_order: bool = False,
    expected: Callable[[dict[str, Any], str], object] | None = None,
    expected_input: Callable[[str], object] | None = None,
    spill: str | Path | None = None,
    resume: bool = False,
    reported: bool = False,
    threads: int | None = None,
    crew: WorkerPool | None = None,
    progress: Progress | None = None,
    before_search: Callable[[PlannedRun], object] | None = None,
) -> Release:
    """Make and save a release of a table that does not fit into memory. Nothing is in place unless
    it holds its guarantee.

    With a `crew`, the workers of a cluster do the work; memory and threads are those of one of them
    then. `expected` gets the manifest and the digest of what was written, `expected_input` the
    digest of what was read; both raise if they are not what they should be. `before_search` gets
    what the search is about to get, and may raise: a dry run goes no further. With `reported`, what
    a report has to look up in the original is looked up.
    """
    settings = with_new_names(settings.resolved())
    parent = Path(spill) if spill is not None else target.parent
    with contextlib.ExitStack() as stack:
        identity = stack.enter_context(watched_input(path))
        found, source = None, None
        if is_text_file(path):
            check_labels(path)
            kept = stack.enter_context(SpillFolder(parent, spare=left_spill(target, parent)))
            taken = intake_text_file(Path(str(path)), with_old_names(settings), kept, budget.memory)
            found, source = taken.dialect.options, taken.source
            identity.check_changed()
        source = renamed_source(source or Source.of(path), settings.rename)
        given = Job(source, path, target, settings, budget, parent, found, identity)
        return _protected(
            given,
            keep_order=keep_order,
            expected=expected,
            expected_input=expected_input,
            resume=resume,
            threads=threads,
            crew=crew,
            progress=progress,
            before_search=before_search,
            reported=reported,
        )


@dataclass(frozen=True)
class Job:
    """A table that is to be protected, and where."""

    source: Source
    path: str | Path | Url
    target: Path
    settings: Settings
    budget: MemoryBudget
    parent: Path
    """The folder for what is set aside."""
    found: dict[str, Any] | None
    """How a text file is written."""
    identity: InputIdentity
    """Of the files, before they were read."""


def _protected(
    given: Job,
    *,
    keep_order: bool,
    expected: Callable[[dict[str, Any], str], object] | None,
    expected_input: Callable[[str], object] | None,
    resume: bool,
    threads: int | None,
    crew: WorkerPool | None,
    progress: Progress | None,
    reported: bool,
    before_search: Callable[[PlannedRun], object] | None,
) -> Release:
    """The same of a table that can be read by record number."""
    source, path, target, settings, budget = (
        given.source,
        given.path,
        given.target,
        given.settings,
        given.budget,
    )
    schema = _schema_of(source, settings)
    check_out_of_core(settings, schema)
    check_labels(path)
    check_labels(target)  # those of what was there before must not be read with the new table
    format = format_to_write(target)
    if format.in_pieces is None and not format.in_parts:
        raise OnlyInMemory(
            f"{format.one_file} is not written beyond memory; name a parquet file, or "
            f"give it more memory."
        )
    like = files_of(path)[0]
    options = options_for(format, options_shared(like, target, settings.writing, given.found))
    check_unaccepted(settings)
    check_places(target)
    k = checked_k(settings.k, source.records)
    check_publishing(settings.publish, source.records)
    if crew is not None:
        crew.check_small(bytes_of_block(source, schema, k))
    budget = budget.checked(source, schema, k)
    telling = PassProgress(progress, source.records)
    with contextlib.ExitStack() as stack:
        kept = stack.enter_context(SpillFolder(given.parent, target, resume=resume))
        # records that stay lie there, too
        copies = 1.5 if "drop" in (settings.missing, settings.small_strata) else 1.0
        kept.check_full(int(copies * budget.disk(source, schema)))
        executor: Executor = ThreadExecutor(checked_threads(threads))
        if crew is not None:
            # of no use but to show that it is seen
            beside = stack.enter_context(SpillFolder(target.parent))
            places = [SharedPath("the input", file, _size(file)) for file in source.files]
            places.append(SharedPath("the output", str(beside.folder)))
            warm = k, len(schema.names(Role.QUASI))
            executor = stack.enter_context(crew.at_work(kept.folder, places, budget.memory, warm))
        run = OutOfCoreRun(
            source,
            parse_location(path),
            target,
            settings,
            schema,
            budget,
            executor,
            telling,
            kept,
            keep_order,
            expected_input,
            given.identity,
            before_search,
            reported,
        )
        with explain_full_disk("in the folder of the release"):
            return run.release(options, expected)


def _size(file: str) -> int:
    there = parse_location(file)
    return os.stat(there).st_size if isinstance(there, Path) else there.size() or 0


def _schema_of(source: Source, settings: Settings) -> Schema:
    if source.records == 0:
        raise InputError("the table has no records; there is nothing to protect.")
    head = nw.from_native(source.read(0, 1), eager_only=True)
    schema = assign_roles(column_facts(head), settings.roles, settings.rest, settings.columns)
    check_odd_types(head, schema.released())
    return schema


@dataclass(frozen=True)
class PlannedRun:
    """What a search beyond memory is about to get."""

    schema: Schema
    layout: TaskContext
    cuts: Cuts
    budget: MemoryBudget


@dataclass
class OutOfCoreRun:
    """One table on its way."""

    source: Source
    path: Path | Url
    target: Path
    settings: Settings
    schema: Schema
    budget: MemoryBudget
    executor: Executor
    telling: PassProgress
    spill: SpillFolder
    keep_order: bool
    expected_input: Callable[[str], object] | None
    identity: InputIdentity
    before_search: Callable[[PlannedRun], object] | None = None
    reported: bool = False
    """Whether somebody waits for a report."""
    rules: KeptRules = field(default_factory=KeptRules)
    """Sums between columns that are kept."""

    def release(
        self,
        options: dict[str, Any],
        expected: Callable[[dict[str, Any], str], object] | None,
    ) -> Release:
        """All passes, up to the files in their places."""
        passes = self.passes_over(self.source)
        found = scan_columns(passes, self.schema, self.settings)
        if self.expected_input is not None:
            self.expected_input(found.digest)
        taking = RecordSelection.of(self, passes, found)
        passes, found, strata, promised = (
            taking.passes,
            taking.found,
            taking.strata,
            taking.promised,
        )
        self.source = passes.source
        check_publishing(self.settings.publish, self.source.records)
        check_aggregates(
            found.variables,
            self.settings.aggregates,
            {each.name for each in found.variables if each.hierarchy},
        )
        check_near_unique(found.variables, found.frequencies, self.settings)
        self.rules = kept_rules(records_in(passes, found.variables), found.variables, self.settings)
        room, bits = self.spill.folder, self.budget.class_bits
        check_unaccepted(
            self.settings,
            risks_of_unique_values(passes, found.variables, self.settings, room, bits),
        )
        said = self.settings
        asked = ScalingOptions(said.scale, said.importance, said.cap, self.budget.for_values)
        fitted = fit(passes, found.variables, found.facts, asked)
        layout = replace(self._layout(found, fitted, strata), promised=promised)
        seed, budget = self.settings.seed or 0, self.budget
        plan = Plan(
            passes,
            layout,
            found.facts,
            seed,
            budget.at_once,
            taking.counts,
            budget.a_block_record,
            budget.memory,
            found.chunk_digests,
        )
        cuts = plan.cuts()
        if self.before_search is not None:
            self.before_search(PlannedRun(self.schema, layout, cuts, budget))
        finishing = self._finishing(layout, found, fitted)
        room = self.spill.room(self._key(found.digest, cuts.digest, finishing))
        finish, about = (
            write_groups if uses_draw(self.settings) else write_block_output,
            (finishing, layout.records),
        )
        grouped = plan.grouped(cuts, room, finish, about)
        if uses_draw(self.settings):
            grouped = draw_values(
                self.executor, grouped, layout, about, room, budget.at_once, budget.a_block_record
            )
        release_unused_memory()
        singles = (count for each in grouped.pieces for count in each["singles"])
        check_unaccepted(self.settings, risks_of_categories(singles))
        last = ReleaseWriter(
            self,
            layout,
            finishing,
            grouped,
            room,
            found.digest,
            options,
            expected,
            taking,
            fitted.capped,
        )
        return last.saved()

    def passes_over(self, source: Source) -> ChunkMap:
        """ChunkMap over a table, chunk by chunk."""
        budget = self.budget
        return ChunkMap(
            source,
            source.chunks(budget.chunk),
            self.executor,
            self.telling,
            budget.a_record,
            self.identity.check_changed,
        )

    def _layout(
        self, found: ColumnScanResult, fitted: FittedSpace, strata: StrataCodes | None
    ) -> TaskContext:
        weight = self.schema.names(Role.WEIGHT)
        released = self.schema.released()
        carried = (*released, *(name for name in weight if name not in released))
        variables = found.variables
        plain = all(each.kind is Kind.NUMERIC and not each.has_atoms for each in variables)
        effort = self.settings.params.get("effort") or "balanced"
        return TaskContext(
            tuple(variables),
            fitted.space,
            carried,
            self.source.records,
            self.settings.k,
            effort,
            None if plain else len(variables),
            strata,
            measured=fitted.measured,
            limits=fitted.limits,
            compared=compared_columns(self.schema),
        )

    def _finishing(
        self, layout: TaskContext, found: ColumnScanResult, fitted: FittedSpace
    ) -> BlockOutputConfig:
        weight = found.weight
        of_weight = weight and (weight.column, WholeTable((weight.precision,), (None,), (None,)))
        key = None
        if not self.keep_order:
            first, second = key_of_order(self.settings.seed or 0, found.digest).tolist()
            key = int(first), int(second)
        return BlockOutputConfig(
            self.schema, self.settings, layout.space, found.whole(fitted),
            tuple(class_columns(self.schema, self.settings)), found.known, key,
            self.budget.row_bits, self.budget.class_bits, of_weight, layout.spaces, fitted.limits,
            found.categories, self._aside(layout, found), self.rules.sums,
        )  # fmt: skip

    def _aside(self, layout: TaskContext, found: ColumnScanResult) -> BlockStatsSpec:
        """What blocks set aside for measures."""
        schema, settings = self.schema, self.settings
        kept = schema.names(Role.KEEP)
        if settings.weight is not None and settings.weight_becomes == "keep":
            kept = [*kept, settings.weight]
        coarse = frozenset(
            name for name, how in settings.aggregates.items() if how in ("range", "generalise")
        )
        return BlockStatsSpec.of(
            layout.variables, found.facts, layout.records, len(layout.carried), settings.seed or 0,
            tuple(class_columns(schema, settings)), self.budget.class_bits, tuple(kept), coarse,
            tuple(schema.names(Role.CONFIDENTIAL)), tuple(schema.names(*AS_THEY_ARE)),
        )  # fmt: skip

    def _key(self, digest: str, cuts: str, finishing: BlockOutputConfig) -> str:
        """What blocks that are done must have in common with this run: settings, versions, cuts and
        input.
        """
        bits = f"{finishing.row_bits} {finishing.class_bits} {self.keep_order}"
        return key_of_run(self.settings, digest, cuts, bits)
