"""Sums of columns over all records, chunk by chunk: of values, coordinates or squares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microagg.kernels import partial_sums, sums
from microagg.table.capping import Limits
from microagg.table.columns.column_encoding import cells_in
from microagg.table.reduction import Reduction
from microagg.table.scales import Axis
from microagg.table.variable import Variable


@dataclass(frozen=True)
class Term:
    """Term of a sum over a column: its values, or (`axis`) their coordinates; or squares of these
    around a centre.
    """

    column: int
    axis: Axis | None = None
    centre: float | None = None


@dataclass
class TermSums(Reduction):
    """Sums of the values of columns, of their coordinates, or of squares around a centre."""

    totals: np.ndarray
    """(3, terms): sums in three parts."""

    @classmethod
    def of_chunk(cls, values: Mapping[int, np.ndarray], terms: Sequence[Term]) -> TermSums:
        """Sum up the values of a chunk, by column."""
        totals = np.zeros((3, len(terms)))
        for number, term in enumerate(terms):
            column = values[term.column]
            column = column if term.axis is None else term.axis.coordinates(column)
            column, centre = column.reshape(-1, 1), term.centre
            if centre is None:
                totals[:, number] = sums.column_sums(column)[:, 0]
            else:
                totals[:, number] = partial_sums.square_sums(column, np.array([centre]))[:, 0]
        return cls(totals)

    def combine(self, other: TermSums) -> TermSums:
        """Add another chunk."""
        partial_sums.add_sums(self.totals, other.totals)
        return self


def add_up_chunk(
    source: Any,
    first: int,
    count: int,
    variables: tuple[Variable, ...],
    terms: tuple[Term, ...],
    limits: Limits | None,
) -> TermSums:
    """Sum up terms of a chunk, within limits: a task."""
    columns = list(dict.fromkeys(term.column for term in terms))
    chosen = [variables[j] for j in columns]
    rows = source.read(first, count, [variable.name for variable in chosen])
    cells, values = cells_in(rows, chosen, first), {}
    for number, j in enumerate(columns):
        column = cells.values[:, number]
        column = np.ascontiguousarray(column[~np.isnan(column)])
        values[j] = column if limits is None else limits.column(j, column)
    return TermSums.of_chunk(values, terms)
