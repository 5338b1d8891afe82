"""First page of a report: verdict, three figures, points to decide, losses, columns, signature.

Nothing is measured for it: all of it is in the manifest, the notes and the class sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from microagg.formatting import counted, number, promised
from microagg.release.effects import ColumnEffect, effects_from, signed_percent
from microagg.release.publishing import NOT_TOLD
from microagg.release.report.document import Decision, FirstPage, Grid, Scale, Signature
from microagg.release.report.subject import Subject
from microagg.release.report.totals import on_totals
from microagg.release.report.usual import recorded_k, usual_word, usually
from microagg.release.verdict import Verdict
from microagg.table.schema import Role

MOST_DECISIONS = 5
NEXT_TO_NOTHING = 0.001  # of the spread
MOST_COLUMNS = 6  # rows of the strip on the first page; all columns follow on the next
_COMPANIES = re.compile(
    r"(?i)\b(compan(y|ies)|firms?|enterprises?|turnover|employees|unternehmen|firma|umsatz|"
    r"entreprises?|empresas?)\b"
)
PROTECTED = "Protected: shared by groups"
KEPT = "Kept: published as is"
BOXES = (
    ("Removed", (Role.IDENTIFIER, Role.UNIT)),
    (PROTECTED, (Role.QUASI, Role.STRATUM)),
    ("Confidential: published as is", (Role.CONFIDENTIAL,)),
    (KEPT, (Role.KEEP,)),
)
NOT_LISTED = "not listed in a public report"
SIGNATURE = Signature(
    "Approved for release by the person responsible for these data",
    ("Name and function", "Date", "Signature"),
)


def entity_of(subject: Subject) -> str:
    """Return what a record stands for: as set, else a company or a person by the column names."""
    if named := subject.entity:
        return named
    names = " ".join(subject.columns(Role.QUASI, Role.CONFIDENTIAL, Role.KEEP, Role.STRATUM))
    return "company" if _COMPANIES.search(names.replace("_", " ")) else "person"


def first_page_of(subject: Subject, verdict: Verdict) -> FirstPage:
    """Return the first page of a release."""
    decisions = [
        Decision(_sentence(point.text), _sentence(point.fix)) for point in verdict.decisions
    ]
    effects = worst_first(effects_from(subject.manifest.get("effects")))
    return FirstPage(
        (verdict.status, verdict.sentence),
        tuple(_about(subject)),
        tuple(_figures(subject)),
        tuple(decisions[:MOST_DECISIONS]),
        max(0, len(decisions) - MOST_DECISIONS),
        None
        if subject.public or not effects
        else effects_grid(effects[:MOST_COLUMNS], len(effects)),
        tuple(_losses(subject)),
        _scale(subject),
        tuple(_boxes(subject)),
        SIGNATURE,
    )


def worst_first(effects: tuple[ColumnEffect, ...]) -> tuple[ColumnEffect, ...]:
    """Return effects, those first that mislead most: totals, then categories, then spread."""

    def size(effect: ColumnEffect) -> float:
        lost = 100.0 * effect.lost / effect.categories[0] if effect.categories else 0.0
        change = effect.total_change if effect.total is not None else effect.mean_change
        return max(abs(change or 0.0), lost, abs(effect.spread_change or 0.0) / 2.0)

    return tuple(sorted(effects, key=lambda effect: -size(effect)))


def effects_grid(effects: tuple[ColumnEffect, ...], columns: int) -> Grid:
    """Return mean, total, spread and categories of columns before and after, as a table."""
    rows = []
    for effect in effects:
        mean = "–"
        if effect.mean is not None and effect.total is not None:
            spread = 0.0 if effect.spread is None else effect.spread[0]
            mean = " → ".join(number(_beside(value, spread)) for value in effect.mean)
        lost = "–"
        if effect.categories is not None:
            lost = f"{effect.lost:,} of {effect.categories[0]:,}"
        rows.append(
            (effect.name, mean, _change(effect.total_change), _change(effect.spread_change), lost)
        )
    more = (
        f" The {len(effects)} of {columns} columns that changed most."
        if columns > len(effects)
        else ""
    )
    head = ("column", "mean", "total", "spread", "categories lost")
    caption = (
        "Before and after. Spread: standard deviation. Filled and blanked gaps move totals, too."
    )
    return Grid(head, tuple(rows), f"{caption}{more}")


def _beside(mean: float, spread: float) -> float:
    """Return a mean, or 0 where it is next to nothing beside the spread of its column."""
    return 0.0 if abs(mean) < NEXT_TO_NOTHING * spread else mean


def _change(change: float | None) -> str:
    return "–" if change is None else signed_percent(change)


def _about(subject: Subject) -> Iterator[tuple[str, str]]:
    manifest = subject.manifest
    target, source = manifest.get("output") or {}, manifest.get("input") or {}
    if target.get("file"):
        yield "File", str(target["file"])
    elif not subject.public and source.get("file"):
        yield "Made from", str(source["file"])
    yield "Records", f"{int(manifest['records']):,}"
    if not subject.public and subject.settings.get("date"):
        yield "Date", str(subject.settings["date"])
    if manifest.get("microagg"):
        yield "Made with", f"microagg {manifest['microagg']}"
    yield "Fingerprint", fingerprint(manifest)


def fingerprint(manifest: object) -> str:
    """Return the first digits of the digest of a release, in groups; a remark before it is saved.

    >>> fingerprint({"release": "0123456789abcdef0123"})
    '0123 4567 89ab cdef'
    """
    digest = manifest.get("release") if isinstance(manifest, dict) else None
    if not digest:
        return "none before it is saved"
    return " ".join(str(digest)[start : start + 4] for start in range(0, 16, 4))


def _figures(subject: Subject) -> Iterator[tuple[str, str, str]]:
    smallest, entity = int(subject.class_sizes.min()), entity_of(subject)
    classes = len(subject.class_sizes)
    known = counted(len(dict(_boxes(subject))[PROTECTED]), "protected column")
    yield (
        f"Smallest of {classes:,} classes" if classes > 1 else "Only class",
        counted(smallest, "record"),
        f"with equal protected values; you asked for {subject.k}",
    )
    yield (
        f"Chance of finding a {entity}",
        f"{number(100.0 / smallest, 3)} % at most",
        f"by someone who knows only the {known}",
    )
    columns = subject.manifest.get("all_columns")
    if columns:
        unique = int(columns["unique_records"])
        yield (
            "Records that can be singled out",
            f"{unique:,} of {int(subject.manifest['records']):,}" if unique else "none",
            f"{'' if unique else 'even '}by someone who knows all {int(columns['columns']):,} "
            "released columns",
        )


def _losses(subject: Subject) -> Iterator[str]:
    yield from promised(subject.manifest, subject.digits)
    if subject.public:
        yield on_totals(subject)


def _scale(subject: Subject) -> Scale | None:
    lost = subject.manifest["loss"]["IL"]
    k = subject.k
    usual = usually("il", k)
    if isinstance(lost, str):
        if lost == NOT_TOLD:
            return Scale(
                "withheld", None, usual, "",
                "With fewer than 100 records, or one group that decides it, the loss could reveal "
                "values.",
            )  # fmt: skip
        value = 0.5 if lost.startswith("below") else float(lost.split()[0])
    else:
        value = float(subject.manifest["loss"].get("IL_zscore", lost))
    word = usual_word("il", k, value)
    meaning = (
        f"That is {word}: half of our recorded releases of public tables with k = "
        f"{recorded_k('il', k)} lost {number(usual[0], 2)} to {number(usual[1], 2)} %. At 0 % the "
        "table is untouched; at 100 % all records are the same."
    )
    return Scale(
        lost if isinstance(lost, str) else f"{number(value, 3)} %", value, usual, word, meaning
    )


def _boxes(subject: Subject) -> Iterator[tuple[str, tuple[str, ...]]]:
    weight = subject.columns(Role.WEIGHT)
    becomes = {"keep": KEPT, "drop": "Removed"}.get(subject.weight_becomes or "", PROTECTED)
    for title, roles in BOXES:
        names = subject.columns(*roles) + (weight if title == becomes else [])
        if title == "Removed" and subject.public:
            yield title, (NOT_LISTED,)
        else:
            yield title, tuple(names)


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."
