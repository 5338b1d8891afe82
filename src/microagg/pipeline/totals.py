"""Totals of all records in the spaces of the loss: sums of coordinates, then squared distances to
their centroid.

Partial sums of chunks, space by space and column by column, which come to the same whatever the
chunks are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from microagg.kernels import partial_sums, sums
from microagg.pipeline.column_stats import Facts, LevelFacts
from microagg.table.axes import Coded
from microagg.table.encoder import Space
from microagg.table.reduction import Reduction
from microagg.table.variable import Cells


@dataclass
class Totals(Reduction):
    """Partial sums of some records: the columns of the first space, then those of the next."""

    columns: list[np.ndarray]
    """Of each column (3, axes) for sums, (3, 1) for squares."""

    @classmethod
    def of_chunk(cls, spaces: Sequence[Space], cells: Cells) -> Totals:
        """Sum up exact coordinates; columns of categories have none."""
        columns = []
        for space in spaces:
            for j, column in enumerate(space.columns):
                if isinstance(column, Coded):
                    columns.append(np.zeros((3, 1)))
                else:
                    coordinates = column.coordinates(cells.values[:, j], cells.atoms_of(j))
                    columns.append(sums.column_sums(coordinates))
        return cls(columns)

    def combine(self, more: Totals) -> Totals:
        """Take in another chunk."""
        for total, other in zip(self.columns, more.columns, strict=True):
            partial_sums.add_sums(total, other)
        return self

    def by_space(self, spaces: Sequence[Space]) -> list[Sequence[np.ndarray]]:
        """The same, those of each space by themselves."""
        return _by_space(spaces, self.columns)


@dataclass(frozen=True)
class Centres:
    """Where the centroid of all records lies in each space: coordinates of numbers, and how far
    each category is from it, squared.
    """

    columns: tuple[np.ndarray, ...]

    @staticmethod
    def of(
        spaces: Sequence[Space], totals: Totals, facts: Sequence[Facts], records: int
    ) -> Centres:
        """From the sums of all coordinates."""
        centres = []
        for space, columns in zip(spaces, totals.by_space(spaces), strict=True):
            for column, total, column_facts in zip(space.columns, columns, facts, strict=True):
                if isinstance(column, Coded):
                    centres.append(
                        column.variation_of_whole(_category_counts(column, column_facts))
                    )
                else:
                    centres.append(
                        np.array([sums.rounded(total, j) / records for j in range(total.shape[1])])
                    )
        return Centres(tuple(centres))

    def squares(self, spaces: Sequence[Space], cells: Cells) -> Totals:
        """The squared distances of some records to it, column by column."""
        squares_by_column = []
        for space, centres in zip(spaces, _by_space(spaces, self.columns), strict=True):
            for j, (column, centre) in enumerate(zip(space.columns, centres, strict=True)):
                pair = cells.values[:, j], cells.atoms_of(j)
                if isinstance(column, Coded):
                    errors = centre[column.categories(*pair)]
                else:
                    errors = _row_squares(column.coordinates(*pair) - centre)
                squares_by_column.append(
                    sums.column_sums(np.ascontiguousarray(errors).reshape(-1, 1))
                )
        return Totals(squares_by_column)


def _by_space(spaces: Sequence[Space], columns: Sequence[np.ndarray]) -> list[Sequence[np.ndarray]]:
    width = len(spaces[0].columns)
    return [columns[first : first + width] for first in range(0, len(columns), width)]


def _category_counts(column: Coded, facts: Facts) -> np.ndarray:
    if isinstance(facts, LevelFacts):
        return facts.frequency()
    if not column.of_atoms:  # nothing but gaps
        return np.array([facts.records])
    return np.array([facts.known, *facts.atoms])


def _row_squares(differences: np.ndarray) -> np.ndarray:
    total = np.zeros(len(differences))
    for column in differences.T:
        total += column * column
    return total
