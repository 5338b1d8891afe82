"""From a file to a file: read, protect, save, report."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import FitsInMemoryError, InputError, OnlyInMemoryError
from microagg.files.chunks import files_of, is_in_parts
from microagg.files.columnar.parquet_folder import as_target, format_to_write, is_folder
from microagg.files.formats import options_for, options_shared
from microagg.files.identity import watched_input
from microagg.files.renaming import rename_columns
from microagg.files.stores.locations import Url
from microagg.files.text.csv_writing import check_other_letters
from microagg.files.text.dialect import dialect_of
from microagg.pipeline.in_memory import protect
from microagg.pipeline.memory_budget import (
    MemoryBudget,
    bytes_in,
    check_without_room,
    exceeds_memory,
    memory_for,
    notes_on_memory,
)
from microagg.pipeline.preparation import Prepared
from microagg.pipeline.sources import path_of, read_for_settings, settings_for_file
from microagg.pipeline.stores import SAME_FILE, StagedPaths, staged_paths
from microagg.problem.problem import Progress, checked_threads
from microagg.problem.showing import shown
from microagg.proposal.codes import warn_about
from microagg.release.manifest import FORMAT
from microagg.release.note_catalogue import make_note
from microagg.release.release import Release
from microagg.release.renaming import with_new_names
from microagg.release.risks import check_unaccepted
from microagg.release.saving import (
    check_places,
    places_of,
    report_on_saved,
    report_places,
    rows_to_write,
)
from microagg.release.setting_arguments import settings_from
from microagg.release.settings import Settings
from microagg.runtime.dask_cluster import check_engine, connect
from microagg.runtime.dask_pool import WorkerPool
from microagg.runtime.spill import remove_left_spill
from microagg.table.columns.arrow import release_unused_memory
from microagg.table.schema import WITHHELD, Role

ONE_PROCESS = make_note("one-process")


def anonymize_file(
    source: str | Path,
    target: str | Path,
    k: int | None = None,
    *,
    settings: Settings | None = None,
    keep_order: bool = False,
    report: str | Path | None = None,
    reading: Mapping[str, Any] | None = None,
    writing: Mapping[str, Any] | None = None,
    memory: str | float | None = None,
    spill: str | Path | None = None,
    resume: bool = False,
    threads: int | None = None,
    engine: Any = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Release:
    """Anonymize a file and write the release with its manifests and, if requested, two reports.

    Nothing is written unless the output holds its guarantees. Options that are not given are
    detected, and the output keeps the dialect of the input.

    Parameters
    ----------
    source : str or Path
        File to read, a folder of parquet parts, or a pattern such as "parts/*.parquet". May be an
        address of an object store ("s3://bucket/in.parquet"; gs, abfs, hdfs); credentials come from
        the environment.
    target : str or Path
        File to write. With a separator at its end ("out/"), or if it is a folder, parquet parts are
        written to that folder, with the manifests beside it. May be an address, too.
    k : int
        Smallest number of records that may share a combination. At least 2.
    settings : Settings, optional
        All settings at once, in place of `options`.
    keep_order : bool
        Keep the order of rows. By default rows are shuffled.
    report : str or Path, optional
        Path of the internal report; the public one is written beside it.
    reading : dict, optional
        Options on the file to read, such as ``{"header": False}``. Precedes that of `settings`.
    writing : dict, optional
        Options on the file to write, such as ``{"escape_formulas": True}``. Precedes that of
        `settings`.
    memory : str or float, optional
        Memory limit such as "4GB", by default half of the free memory. A larger parquet, Arrow or
        text file of more than 500,000 records is processed out of core, with the same release to
        the byte. Other files are always read as a whole; a note says if that may take more.
    spill : str or Path, optional
        Folder of temporary files, by default that of the target. Readable by the owner only, and
        removed in the end.
    resume : bool
        Continue a killed run from its completed blocks.
    threads : int, optional
        Number of threads, by default one for each processor. It never changes the release.
    engine : distributed.Client or str, optional
        Dask cluster: a client, the address of a scheduler ("tls://10.0.0.1:8786") or "local:4". Its
        workers process tables of more than one block, with the same release to the byte. They must
        see input, output and `spill` at the same paths. `memory` and threads are then those of one
        worker.
    progress : callable or bool, optional
        Called as ``progress(done, total)``. True shows a bar.
    **options
        Settings of `anonymize`: roles, guarantees, method, columns.

    Returns
    -------
    Release
        The release, as it was written.

    Raises
    ------
    InputError
        If an input cannot be processed, or no grouping satisfies the guarantees.
    GuaranteeError
        If the output misses a guarantee. Nothing has been written.
    ReportError
        If a report cannot be written. The release is complete then.
    CancelledError
        If the work is stopped. Nothing has been written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, target = Path(folder) / "survey.csv", Path(folder) / "protected.csv"
    ...     _ = source.write_text("age\\n30\\n32\\n60\\n64\\n")
    ...     release = anonymize_file(source, target, k=2, quasi=["age"], seed=0)
    ...     sorted(target.read_text().split()[1:])
    ['31', '31', '62', '62']
    """
    if settings is None:
        all_settings = Settings.of(k=k, reading=reading, writing=writing, **options)
    else:
        of_method = {
            name: value for name, value in options.items() if name not in Settings.parameters()
        }
        all_settings = settings_from({"k": k, "settings": settings, "params": of_method, **options})
        all_settings = all_settings.but(
            reading={**all_settings.reading, **(reading or {})},
            writing={**all_settings.writing, **(writing or {})},
        )
    if engine is not None:
        check_engine(engine)
    source, target = path_of(source, "source"), path_of(target, "target")
    with staged_paths(source, target, spill, resume=resume) as paths:
        release = _anonymized(
            paths,
            all_settings,
            memory,
            keep_order=keep_order,
            report=report,
            resume=resume,
            threads=threads,
            engine=engine,
            progress=progress,
        )
    warn_about(release._averaged_codes)
    return replace(release, notes=(*release.notes, *paths.notes)) if paths.notes else release


def _anonymized(
    paths: StagedPaths,
    settings: Settings,
    memory: str | float | None,
    *,
    engine: Any,
    resume: bool,
    **more: Any,
) -> Release:
    """Run anonymize_file() on local paths: in memory or out of core."""
    target = as_target(paths.target)
    settings = settings_for_file(settings, paths.source)
    if exceeds_memory(paths.source, settings, memory, engine=engine is not None):
        with in_memory_else(memory, engine):
            return anonymize_out_of_core(
                paths.source,
                target,
                settings,
                memory,
                spill=paths.spill,
                resume=resume,
                engine=engine,
                **more,
            )
    with watched_input(paths.source) as identity:
        here = paths.source_here()
        table = read_for(here, target, settings, report=more["report"])
        identity.check_last()
    more_notes = notes_on_memory(memory, table, settings)
    release = anonymize_table(table, here, target, settings, **more)
    if engine is not None:
        more_notes = (*more_notes, ONE_PROCESS)
    return replace(release, notes=(*release.notes, *more_notes)) if more_notes else release


def read_for(
    source: str | Path,
    target: Path,
    settings: Settings,
    *,
    report: str | Path | None = None,
) -> pa.Table:
    """The table of a file that is to be anonymized; what cannot come to a release is refused before
    it is read.
    """
    check_unaccepted(settings)
    report_places(report, taken=places_of(source, target))
    table = read_for_settings(source, settings)
    check_without_room(source, table, settings)
    return table


@contextlib.contextmanager
def in_memory_else(memory: str | float | None, engine: Any = None) -> Iterator[None]:
    """Leave a table to the way in memory where it cannot be processed out of core; raise if
    `memory` or an engine was requested.
    """
    try:
        yield
    except FitsInMemoryError:
        return
    except OnlyInMemoryError:
        if memory is not None or engine is not None:
            raise


def anonymize_out_of_core(
    source: str | Path | Url,
    target: Path,
    settings: Settings,
    memory: str | float | None,
    *,
    report: str | Path | None = None,
    progress: Progress | bool | None = None,
    engine: Any = None,
    **options: Any,
) -> Release:
    """Do what anonymize_file() does with a table that does not fit into memory.

    `options` are those of `RunOptions`.
    """
    from microagg.pipeline.out_of_core import protect_out_of_core
    from microagg.pipeline.run import RunOptions

    check_unaccepted(settings)
    if not isinstance(source, Url):
        check_same(source, target)
    reports = report_places(
        report, taken=places_of(target if isinstance(source, Url) else source, target)
    )
    limit = None if memory is None else bytes_in(memory)
    with shown(progress, "grouping records") as bar:
        run = RunOptions(reported=bool(reports), progress=bar, **options)
        if engine is None:
            budget = MemoryBudget(limit or memory_for(source), checked_threads(run.threads))
            release = protect_out_of_core(source, target, settings, budget, run)
        else:
            with connect(engine, run.threads) as client:
                workers = WorkerPool.of(client)
                spill = None if run.spill is None else _absolute(run.spill)
                budget = MemoryBudget(workers.memory(limit), workers.threads)
                paths = source if isinstance(source, Url) else _absolute(source), _absolute(target)
                run = replace(run, workers=workers, spill=spill)
                release = protect_out_of_core(*paths, settings, budget, run)
    for path, public in zip(reports, (False, True), strict=False):
        report_on_saved(release, path, target, public=public)
    return release


def check_same(source: str | Path, target: Path) -> None:
    """Refuse a target that is the source, or the folder in which it or some of it lies."""
    inputs = [Path(source), *(files_of(source) if is_in_parts(source) else ())]
    for path in (*inputs, *(path.parent for path in inputs if is_folder(target))):
        if target.exists() and path.exists() and target.samefile(path):
            raise InputError(SAME_FILE)


def _absolute(path: str | Path) -> Path:
    """The same path for workers, whose folder may be another one."""
    return Path(os.path.abspath(path))


def anonymize_table(
    table: pa.Table,
    source: str | Path,
    target: Path,
    settings: Settings,
    *,
    keep_order: bool = False,
    report: str | Path | None = None,
    expected: Callable[[Release, pa.Table], object] | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    before_search: Callable[[Prepared], object] | None = None,
    format: int = FORMAT,
) -> Release:
    """Run anonymize_file() on a table that has been read from `source`.

    `expected` gets the release and its rows as they are about to be written, and raises if they are
    not to be; `before_search` see `protect`. `format` is that of the manifests: `repeat` makes old
    ones again.
    """
    source = Path(source)
    places = report_places(report, taken=places_of(source, target))
    dialect = dialect_of(table)
    like = files_of(source)[0] if is_in_parts(source) else source
    shared = options_shared(
        like, target, settings.writing, None if dialect is None else dialect.options
    )
    options = options_for(format_to_write(target), shared)
    renamed = table.rename_columns(rename_columns(table.column_names, settings.rename))
    names = _released_names(renamed, with_new_names(settings))
    check_names = format_to_write(target).check_names
    if check_names is not None:
        check_names(names)
    check_other_letters(
        renamed.select(names), options.get("encoding", "utf-8")
    )  # after a long search it would be late
    del renamed
    release_unused_memory()
    check_places(target)
    check_same(source, target)
    if before_search is None:
        remove_left_spill(target.parent)
    release = protect(
        table,
        settings,
        file=source.name,
        threads=threads,
        progress=progress,
        before_search=before_search,
        format=format,
    )
    if expected is not None:
        expected(release, rows_to_write(release, keep_order=keep_order))
    release._save_at(target, keep_order=keep_order, **shared)
    for path, public in zip(places, (False, True), strict=False):
        report_on_saved(release, path, target, public=public)
    return release


def _released_names(table: pa.Table, settings: Settings) -> list[str]:
    """The columns that a release will have, as far as the settings tell."""
    withheld = [*settings.roles[Role.IDENTIFIER], *settings.roles[Role.UNIT]]
    named = [
        name for role, names in settings.roles.items() if role not in WITHHELD for name in names
    ]
    return [
        name
        for name in table.column_names
        if name in named or (settings.rest == "keep" and name not in withheld)
    ]
