"""From a file to a file: read, protect, save, report."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import FitsInMemory, InputError, OnlyInMemory
from microagg.files.chunks import files_of, is_in_parts
from microagg.files.columnar.parquet_folder import as_target, format_to_write, is_folder
from microagg.files.formats import options_for, options_shared
from microagg.files.identity import watched_input
from microagg.files.renaming import rename_columns
from microagg.files.stores.locations import Url
from microagg.files.text.csv_writing import check_other_letters
from microagg.files.text.dialect import dialect_of
from microagg.pipeline.in_memory import Prepared, protect
from microagg.pipeline.memory_budget import (
    MemoryBudget,
    bytes_in,
    check_without_room,
    exceeds_memory,
    memory_for,
    notes_on_memory,
)
from microagg.pipeline.sources import path_of, read_for_settings, settings_for_file
from microagg.pipeline.stores import StagedPaths, staged_paths
from microagg.problem.problem import Progress, checked_threads
from microagg.problem.showing import shown
from microagg.release.manifest import FORMAT
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
from microagg.release.settings import Settings, settings_from
from microagg.runtime.dask import WorkerPool, check_engine, connect
from microagg.runtime.spill import remove_left_spill
from microagg.table.columns.arrow import release_unused_memory
from microagg.table.schema import WITHHELD, Role

NOTHING_TO_SHARE = (
    "worked on by this process alone: a cluster shares the blocks of files with more records "
    "than one block has"
)
SAME_FILE = (
    "output and input are the same file; name another output, the original must not be lost."
)


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
    """Read a file, anonymize it, save the release and, if asked, its two reports.

    `options` are those of `anonymize`: roles, method, l, t and so on; or all of them are given as
    `settings`. Nothing is written unless the output holds its guarantee. Rows are shuffled unless
    `keep_order`. `reading` says what is known about the file, such as {"header": False}; `writing`
    how to write the other, such as {"escape_formulas": True}: both are settings, and go before
    those of `settings`. What is not said is found out, and what is written looks like what was
    read. A report that cannot be written raises ReportError: the release is in place then.

    `source` may be a folder of parquet parts, or a pattern such as "parts/*.parquet", too. A
    `target` with a separator at its end, such as "out/", is written as a folder of parquet parts
    (so is one that is a folder already); its manifests lie beside it. A table that does not fit
    into `memory` (such as "4GB"; half of what is free, if nothing is said) is worked on in passes,
    and gives the same release to the byte: a parquet, Arrow or text file of more than 500,000
    records. Others are always read and grouped as a whole; a note says so if that may take more.
    What that sets aside lies in the folder `spill` (that of the target, if nothing is said), for
    its owner's eyes only, and goes in the end. With `resume`, a run that was killed goes on from
    the blocks that were done.

    `source` and `target` may be addresses of an object store ("s3://bucket/in.parquet"; gs, abfs,
    hdfs), whose credentials come from the environment: see `release/stores.py` for what holds
    there.

    `engine` is a `distributed.Client`, the address of a Dask scheduler ("tls://10.0.0.1:8786") or
    "local:4": the workers of that cluster do the work of a table that is more than one block, with
    the same release to the byte. They must see the input, the output and `spill` at the same paths;
    `memory` is that of one worker then, and threads are those that each worker has.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, target = Path(folder) / "survey.csv", Path(folder) / "protected.csv"
    ...     _ = source.write_text("age\\n30\\n32\\n60\\n64\\n")
    ...     release = anonymize_file(source, target, k=2, quasi=["age"], seed=0)
    ...     sorted(target.read_text().split()[1:])
    ['31', '31', '62', '62']
    """
    if settings is None:
        asked = Settings.of(k=k, reading=reading, writing=writing, **options)
    else:
        of_method = {
            name: value for name, value in options.items() if name not in Settings.parameters()
        }
        asked = settings_from({"k": k, "settings": settings, "params": of_method, **options})
        asked = asked.but(
            reading={**asked.reading, **(reading or {})},
            writing={**asked.writing, **(writing or {})},
        )
    if engine is not None:
        check_engine(engine)
    source, target = path_of(source, "source"), path_of(target, "target")
    with staged_paths(source, target, spill, resume=resume) as at:
        release = _anonymized(
            at,
            asked,
            memory,
            keep_order=keep_order,
            report=report,
            resume=resume,
            threads=threads,
            engine=engine,
            progress=progress,
        )
    return replace(release, notes=(*release.notes, *at.notes)) if at.notes else release


def _anonymized(
    at: StagedPaths,
    asked: Settings,
    memory: str | float | None,
    *,
    engine: Any,
    resume: bool,
    **more: Any,
) -> Release:
    """What anonymize_file() does once it is known where tables lie: in passes, or in memory."""
    target = as_target(at.target)
    asked = settings_for_file(asked, at.source)
    if exceeds_memory(at.source, asked, memory, engine=engine is not None):
        with in_memory_else(memory, engine):
            return anonymize_out_of_core(
                at.source,
                target,
                asked,
                memory,
                spill=at.spill,
                resume=resume,
                engine=engine,
                **more,
            )
    with watched_input(at.source) as identity:
        here = at.source_here()
        table = read_for(here, target, asked, report=more["report"])
        identity.check_last()
    more_notes = notes_on_memory(memory, table, asked)
    release = anonymize_table(table, here, target, asked, **more)
    if engine is not None:
        more_notes = (*more_notes, NOTHING_TO_SHARE)
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
    """What is not worked on beyond memory is gone on with in memory, as far as that reaches, unless
    somebody said how much there is, or asked for an engine.
    """
    try:
        yield
    except FitsInMemory:
        return
    except OnlyInMemory:
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
    **asked: Any,
) -> Release:
    """What anonymize_file() does with a table that does not fit into memory: in passes."""
    from microagg.pipeline.out_of_core import protect_out_of_core

    check_unaccepted(settings)
    if not isinstance(source, Url):
        check_same(source, target)
    places = report_places(
        report, taken=places_of(target if isinstance(source, Url) else source, target)
    )
    asked["reported"] = bool(places)
    engine, threads, said = asked.pop("engine", None), asked.get("threads"), None
    if memory is not None:
        said = bytes_in(memory)
    with shown(progress, "grouping records") as told:
        if engine is None:
            budget = MemoryBudget(said or memory_for(source), checked_threads(threads))
            release = protect_out_of_core(source, target, settings, budget, progress=told, **asked)
        else:
            with connect(engine, threads) as client:
                crew = WorkerPool.of(client)
                if asked.get("spill") is not None:
                    asked["spill"] = _absolute(asked["spill"])
                budget = MemoryBudget(crew.memory(said), crew.threads)
                paths = source if isinstance(source, Url) else _absolute(source), _absolute(target)
                release = protect_out_of_core(
                    *paths, settings, budget, crew=crew, progress=told, **asked
                )
    for place, public in zip(places, (False, True), strict=False):
        report_on_saved(release, place, target, public=public)
    return release


def check_same(source: str | Path, target: Path) -> None:
    """Refuse a target that is the source, or the folder in which it or some of it lies."""
    there = [Path(source), *(files_of(source) if is_in_parts(source) else ())]
    for each in (*there, *(each.parent for each in there if is_folder(target))):
        if target.exists() and each.exists() and target.samefile(each):
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
    """What anonymize_file() does with a table once it has been read from `source`.

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
    for place, public in zip(places, (False, True), strict=False):
        report_on_saved(release, place, target, public=public)
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
