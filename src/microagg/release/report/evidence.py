"""The parts of a report that are figures: the guarantee, loss, correlations, risk, the bound, the
manifest.

Loss, correlations before and after and the bound are the data holder's; `shown.py` has what a
public report shows instead.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from microagg.drawing.canvas import can_draw
from microagg.drawing.pictures import draw_class_sizes, draw_correlations
from microagg.formatting import (
    counted,
    listed,
    number,
    promised,
    promised_beside,
    promised_units,
    short_unit,
)
from microagg.measures.loss.squared import squared_loss
from microagg.measures.measure import Figure, Measure, Pair
from microagg.measures.registry import NOT_FROM_SAMPLES, measures
from microagg.release.changes import changes, rows_of_changes, sentence_on_changes
from microagg.release.report.claims import on_numbers
from microagg.release.report.document import (
    Block,
    Facts,
    Grid,
    Listing,
    Paragraph,
    Picture,
    Section,
    Warn,
)
from microagg.release.report.moments import moments
from microagg.release.report.spread import spread_of
from microagg.release.report.subject import Subject, correlations, lost_of_columns
from microagg.table.schema import Kind, Role

DISTRIBUTIONS = 12  # pictures of columns; more are not looked at
# the same where there are more columns than a table of the report has: a glimpse in either case
OF_MANY = 6
HEATED = 12  # columns of a heat map
TABLED = 100  # columns of a table; more are not read
SIZES = 24  # bars of class sizes
SAME_BY_COLUMN = frozenset({"il", "il-minmax", "il-raw"})
ABREAST = 5  # measures that fit side by side in a table of columns
CORRELATION = (
    "A correlation is a number from −1 to 1 without a unit: 0 says that two columns have "
    "no linear relation, 1 and −1 "
    "that one follows from the other; red is above 0, blue below. Averaging within "
    "groups takes noise away, so correlations tend to grow."
)
ALL_LOST = (
    "as far off as if every record had the column's mean, or of a category the shares of "
    "the whole table; a column of categories "
    "can lose more than that"
)
LEVELS_AND_GAPS = (
    "Categories are bars, at most a dozen by name; what is missing, and special codes, have "
    "bars of their own."
)
BY_UNITS = ", those on units by the column that was left out of it"
ONLY_NUMBERS = "Only columns of numbers without gaps are correlated."
WITHOUT_PICTURES = (
    "The pictures are tables here, because matplotlib is not installed; pip install "
    "'microagg[plots]' "
    "to have them drawn."
)


def guarantee(subject: Subject) -> Section:
    """What was promised, and the sizes of the classes as they were counted."""
    sizes = subject.class_sizes
    promise = str(subject.manifest["guarantee"]["of"])
    rows = [
        ("Promised", f"k = {subject.k}", f"{subject.k} or more records share {_promised(promise)}"),
        (
            "Classes",
            counted(len(sizes), "class", "classes"),
            "different combinations of values in these columns",
        ),
        ("Smallest class", counted(int(sizes.min()), "record"), "the least protected records"),
        (
            "Median class",
            f"{number(float(np.median(sizes)), 6)} records",
            "half of the classes are no larger",
        ),
        ("Largest class", counted(int(sizes.max()), "record"), "the coarsest part of the table"),
        (
            f"Records in classes below {subject.k}",
            counted(int(sizes[sizes < subject.k].sum()), "record"),
            "0 records: k-anonymous"
            if subject.k_anonymous
            else "not k-anonymous in the combinations",
        ),
    ]
    if found := subject.manifest.get("all_columns"):
        rows.append(
            (
                f"All {int(found['columns']):,} released columns known",
                f"{counted(int(found['unique_records']), 'unique record')}",
                f"{counted(int(found['classes']), 'class', 'classes')} then, the smallest with "
                f"{counted(int(found['smallest_class']), 'record')}; no promise covers this",
            )
        )
    rows += [
        (name, f"{name[0]} = {asked}", told)
        for name, asked, told in _of_confidential_values(subject)
    ]
    of_units = promised_units(subject.manifest, subject.digits)
    rows += [("Units", f"{subject.k} in every class", told) for told in of_units]
    blocks: list[Block] = [
        Paragraph(
            f"A class is the set of records that share all values in {_shared(subject)}. "
            f"The figures were "
            f"counted on the released table alone{BY_UNITS if of_units else ''}; a table "
            f"that misses its guarantee is not written."
        ),
        Facts(tuple(rows)),
        _picture_of_sizes(subject),
    ]
    if not can_draw():
        blocks.append(Paragraph(WITHOUT_PICTURES))
    return Section("The guarantee", tuple(blocks))


def _of_confidential_values(subject: Subject) -> Iterator[tuple[str, str, str]]:
    """l-diversity and t-closeness where they were promised: name, what was asked for, what every
    class keeps.
    """
    asked = [name for name in ("l", "t") if subject.manifest["guarantee"].get(name)]
    for name, told in zip(asked, promised(subject.manifest, subject.digits), strict=True):
        title = f"l-diversity ({subject.settings['diversity']})" if name == "l" else "t-closeness"
        c = subject.settings.get("c")
        extra = f", c = {number(float(c))}" if name == "l" and c is not None else ""
        yield title, f"{number(float(subject.settings[name]))}{extra}", told


def _shared(subject: Subject) -> str:
    """What the records of a class share, in words."""
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
    caption = "How many classes have which size."
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
    """What was lost, column by column with the distributions before and after, and by every
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
        Grid(
            ("column", "variation lost, %"),
            tuple(
                (name, subject.number(percent))
                for name, percent in zip(names, lost[order], strict=True)
            ),
            f"Each column by itself, the one that lost most first. 0 %: untouched; 100 %: "
            f"{ALL_LOST if subject.mixed else 'nothing but its mean is left'}.{many}",
        ),
        *(_changes(subject, names) if subject.mixed else ()),
        *_distributions(subject, order),
    ]
    if measured:
        blocks.append(
            Paragraph(
                "The same loss as other measures see it, over all columns and then by column."
            )
        )
        blocks.extend(_on_numbers(subject))
        blocks.append(Facts(tuple(rows_of_figures(subject, measured))))
    caption = f"Column by column, the one that lost most of its variation first.{many}"
    blocks.extend(by_column(subject, names, measured, caption))
    if any(subject.pair.before.variables[j].kind is Kind.NUMERIC for j in order):
        some = "" if subject.sample is None else f" {_capital(subject.sample.told)}."
        found = moments(subject.pair, order)
        blocks.append(Grid(found.head, found.rows, f"{found.caption}{some}"))
    return Section("What was lost", tuple(blocks))


