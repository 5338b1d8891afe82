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

import math
from collections.abc import Mapping, Sequence

from microagg.measures.columns import columns_of
from microagg.measures.loss.mixed import loss_by_column, loss_of_release
from microagg.measures.loss.number_sums import NumberTotals, number_totals
from microagg.measures.loss.sse import loss_between
from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.measures.parts import ColumnLoss, Parts
from microagg.measures.risk.classes import columns_to_compare
from microagg.problem.problem import as_points
from microagg.table.encoder import Space
from microagg.table.variable import Cells


def squared_loss(pair: Pair, scale: str = "zscore") -> tuple[Figure, Figure]:
    """SSE and IL with columns scaled by `zscore`, `minmax` or `none`.

    >>> import numpy as np
    >>> original = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> pair = Pair(original, np.array([[1.0], [1.0], [11.0], [11.0]]), ("age",))
    >>> sse, il = squared_loss(pair, "none")
    >>> sse.value, round(il.value, 3)
    (4.0, 3.846)
    """
    # raw units of numbers do not compare with categories
    if pair.cells is not None and scale != "none":
        return _squared_loss_of_cells(pair, scale)
    stated = None
    if scale == "zscore" and pair.weights is None:
        stated = _stated_loss(pair)
    return squared_loss_of(pair.once(number_totals), scale, stated)


def squared_loss_of(
    columns: Sequence[NumberTotals], scale: str, stated: Mapping[str, float] | None = None
) -> tuple[Figure, Figure]:
    """Return SSE and IL from the totals of columns of numbers.

    `stated` has both to the very digits that a release states of itself, where it does.
    """
    pairs = {column.name: column.squared(scale) for column in columns}
    sse, sst = (math.fsum(part) for part in zip(*pairs.values(), strict=True))
    loss = ColumnLoss(
        {name: errors for name, (errors, _) in pairs.items()},
        {name: _percent(*pair) for name, pair in pairs.items()},
        {column.name: column.one_value for column in columns},
    )
    whole = {"SSE": sse, "IL": _percent(sse, sst)} if stated is None else dict(stated)
    if all(loss.one_value.values()):
        whole["IL"] = min(whole["IL"], 100.0)
    return figures_of_columns(whole, loss)


def figures_of_columns(whole: Mapping[str, float], loss: ColumnLoss) -> tuple[Figure, Figure]:
    """Return SSE and IL with those of each column; one value for all loses 100 percent at most."""
    percents = {
        name: min(percent, 100.0) if loss.one_value[name] else percent
        for name, percent in loss.percents.items()
    }
    return Figure(whole["SSE"], dict(loss.errors)), Figure(whole["IL"], percents)


def _exact_loss(parts: Parts, scale: str) -> tuple[Figure, Figure] | None:
    """Return both figures from the statistics of all records; None where a sample gives them."""
    if scale == "none":
        return squared_loss_of(parts.numbers, scale) if parts.numbers else None
    stated = None if parts.weighted or scale != "zscore" else parts.stated_loss
    if parts.is_plain:
        return squared_loss_of(parts.numbers, scale, stated)
    if scale == "minmax":
        return None
    if parts.column_loss is not None:
        return figures_of_columns(parts.stated_loss, parts.column_loss)
    if parts.all_numbers and not parts.weighted:
        return squared_loss_of(parts.numbers, scale, stated)
    return None


def _squared_loss_of_cells(pair: Pair, scale: str) -> tuple[Figure, Figure]:
    """The same on the encoding of a mixed table.

    Every record counts once: the encoding is that of the records, whatever their weights.
    """
    before, after, groups = pair.before, pair.after, pair.groups
    space = Space.fit(before, scale)
    errors = space.column_errors(before, after, groups).tolist()
    loss = ColumnLoss(
        dict(zip(pair.quasi, errors, strict=True)),
        loss_by_column(space, before, after, groups),
        {name: not _varies(after, j) for j, name in enumerate(pair.quasi)},
    )
    return figures_of_columns(loss_of_release(space, before, after, groups), loss)


def _varies(cells: Cells, column: int) -> bool:
    """Return True if a column has two different cells."""
    parts = columns_to_compare(columns_of(cells, [column]))
    return any((part[1:] != part[:-1]).any() for part in parts)


def _stated_loss(pair: Pair) -> dict[str, float]:
    """Return IL and SSE of a plain table without weights as a release states them of itself."""
    values = as_points(pair.original)
    space = Space.fit(values, "zscore")
    before, after = space.points(values), space.points(pair.released)
    constant = list(space.constant)
    if constant:
        before[:, constant], after[:, constant] = 0.0, pair.standard.after[constant].T
    return loss_between(before, after)


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole > 0.0 else 0.0


# Squared errors in ranges, set against those in units, give the range, and with it the largest
# value.
_OF = {"minmax": "record"}


_OF_CELLS = (
    " Tables with categories, dates or gaps: as they are encoded where groups are formed, "
    "each record counted once."
)


def _sse(name: str, title: str, scale: str, unit: str) -> Measure:
    return _declared(name, title, unit, scale, 0, "There is no end.")


def _il(name: str, title: str, scale: str) -> Measure:
    highest = (
        "At 100 the records are as far from their released values as from the mean of "
        "all; there is no end."
    )
    return _declared(name, title, "percent", scale, 1, highest)


def _declared(
    name: str, title: str, unit: str, scale: str, which: int, highest_means: str
) -> Measure:
    """Return the declaration of SSE (`which` is 0) or IL (1) on one scale."""

    def compute(pair: Pair) -> Figure:
        return pair.once(squared_loss, scale)[which]

    def exact(parts: Parts) -> Figure | None:
        figures = _exact_loss(parts, scale)
        return None if figures is None else figures[which]

    return Measure(
        name=name,
        title=title,
        side="loss",
        unit=unit,
        lower_is_better=True,
        lowest=0.0,
        highest=float("inf"),
        zero_means="Every record is released as it was.",
        highest_means=highest_means,
        source="Domingo-Ferrer and Mateo-Sanz 2002; population standard deviations, weighted "
        "where weights are given." + _OF_CELLS * (scale != "none"),
        compute=compute,
        basis=Basis.RECORDS,
        exact=exact,
        exact_with_weights=scale != "zscore",
        grows=which == 0,
        of=_OF.get(scale, "pair"),
        needs="numbers" if scale == "none" else "",
    )


SSE = _sse("sse", "sum of squared errors", "zscore", "squared standard deviations")
SSE_MINMAX = _sse("sse-minmax", "sum of squared errors, min-max scaled", "minmax", "squared ranges")
SSE_RAW = _sse("sse-raw", "sum of squared errors, raw", "none", "squared units of the columns")
IL = _il("il", "information loss", "zscore")
IL_MINMAX = _il("il-minmax", "information loss, min-max scaled", "minmax")
IL_RAW = _il("il-raw", "information loss, raw", "none")
