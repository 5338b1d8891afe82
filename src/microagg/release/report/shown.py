"""The parts of a public report that stand in the place of before and after: the release itself, and
what was published by name.
"""

from __future__ import annotations

from collections.abc import Iterator

from microagg.formatting import listed, with_unit
from microagg.release.publishing import DIGITS
from microagg.release.report.correlations import (
    CORRELATION,
    HEATED,
    ON_PAIRS,
    nothing_to_correlate,
    numbers_among,
    pairwise_correlations,
    picture_of_correlations,
)
from microagg.release.report.document import Block, Facts, Paragraph, Section
from microagg.release.report.evidence import LEVELS_AND_GAPS, TABLED, on_sample, pictured
from microagg.release.report.figure_tables import by_column, figures_grids, rows_of_figures
from microagg.release.report.spread import NO_PICTURE, spread_of
from microagg.release.report.subject import Subject


def distributions(subject: Subject) -> Section:
    """Return the section on the distribution of the released values, column by column."""
    names = subject.names[: pictured(len(subject.names))]
    spreads = [(name, spread_of([subject.released], j)) for j, name in enumerate(names)]
    text = (
        "The columns as released: how many records, in percent, have a value within each "
        "bin. The outermost bins are open."
    )
    if subject.mixed:
        text += f" {LEVELS_AND_GAPS}"
    if len(subject.names) > len(names):
        text += f" Of {len(subject.names)} columns, the first {len(names)} are shown."
    blocks: list[Block] = [*on_sample(subject), Paragraph(text)]
    blocks += [
        spread.picture(before_and_after=False) for _, spread in spreads if spread is not None
    ]
    missing = [name for name, spread in spreads if spread is None]
    if missing:
        blocks.append(Paragraph(NO_PICTURE.format(listed(missing))))
    measured = subject.figures_of("loss")
    if measured:
        blocks.extend(figures_grids(subject, measured))
    return Section("The released values", tuple(blocks))


def correlation(subject: Subject) -> Section:
    """Correlations of the released columns."""
    title = "Correlations of the released columns"
    numbers = numbers_among(subject.released)
    if len(numbers) < 2:
        return Section(title, (Paragraph(nothing_to_correlate(len(subject.names))),))
    text = f"{ON_PAIRS}. {CORRELATION}"
    if len(numbers) > HEATED:
        text += f" Of {len(numbers)} columns, the first {HEATED} are shown."
    numbers = numbers[:HEATED]
    shown = [subject.names[j] for j in numbers]
    matrix, _ = pairwise_correlations(subject.released, numbers)
    picture = picture_of_correlations(shown, matrix, "as released")
    return Section(title, (*on_sample(subject), Paragraph(text), picture))


def published(subject: Subject) -> Section:
    """Return the section on figures of the original table that were published by name."""
    many = len(subject.names) > TABLED
    more = f" Of {len(subject.names)} columns, the first {TABLED}." if many else ""
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
            *by_column(subject, subject.names[:TABLED], subject.published, more),
        ),
    )


def _of_the_bound(subject: Subject) -> Iterator[tuple[str, str, str]]:
    bound = subject.manifest.get("bound")
    if bound is not None:
        how = "by an integer program" if bound.get("optimal_by_solver") else "proven"
        text = f"{how}: no grouping of these records can lose less of the variation"
        text += "; this one is optimal up to rounding" if bound["optimal"] else ""
        yield "Least information loss", with_unit(bound["IL"], "percent", DIGITS), text