def on_sample(subject: Subject) -> Iterator[Paragraph]:
    """That what follows is from a sample, if it is."""
    if subject.sample is not None:
        yield Paragraph(subject.on_sample)


def _lost_of(subject: Subject) -> np.ndarray:
    """How much of the variation of each column is gone, in percent; of all records, also where
    columns are shown by a sample.
    """
    found = None if subject.sample is None else subject.figure("il")
    if found is None or len(found.columns) < len(subject.names):
        return subject.pair.once(_lost)
    return np.array([found.columns[name] for name in subject.names])


def _lost(pair: Pair) -> np.ndarray:
    if pair.cells is not None:
        return np.array(list(pair.once(squared_loss, "zscore")[1].columns.values()))
    return lost_of_columns(pair.original, pair.released)


def _on_numbers(subject: Subject) -> Iterator[Paragraph]:
    """Which columns some measures leave out; for the data holder, since gaps are the original's."""
    told = on_numbers(subject.both) if subject.both is not None else ""
    if told:
        yield Paragraph(f"{_capital(told)}.")


def rows_of_figures(
    subject: Subject, measured: Sequence[tuple[Measure, Figure]]
) -> Iterator[tuple[str, str, str]]:
    """Name, figure and meaning of each measure."""
    for measure, figure in measured:
        told = meaning_of(measure)
        if (
            measure.needs in ("numbers", "categories")
            and subject.both is not None
            and len(subject.both.names) < len(subject.names)
        ):
            told += f" Of the columns of numbers without gaps alone: {listed(subject.both.names)}."
        if figure.details:
            details = (
                f"{_plain(name)} {subject.number(value)}" for name, value in figure.details.items()
            )
            told += f" Details: {'; '.join(details)}."
        yield _capital(measure.title), with_error(subject, measure, figure), told


def with_error(subject: Subject, measure: Measure, figure: Figure) -> str:
    """A figure with its unit; where it is from a sample, with its standard error, and of how many
    records that is.
    """
    told = subject.with_unit(figure.value, measure.unit)
    if figure.sample is None:
        return told
    error = figure.sample.error
    beside = "" if error is None else f" ± {number(error, 2)}"
    return f"{told}{beside} ({figure.sample.told})"


