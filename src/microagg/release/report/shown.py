"""The parts of a public report that stand in the place of before and after: the release itself, and what was published by name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from microagg.drawing.pictures import draw_distribution
from microagg.drawing.wording import listed, with_unit
from microagg.release.publishing import DIGITS
from microagg.release.report.bins import Bins, bins_of
from microagg.release.report.document import Block, Facts, Grid, Paragraph, Picture, Section
from microagg.release.report.evidence import (
    CORRELATION,
    DISTRIBUTIONS,
    HEATED,
    TABLED,
    by_column,
    picture_of_correlations,
    rounded_correlations,
    rows_of_figures,
)
from microagg.release.report.subject import Subject


def distributions(subject: Subject) -> Section:
    """How the released values are spread, column by column."""
    names = subject.names[:DISTRIBUTIONS]
    found = [(name, bins_of(subject.released[:, j], subject.released[:, j])) for j, name in enumerate(names)]
    text = "The columns as released: how many records, in percent, have a value within each bin. The outermost bins are open."
    if len(subject.names) > DISTRIBUTIONS:
        text += f" Of {len(subject.names)} columns, the first {DISTRIBUTIONS} are shown."
    blocks: list[Block] = [Paragraph(text)]
    blocks += [_picture_of_column(subject, name, bins) for name, bins in found if bins is not None]
    missing = [name for name, bins in found if bins is None]
    if missing:
        blocks.append(
            Paragraph(f"Without a picture, because there are not two bins to show: {listed(missing)}.")
        )
    measured = subject.figures_of("loss")
    if measured:
        blocks.append(Paragraph("What the classes of the released values alone tell of what was lost."))
        blocks.append(Facts(tuple(rows_of_figures(subject, measured))))
    return Section("The released values", tuple(blocks))


def _picture_of_column(subject: Subject, name: str, bins: Bins) -> Picture:
    (counts,) = bins.counts
    shares = [round(100 * count / len(subject.released), 1) for count in counts]
    rows = tuple((bin_name, f"{share:.1f}") for bin_name, share in zip(bins.names(), shares, strict=True))
    grid = Grid((name, "% of records"), rows, f"{name}, as released.")
    alternative = f"{name}: shares of records in {len(shares)} bins, as released."
    return Picture(draw_distribution(name, bins.edges, shares), alternative, name, grid, 3)


def correlation(subject: Subject) -> Section:
    """Correlations of the released columns."""
    title = "Correlations of the released columns"
    if len(subject.names) < 2:
        return Section(title, (Paragraph("There is one column only, so there is nothing to correlate."),))
    told = CORRELATION
    if len(subject.names) > HEATED:
        told += f" Of {len(subject.names)} columns, the first {HEATED} are shown."
    shown = subject.names[:HEATED]
    matrix = rounded_correlations(np.ascontiguousarray(subject.released[:, : len(shown)]))
    return Section(title, (Paragraph(told), picture_of_correlations(shown, matrix, "as released")))


def published(subject: Subject) -> Section:
    """What comes from the original table and was published by name."""
    many = len(subject.names) > TABLED
    caption = f"Of {len(subject.names)} columns, the first {TABLED}." if many else "Column by column."
    rows = [*_of_the_bound(subject), *rows_of_figures(subject, subject.published)]
    return Section(
        "What was published of the original table",
        (
            Paragraph(
                "The data holder decided to publish these figures, which compare the release with the original table. They have "
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
