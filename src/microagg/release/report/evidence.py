"""The parts of a report that are figures: the guarantee, loss, correlations and risk.

Loss, correlations before and after and the bound (`run_record.py`) are the data holder's;
`shown.py` has what a public report shows instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from microagg.drawing.pictures import draw_class_sizes
from microagg.formatting import (
    counted,
    listed,
    number,
    promised,
    promised_units,
)
from microagg.measures.loss.squared import squared_loss
from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.measures.registry import measures
from microagg.release.changes import changes, moved_text
from microagg.release.effects import ColumnEffect, effects_from, signed_percent
from microagg.release.report.claims import on_numbers
from microagg.release.report.document import (
    Block,
    Facts,
    Grid,
    Paragraph,
    Picture,
    Section,
)
from microagg.release.report.figure_tables import (
    ROUNDING,
    by_column,
    capitalised,
    figures_grids,
)
from microagg.release.report.moments import moments
from microagg.release.report.spread import NO_PICTURE, spread_of
from microagg.release.report.subject import Subject, lost_of_columns
from microagg.release.report.totals import on_totals
from microagg.table.schema import Kind, Role

DISTRIBUTIONS = 12  # pictures of columns; more are not looked at
# the same where there are more columns than a table of the report has: a glimpse in either case
OF_MANY = 6
TABLED = 100  # columns of a table; more are not read
SIZES = 24  # bars of class sizes
NAMED = 24  # lost categories by name
ALL_LOST = (
    "as if every record had the column's mean, or the shares of the whole table for categories, "
    "which can lose even more"
)
LEVELS_AND_GAPS = (
    "Categories are bars, at most a dozen by name; what is missing, and special codes, have "
    "bars of their own."
)


def guarantee(subject: Subject) -> Section:
    """Return the section on the guarantees, with the sizes of the classes as counted."""
    sizes = subject.class_sizes
    promise = _promised(str(subject.manifest["guarantee"]["of"]))
    below = int(sizes[sizes < subject.k].sum())
    rows = [
        ("Asked for", f"k = {subject.k}", f"{subject.k} or more records share {promise}"),
        (
            "Class sizes",
            f"{int(sizes.min()):,} to {int(sizes.max()):,}",
            f"in {counted(len(sizes), 'class', 'classes')}; half have at most "
            f"{number(float(np.median(sizes)), 6)} records",
        ),
        (
            f"Records in classes below {subject.k}",
            f"{below:,}" if below else "none",
            "the guarantee holds" if subject.k_anonymous else "not k-anonymous in combinations",
        ),
    ]
    rows += [
        (name, f"{name[0]} = {value}", meaning)
        for name, value, meaning in _of_confidential_values(subject)
    ]
    of_units = promised_units(subject.manifest, subject.digits)
    rows += [("Units", f"{subject.k} in every class", meaning) for meaning in of_units]
    blocks: list[Block] = [
        Paragraph(f"A class is the set of records that share all values in {_shared(subject)}."),
        Facts(tuple(rows)),
        _picture_of_sizes(subject),
    ]
    return Section("The guarantee", tuple(blocks))


def _of_confidential_values(subject: Subject) -> Iterator[tuple[str, str, str]]:
    """Yield guaranteed l-diversity and t-closeness: name, requirement, what every class keeps."""
    names = [name for name in ("l", "t") if subject.manifest["guarantee"].get(name)]
    for name, meaning in zip(names, promised(subject.manifest, subject.digits), strict=True):
        title = f"l-diversity ({subject.settings['diversity']})" if name == "l" else "t-closeness"
        c = subject.settings.get("c")
        extra = f", c = {number(float(c))}" if name == "l" and c is not None else ""
        yield title, f"{number(float(subject.settings[name]))}{extra}", meaning


def _shared(subject: Subject) -> str:
    """Return what the records of a class share, in words."""
    strata = ", the strata" if subject.columns(Role.STRATUM) else ""
    weight = ", the weight" if subject.weight_becomes == "mean" else ""
    return f"the quasi-identifying columns{strata}{weight}"


def _promised(promise: str) -> str:
    return (
        "each combination of values"
        if promise == "each combination"
        else "each value of every single column"
    )


def _picture_of_sizes(subject: Subject) -> Picture:
    names, classes, records = _size_counts(subject.class_sizes)
    rows = tuple(
        (name, f"{c:,}", f"{r:,}") for name, c, r in zip(names, classes, records, strict=True)
    )
    caption = "Classes by size"
    return Picture(
        draw_class_sizes(names, classes, subject.k),
        f"Bars: {counted(len(subject.class_sizes), 'class', 'classes')} by size, from "
        f"{int(subject.class_sizes.min())} to {int(subject.class_sizes.max())} records.",
        caption,
        Grid(("records in the class", "classes", "records in all"), rows, caption),
    )


def _size_counts(sizes: np.ndarray) -> tuple[list[str], list[int], list[int]]:
    """Classes and records by class size, sizes joined into equal ranges where there are very
    many.
    """
    low, high = int(sizes.min()), int(sizes.max())
    step = 1
    while (high - low) // step >= SIZES:
        step *= 5 if str(step)[0] == "2" else 2  # 1, 2, 10, 20, 100, …
    slot = (sizes - low) // step
    classes = np.bincount(slot)
    records = np.bincount(slot, weights=sizes)
    starts = [low + step * j for j in range(len(classes))]
    names = [str(start) if step == 1 else f"{start}–{start + step - 1}" for start in starts]
    return names, classes.tolist(), [int(count) for count in records]


def loss(subject: Subject) -> Section:
    """Return the section on the loss: by column with distributions before and after, and by every
    measure.
    """
    lost = _lost_of(subject)
    order = np.argsort(-lost, kind="stable")[:TABLED]
    names = [subject.names[j] for j in order]
    many = (
        f" Of {len(lost)} columns, the {TABLED} that lost most are shown."
        if len(lost) > TABLED
        else ""
    )
    measured = subject.figures_of("loss")
    blocks: list[Block] = [
        *on_sample(subject),
        Paragraph(on_totals(subject)),
        _by_columns(subject, names, lost[order], many),
        *_lost_categories(subject),
        *_distributions(subject, order),
    ]
    if measured:
        blocks.extend(_on_numbers(subject))
        blocks.extend(figures_grids(subject, measured))
    blocks.extend(by_column(subject, names, measured, many))
    if any(subject.pair.before.variables[j].kind is Kind.NUMERIC for j in order):
        some = "" if subject.sample is None else f" {capitalised(subject.sample.description)}."
        moments_table = moments(subject.pair, order)
        caption = f"{moments_table.caption}{some}"
        blocks.append(Grid(moments_table.head, moments_table.rows, caption, collapsed=True))
    return Section("What was lost", tuple(blocks))


def _by_columns(subject: Subject, names: Sequence[str], lost: np.ndarray, many: str) -> Grid:
    """Return what became of each column: variation lost, cells unchanged, moments, gaps."""
    effects = {effect.name: effect for effect in effects_from(subject.manifest.get("effects"))}
    changed = subject.changed or changes(subject.pair.before, subject.pair.after)
    rows = []
    for name, percent in zip(names, lost, strict=True):
        change, effect = changed[name], effects.get(name)
        rows.append(
            (
                name,
                _percent_of(percent),
                f"{number(change.unchanged, 3)}",
                moved_text(change),
                *_moments_of(effect),
                f"{change.filled:,} / {change.blanked:,}"
                if change.filled or change.blanked
                else "–",
            )
        )
    head = (
        "column", "variation lost, %", "cells unchanged, %", "mean change of a cell",
        "total", "spread", "categories lost", "filled / blanked",
    )  # fmt: skip
    caption = (
        f"0 % of the variation lost: untouched; 100 %: {ALL_LOST}. Spread is the standard "
        "deviation."
        f" Filled: missing values that got the value of their group; blanked: the reverse.{many}"
    )
    return Grid(head, tuple(rows), caption)


def _moments_of(effect: ColumnEffect | None) -> tuple[str, str, str]:
    if effect is None:
        return "–", "–", "–"
    total, spread = effect.total_change, effect.spread_change
    lost = "–" if effect.categories is None else f"{effect.lost:,} of {effect.categories[0]:,}"
    return (
        "–" if total is None else signed_percent(total),
        "–" if spread is None else signed_percent(spread),
        lost,
    )


def _percent_of(percent: float) -> str:
    return "0" if abs(percent) < ROUNDING else number(percent, 4)


def _lost_categories(subject: Subject) -> Iterator[Paragraph]:
    """Yield the names of categories that no record has any more."""
    for name, levels in subject.lost_categories.items():
        if levels:
            yield Paragraph(f"Categories lost in {name}: {listed([*levels], NAMED)}.")


def on_sample(subject: Subject) -> Iterator[Paragraph]:
    """That what follows is from a sample, if it is."""
    if subject.sample is not None:
        yield Paragraph(subject.on_sample)


def _lost_of(subject: Subject) -> np.ndarray:
    """Return the lost variation of each column in percent, of all records even if a sample is
    shown.
    """
    figure = None if subject.sample is None else subject.figure("il")
    if figure is None or len(figure.columns) < len(subject.names):
        return subject.pair.once(_lost)
    return np.array([figure.columns[name] for name in subject.names])


def _lost(pair: Pair) -> np.ndarray:
    if pair.cells is not None:
        return np.array(list(pair.once(squared_loss, "zscore")[1].columns.values()))
    return lost_of_columns(pair.original, pair.released)


def _on_numbers(subject: Subject) -> Iterator[Paragraph]:
    """Yield the columns that some measures leave out. Internal: gaps belong to the original."""
    sentence = on_numbers(subject.both) if subject.both is not None else ""
    if sentence:
        yield Paragraph(f"{capitalised(sentence)}.")


def pictured(columns: int) -> int:
    """Return the number of columns that are drawn, one by one.

    >>> pictured(8), pictured(50), pictured(2000)
    (8, 12, 6)
    """
    return OF_MANY if columns > TABLED else min(columns, DISTRIBUTIONS)


def _distributions(subject: Subject, order: np.ndarray) -> Iterator[Block]:
    names, tables = subject.names, [subject.pair.before, subject.pair.after]
    most = pictured(len(names))
    spreads = [(names[j], spread_of(tables, int(j))) for j in order[:most]]
    text = "The columns before (grey area) and after (blue line). The outermost bins are open. "
    if subject.mixed:
        text += f"{LEVELS_AND_GAPS} "
    if len(names) > most:
        text += f"Of {len(names)} columns, the {most} that lost most are shown. "
    if subject.pair.weights is not None:
        text += "Records are counted, not weighted. "
    yield Paragraph(text.strip())
    yield from (
        spread.picture(before_and_after=True) for _, spread in spreads if spread is not None
    )
    missing = [name for name, spread in spreads if spread is None]
    if missing:
        yield Paragraph(NO_PICTURE.format(listed(missing)))


def risk(subject: Subject) -> Section:
    """Return the section on the remaining risks, number by number."""
    measured, title = subject.figures_of("risk"), "What an intruder gains"
    if not measured:
        return Section(title, (Paragraph("No risk was measured for this release."),))
    return Section(
        title,
        (
            Paragraph(
                "An intruder who knows some values of a person looks for that person's record, or "
                "for what it reveals. Each figure is about all records together."
            ),
            *on_sample(subject),
            *(() if subject.figures_of("loss") else _on_numbers(subject)),
            *figures_grids(subject, measured),
            *_left_out(subject),
            *_risk_by_column(subject, measured),
        ),
    )


def _left_out(subject: Subject) -> Iterator[Paragraph]:
    """Yield the measures that cannot be computed from a sample, if there was one."""
    if subject.sample is None or subject.public:
        return
    shown = {measure.name for measure, _ in subject.figures}
    missing = [
        entry.title
        for entry in measures()
        if entry.basis is Basis.WHOLE_TABLE and entry.name not in shown
    ]
    if missing:
        yield Paragraph(
            f"Not measured in large-table mode, because they depend on all records at once: "
            f"{listed(missing)}."
        )


def _risk_by_column(subject: Subject, measured: Sequence[tuple[Measure, Figure]]) -> Iterator[Grid]:
    """Tables of the quasi-identifiers and of the confidential columns, each with the measures that
    speak of them.
    """
    of_columns: dict[tuple[str, ...], list[tuple[Measure, Figure]]] = {}
    for measure, figure in measured:
        of_columns.setdefault(tuple(figure.columns), []).append((measure, figure))
    for names, part in of_columns.items():
        many = (
            f" Of {len(names)} columns, the first {TABLED} are shown."
            if len(names) > TABLED
            else ""
        )
        yield from by_column(subject, names[:TABLED], part, many)
