"""Report of a release as a document: one for the data holder, one for publication."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from microagg.measures.measure import Figure, Measure, Pair, Sample
from microagg.release.changes import Change
from microagg.release.manifest import public_manifest
from microagg.release.note import FormatSetting, Note, Severity, as_argument
from microagg.release.report import (
    correlations,
    evidence,
    figure_tables,
    opening,
    run_record,
    shown,
)
from microagg.release.report.document import Document, FirstPage, Grid, Section
from microagg.release.report.front import first_page_of
from microagg.release.report.subject import Subject, public_subject
from microagg.release.verdict import note_parts, public_notes, verdict_of
from microagg.table.schema import Role
from microagg.table.variable import Cells

TITLE = "Disclosure control report"
ORDER = (Severity.STOP, Severity.DECIDE, Severity.CHECK, Severity.INFO)
WORDS = {
    Severity.STOP: "do not publish",
    Severity.DECIDE: "decide",
    Severity.CHECK: "check",
    Severity.INFO: "for information",
}


def build_document(
    *,
    manifest: Mapping[str, Any],
    public: bool,
    pair: Pair,
    class_sizes: np.ndarray,
    figures: Sequence[tuple[Measure, Figure]],
    notes: Sequence[Note] = (),
    bound: Mapping[str, Any] | None = None,
    shown: Cells | None = None,
    sample: Sample | None = None,
    changed: Mapping[str, Change] | None = None,
    lost: Mapping[str, Sequence[str]] | None = None,
    format_setting: FormatSetting = as_argument,
) -> Document:
    """Return the report of a release; with `public` one that follows from the released table and
    the settings, up to the loss in whole percent and what was published by name (`publishing.py`).

    `manifest` is the internal one (a public report takes a public one too), `class_sizes` those of
    the released table, `figures` what was measured on `pair`. For the internal report: `notes`;
    `bound`, the proven limit on the loss (IL, optimal), without it the manifest's own; `lost`, the
    categories that no record has any more. For the public report: the cells as they are `shown`,
    read from the released table alone; without them, those of the pair. Where the pair is a
    `sample`, that says so; for the internal report of one, `changed` counts the cells of all
    records.

    >>> ages = np.array([[30.0], [32.0], [60.0], [64.0]])
    >>> document = build_document(
    ...     manifest={
    ...         "settings": {"k": 2, "method": "mdav", "scale": "zscore"},
    ...         "records": 4,
    ...         "roles": {"age": "quasi"},
    ...         "guarantee": {"of": "each combination"},
    ...         "loss": {"IL": 1.1},
    ...     },
    ...     public=True,
    ...     pair=Pair(ages, np.array([[31.0], [31.0], [62.0], [62.0]]), ("age",)),
    ...     class_sizes=np.array([2, 2]),
    ...     figures=[],
    ... )
    >>> [section.title for section in document.sections][:2]
    ['What was done, and what it protects', 'The columns and their roles']
    """
    settings = manifest["settings"]
    title = settings.get("title") or TITLE
    entity = settings.get("entity") or ""
    if public:
        public_part = public_manifest(manifest)
        subject = public_subject(public_part, pair, np.asarray(class_sizes), figures, shown)
        subject = replace(subject, sample=sample, entity=entity)
        verdict = verdict_of(public_notes(public_part, subject.class_sizes), format_setting)
        sections = tuple(_public_sections(subject))
        return Document(title, "public", sections, first_page_of(subject, verdict))
    subject = Subject(
        manifest, False, pair.quasi, pair.after, np.asarray(class_sizes), figures,
        both=pair, sample=sample, changed=changed, entity=entity, lost_categories=lost or {},
    )  # fmt: skip
    limit = bound if bound is not None else manifest.get("bound")
    front = first_page_of(subject, verdict_of(notes, format_setting))
    sections = tuple(_internal_sections(subject, limit, other_notes(notes, front, format_setting)))
    return Document(title, "internal", sections, front)


def build_first_page(
    *,
    manifest: Mapping[str, Any],
    pair: Pair | None = None,
    class_sizes: np.ndarray,
    notes: Sequence[Note] = (),
    format_setting: FormatSetting = as_argument,
) -> Document:
    """Return the first page of the internal report alone, for which nothing need be measured.

    >>> document = build_first_page(
    ...     manifest={
    ...         "settings": {"k": 2, "method": "mdav", "scale": "zscore"},
    ...         "records": 4,
    ...         "roles": {"age": "quasi"},
    ...         "guarantee": {"of": "each combination"},
    ...         "loss": {"IL": 1.1},
    ...     },
    ...     class_sizes=np.array([2, 2]),
    ... )
    >>> document.front.verdict
    ('met', 'Guarantee met, nothing open')
    """
    sizes, settings = np.asarray(class_sizes), manifest["settings"]
    quasi = [name for name, role in manifest["roles"].items() if role == Role.QUASI.value]
    cells = Cells.plain(np.zeros((0, len(quasi))), quasi) if pair is None else pair.after
    entity = settings.get("entity") or ""
    subject = Subject(manifest, False, tuple(quasi), cells, sizes, (), entity=entity)
    front = first_page_of(subject, verdict_of(notes, format_setting))
    return Document(settings.get("title") or TITLE, "internal", (), front)


def other_notes(
    notes: Sequence[Note], front: FirstPage, format_setting: FormatSetting
) -> list[tuple[str, str, str]]:
    """Return the notes that the first page does not show, open points first: severity, text, what
    to do.
    """
    listed = {decision.text.rstrip(".") for decision in front.decisions}
    rows = []
    for note in sorted(notes, key=lambda note: ORDER.index(note.severity)):
        text, hint = note_parts(note, format_setting)
        if text.rstrip(".") not in listed:
            rows.append((WORDS[note.severity], text, hint))
    return rows


def _internal_sections(
    subject: Subject, limit: Mapping[str, Any] | None, notes: list[tuple[str, str, str]]
) -> Iterator[Section]:
    if notes:
        grid = Grid(("severity", "note", "what to do"), tuple(notes))
        yield Section("Notes besides the points to decide", (grid,))
    yield opening.opening(subject)
    yield opening.roles(subject)
    yield evidence.guarantee(subject)
    yield evidence.loss(subject)
    yield correlations.correlation(subject)
    yield evidence.risk(subject)
    if limit is not None:
        yield run_record.bound(subject, limit)
    yield opening.limits(subject)
    yield figure_tables.definitions(subject)
    yield run_record.record_of_the_run(subject)


def _public_sections(subject: Subject) -> Iterator[Section]:
    yield opening.opening(subject)
    yield opening.roles(subject)
    yield evidence.guarantee(subject)
    yield shown.distributions(subject)
    yield shown.correlation(subject)
    yield evidence.risk(subject)
    if subject.published or subject.manifest.get("bound") is not None:
        yield shown.published(subject)
    yield opening.limits(subject)
    yield figure_tables.definitions(subject)
    yield run_record.record_of_the_run(subject)