def meaning_of(measure: Measure) -> str:
    """What a figure says, from what its measure declares."""
    ends = [(0.0, measure.zero_means)]
    if math.isfinite(measure.highest):
        ends.append((measure.highest, measure.highest_means))
    told = (f"{number(end)} means: {_sentence(means)}" for end, means in ends)
    return f"{'Lower' if measure.lower_is_better else 'Higher'} is better. {' '.join(told)}"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def by_column(
    subject: Subject, names: Sequence[str], measured: Sequence[tuple[Measure, Figure]], caption: str
) -> Iterator[Grid]:
    """The figures of single columns, a few measures side by side. Inside, IL of one column is the
    variation lost, told before.
    """
    told = () if subject.public else SAME_BY_COLUMN
    with_columns = [(m, figure) for m, figure in measured if figure.columns and m.name not in told]
    for first in range(0, len(with_columns), ABREAST):
        part = with_columns[first : first + ABREAST]
        head = tuple(f"{_capital(measure.title)}, {_unit(measure.unit)}" for measure, _ in part)
        rows = []
        for name in names:
            found = (figure.columns.get(name) for _, figure in part)
            rows.append(
                (name, *("–" if value is None else subject.number(value) for value in found))
            )
        yield Grid(("column", *head), tuple(rows), caption)


def _unit(unit: str) -> str:
    """The unit over a table of columns: what a measure does over all columns does not belong
    there.
    """
    return short_unit(unit.partition(",")[0]) or "no unit"


def _changes(subject: Subject, names: Sequence[str]) -> Iterator[Block]:
    """What became of the cells; for the data holder's eyes."""
    found = subject.changed or changes(subject.pair.before, subject.pair.after)
    yield Paragraph(f"{sentence_on_changes(found)}.")
    head = ("column", "kind", "cells unchanged, %", "mean change of a cell", "gaps")
    rows = tuple(rows_of_changes({name: found[name] for name in names}))
    yield Grid(head, rows, "What became of the cells (internal report only).")


def pictured(columns: int) -> int:
    """How many columns are drawn, one by one.

    >>> pictured(8), pictured(50), pictured(2000)
    (8, 12, 6)
    """
    return OF_MANY if columns > TABLED else min(columns, DISTRIBUTIONS)


def _distributions(subject: Subject, order: np.ndarray) -> Iterator[Block]:
    names, tables = subject.names, [subject.pair.before, subject.pair.after]
    most = pictured(len(names))
    found = [(names[j], spread_of(tables, int(j))) for j in order[:most]]
    text = "The columns before (grey area) and after (blue line). "
    if subject.mixed:
        text += f"{LEVELS_AND_GAPS} "
    if len(names) > most:
        text += f"Of {len(names)} columns, the {most} that lost most are shown. "
    if subject.pair.weights is not None:
        text += "Records are counted, not weighted. "
    yield Paragraph(text.strip())
    yield from (spread.picture(before_and_after=True) for _, spread in found if spread is not None)
    missing = [name for name, spread in found if spread is None]
    if missing:
        yield Paragraph(
            f"Without a picture, because there are not two bins to show: {listed(missing)}."
        )


def correlation(subject: Subject) -> Section:
    """Correlations of the columns before and after."""
    title = "Correlations before and after"
    if len(subject.pair.names) < 2:
        return Section(title, (Paragraph(nothing_to_correlate(len(subject.names))),))
    before, after = subject.pair.once(_correlations_of_both)
    change = np.nan_to_num(np.abs(after - before))
    largest = change.max()
    i, j = np.unravel_index(int(change.argmax()), change.shape)
    names = subject.pair.names
    told = (
        f"The largest change of a correlation is {number(largest, 2)}, between "
        f"{names[int(i)]} and {names[int(j)]}."
        if largest > 0
        else "No correlation changed in its first two digits."
    )
    shown = np.sort(np.argsort(-change.max(axis=0), kind="stable")[:HEATED])
    if len(names) > HEATED:
        told += f" Of {len(names)} columns, the {HEATED} whose correlations changed most are shown."
    if len(names) < len(subject.names):
        told += f" {ONLY_NUMBERS}"
    told += f" {CORRELATION}"
    pictures = [
        picture_of_correlations([names[int(c)] for c in shown], matrix[np.ix_(shown, shown)], when)
        for when, matrix in (("before", before), ("after", after))
    ]
    return Section(title, (*on_sample(subject), Paragraph(told), *pictures))


def nothing_to_correlate(columns: int) -> str:
    """Why there are no correlations.

    >>> nothing_to_correlate(1)
    'There is one column only, so there is nothing to correlate.'
    """
    if columns < 2:
        return "There is one column only, so there is nothing to correlate."
    return "There are not two columns of numbers without gaps, so there is nothing to correlate."


