"""Saving of a release: its table and manifests together, its reports beside them. No file takes the
place of a file of another kind.
"""

from __future__ import annotations

import functools
import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from microagg.errors import GuaranteeError, InputError, MicroaggError, ReportError
from microagg.files.columnar.parquet_folder import check_other_folder, format_to_write, is_folder
from microagg.files.commit import system
from microagg.files.commit.overwrite_guard import check_other_kind, check_other_than_table
from microagg.files.commit.writing import (
    StagedFile,
    check_unwritable,
    put_in_place,
    text_piece,
    write_table,
)
from microagg.files.comparing import check_altered, in_codes_of
from microagg.files.formats import options_for
from microagg.files.reading import read_written
from microagg.files.stats.sidecar import is_sidecar, labels_beside, sidecar_of, sidecar_text
from microagg.files.text.locale_columns import in_plain_terms
from microagg.guarantees.k import Anonymity, verify
from microagg.release.cells import confidential_of
from microagg.release.manifest import (
    digest_in,
    is_manifest,
    manifest_paths,
    manifest_text,
    name_of_release,
    public_manifest,
)
from microagg.release.report import html, markdown, plain
from microagg.release.report.document import Document
from microagg.release.shuffling import shuffled_rows
from microagg.release.strata import class_columns
from microagg.sentences import sentence
from microagg.table.columns.arrow import release_unused_memory, with_written_indices
from microagg.table.columns.text_types import with_values
from microagg.table.confidential import Attribute, typed_like
from microagg.table.schema import Role

if TYPE_CHECKING:
    from microagg.files.format import Format
    from microagg.release.release import Release

_log = logging.getLogger(__name__)  # steps and numbers, never a value of the data
RENDERERS: dict[str, tuple[Callable[[Document], str], Callable[[bytes], bool]]] = {
    ".html": (html.to_html, html.is_report),
    ".md": (markdown.to_markdown, markdown.is_report),
    ".json": (plain.to_json, plain.is_report),
}
"""How a report is written, and how one that is there already is recognised."""
UNREADABLE = "the written file cannot be read back; nothing was written."
OTHER_COLUMNS = (
    "the columns of the written file differ from those of the release; nothing was written."
)
OTHER_ORDER = (
    "the rows of the written file are in another order, so their units are unknown; "
    "nothing was written."
)


def rows_to_write(release: Release, *, keep_order: bool) -> pa.Table:
    """Return the table as it is saved: shuffled unless the order is to be kept."""
    table = with_written_indices(release._arrow.replace_schema_metadata(None))
    return table if keep_order else table.take(pa.array(_shuffled_rows(release)))


def units_as_written(release: Release, written: Anonymity, *, keep_order: bool) -> Attribute | None:
    """Return the withheld unit of each row of a written file, given its classes.

    The shuffle is applied to the units, and checked by the classes: rows of one class of the
    release share one in the file.
    """
    if release._units is None:
        return None
    rows = np.arange(len(written.labels)) if keep_order else _shuffled_rows(release)
    classes = release.anonymity.labels[rows]
    class_in_file = np.empty(len(release.anonymity.sizes), written.labels.dtype)
    class_in_file[classes] = written.labels
    if not np.array_equal(class_in_file[classes], written.labels):
        raise GuaranteeError(OTHER_ORDER)
    return release._units.of_records(rows)


def save_release(
    release: Release, path: Path, *, keep_order: bool, options: dict[str, Any]
) -> dict[str, Any]:
    """Write the table and both manifests together; return the entries that saving adds to the
    manifest.
    """
    begun = time.perf_counter()
    format = format_to_write(path)
    options = options_for(format, options)
    check_places(path)
    beside = sidecar_of(path)
    labels = labels_beside(release._arrow, format)
    added: dict[str, Any] = {"rows": "kept" if keep_order else "shuffled", "dialect": options}

    def write(part: Path) -> None:
        table = rows_to_write(release, keep_order=keep_order)
        write_table(table, part, **options)
        added["output"] = {
            "file": path.name,
            "digest": digest_in(release.manifest["format"])(table),
        }

    def inspect(part: Path) -> None:
        release_unused_memory()
        written = _read_back(release, part, options)
        _verify_written(release, written, options, format, keep_order=keep_order)
        added["release"] = name_of_release(written, release.settings)

    pieces = [
        table_piece(path, write, inspect),
        *manifest_pieces(path, lambda: {**release.manifest, **added}),
    ]
    # labels of the file that is replaced must not be read with the new table
    if labels or os.path.lexists(beside):
        pieces.append(StagedFile(beside, *text_piece(sidecar_text(labels))))
    put_in_place(pieces)
    release_unused_memory()
    _log.info(
        "%d records written, read back and verified in %.2f s",
        release._arrow.num_rows,
        time.perf_counter() - begun,
    )
    return added


def _read_back(release: Release, part: Path, options: dict[str, Any]) -> pa.Table:
    """Return the table of a written file; raise if it has not the columns of the release."""
    try:
        written = read_written(part, release._arrow.schema, **options)
    except InputError:
        raise GuaranteeError(UNREADABLE) from None
    if written.column_names != release._arrow.column_names:
        raise GuaranteeError(OTHER_COLUMNS)
    return written


def _verify_written(
    release: Release,
    written: pa.Table,
    options: dict[str, Any],
    format: Format,
    *,
    keep_order: bool,
) -> None:
    """Raise unless a table that was read back keeps every guarantee and, if typed, every value."""
    settings = release.settings
    columns = class_columns(release.schema, settings)
    typed = with_values(release._arrow) if format.typed else release._arrow
    classes = verify(written, columns, settings.k, release._arrow.num_rows, release.anonymity.scope)
    units = units_as_written(release, classes, keep_order=keep_order)
    in_our_terms = in_codes_of(in_plain_terms(written, typed, options), typed, format)
    attributes = _attributes_in(release, in_our_terms)
    settings.promise.verify(classes.labels, len(classes.sizes), attributes, units)
    if format.typed:
        rows = None if keep_order else pa.array(_shuffled_rows(release))
        to_write = functools.partial(_column_to_write, typed, rows)
        check_altered(written, typed.schema, to_write, format)


