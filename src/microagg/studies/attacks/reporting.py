"""Section of the internal report on attacks, and the report that has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from microagg.drawing.pictures import draw_intervals
from microagg.errors import InputError
from microagg.files.commit.writing import write_text
from microagg.formatting import listed
from microagg.release.manifest_reading import read_manifest
from microagg.release.release import Release
from microagg.release.report.document import Block, Document, Grid, Paragraph, Picture, Section
from microagg.release.saving import check_report_place, renderer
from microagg.studies.attacks.results import AttackResult, Attacks, Success, in_percent
from microagg.studies.attacks.together import Composition

TITLE = "Attacks with a control group"
AFTER = "What an intruder gains"
FROM_OTHERS = "from other records alone"


def write_report(
    release: Release, path: str | Path, attacks: Attacks, together: Sequence[Composition] = ()
) -> Path:
    """Write the internal report of a release with a section on attacks; return its path.

    If the same release was saved in that folder, the report has its name, so that packs hold it.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    path = Path(path)
    check_report_place(path)
    name = _name_of_saved(release, path.parent)
    if name is not None:
        release._written.setdefault("release", name)
    document = report_with(release, attacks, together)
    write_text(path, renderer(path)(document), private=True)
    return path


def report_with(
    release: Release, attacks: Attacks, together: Sequence[Composition] = ()
) -> Document:
    """Return the internal report of a release with a section on attacks behind that on risks."""
    document = release._document(public=False)
    section = section_on(attacks, together)
    titles = [part.title for part in document.sections]
    index = titles.index(AFTER) + 1 if AFTER in titles else len(titles)
    return replace(
        document, sections=(*document.sections[:index], section, *document.sections[index:])
    )


def _name_of_saved(release: Release, folder: Path) -> str | None:
    """Return the name of the same release by its internal manifest in a folder, if it is there."""
    for path in sorted(folder.glob("*.internal.json")):
        try:
            saved = read_manifest(path)
        except InputError:
            continue
        same = all(saved.get(part) == release.manifest[part] for part in ("settings", "loss"))
        if same and saved["input"].get("digest") == release.manifest["input"]["digest"]:
            return saved.get("release")
    return None


def section_on(attacks: Attacks, together: Sequence[Composition] = ()) -> Section:
    """Return the section: rates, excess with intervals, what known columns add, two releases."""
    rows = _named(attacks)
    blocks: list[Block] = [
        Paragraph(
            f"The attacks are on a rerun, not on the release itself: {attacks.controls:,} records "
            f"were left out as control group, and the other {attacks.records:,} were protected "
            f"with the same settings. The intruder knows {listed([*attacks.known], 24)}. What "
            "succeeds on the control group as well is knowledge about the population. The excess "
            "over it, (a − c) / (1 − c), is due to a person's record. Intervals are of 95 %."
        ),
        Grid(
            (
                "attack",
                "of targets (a), %",
                "of controls (c), %",
                "excess, %",
                "interval, %",
                "best attacker",
            ),
            tuple((name, *_cells(success)) for name, success in rows),
        ),
        _picture(rows),
    ]
    if any(name.endswith(FROM_OTHERS) for name, _ in rows):
        blocks.append(
            Paragraph(
                "A confidential value is released unchanged, one of those in its class. So a "
                f"guess is right more often for people in the table. The row {FROM_OTHERS!r} "
                "leaves each target's own record out of what the intruder sees."
            )
        )
    strip = _strip(attacks)
    if strip is not None:
        blocks.append(strip)
    blocks += [Paragraph(f"{note.rstrip('.')}.") for note in attacks.notes]
    if together:
        blocks.append(_together(together))
    return Section(TITLE, tuple(blocks))


def _named(attacks: Attacks) -> list[tuple[str, Success]]:
    rows: list[tuple[str, Success]] = []
    for result in attacks.results:
        rows.append((result.name, result))
        if result.others is not None:
            rows.append((f"{result.name}, {FROM_OTHERS}", result.others))
    return rows


def _cells(success: Success) -> tuple[str, ...]:
    excess = success.excess
    return (
        _with_interval(success.attack.value, success.attack.low, success.attack.high),
        _with_interval(success.control.value, success.control.low, success.control.high),
        in_percent(excess.value),
        f"{in_percent(excess.low)} to {in_percent(excess.high)}",
        success.attacker,
    )


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{in_percent(value)} ({in_percent(low)} to {in_percent(high)})"


def _picture(rows: Sequence[tuple[str, Success]]) -> Picture:
    names = [name for name, _ in rows]
    values = [success.excess.value for _, success in rows]
    limits = [(success.excess.low, success.excess.high) for _, success in rows]
    caption = "Excess over the control group with its interval; 0 is no leak."
    return Picture(
        draw_intervals(names, values, limits, "excess over the control group, %"),
        f"Dots with whiskers: the excess of {len(rows)} attacks.",
        caption,
        Grid(
            ("attack", "excess, %", "from", "to"),
            tuple(
                (name, in_percent(value), in_percent(low), in_percent(high))
                for name, value, (low, high) in zip(names, values, limits, strict=True)
            ),
            caption,
        ),
    )


def _strip(attacks: Attacks) -> Grid | None:
    """Return the excess without each known column; the column that tells most comes first."""
    results = [result for result in attacks.results if result.without]
    if not results:
        return None
    names = sorted(
        results[0].without,
        key=lambda name: sum(result.without.get(name, 0.0) for result in results),
    )
    rows = [("all known", *(in_percent(result.excess.value) for result in results))]
    rows += [(f"without {name}", *(_left(result, name) for result in results)) for name in names]
    caption = (
        "Excess in percent if the intruder does not know a column. "
        "The column that tells most comes first."
    )
    return Grid(("known", *(result.name for result in results)), tuple(rows), caption)


def _left(result: AttackResult, name: str) -> str:
    return in_percent(result.without[name]) if name in result.without else "–"


def _together(together: Sequence[Composition]) -> Grid:
    rows = tuple(
        (
            part.column,
            *(in_percent(rate.value) for rate in (part.first, part.second, part.both)),
            part.on_totals,
        )
        for part in together
    )
    caption = (
        "Share of people, in percent, whose value is pinned down by this release, by the other "
        "one, and by both together, if an intruder knows that they are in both."
    )
    return Grid(("column", "this release", "the other", "both", "totals"), rows, caption)
