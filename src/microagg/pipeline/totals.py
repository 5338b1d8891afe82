"""What all records come to in the spaces in which loss is measured: sums of coordinates, then
squared distances to their centroid.

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
from microagg.table.variable import Cells


@dataclass
class Totals:
    """Partial sums of some records: the columns of the first space, then those of the next."""

    columns: list[np.ndarray]
    """Of each column (3, axes) for sums, (3, 1) for squares."""

    def combine(self, more: Totals) -> None:
        """Take in another chunk."""
        for own, other in zip(self.columns, more.columns, strict=True):
            partial_sums.add_sums(own, other)

    def by_space(self, spaces: Sequence[Space]) -> list[Sequence[np.ndarray]]:
        """The same, those of each space by themselves."""
        return _by_space(spaces, self.columns)


def coordinate_totals(spaces: Sequence[Space], cells: Cells) -> Totals:
    """The sums of exact coordinates; of columns of categories there is nothing to be summed."""
    found = []
    for space in spaces:
        for j, column in enumerate(space.columns):
            if isinstance(column, Coded):
                found.append(np.zeros((3, 1)))
            else:
                found.append(
                    sums.column_sums(column.coordinates(cells.values[:, j], cells.atoms_of(j)))
                )
    return Totals(found)


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
        found = []
        for space, columns in zip(spaces, totals.by_space(spaces), strict=True):
            for column, total, each in zip(space.columns, columns, facts, strict=True):
                if isinstance(column, Coded):
                    found.append(column.variation_of_whole(_category_counts(column, each)))
                else:
                    found.append(
                        np.array([sums.rounded(total, j) / records for j in range(total.shape[1])])
                    )
        return Centres(tuple(found))

    def squares(self, spaces: Sequence[Space], cells: Cells) -> Totals:
        """The squared distances of some records to it, column by column."""
        found = []
        for space, centres in zip(spaces, _by_space(spaces, self.columns), strict=True):
            for j, (column, centre) in enumerate(zip(space.columns, centres, strict=True)):
                pair = cells.values[:, j], cells.atoms_of(j)
                if isinstance(column, Coded):
                    errors = centre[column.categories(*pair)]
                else:
                    errors = _row_squares(column.coordinates(*pair) - centre)
                found.append(sums.column_sums(np.ascontiguousarray(errors).reshape(-1, 1)))
        return Totals(found)


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