def _attributes_in(release: Release, written: pa.Table) -> tuple[Attribute, ...]:
    """Return the confidential columns of a written file, in which everything may be text, with the
    types of the table.
    """
    names = release.schema.names(Role.CONFIDENTIAL)
    typed = typed_like(written.select(names), release._arrow)
    return confidential_of(typed, names, release.settings)


def _shuffled_rows(release: Release) -> np.ndarray:
    return shuffled_rows(release.manifest, len(release.labels))


def table_piece(
    path: Path,
    write: Callable[[Path], object],
    inspect: Callable[[Path], object],
    digest: Callable[[Path], str] = lambda part: system.digest(part),
) -> StagedFile:
    """Return the staged table of a release: a file, or a folder of parts."""
    if not is_folder(path):
        return StagedFile(path, write, inspect)
    return StagedFile(
        path, write, inspect, folder=True, digest=digest, refuse=lambda: check_place_of_table(path)
    )


def check_place_of_table(path: Path) -> None:
    """Raise if the path holds anything but a table of the same format; a folder must be that of a
    release, or empty.
    """
    if is_folder(path):
        check_other_folder(path, has_manifest=any(map(os.path.lexists, manifest_paths(path))))
    else:
        check_other_than_table(path)


def manifest_pieces(path: Path, content: Callable[[], dict[str, Any]]) -> list[StagedFile]:
    """Return both staged manifests of a released file; `content` is called when the table has been
    inspected and named.
    """

    def manifest(
        path: Path, view: Callable[[dict[str, Any]], dict[str, Any]], *, private: bool
    ) -> StagedFile:
        def text() -> str:
            return manifest_text(view(with_name(content())))

        return StagedFile(
            path,
            lambda part: text_piece(text())[0](part),
            lambda part: text_piece(text())[1](part),
            private,
        )

    internal, public = manifest_paths(path)
    return [
        manifest(internal, dict, private=True),
        manifest(public, public_manifest, private=False),
    ]


def _column_to_write(table: pa.Table, rows: pa.Array | None, name: str) -> pa.ChunkedArray:
    column = table.column(name)
    return column if rows is None else column.take(rows)


def with_name(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest that names its release among the first entries.

    >>> list(with_name({"format": 2, "microagg": "0.1.0", "records": 9, "release": "3f8a…"}))
    ['format', 'microagg', 'release', 'records']
    """
    first = {name: manifest[name] for name in ("format", "microagg", "release") if name in manifest}
    return {**first, **manifest}


def check_places(path: Path) -> None:
    """Raise unless all files of a release can be written, before one of them is."""
    check_unwritable(path, parts=is_folder(path))
    for path_beside in (*manifest_paths(path), sidecar_of(path)):
        check_unwritable(path_beside)
    check_place_of_table(path)
    check_other_kind(sidecar_of(path), "a file of labels", is_sidecar)
    for path_beside in manifest_paths(path):
        check_other_kind(path_beside, "a manifest", is_manifest)


def renderer(path: Path) -> Callable[[Document], str]:
    """Return the function that writes a report in the format of this file name."""
    if path.suffix.lower() not in RENDERERS:
        raise InputError(
            f"{path.name!r} has no ending of a report; use one of {', '.join(RENDERERS)}."
        )
    return RENDERERS[path.suffix.lower()][0]


def check_report_place(path: Path) -> None:
    """Raise unless a report can be written to this path, and replaces a report at most."""
    renderer(path)
    check_unwritable(path)
    check_other_kind(path, "a report", RENDERERS[path.suffix.lower()][1])


def report_paths(path: Path) -> tuple[Path, Path]:
    """Return the paths of the internal and the public report for a report of this name.

    >>> [place.name for place in report_paths(Path("survey.html"))]
    ['survey.internal.html', 'survey.public.html']
    """
    return path.with_suffix(f".internal{path.suffix}"), path.with_suffix(f".public{path.suffix}")


def report_places(report: str | Path | None, taken: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Return the checked paths of the reports, if one is wanted; `taken` paths belong to other
    files.
    """
    if report is None:
        return ()
    renderer(Path(report))
    places = report_paths(Path(report))
    for report_path in places:
        if _plainly(report_path) in map(_plainly, taken):
            raise InputError(
                f"{str(report_path)!r} is the name of a manifest or a table of this release; "
                f"give the report another name."
            )
        check_report_place(report_path)
    return places


def places_of(source: str | Path, target: str | Path) -> list[Path]:
    """Return the paths of a table, its release and the manifests, which no report may take."""
    return [Path(source), Path(target), *manifest_paths(Path(target)), sidecar_of(Path(target))]


def report_on_saved(release: Release, path: Path, target: Path, *, public: bool) -> None:
    """Write a report on a saved release; if that fails, the error says that the release itself is
    complete.
    """
    state = f"{target} is in place, verified and whole"
    try:
        release.report(path, public=public)
    except MicroaggError as error:
        raise ReportError(sentence(f"{state}, but its report is not: ", error)) from None
    except MemoryError:
        raise ReportError(
            f"{state}, but there is not enough memory for the report {path}."
        ) from None


def _plainly(path: Path) -> str:
    """Return a path as a file system without capitals sees it, which is the careful way to compare
    paths.
    """
    return str(path.resolve()).casefold()
