"""Sections of a report on the proven bound and on the run itself: settings, files, versions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from microagg.bounds.bound import OF_MIXED
from microagg.errors import InputError
from microagg.formatting import (
    chosen_text,
    promised_beside,
)
from microagg.methods.registry import method_named
from microagg.release.report.document import (
    Block,
    Facts,
    Listing,
    Paragraph,
    Section,
    Warn,
)
from microagg.release.report.figure_tables import (
    as_sentence,
    capitalised,
)
from microagg.release.report.subject import Subject


def bound(subject: Subject, proven: Mapping[str, Any]) -> Section:
    """Return the section on the largest possible distance of the grouping from the optimum."""
    lowest, loss_found = float(proven["IL"]), float(subject.manifest["loss"]["IL"])
    above = proven.get("gap")
    if proven.get("optimal") or above == 0:
        claim = "This grouping reaches that limit up to rounding: there is no better one."
        gap = "0 %"
    elif above is not None:
        gap = subject.with_unit(float(above), "percent")
        claim = (
            f"This grouping loses {gap} more than that limit at most, before values are rounded."
        )
    else:
        gap = "not defined"
        claim = (
            f"This one loses {subject.with_unit(loss_found, 'percent')}; against a limit of "
            f"0 % that says little."
        )
    if beside := promised_beside(subject.settings):
        claim += f" The limit is for k alone: {as_sentence(beside)}"
    if subject.settings.get("cap"):
        claim += " Limit and distance are those of the capped values."
    certified = proven.get("certified_IL")
    shown_by = "It is proven" if certified is None else "An integer program ended with the result"
    if subject.mixed:
        claim += f" T{OF_MIXED[1:]}."
    elif certified is not None:
        claim += (
            " This rests on the solver alone: a certificate proves "
            f"{subject.with_unit(float(certified), 'percent')}."
        )
    rows = (
        (
            "Proven limit",
            subject.with_unit(lowest, "percent"),
            "no grouping of these records can lose less",
        ),
        (
            "Loss of this release",
            subject.with_unit(loss_found, "percent"),
            "of the variation, as released",
        ),
        (
            "Distance",
            gap,
            "how far the loss of this grouping, before values are rounded, is above the "
            "limit, in percent of the limit",
        ),
    )
    return Section(
        "How close to the best possible",
        (
            Paragraph(
                f"{shown_by} that no grouping of these records into groups of at least "
                f"{subject.k} can lose less than "
                f"{subject.with_unit(lowest, 'percent')} of the variation. {claim}"
            ),
            Facts(rows),
        ),
    )


def _files_of_the_run(subject: Subject) -> Iterator[tuple[str, str, str]]:
    """Yield the files of the report: internally input and date as well; publicly the released file
    alone.
    """
    source, target = subject.manifest.get("input") or {}, subject.manifest.get("output") or {}
    if not subject.public and source:
        yield (
            "Input",
            source["file"] or "a table in memory",
            f"SHA-256 of its values: {source['digest']}",
        )
        yield "Date", subject.settings.get("date") or "not given", "the day of the run"
    if target:
        digest = target.get("digest")
        yield (
            "Output",
            target["file"],
            f"SHA-256 of its values: {digest}" if digest else "the released table",
        )


def record_of_the_run(subject: Subject) -> Section:
    """The manifest, and how the figures are defined."""
    manifest = subject.manifest
    blocks: list[Block] = []
    blocks.append(Paragraph(_about_the_method(str(manifest["settings"]["method"]))))
    chosen = manifest.get("chosen") or []
    if chosen:
        sentences = (capitalised(as_sentence(chosen_text(str(sentence)))) for sentence in chosen)
        blocks.append(Paragraph(" ".join(("How groups were formed.", *sentences))))
    if manifest.get("stopped_early"):
        blocks.append(
            Warn("The search was stopped before its end. The best grouping by then was released.")
        )
    if files := tuple(_files_of_the_run(subject)):
        blocks.append(Facts(files))
    about = (
        "Here is the part of it that may be published."
        if subject.public
        else "With it the run can be repeated. Keep it private."
    )
    blocks.append(Paragraph(f"The manifest records the run for programs. {about}"))
    blocks.append(Listing(json.dumps(manifest, indent=2, ensure_ascii=False)))
    return Section("The manifest", tuple(blocks))


def _about_the_method(name: str) -> str:
    """Return method, source and summary in one sentence."""
    try:
        method = method_named(name)
    except InputError:  # a manifest may be older or newer than this registry
        return f"Method: {name}."
    return f"Method: {name} ({method.source}): {as_sentence(method.summary)}"
