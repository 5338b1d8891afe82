"""The parts of a public report that stand in the place of before and after: the release itself, and
what was published by name.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from microagg.formatting import listed, with_unit
from microagg.measures.measure import columns_of_numbers
from microagg.release.publishing import DIGITS
from microagg.release.report.document import Block, Facts, Paragraph, Section
from microagg.release.report.evidence import (
    CORRELATION,
    HEATED,
    LEVELS_AND_GAPS,
    ONLY_NUMBERS,
    TABLED,
    by_column,
    nothing_to_correlate,
    on_sample,
    picture_of_correlations,
    pictured,
    rounded_correlations,
    rows_of_figures,
)
from microagg.release.report.spread import spread_of
from microagg.release.report.subject import Subject


def distributions(subject: Subject) -> Section:
    """How the released values are spread, column by column."""
    names = subject.names[: pictured(len(subject.names))]
    found = [(name, spread_of([subject.released], j)) for j, name in enumerate(names)]
    text = (
        "The columns as released: how many records, in percent, have a value within each "
        "bin. The outermost bins are open."
    )
    if subject.mixed:
        text += f" {LEVELS_AND_GAPS}"
    if len(subject.names) > len(names):
        text += f" Of {len(subject.names)} columns, the first {len(names)} are shown."
    blocks: list[Block] = [*on_sample(subject), Paragraph(text)]
    blocks += [spread.picture(before_and_after=False) for _, spread in found if spread is not None]
    missing = [name for name, spread in found if spread is None]
    if missing:
        blocks.append(
            Paragraph(
                f"Without a picture, because there are not two bins to show: {listed(missing)}."
            )
        )
    measured = subject.figures_of("loss")
    if measured:
        blocks.append(
            Paragraph("What the classes of the released values alone tell of what was lost.")
        )
        blocks.append(Facts(tuple(rows_of_figures(subject, measured))))
    return Section("The released values", tuple(blocks))


def correlation(subject: Subject) -> Section:
    """Correlations of the released columns."""
    title = "Correlations of the released columns"
    numbers = columns_of_numbers(subject.released)
    if len(numbers) < 2:
        return Section(title, (Paragraph(nothing_to_correlate(len(subject.names))),))
    told = CORRELATION
    if len(numbers) < len(subject.names):
        told += f" {ONLY_NUMBERS}"
    if len(numbers) > HEATED:
        told += f" Of {len(numbers)} columns, the first {HEATED} are shown."
    numbers = numbers[:HEATED]
    shown = [subject.names[j] for j in numbers]
    matrix = rounded_correlations(np.ascontiguousarray(subject.released.values[:, numbers]))
    picture = picture_of_correlations(shown, matrix, "as released")
    return Section(title, (*on_sample(subject), Paragraph(told), picture))


def published(subject: Subject) -> Section:
    """What comes from the original table and was published by name."""
    many = len(subject.names) > TABLED
    caption = (
        f"Of {len(subject.names)} columns, the first {TABLED}." if many else "Column by column."
    )
    rows = [*_of_the_bound(subject), *rows_of_figures(subject, subject.published)]
    return Section(
        "What was published of the original table",
        (
            Paragraph(
                "The data holder decided to publish these figures, which compare the "
                "release with the original table. They have "
                f"{DIGITS} digits."
            ),
            Facts(tuple(rows)),
            *by_column(subject, subject.names[:TABLED], subject.published, caption),
        ),
    )


def _of_the_bound(subject: Subject) -> Iterator[tuple[str, str, str]]:
    bound = subject.manifest.get("bound")
    if bound is not None:
        told = "proven: no grouping of these records can lose less of the variation"
        told += "; this one is optimal up to rounding" if bound["optimal"] else ""
        yield "Least information loss", with_unit(bound["IL"], "percent", DIGITS), told