def _correlations_of_both(pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Of the columns before and after, to the two digits that are told."""
    return rounded_correlations(pair.original), rounded_correlations(pair.released)


def rounded_correlations(values: np.ndarray) -> np.ndarray:
    """Correlations to the two digits that are told, minus zero as zero."""
    return np.round(np.round(correlations(values), 12), 2) + 0.0


def picture_of_correlations(names: Sequence[str], matrix: np.ndarray, when: str) -> Picture:
    """A heat map of the correlations of some columns, and their table."""
    cells = [
        ["–" if np.isnan(value) else f"{value:.2f}".replace("-", "−") for value in row]
        for row in matrix
    ]
    rows = tuple((name, *row) for name, row in zip(names, cells, strict=True))
    grid = Grid(("", *names), rows, f"Correlations {when}.")
    alternative = f"Heat map of the correlations of {counted(len(names), 'column')} {when}."
    return Picture(
        draw_correlations(names, matrix, when), alternative, f"Correlations {when}", grid, 2
    )


def risk(subject: Subject) -> Section:
    """What an intruder could still do, number by number."""
    measured = subject.figures_of("risk")
    if not measured:
        return Section(
            "What an intruder gains", (Paragraph("No risk was measured for this release."),)
        )
    return Section(
        "What an intruder gains",
        (
            Paragraph(
                "An intruder is somebody who knows values of a person and looks for the "
                "person's record, or for what the "
                "record says. Each figure is about all records together."
            ),
            *on_sample(subject),
            *_on_numbers(subject),
            Facts(tuple(rows_of_figures(subject, measured))),
            *_left_out(subject),
            *_risk_by_column(subject, measured),
        ),
    )


def _left_out(subject: Subject) -> Iterator[Paragraph]:
    """Which measures no sample tells, where there was one."""
    if subject.sample is None or subject.public:
        return
    there = {measure.name for measure, _ in subject.figures}
    missing = [
        each.title
        for each in measures()
        if each.name in NOT_FROM_SAMPLES and each.name not in there
    ]
    if missing:
        yield Paragraph(
            f"Not measured, because they depend on all records at once, and no sample "
            f"tells them: {listed(missing)}."
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
        yield from by_column(subject, names[:TABLED], part, f"Column by column.{many}")


def bound(subject: Subject, found: Mapping[str, Any]) -> Section:
    """How far from the best possible the grouping is at most."""
    lowest, loss_found = float(found["IL"]), float(subject.manifest["loss"]["IL"])
    above = found.get("gap")
    if found.get("optimal") or above == 0:
        told = "This grouping reaches that limit up to rounding: there is no better one."
        gap = "0 %"
    elif above is not None:
        gap = subject.with_unit(float(above), "percent")
        told = f"This grouping loses {gap} more than that limit at most, before values are rounded."
    else:
        gap = "not defined"
        told = (
            f"This one loses {subject.with_unit(loss_found, 'percent')}; against a limit of "
            f"0 % that says little."
        )
    if beside := promised_beside(subject.settings):
        told += f" The limit is for k alone: {_sentence(beside)}"
    if subject.settings.get("cap"):
        told += " Limit and distance are those of the capped values."
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
                f"It is proven that no grouping of these records into groups of at least "
                f"{subject.k} can lose less than "
                f"{subject.with_unit(lowest, 'percent')} of the variation. {told}"
            ),
            Facts(rows),
        ),
    )


def _files_of_the_run(subject: Subject) -> Iterator[tuple[str, str, str]]:
    """Which files the report is about: inside, input and day as well; for all, the released file
    alone.
    """
    source, target = subject.manifest.get("input") or {}, subject.manifest.get("output") or {}
    if not subject.public and source:
        yield (
            "Input",
            source["file"] or "a table in memory",
            f"SHA-256 of its values: {source['digest']}",
        )
        yield "Date", subject.settings.get("date") or "not told", "the day of the run"
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
    chosen = manifest.get("chosen") or []
    if chosen:
        blocks.append(
            Paragraph(
                "How the groups were found: " + " ".join(_sentence(str(told)) for told in chosen)
            )
        )
    if manifest.get("stopped_early"):
        blocks.append(
            Warn(
                "The search was stopped before its end; the best grouping found until "
                "then was released."
            )
        )
    if files := tuple(_files_of_the_run(subject)):
        blocks.append(Facts(files))
    about = (
        "what may be published of it"
        if subject.public
        else "with what it takes to repeat the run; keep it inside"
    )
    blocks.append(Paragraph(f"The manifest is the record of the run for machines, here {about}."))
    blocks.append(Listing(json.dumps(manifest, indent=2, ensure_ascii=False)))
    measured = subject.figures
    if measured:
        rows = tuple(
            (_capital(measure.title), measure.name, measure.source) for measure, _ in measured
        )
        blocks.append(
            Grid(("measure", "name", "definition"), rows, "Where the measures come from.")
        )
    return Section("The manifest", tuple(blocks))
