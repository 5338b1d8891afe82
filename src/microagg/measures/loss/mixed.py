"""Loss of a release of any columns: from the original to the released cells, on the encoding that
was searched.

IL = 100 SSE / SST. SSE adds up the squared distances between the cells of each record before and
after, column by column: a changed nominal cell counts the squared distance of its two values, an
atom counts as encoded, a released number between two ranks lies between their places. Ranges and
ancestors have no point; there the variation within groups counts. All is counted on the exact
encoding, also where a search used near-orthogonal codes. IL_within is the variation within groups
around their centroids: what a search lowers and a bound bounds. IL is at least that; modes, medians
and rounding add to it.
"""

from __future__ import annotations

import numpy as np

from microagg.measures.loss.loss_sums import LossSums, percent_lost
from microagg.measures.loss.sse import loss_between
from microagg.table.encoder import Space
from microagg.table.variable import Cells


def loss_of_release(
    space: Space, before: Cells, after: Cells, labels: np.ndarray
) -> dict[str, float]:
    """IL, SSE and IL_within of a release; labels are one per record, or one per record and
    column.

    >>> before = Cells.plain(np.array([[0.0], [2.0], [10.0], [12.0]]), ["age"])
    >>> after = Cells.plain(np.array([[1.0], [1.0], [11.0], [11.0]]), ["age"])
    >>> loss = loss_of_release(Space.fit(before, "none"), before, after,
    ...     np.array([0, 0, 1, 1], np.int32))
    >>> loss["SSE"], loss["IL"] == loss["IL_within"]
    (4.0, True)
    """
    total = space.total(before)
    if space.is_plain and not any(variable.coarse for variable in after.variables):
        loss = loss_between(space.points(before), space.points(after))  # the very digits
        within = space.within(before, labels)
    else:
        lost = LossSums.of_chunk(space, before, after, labels)
        sse, one_record = lost.squared_error, lost.one is not None
        loss = {"IL": percent_lost(sse, total, one_record=one_record), "SSE": sse}
        within = lost.error_within(space)
    return {**loss, "IL_within": percent_lost(within, total)}


def loss_by_column(
    space: Space, before: Cells, after: Cells, labels: np.ndarray
) -> dict[str, float]:
    """IL of each column by itself, in percent; 0 for a column that does not vary.

    >>> before = Cells.plain(np.array([[0.0, 5.0], [2.0, 5.0]]), ["age", "rent"])
    >>> after = Cells.plain(np.array([[1.0, 5.0], [1.0, 5.0]]), ["age", "rent"])
    >>> loss_by_column(Space.fit(before), before, after, np.array([0, 0], np.int32))
    {'age': 100.0, 'rent': 0.0}
    """
    errors, totals = space.column_errors(before, after, labels), space.column_totals(before)
    return {
        name: 0.0 if j in space.constant else percent_lost(float(errors[j]), float(totals[j]))
        for j, name in enumerate(before.names)
    }
