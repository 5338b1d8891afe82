"""The quasi-identifying columns of a table as numbers, with what these stand for: what is encoded,
aggregated and measured.

Between a table and its points lie its cells: a number for each, or an atom. An atom is what is not
on the scale of its column: a missing value, or a code that was declared special ("not applicable").
A released table has cells as well, so the way back is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from microagg.table.schema import Kind

if TYPE_CHECKING:
    from microagg.table.hierarchy import Hierarchy

NO_ATOM = -1


@dataclass(frozen=True)
class Variable:
    """Variable of one quasi-identifying column: the meaning of its numbers.

    >>> Variable("education", Kind.ORDINAL, levels=("P", "S", "PS")).levels[1]
    'S'
    """

    name: str
    kind: Kind = Kind.NUMERIC
    levels: tuple[Any, ...] = ()
    """Ordinal and nominal: the values that there are, in their order; a number is a place among
    them. Ordinal: declared levels that do not occur count. Nominal: those that occur, and None last
    where cells are missing.
    """
    marks: tuple[Any, ...] = ()
    """Numeric and ordinal: the atoms, special codes in the order given, then None for what is
    missing. Nominal columns have none.
    """
    origin: int | Decimal = 0
    """Numeric: what the number 0 stands for. Other than 0 for dates, times and numbers too long for
    float64, whose numbers are exact differences from the least value.
    """
    unit: str = ""
    """Numeric: "" for plain numbers, else the unit that the numbers count: "D", "s", "ms", "us" or
    "ns".
    """
    step: int = 1
    """Of times: the resolution of the column, in units: the largest of day, hour, minute, second …
    that divides all its values (on the clock of its own zone). A mean is rounded to it.
    """
    wall: bool = False
    """Of stamps with a zone: whether the numbers count on the clock of that zone, not on that of
    Greenwich.
    """
    span: bool = False
    """Of times: whether they are lengths of time or times of day, not dates and stamps."""
    gap: Any = None
    """What a missing cell is given back as: a marker, as the column spells it; None where the type
    has something for it.
    """
    single: bool = False
    """Whether the values were stored in single precision."""
    hierarchy: Hierarchy | None = None
    """A tree over the values: for distances where nominal, and for `generalise`."""
    coarse: bool = False
    """Of released columns: whether the levels are ranges or ancestors, which have no point in a
    space.
    """


@dataclass(frozen=True)
class Cells:
    """The cells of the quasi-identifying columns.

    >>> cells = Cells.plain(np.array([[30.0], [40.0]]), ["age"])
    >>> len(cells), cells.is_plain, cells.names
    (2, True, ['age'])
    """

    variables: tuple[Variable, ...]
    values: np.ndarray
    """(n, d) float64, C-order: numbers, or places among the levels; NaN where the cell is an atom.
    """
    atoms: np.ndarray | None = None
    """(n, d) int16: the atom's place among the marks, -1 where the cell has a value; None where no
    cell is an atom.
    """

    @staticmethod
    def plain(values: np.ndarray, names: Sequence[str]) -> Cells:
        """The cells of numeric columns without gaps."""
        return Cells(tuple(Variable(str(name)) for name in names), values)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [variable.name for variable in self.variables]

    @property
    def is_plain(self) -> bool:
        """Return True if all columns are plain numbers without special codes, as in a matrix."""
        return self.atoms is None and all(item.kind is Kind.NUMERIC for item in self.variables)

    def rows(self, chosen: slice | np.ndarray) -> Cells:
        """The cells of some records."""
        return Cells(
            self.variables, self.values[chosen], None if self.atoms is None else self.atoms[chosen]
        )

    def atoms_of(self, column: int) -> np.ndarray | None:
        """(n,): the atoms of one column; None where it has none."""
        if self.atoms is None or not self.variables[column].marks:
            return None
        return self.atoms[:, column]


def missing_cells(cells: Cells) -> np.ndarray:
    """(n, d): which cells are missing; special codes are not.

    >>> missing_cells(Cells.plain(np.array([[1.0]]), ["age"])).tolist()
    [[False]]
    """
    missing = np.zeros(cells.values.shape, bool)
    for j, variable in enumerate(cells.variables):
        atoms = cells.atoms_of(j)
        if variable.levels and variable.levels[-1] is None:
            missing[:, j] = cells.values[:, j] == len(variable.levels) - 1
        elif atoms is not None and variable.marks[-1] is None:
            missing[:, j] = atoms == len(variable.marks) - 1
    return missing
