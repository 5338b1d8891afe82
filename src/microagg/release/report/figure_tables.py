"""Tables of figures in a report: what was measured, by table and by column, with definitions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from microagg.formatting import (
    listed,
    number,
    short_unit,
)
from microagg.measures.measure import Figure, Measure
from microagg.release.report.document import (
    Grid,
    Paragraph,
    Section,
)
from microagg.release.report.subject import Subject
from microagg.release.report.usual import SOURCE, usual_word

SAME_BY_COLUMN = frozenset({"il", "il-minmax", "il-raw"})


ROUNDING = 1e-9  # a smaller figure is 0 but for rounding
ABREAST = 5  # measures that fit side by side in a table of columns


def figures_grids(
    subject: Subject, measured: Sequence[tuple[Measure, Figure]]
) -> Iterator[Grid | Paragraph]:
    """Yield the figures of measures in a table, and the reasons of those that are left out."""
    shown, left = [], []
    for measure, figure in measured:
        why = figure.undefined or _too_uncertain(figure)
        if why:
            left.append(f"{measure.title} ({why})")
            continue
        better = "lower" if measure.lower_is_better else "higher"
        word = usual_word(measure.name, subject.k, figure.value)
        shown.append(
            (capitalised(measure.title), with_error(subject, measure, figure), word, better)
        )
    if shown:
        yield Grid(("measure", "figure", "for k-anonymous releases", "better"), tuple(shown))
    if left:
        yield Paragraph(f"Left out, because they have no meaning here: {'; '.join(left)}.")


def _too_uncertain(figure: Figure) -> str:
    """Return the reason to leave a figure out whose error from sampling exceeds it."""
    error = None if figure.sample is None else figure.sample.error
    if error is None or not error > abs(figure.value):
        return ""
    return "its error from sampling is larger than the figure"


def definitions(subject: Subject) -> Section:
    """Return the appendix: each measure with what its ends mean, its details and its source."""
    rows = []
    for measure, figure in subject.figures:
        text = meaning_of(measure)
        if figure.details and not subject.public:
            details = (
                f"{_plain(name)} {subject.number(value)}" for name, value in figure.details.items()
            )
            text += f" Here: {'; '.join(details)}."
        rows.append((capitalised(measure.title), measure.name, text, measure.source))
    head = ("measure", "name", "meaning", "definition")
    caption = "All measures with their meaning and definition"
    blocks = (Paragraph(SOURCE), Grid(head, tuple(rows), caption, collapsed=True)) if rows else ()
    return Section("Definitions and sources", blocks)


def rows_of_figures(
    subject: Subject, measured: Sequence[tuple[Measure, Figure]]
) -> Iterator[tuple[str, str, str]]:
    """Yield name, figure and meaning of each measure."""
    for measure, figure in measured:
        yield capitalised(measure.title), with_error(subject, measure, figure), meaning_of(measure)


def with_error(subject: Subject, measure: Measure, figure: Figure) -> str:
    """Return a figure with its unit; where it is from a sample, with its standard error and
    size.
    """
    value = 0.0 if abs(figure.value) < ROUNDING else figure.value
    text = subject.with_unit(value, measure.unit.partition(",")[0])
    if figure.sample is None:
        return text
    error = figure.sample.error
    beside = "" if error is None else f" ± {number(error, 2)}"
    return f"{text}{beside} ({figure.sample.description})"


def meaning_of(measure: Measure) -> str:
    """Return the meaning of a figure, from the declaration of its measure."""
    ends = [(0.0, measure.zero_means)]
    if math.isfinite(measure.highest):
        ends.append((measure.highest, measure.highest_means))
    return " ".join(f"{number(end)} means: {as_sentence(means)}" for end, means in ends)


def as_sentence(text: str) -> str:
    """Return the text with a full stop at its end."""
    return text if text.endswith(".") else f"{text}."


def _plain(name: str) -> str:
    return name.replace("_", " ")


def capitalised(text: str) -> str:
    """Return the text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def by_column(
    subject: Subject, names: Sequence[str], measured: Sequence[tuple[Measure, Figure]], more: str
) -> Iterator[Grid]:
    """Return the figures of single columns, a few measures side by side, `more` in their captions.

    Internal reports leave out IL of one column, which is the lost variation shown before.
    """
    skipped = () if subject.public else SAME_BY_COLUMN
    with_columns = [
        (m, figure) for m, figure in measured if figure.columns and m.name not in skipped
    ]
    for first in range(0, len(with_columns), ABREAST):
        part = with_columns[first : first + ABREAST]
        head = tuple(f"{capitalised(measure.title)}, {_unit(measure.unit)}" for measure, _ in part)
        rows = []
        for name in names:
            values = (figure.columns.get(name) for _, figure in part)
            rows.append(
                (name, *("–" if value is None else subject.number(value) for value in values))
            )
        caption = f"By column: {listed([measure.title for measure, _ in part])}.{more}"
        yield Grid(("column", *head), tuple(rows), caption, collapsed=True)


def _unit(unit: str) -> str:
    """The unit over a table of columns: what a measure does over all columns does not belong
    there.
    """
    return short_unit(unit.partition(",")[0]) or "no unit"
