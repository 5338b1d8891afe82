"""From a file to a file: read, protect, save, report."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.engine.dask import Crew, connected, refuse_engine
from microagg.errors import InputError
from microagg.problem.problem import Progress, checked_threads
from microagg.release.beyond_limits import Budget, bytes_in, free_memory, goes_beyond
from microagg.release.manifest import FORMAT
from microagg.release.release import Release, protect
from microagg.release.risks import refuse_unaccepted
from microagg.release.saving import places_of, refuse_places, report_on_saved, report_places, rows_to_write
from microagg.release.settings import Settings, settings_from
from microagg.table.io.arrow import give_back
from microagg.table.io.chunks import files_of, is_in_parts, read_whole
from microagg.table.io.formats import format_of, options_for, options_shared
from microagg.table.io.reading import read_table

NOTHING_TO_SHARE = "worked on by this process alone: a cluster shares the blocks of parquet and Arrow files with more records than one block has"
SAME_FILE = "output and input are the same file; name another output, the original must not be lost."


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
    progress: Progress | None = None,
    **options: Any,
) -> Release:
    """Read a file, anonymize it, save the release and, if asked, its two reports.

    Nothing is written unless the output holds its guarantee. `reading` says what is known about the file, such as
    {"header": False}; `writing` how to write the other, such as {"escape_formulas": True}. A report that cannot be written
    raises ReportError: the release is in place then.

    `source` may be a folder of parquet parts, or a pattern such as "parts/*.parquet", too. A table that does not fit into `memory`
    (such as "4GB"; half of what is free, if nothing is said) is worked on in passes, and gives the same release to the byte. What
    that sets aside lies in the folder `spill` (that of the target, if nothing is said), for its owner's eyes only, and goes in the
    end. With `resume`, a run that was killed goes on from the blocks that were done.

    `engine` is a `distributed.Client`, the address of a Dask scheduler ("tcp://10.0.0.1:8786") or "local:4": the workers of that cluster
    do the work of a table that is more than one block, with the same release to the byte. They must see the input, the output and
    `spill` at the same paths; `memory` is that of one worker then, and threads are those that each worker has.
    """
    if settings is None:
        asked = Settings.of(k=k, **options)
    else:
        of_method = {name: value for name, value in options.items() if name not in Settings.parameters()}
        asked = settings_from({"k": k, "settings": settings, "params": of_method, **options})
    refuse_unaccepted(asked)
    format_of(Path(target))
    report_places(report, taken=places_of(source, target))
    if engine is not None:
        refuse_engine(engine)
    if goes_beyond(source, asked, memory, engine=engine is not None):
        if report is not None:
            raise InputError(
                "reports are not made beyond memory yet; give it more memory, or leave report out."
            )
        return anonymize_beyond(
            source, Path(target), asked, memory, keep_order=keep_order, reading=reading, writing=writing, spill=spill,
            resume=resume, threads=threads, engine=engine, progress=progress,
        )  # fmt: skip
    if is_in_parts(source):
        table = read_whole(source)
    else:
        table = read_table(source, quasi=asked.numbers, asked=asked.columns, **(reading or {}))
    release = anonymize_table(
        table, source, target, asked, keep_order=keep_order, report=report, reading=reading, writing=writing, threads=threads,
        progress=progress,
    )  # fmt: skip
    if engine is not None:
        release = replace(release, notes=(*release.notes, NOTHING_TO_SHARE))
    return release


def anonymize_beyond(
    source: str | Path, target: Path, settings: Settings, memory: str | float | None, **asked: Any
) -> Release:
    """What anonymize_file() does with a table that does not fit into memory: in passes."""
    from microagg.release.beyond import protect_beyond

    if target.exists() and any(target.samefile(file) for file in files_of(source)):
        raise InputError(SAME_FILE)
    engine = asked.pop("engine", None)
    if engine is None:
        budget = Budget(
            free_memory() if memory is None else bytes_in(memory), checked_threads(asked.get("threads"))
        )
        return protect_beyond(source, target, settings, budget, **asked)
    with connected(engine, asked.get("threads")) as client:
        crew = Crew.of(client)
        if asked.get("spill") is not None:
            asked["spill"] = _absolute(asked["spill"])
        budget = Budget(crew.memory(None if memory is None else bytes_in(memory)), crew.threads)
        return protect_beyond(_absolute(source), _absolute(target), settings, budget, crew=crew, **asked)


def _absolute(path: str | Path) -> Path:
    """The same path for workers, whose folder may be another one."""
    return Path(os.path.abspath(path))


def anonymize_table(
    table: pa.Table,
    source: str | Path,
    target: str | Path,
    settings: Settings,
    *,
    keep_order: bool = False,
    report: str | Path | None = None,
    expected: Callable[[Release, pa.Table], object] | None = None,
    reading: Mapping[str, Any] | None = None,
    writing: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    format: int = FORMAT,
) -> Release:
    """What anonymize_file() does with a table once it has been read from `source`.

    `expected` gets the release and its rows as they are about to be written, and raises if they are not to be.
    `format` is that of the manifests: `repeat` makes old ones again.
    """
    source, target = Path(source), Path(target)
    places = report_places(report, taken=places_of(source, target))
    shared = {**({} if is_in_parts(source) else options_shared(source, target)), **(writing or {})}
    options_for(format_of(target), shared)
    give_back()
    refuse_places(target)
    if target.exists() and source.exists() and target.samefile(source):
        raise InputError(SAME_FILE)
    release = protect(
        table, settings, file=source.name, reading=reading, threads=threads, progress=progress, format=format
    )
    if expected is not None:
        expected(release, rows_to_write(release, keep_order=keep_order))
    release.save(target, keep_order=keep_order, **shared)
    for place, public in zip(places, (False, True), strict=False):
        report_on_saved(release, place, target, public=public)
    return release
