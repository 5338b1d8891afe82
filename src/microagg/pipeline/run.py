"""State of one out-of-core run, and its start: input, checks, temporary directory, executor."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from microagg.errors import InputError, OnlyInMemoryError
from microagg.files.chunks import Source, files_of
from microagg.files.columnar.parquet_folder import format_to_write
from microagg.files.formats import options_for, options_shared
from microagg.files.identity import InputIdentity, watched_input
from microagg.files.renaming import renamed_source
from microagg.files.stores.locations import Url, parse_location
from microagg.pipeline.feasibility import check_size
from microagg.pipeline.memory_budget import (
    MemoryBudget,
    bytes_of_block,
    check_labels,
    check_out_of_core,
)
from microagg.pipeline.one_block import one_block_search
from microagg.pipeline.piece_intake import intake_pieces, is_piece_file
from microagg.pipeline.progress import PassProgress
from microagg.pipeline.text_input import intake_text_file, is_text_file
from microagg.problem.problem import Progress, checked_threads
from microagg.release.renaming import with_new_names, with_old_names
from microagg.release.risks import check_unaccepted
from microagg.release.rules import KeptRules
from microagg.release.saving import check_places
from microagg.release.settings import Settings
from microagg.runtime.chunk_map import ChunkMap
from microagg.runtime.dask_pool import WorkerPool
from microagg.runtime.executor import Executor, ThreadExecutor
from microagg.runtime.spill import SpillFolder
from microagg.runtime.spill_record import left_spill
from microagg.runtime.workers import SharedPath
from microagg.table.columns.frames import NO_RECORDS, check_odd_types, column_facts
from microagg.table.schema import Role, Schema, assign_roles

if TYPE_CHECKING:
    from microagg.pipeline.block_specs import PlannedRun


@dataclass(frozen=True)
class RunOptions:
    """Options of an out-of-core run that change nothing of the release."""

    keep_order: bool = False
    """Write rows in the order of the input instead of a random one."""
    expected: Callable[[dict[str, Any], str], object] | None = None
    """Called with the manifest and the digest of the output; raises where they are others."""
    expected_input: Callable[[str], object] | None = None
    """Called with the digest of the input; raises where it is another one."""
    spill: str | Path | None = None
    """Directory for temporary files; that of the target by default."""
    resume: bool = False
    """Continue a run that was killed."""
    reported: bool = False
    """Look up in the original what a report states."""
    threads: int | None = None
    workers: WorkerPool | None = None
    """Workers of a cluster; memory and threads are those of one of them then."""
    progress: Progress | None = None
    before_search: Callable[[PlannedRun], object] | None = None
    """Called before the search; may raise: a dry run ends there."""


@dataclass(frozen=True)
class Job:
    """Input of a run, which can be read by record number, and its target."""

    source: Source
    path: str | Path | Url
    target: Path
    settings: Settings
    spill_parent: Path
    """Directory in which the temporary directory is created."""
    dialect: dict[str, Any] | None
    """Options in which a text file is written."""
    identity: InputIdentity
    """State of the input files before they were read."""


@dataclass
class OutOfCoreRun:
    """State of one out-of-core run."""

    source: Source
    path: Path | Url
    target: Path
    settings: Settings
    schema: Schema
    budget: MemoryBudget
    executor: Executor
    telling: PassProgress
    spill: SpillFolder
    identity: InputIdentity
    options: RunOptions
    format_options: dict[str, Any]
    """How the format of the target is written."""
    rules: KeptRules = field(default_factory=KeptRules)
    """Sums between columns that are kept."""

    @property
    def keep_order(self) -> bool:
        """Return True if rows are written in the order of the input."""
        return self.options.keep_order

    @property
    def reported(self) -> bool:
        """Return True if a report is going to be written."""
        return self.options.reported

    def passes_over(self, source: Source) -> ChunkMap:
        """Return passes over a table, chunk by chunk."""
        budget = self.budget
        return ChunkMap(
            source,
            source.chunks(budget.chunk),
            self.executor,
            self.telling,
            budget.a_record,
            self.identity.check_changed,
        )


@contextlib.contextmanager
def open_run(
    path: str | Path | Url,
    target: Path,
    settings: Settings,
    budget: MemoryBudget,
    options: RunOptions,
) -> Iterator[OutOfCoreRun]:
    """Yield a run that is checked and has its temporary directory and its executor."""
    settings = with_new_names(settings.resolved())
    parent = Path(options.spill) if options.spill is not None else target.parent
    with contextlib.ExitStack() as stack:
        identity = stack.enter_context(watched_input(path))
        dialect, source = None, None
        if is_text_file(path):
            check_labels(path)
            spill = stack.enter_context(SpillFolder(parent, spare=left_spill(target, parent)))
            text = intake_text_file(Path(str(path)), with_old_names(settings), spill, budget.memory)
            dialect, source = text.dialect.options, text.source
            identity.check_changed()
        elif is_piece_file(path):
            spill = stack.enter_context(SpillFolder(parent, spare=left_spill(target, parent)))
            source = intake_pieces(Path(str(path)), with_old_names(settings), spill, budget.memory)
            identity.check_changed()
        source = renamed_source(source or Source.of(path), settings.rename)
        job = Job(source, path, target, settings, parent, dialect, identity)
        yield _start(job, budget, options, stack)


def _start(
    job: Job, budget: MemoryBudget, options: RunOptions, stack: contextlib.ExitStack
) -> OutOfCoreRun:
    """Check a job; create its temporary directory and its executor, which `stack` closes."""
    source, target, settings, workers = job.source, job.target, job.settings, options.workers
    schema = _schema_of(source, settings)
    format_options = _format_options(job, schema)
    check_unaccepted(settings)
    check_places(target)
    k = check_size(settings, source.records)
    if workers is not None:
        workers.check_small(bytes_of_block(source, schema, k))
    budget = budget.checked(source, schema, k)
    # otherwise the sizes of strata, or of what is left, decide
    if not schema.names(Role.STRATUM) and settings.missing != "drop":
        one_block_search(settings, schema, budget, source.records, None, source.schema, {})
    spill = stack.enter_context(SpillFolder(job.spill_parent, target, resume=options.resume))
    # records that stay are copied there, too
    copies = 1.5 if "drop" in (settings.missing, settings.small_strata) else 1.0
    spill.check_full(int(copies * budget.disk(source, schema)))
    executor: Executor = ThreadExecutor(checked_threads(options.threads))
    if workers is not None:
        # of no use but to show that workers see it
        beside = stack.enter_context(SpillFolder(target.parent))
        paths = [SharedPath("the input", file, _size(file)) for file in source.files]
        paths.append(SharedPath("the output", str(beside.folder)))
        warm = k, len(schema.names(Role.QUASI))
        executor = stack.enter_context(workers.at_work(spill.folder, paths, budget.memory, warm))
    progress = PassProgress(options.progress, source.records)
    return OutOfCoreRun(
        source, parse_location(job.path), target, settings, schema, budget, executor, progress,
        spill, job.identity, options, format_options,
    )  # fmt: skip


def _format_options(job: Job, schema: Schema) -> dict[str, Any]:
    """Return how the target is written; raise where it, or a setting, is for memory only."""
    check_out_of_core(job.settings, schema)
    check_labels(job.path)
    check_labels(job.target)  # those of an earlier table must not be read with the new one
    format = format_to_write(job.target)
    if format.in_pieces is None and not format.in_parts:
        raise OnlyInMemoryError(
            f"{format.one_file} cannot be written in large-table mode; name a parquet file, or "
            f"give it "
            "more memory."
        )
    like = files_of(job.path)[0]
    return options_for(format, options_shared(like, job.target, job.settings.writing, job.dialect))


def _schema_of(source: Source, settings: Settings) -> Schema:
    """Return the roles of the columns, which the first record suffices for."""
    if source.records == 0:
        raise InputError(NO_RECORDS)
    head = nw.from_native(source.read(0, 1), eager_only=True)
    schema = assign_roles(column_facts(head), settings.roles, settings.rest, settings.columns)
    check_odd_types(head, schema.released())
    return schema


def _size(file: str) -> int:
    location = parse_location(file)
    if isinstance(location, Path):
        return os.stat(location).st_size
    return location.size() or 0
