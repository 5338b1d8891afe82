"""Selections of the quasi-identifiers of a pair: those that measures of numbers can use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Cells

if TYPE_CHECKING:
    from microagg.measures.measure import Pair


def columns_of(cells: Cells, columns: Sequence[int]) -> Cells:
    """Return the cells of some columns.

    >>> import numpy as np
    >>> columns_of(Cells.plain(np.array([[1.0, 2.0]]), ["a", "b"]), [1]).names
    ['b']
    """
    columns = list(columns)
    atoms = None if cells.atoms is None else cells.atoms[:, columns].copy()
    return Cells(tuple(cells.variables[j] for j in columns), cells.values[:, columns].copy(), atoms)


def has_atoms(cells: Cells, column: int) -> bool:
    """Return True if a cell of that column is missing or a special code.

    >>> import numpy as np
    >>> has_atoms(Cells.plain(np.array([[1.0]]), ["age"]), 0)
    False
    """
    atoms = cells.atoms_of(column)
    return atoms is not None and bool((atoms != NO_ATOM).any())


def columns_of_numbers(cells: Cells) -> list[int]:
    """Return the positions of the numeric columns without gaps, which measures of numbers use.

    >>> import numpy as np
    >>> columns_of_numbers(Cells.plain(np.array([[1.0]]), ["age"]))
    [0]
    """
    return [
        j
        for j, variable in enumerate(cells.variables)
        if variable.kind is Kind.NUMERIC and not variable.coarse and not has_atoms(cells, j)
    ]


def not_numbers(pair: Pair) -> dict[str, list[str]]:
    """Return the quasi-identifiers that measures of numbers leave out, by the reason.

    >>> import numpy as np
    >>> from microagg.table.variable import Variable
    >>> variables = Variable("age", marks=(None,)), Variable("rent")
    >>> cells = Cells(variables, np.array([[np.nan, 1.0]]), np.array([[0, -1]], np.int16))
    >>> from microagg.measures.measure import Pair
    >>> not_numbers(Pair.of_cells(cells, cells))
    {'gaps or special codes': ['age']}
    """
    left_out: dict[str, list[str]] = {}
    for j, name in enumerate(pair.quasi):
        if name in pair.names:
            continue
        sides = (pair.before, pair.after)
        if any(
            cells.variables[j].kind is not Kind.NUMERIC and not cells.variables[j].coarse
            for cells in sides
        ):
            why = "categories"
        elif pair.after.variables[j].coarse:
            why = "ranges or other texts in place of values"
        else:
            why = "gaps or special codes"
        left_out.setdefault(why, []).append(name)
    return left_out
