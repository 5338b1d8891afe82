"""Making a release again, a year later, from its internal manifest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.errors import DifferentReleaseError, InputError
from microagg.files.columnar.parquet_folder import as_target
from microagg.files.stores.locations import Url
from microagg.pipeline.files import (
    ONE_PROCESS,
    anonymize_out_of_core,
    anonymize_table,
    in_memory_else,
)
from microagg.pipeline.memory_budget import exceeds_memory, notes_on_memory
from microagg.pipeline.sources import read_for_settings
from microagg.pipeline.stores import staged_paths
from microagg.problem.problem import Progress
from microagg.release.manifest import OF_WHOLE_COLUMNS, digest_in
from microagg.release.manifest_reading import read_manifest, settings_of, version_of
from microagg.release.note import Note
from microagg.release.note_catalogue import make_note
from microagg.release.release import Release
from microagg.release.risks import with_risks_accepted
from microagg.release.settings import Settings
from microagg.runtime.dask_cluster import check_engine

ANOTHER_TABLE = "this is not the table that the release was made from: its digest differs."


def repeat_file(
    manifest: str | Path,
    source: str | Path,
    target: str | Path,
    progress: Progress | None = None,
    *,
    anyway: bool = False,
    memory: str | float | None = None,
    spill: str | Path | None = None,
    resume: bool = False,
    threads: int | None = None,
    engine: Any = None,
) -> Release:
    """Make a release again from its internal manifest and the original table; another release is
    not written.

    A search that was stopped early, by a time limit or by hand, is stopped at the same checkpoint.
    With `anyway`, what other versions of microagg or its libraries make of the manifest is written
    although it is another release. `memory`, `spill`, `resume`, `threads` and `engine` are as in
    `anonymize_file`: they make no difference to the release.
    """
    if engine is not None:
        check_engine(engine)
    then = read_manifest(Path(manifest))
    settings = with_risks_accepted(settings_of(then, Path(manifest)))
    with staged_paths(source, target, spill, resume=resume) as paths:
        run_options: dict[str, Any] = {"progress": progress, "threads": threads}
        if then["format"] > OF_WHOLE_COLUMNS and exceeds_memory(
            paths.source, settings, memory, engine=engine is not None
        ):
            with in_memory_else(memory, engine):
                return _repeated_beyond(
                    then,
                    paths.source,
                    as_target(paths.target),
                    settings,
                    memory,
                    anyway=anyway,
                    spill=paths.spill,
                    resume=resume,
                    engine=engine,
                    **run_options,
                )
        release = _repeated_in_memory(
            then,
            paths.source_here(),
            as_target(paths.target),
            settings,
            memory,
            anyway=anyway,
            **run_options,
        )
        return (
            replace(release, notes=(*release.notes, ONE_PROCESS)) if engine is not None else release
        )


def _repeated_in_memory(
    then: dict[str, Any],
    source: Path,
    target: Path,
    settings: Settings,
    memory: str | float | None,
    *,
    anyway: bool,
    **run_options: Any,
) -> Release:
    table = read_for_settings(source, settings)
    digest_of = digest_in(then["format"])
    if digest_of(table) != then["input"]["digest"]:
        raise InputError(ANOTHER_TABLE)
    notes: list[Note] = []
    more_notes = notes_on_memory(memory, table, settings)

    def expect_the_same(release: Release, rows: pa.Table) -> None:
        notes.extend(_comparison(then, release.manifest, digest_of(rows), anyway=anyway))

    release = anonymize_table(
        table,
        source,
        target,
        settings,
        keep_order=then.get("rows") == "kept",
        expected=expect_the_same,
        format=then["format"],
        **run_options,
    )
    return replace(release, notes=(*notes, *release.notes, *more_notes))


def _repeated_beyond(
    then: dict[str, Any],
    source: Path | Url,
    target: Path,
    settings: Settings,
    memory: str | float | None,
    *,
    anyway: bool,
    **run_options: Any,
) -> Release:
    """The same for a table that does not fit into memory."""
    notes: list[Note] = []

    def expect_the_same(manifest: dict[str, Any], digest: str) -> None:
        notes.extend(_comparison(then, manifest, digest, anyway=anyway))

    def expect_input(digest: str) -> None:
        if digest != then["input"]["digest"]:
            raise InputError(ANOTHER_TABLE)

    release = anonymize_out_of_core(
        source,
        target,
        settings,
        memory,
        keep_order=then.get("rows") == "kept",
        expected=expect_the_same,
        expected_input=expect_input,
        **run_options,
    )
    return replace(release, notes=(*notes, *release.notes))


def _comparison(
    then: dict[str, Any], now: dict[str, Any], digest: str, *, anyway: bool
) -> list[Note]:
    """Return the note on a release that was made again.

    Raises `DifferentReleaseError` if it is another one, unless `anyway`.
    """
    if not isinstance(then.get("output"), dict):
        return [make_note("release-unknown")]
    if then["output"].get("digest") == digest:
        return [make_note("same-release")]
    changed = [
        name for name, version in now["versions"].items() if then["versions"].get(name) != version
    ]
    if then.get("microagg") != now["microagg"]:
        reason = f"that was made by {version_of(then)}; install it to get the same"
    elif changed:
        reason = f"there are other versions of {', '.join(changed)} now"
    else:
        raise DifferentReleaseError(
            "this is NOT the release that the manifest describes; nothing was written. "
            "If nobody has changed the manifest, this is a "
            "bug: report it."
        )
    if not anyway:
        raise DifferentReleaseError(
            f"this is NOT the release that the manifest describes: {reason}; nothing was "
            f"written. To write it, add --anyway."
        )
    return [make_note("another-release", reason=reason)]
