"""From a release to its report: one document for the data holder, one for everybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from microagg.measures.measure import Figure, Measure, Pair, Sample
from microagg.release.changes import Change
from microagg.release.manifest import public_manifest
from microagg.release.report import evidence, opening, shown
from microagg.release.report.document import Document, Section
from microagg.release.report.subject import Subject, public_subject
from microagg.table.variable import Cells


def build_document(
    *,
    manifest: Mapping[str, Any],
    public: bool,
    pair: Pair,
    class_sizes: np.ndarray,
    figures: Sequence[tuple[Measure, Figure]],
    notes: Sequence[str] = (),
    bound: Mapping[str, Any] | None = None,
    shown: Cells | None = None,
    sample: Sample | None = None,
    changed: Mapping[str, Change] | None = None,
    moved: Mapping[str, float] | None = None,
) -> Document:
    """The report of a release; with `public` one that follows from the released table and the
    settings, up to the loss in whole percent and what was published by name (see `publishing.py`).

    `manifest` is the internal one (a public report takes a public one too), `class_sizes` those of
    the released table, `figures` what was measured on `pair`. For the internal report: `notes`,
    sentences for the reader, and `bound`, the proven limit on the loss (IL, optimal); without it,
    the manifest's own is taken. For the public report: the cells as they are `shown`, read from the
    released table alone; without them, those of the pair. Where the pair is a `sample`, that says
    so; for the internal report of one, what became of the cells of all records is given as
    `changed`, and by how many deviations means moved as `moved`.

    >>> ages = np.array([[30.0], [32.0], [60.0], [64.0]])
    >>> document = build_document(
    ...     manifest={"settings": {"k": 2, "method": "mdav", "scale": "zscore"}, "records": 4, "roles": {"age": "quasi"},
    ...               "guarantee": {"of": "each combination"}, "loss": {"IL": 1.1}},
    ...     public=True, pair=Pair(ages, np.array([[31.0], [31.0], [62.0], [62.0]]), ("age",)),
    ...     class_sizes=np.array([2, 2]), figures=[])
    >>> [section.title for section in document.sections][:2]
    ['What was done, and what it protects', 'The columns and their roles']
    """
    if public:
        told = public_manifest(manifest)
        subject = replace(
            public_subject(told, pair, np.asarray(class_sizes), figures, shown), sample=sample
        )
        return Document("Disclosure control report", "public", tuple(_public_sections(subject)))
    subject = Subject(
        manifest,
        False,
        pair.quasi,
        pair.after,
        np.asarray(class_sizes),
        figures,
        notes,
        both=pair,
        sample=sample,
        changed=changed,
        moved=moved,
    )
    limit = bound if bound is not None else manifest.get("bound")
    return Document(
        "Disclosure control report", "internal", tuple(_internal_sections(subject, limit))
    )


def build_first_page(
    *,
    manifest: Mapping[str, Any],
    pair: Pair,
    class_sizes: np.ndarray,
    notes: Sequence[str] = (),
) -> Document:
    """The first part of the internal report alone, for which nothing need be measured.

    >>> ages = np.array([[30.0], [32.0], [60.0], [64.0]])
    >>> document = build_first_page(
    ...     manifest={"settings": {"k": 2, "method": "mdav", "scale": "zscore"}, "records": 4, "roles": {"age": "quasi"},
    ...               "guarantee": {"of": "each combination"}, "loss": {"IL": 1.1}},
    ...     pair=Pair(ages, np.array([[31.0], [31.0], [62.0], [62.0]]), ("age",)), class_sizes=np.array([2, 2]))
    >>> [section.title for section in document.sections]
    ['What was done, and what it protects']
    """
    sizes = np.asarray(class_sizes)
    subject = Subject(manifest, False, pair.quasi, pair.after, sizes, (), notes, both=pair)
    return Document("Disclosure control report", "internal", (opening.opening(subject),))


def _internal_sections(subject: Subject, limit: Mapping[str, Any] | None) -> Iterator[Section]:
    yield opening.opening(subject)
    yield opening.roles(subject)
    yield evidence.guarantee(subject)
    yield evidence.loss(subject)
    yield evidence.correlation(subject)
    yield evidence.risk(subject)
    if limit is not None:
        yield evidence.bound(subject, limit)
    yield evidence.record_of_the_run(subject)
    yield opening.limits(subject)


def _public_sections(subject: Subject) -> Iterator[Section]:
    yield opening.opening(subject)
    yield opening.roles(subject)
    yield evidence.guarantee(subject)
    yield shown.distributions(subject)
    yield shown.correlation(subject)
    yield evidence.risk(subject)
    if subject.published or subject.manifest.get("bound") is not None:
        yield shown.published(subject)
    yield evidence.record_of_the_run(subject)
    yield opening.limits(subject)
