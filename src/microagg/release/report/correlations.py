"""Correlations of a report: before and after, on the records that have both values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microagg.drawing.pictures import draw_correlations
from microagg.formatting import counted, number
from microagg.measures.loss.unchanged import has_value
from microagg.measures.measure import Pair
from microagg.release.report.document import Grid, Paragraph, Picture, Section
from microagg.release.report.subject import Subject
from microagg.table.schema import Kind
from microagg.table.variable import Cells

HEATED = 12  # columns of a heat map
CORRELATION = (
    "A correlation lies between −1 and 1; 0 means no linear relation. Red is above 0, blue below. "
    "Averaging takes noise away, so correlations tend to grow."
)
ON_PAIRS = "Each is computed on the records that have both values"


def numbers_among(*tables: Cells) -> list[int]:
    """Return the columns that are numbers with two different values at least in all tables.

    >>> numbers_among(Cells.plain(np.array([[1.0, 3.0], [2.0, 3.0]]), ["age", "rent"]))
    [0]
    """
    return [
        j for j in range(len(tables[0].variables)) if all(_varies(cells, j) for cells in tables)
    ]


def _varies(cells: Cells, j: int) -> bool:
    variable = cells.variables[j]
    if variable.kind is not Kind.NUMERIC or variable.coarse:
        return False
    values = cells.values[has_value(cells, j), j]
    return len(values) > 1 and bool(np.ptp(values) > 0)


def pairwise_correlations(cells: Cells, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return correlations to two digits and the number of complete pairs, for each two columns.

    NaN stands where a pair of columns does not vary together.

    >>> cells = Cells.plain(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), ["age", "rent"])
    >>> pairwise_correlations(cells, [0, 1])[0].tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    present = np.column_stack([has_value(cells, j) for j in columns]).astype(np.float64)
    values = np.empty(present.shape)
    for index, j in enumerate(columns):
        known = present[:, index] > 0
        column = np.where(known, cells.values[:, j], 0.0)
        size = np.abs(column).max() or 1.0
        with np.errstate(over="ignore", under="ignore"):
            column = column / size  # no quotient is above 1: squares of huge values stay finite
        column = np.where(known, column - column[known].mean(), 0.0)
        spread = np.sqrt((column**2).mean()) or 1.0
        values[:, index] = column / spread
    counts = present.T @ present
    sums, squares, products = values.T @ present, (values**2).T @ present, values.T @ values
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = products - sums * sums.T / counts
        variance = squares - sums**2 / counts
        matrix = covariance / np.sqrt(variance * variance.T)
        constant = (variance <= 1e-12 * squares) | (variance.T <= 1e-12 * squares.T)
    matrix = np.clip(matrix, -1.0, 1.0)
    matrix[constant | (counts < 2)] = np.nan
    return np.round(np.round(matrix, 12), 2) + 0.0, counts.astype(np.int64)


def correlation(subject: Subject) -> Section:
    """Correlations of the columns before and after."""
    title = "Correlations before and after"
    columns = subject.pair.once(_columns_of_pair)
    if len(columns) < 2:
        return Section(title, (Paragraph(nothing_to_correlate(len(subject.names))),))
    (before, had), (after, has) = subject.pair.once(_of_both)
    change = np.nan_to_num(np.abs(after - before))
    names = [subject.names[j] for j in columns]
    i, j = (int(index) for index in np.unravel_index(int(change.argmax()), change.shape))
    text = "No correlation changed in its first two digits."
    if change[i, j] > 0:
        text = (
            f"The largest change of a correlation is {number(change[i, j], 2)}, between {names[i]} "
            f"and {names[j]}: from {_signed(before[i, j])} ({_pairs(had[i, j])}) to "
            f"{_signed(after[i, j])} ({_pairs(has[i, j])})."
        )
    shown = np.sort(np.argsort(-change.max(axis=0), kind="stable")[:HEATED])
    if len(names) > HEATED:
        text += f" Of {len(names)} columns, the {HEATED} whose correlations changed most are shown."
    text += f" {ON_PAIRS}. {CORRELATION}"
    pictures = [
        picture_of_correlations([names[int(c)] for c in shown], matrix[np.ix_(shown, shown)], when)
        for when, matrix in (("before", before), ("after", after))
    ]
    sample = () if subject.sample is None else (Paragraph(subject.on_sample),)
    return Section(title, (*sample, Paragraph(text), *pictures))


def _columns_of_pair(pair: Pair) -> list[int]:
    return numbers_among(pair.before, pair.after)


def _of_both(pair: Pair) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    columns = pair.once(_columns_of_pair)
    return pairwise_correlations(pair.before, columns), pairwise_correlations(pair.after, columns)


def _pairs(count: int) -> str:
    return counted(int(count), "complete pair")


def _signed(value: float) -> str:
    return "not defined" if np.isnan(value) else f"{value:.2f}".replace("-", "−")


def nothing_to_correlate(columns: int) -> str:
    """Return why there are no correlations.

    >>> nothing_to_correlate(1)
    'There is only one column, so there is nothing to correlate.'
    """
    if columns < 2:
        return "There is only one column, so there is nothing to correlate."
    return "There are not two columns of numbers that vary, so there is nothing to correlate."


def picture_of_correlations(names: Sequence[str], matrix: np.ndarray, when: str) -> Picture:
    """A heat map of the correlations of some columns, and their table."""
    cells = [["–" if np.isnan(value) else _signed(float(value)) for value in row] for row in matrix]
    rows = tuple((name, *row) for name, row in zip(names, cells, strict=True))
    grid = Grid(("column", *names), rows, f"Correlations {when}.")
    alternative = f"Heat map of the correlations of {counted(len(names), 'column')} {when}."
    return Picture(draw_correlations(names, matrix), alternative, f"Correlations {when}", grid, 2)
