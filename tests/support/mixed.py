"""Mixed tables as cells, made up: all kinds, gaps, special codes, ties, constant columns, trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from microagg.table.hierarchy import Hierarchy
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable

LETTERS = "abcdefgh"


def mixed_cells(seed: int, n: int, columns: int = 4) -> Cells:
    """A table of n records whose columns are drawn from all sorts."""
    rng = np.random.default_rng(seed)
    sorts = rng.permutation(len(SORTS))[:columns]
    made = [SORTS[sort](rng, n, f"{SORTS[sort].__name__}_{j}") for j, sort in enumerate(sorts)]
    atoms = np.column_stack([column[2] for column in made]).astype(np.int16)
    values = np.column_stack([column[1] for column in made]).astype(np.float64)
    values[atoms >= 0] = np.nan
    return Cells(tuple(column[0] for column in made), values, atoms if (atoms >= 0).any() else None)


Made = tuple[Variable, np.ndarray, np.ndarray]


def number(rng: np.random.Generator, n: int, name: str) -> Made:
    return Variable(name), rng.normal(40.0, 9.0, n), np.full(n, -1)


def number_with_gaps(rng: np.random.Generator, n: int, name: str) -> Made:
    return Variable(name, marks=(97, None)), rng.integers(0, 5, n), _atoms(rng, n, 2)


def time(rng: np.random.Generator, n: int, name: str) -> Made:
    return Variable(name, origin=10**9, unit="s"), rng.integers(0, 10**6, n), np.full(n, -1)


def one_number_and_gaps(rng: np.random.Generator, n: int, name: str) -> Made:
    return Variable(name, marks=(-8, None)), np.full(n, 7.0), _atoms(rng, n, 2)


def constant(rng: np.random.Generator, n: int, name: str) -> Made:
    return Variable(name), np.full(n, 3.0), np.full(n, -1)


def order(rng: np.random.Generator, n: int, name: str) -> Made:
    return Variable(name, Kind.ORDINAL, tuple("PQRST")), rng.choice([0, 1, 4], n), np.full(n, -1)


def order_with_gaps(rng: np.random.Generator, n: int, name: str) -> Made:
    levels = tuple("PQRST")
    return (
        Variable(name, Kind.ORDINAL, levels, marks=(None,)),
        rng.integers(0, 5, n),
        _atoms(rng, n, 1),
    )


def two_values(rng: np.random.Generator, n: int, name: str) -> Made:
    return _categories(rng.integers(0, 2, n), name)


def few_values(rng: np.random.Generator, n: int, name: str) -> Made:
    return _categories(rng.choice(5, n, p=[0.5, 0.3, 0.1, 0.05, 0.05]), name)


def tree(rng: np.random.Generator, n: int, name: str) -> Made:
    variable, values, atoms = _categories(rng.integers(0, 6, n), name)
    paths = {letter: (letter, "first" if letter in "abc" else "second", "*") for letter in LETTERS}
    levels = (*variable.levels[:-1], None) if len(variable.levels) > 2 else variable.levels
    return Variable(name, Kind.NOMINAL, levels, hierarchy=Hierarchy(paths)), values, atoms


SORTS = [
    number,
    number_with_gaps,
    time,
    one_number_and_gaps,
    constant,
    order,
    order_with_gaps,
    two_values,
    few_values,
    tree,
]


def _categories(drawn: np.ndarray, name: str) -> Made:
    """The levels are those that occur."""
    used, values = np.unique(drawn, return_inverse=True)
    levels = tuple(LETTERS[level] for level in used)
    return Variable(name, Kind.NOMINAL, levels), values.reshape(-1), np.full(len(drawn), -1)


def _atoms(rng: np.random.Generator, n: int, marks: int) -> np.ndarray:
    return np.where(rng.random(n) < 0.3, rng.integers(0, marks, n), -1)


def cells_by_column(cells: Cells) -> list[list[Any]]:
    """The cells as the slow oracles take them."""
    columns = []
    for j, variable in enumerate(cells.variables):
        atoms = cells.atoms_of(j)
        column: list[Any] = cells.values[:, j].tolist()
        if variable.kind is Kind.NOMINAL:
            column = [int(value) for value in column]
        elif atoms is not None:
            column = [
                value if atom < 0 else ("atom", int(atom))
                for value, atom in zip(column, atoms, strict=True)
            ]
        columns.append(column)
    return columns


def paths_of(variable: Variable) -> list[tuple[str, ...] | None] | None:
    if variable.hierarchy is None:
        return None
    return [None if level is None else variable.hierarchy.paths[level] for level in variable.levels]
