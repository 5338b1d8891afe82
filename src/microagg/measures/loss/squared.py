"""SSE and IL = 100 SSE / SST, on standardised, min-max scaled and raw columns.

SSE = Σ_i w_i Σ_j (x_ij - x'_ij)² over records i and columns j; SST is the same with every x'_ij at
the mean of column j. The weights w_i are 1 where there are none; where there are, the means (and
the standard deviations of the standardised form) are weighted too. Standardised: population
standard deviation. A column that is constant in the original keeps its own unit; if the release
leaves it as it was (up to rounding) it adds nothing. Where nothing varies there is nothing to lose:
IL is 0. One value for all records tells nothing of any: there IL is 100 at most, although a rounded
mean is farther off than the mean.

Each form has IL per column; it is the same in all three, for a column's unit cancels out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from microagg.measures.loss.mixed import loss_by_column, loss_of_release
from microagg.measures.loss.sse import loss_between
from microagg.measures.measure import Figure, Measure, Pair, columns_of
from microagg.measures.risk.classes import columns_to_compare
from microagg.problem.problem import as_points
from microagg.table.encoder import Space
from microagg.table.variable import Cells

ROWS_AT_A_TIME = 65_536


def squared_loss(pair: Pair, scale: str = "zscore") -> tuple[Figure, Figure]:
    """SSE and IL with columns scaled by `zscore`, `minmax` or `none`.

    >>> pair = Pair(np.array([[0.0], [2.0], [10.0], [12.0]]), np.array([[1.0], [1.0], [11.0], [11.0]]), ("age",))
    >>> sse, il = squared_loss(pair, "none")
    >>> sse.value, round(il.value, 3)
    (4.0, 3.846)
    """
    # raw units of numbers do not compare with categories
    if pair.cells is not None and scale != "none":
        return _squared_loss_of_cells(pair, scale)
    before, after = _scaled(pair, scale)
    weights = np.ones(len(before)) if pair.weights is None else np.asarray(pair.weights, np.float64)
    shares = weights / weights.sum()
    means = _sums(lambda rows: shares[rows, None] * before[rows], before.shape)
    sse = _sums(lambda rows: weights[rows, None] * (before[rows] - after[rows]) ** 2, before.shape)
    sst = _sums(lambda rows: weights[rows, None] * (before[rows] - means) ** 2, before.shape)
    if pair.weights is None:  # the very digits that a release states of itself
        total = loss_between(before, after)
    else:
        total = {"SSE": float(sse.sum()), "IL": float(_percent(sse.sum(), sst.sum()))}
    percents, one_value = _percent(sse, sst), np.ptp(after, axis=0) == 0.0
    percents[one_value] = np.minimum(
        percents[one_value], 100.0
    )  # all is lost, and no more, as in `loss_between`
    if one_value.all():
        total["IL"] = min(total["IL"], 100.0)
    return (
        Figure(total["SSE"], dict(zip(pair.names, sse.tolist(), strict=True))),
        Figure(total["IL"], dict(zip(pair.names, percents.tolist(), strict=True))),
    )


def _squared_loss_of_cells(pair: Pair, scale: str) -> tuple[Figure, Figure]:
    """The same on the encoding of a mixed table.

    Every record counts once: the encoding is that of the records, whatever their weights.
    """
    before, after, groups = pair.before, pair.after, pair.groups
    space = Space.fit(before, scale)
    total = loss_of_release(space, before, after, groups)
    errors = space.column_errors(before, after, groups)
    columns = loss_by_column(space, before, after, groups)
    for j, name in enumerate(pair.quasi):
        if not _varies(after, j):  # all is lost, and no more
            columns[name] = min(columns[name], 100.0)
    return Figure(total["SSE"], dict(zip(pair.quasi, errors.tolist(), strict=True))), Figure(
        total["IL"], columns
    )


def _varies(cells: Cells, column: int) -> bool:
    """Whether there are two different cells in a column."""
    return any(
        (each[1:] != each[:-1]).any() for each in columns_to_compare(columns_of(cells, [column]))
    )


def _scaled(pair: Pair, scale: str) -> tuple[np.ndarray, np.ndarray]:
    """(n, d) before and after, constant columns at 0 before."""
    if scale == "zscore" and pair.weights is not None:
        return np.ascontiguousarray(pair.standard.before.T), np.ascontiguousarray(
            pair.standard.after.T
        )
    values = as_points(pair.original)
    space = Space.fit(values, scale)
    before, after = space.points(values), space.points(pair.released)
    constant = list(space.constant)
    if constant:
        before[:, constant], after[:, constant] = 0.0, pair.standard.after[constant].T
    return before, after


def _sums(terms: Callable[[slice], np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """The sums of columns whose terms are given some rows at a time: without them all in memory,
    and to the same digits.
    """
    total = np.zeros(shape[1])
    if shape[1] == 1:  # which NumPy adds up in another order
        return np.sum(terms(slice(None)), axis=0)
    for first in range(0, shape[0], ROWS_AT_A_TIME):
        total = np.sum(np.vstack([total, terms(slice(first, first + ROWS_AT_A_TIME))]), axis=0)
    return total


def _percent(sse: np.ndarray, sst: np.ndarray) -> np.ndarray:
    return 100.0 * sse / np.where(sst > 0.0, sst, 1.0) * (sst > 0.0)


# Squared errors in ranges, set against those in units, give the range, and with it the largest
# value.
_OF = {"minmax": "record"}


_OF_CELLS = (
    " Tables with categories, dates or gaps: as they are encoded where groups are formed, "
    "each record counted once."
)


def _sse(name: str, title: str, scale: str, unit: str) -> Measure:
    def compute(pair: Pair) -> Figure:
        return pair.once(squared_loss, scale)[0]

    return _declared(
        name, title, unit, compute, scale, "Every record is released as it was.", "There is no end."
    )


def _il(name: str, title: str, scale: str) -> Measure:
    def compute(pair: Pair) -> Figure:
        return pair.once(squared_loss, scale)[1]

    return _declared(
        name,
        title,
        "percent",
        compute,
        scale,
        "Every record is released as it was.",
        "At 100 the records are as far from their released values as from the mean of "
        "all; there is no end.",
    )


def _declared(
    name: str,
    title: str,
    unit: str,
    compute: Callable[[Pair], Figure],
    scale: str,
    zero: str,
    highest: str,
) -> Measure:
    return Measure(
        name=name,
        title=title,
        side="loss",
        unit=unit,
        lower_is_better=True,
        lowest=0.0,
        highest=float("inf"),
        zero_means=zero,
        highest_means=highest,
        source="Domingo-Ferrer and Mateo-Sanz 2002; population standard deviations, weighted "
        "where weights are given." + _OF_CELLS * (scale != "none"),
        compute=compute,
        of=_OF.get(scale, "pair"),
        needs="numbers" if scale == "none" else "",
    )


SSE = _sse("sse", "sum of squared errors", "zscore", "squared standard deviations")
SSE_MINMAX = _sse("sse-minmax", "sum of squared errors, min-max scaled", "minmax", "squared ranges")
SSE_RAW = _sse("sse-raw", "sum of squared errors, raw", "none", "squared units of the columns")
IL = _il("il", "information loss", "zscore")
IL_MINMAX = _il("il-minmax", "information loss, min-max scaled", "minmax")
IL_RAW = _il("il-raw", "information loss, raw", "none")
