"""From a release to its report: one document for the data holder, one for everybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from microagg.measures.measure import Figure, Measure, Pair
from microagg.release.manifest import public_manifest
from microagg.release.report import evidence, opening
from microagg.release.report.document import Document, Section
from microagg.release.report.subject import Subject


def build_document(
    *,
    manifest: Mapping[str, Any],
    public: bool,
    pair: Pair,
    class_sizes: np.ndarray,
    figures: Sequence[tuple[Measure, Figure]],
    notes: Sequence[str] = (),
    bound: Mapping[str, Any] | None = None,
) -> Document:
    """The report of a release; with `public` one that says nothing of single records.

    `manifest` is the internal one or the public one, `class_sizes` those of the released table, `figures` what was
    measured on `pair`, `notes` sentences for the reader, `bound` the proven limit on the loss (IL, optimal); without it,
    the manifest's own is taken.

    >>> ages = np.array([[30.0], [32.0], [60.0], [64.0]])
    >>> document = build_document(
    ...     manifest={"settings": {"k": 2, "method": "mdav", "scale": "zscore"}, "records": 4, "roles": {"age": "quasi"},
    ...               "guarantee": {"of": "each combination"}, "loss": {"IL": 1.1}},
    ...     public=True, pair=Pair(ages, np.array([[31.0], [31.0], [62.0], [62.0]]), ("age",)),
    ...     class_sizes=np.array([2, 2]), figures=[])
    >>> [section.title for section in document.sections][:2]
    ['What was done, and why it is safe', 'The columns and their roles']
    """
    told = public_manifest(manifest) if public else manifest
    limit = bound if bound is not None else told.get("bound")
    subject = Subject(told, public, pair, np.asarray(class_sizes), figures, notes)
    sections: list[Section] = [
        opening.opening(subject),
        opening.roles(subject),
        evidence.guarantee(subject),
        evidence.loss(subject),
        evidence.correlation(subject),
        evidence.risk(subject),
    ]
    if limit is not None:
        sections.append(evidence.bound(subject, limit))
    sections += [evidence.record_of_the_run(subject), opening.limits(subject)]
    return Document("Disclosure control report", "public" if public else "internal", tuple(sections))
