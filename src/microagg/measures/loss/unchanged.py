"""Share of unchanged cells, for columns of any kind.

Cells are compared by what they stand for: the levels of the two tables may be numbered differently,
and a missing cell is as it was if it is missing still, a special code if it is the same code.
Numbers that a mean of equal ones misses by rounding are equal. A range or an ancestor is as it was
where it is the value itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from microagg.measures.measure import Basis, Figure, Measure, Pair
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Cells, Variable

_ROUNDINGS = 16.0 * np.finfo(np.float64).eps  # of a mean of equal numbers, relative to their size
_WHOLE_TIME = re.compile(r"\d{4}-\d\d-\d\d|:|days")


def cells_unchanged(pair: Pair) -> Figure:
    """Compute the unchanged cells in percent, averaged over columns.

    >>> pair = Pair(np.array([[30.0], [31.0], [32.0], [40.0]]),
    ...     np.array([[31.0], [31.0], [31.0], [40.0]]), ("age",))
    >>> cells_unchanged(pair).columns
    {'age': 50.0}
    """
    before, after = pair.before, pair.after
    percents = {}
    for j, name in enumerate(pair.quasi):
        same = same_cells(before, after, j)
        share = 1.0 if same.all() else min(1.0, float(np.average(same, weights=pair.weights)))
        percents[name] = 100.0 * share
    return unchanged_of(percents)


def unchanged_of(percents: Mapping[str, float]) -> Figure:
    """Return the figure of the cells of each column that are as they were, in percent.

    >>> unchanged_of({"age": 50.0, "rent": 100.0}).value
    75.0
    """
    return Figure(float(np.mean(list(percents.values()))), dict(percents))


def same_cells(before: Cells, after: Cells, j: int) -> np.ndarray:
    """Return a mask (n,) of the cells of a column that are as they were."""
    old, new = before.variables[j], after.variables[j]
    same = _same_atoms(before, after, j)
    both = np.flatnonzero(has_value(before, j) & has_value(after, j))
    x, y = before.values[both, j], after.values[both, j]
    if new.levels and (new.coarse or old.kind is not new.kind):
        same[both] = _same_words(old, new, x, y)
    elif old.kind is Kind.NUMERIC:
        same[both] = equal_numbers(x, y + float(new.origin - old.origin))
    else:
        same[both] = places_among(old.levels, new.levels)[y.astype(np.int64)] == x
    return same


def equal_numbers(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compare numbers up to the rounding of a mean; whole ones to the last digit.

    >>> equal_numbers(np.array([0.1, 2.0]), np.array([0.1 + 1e-17, 2.5])).tolist()
    [True, False]
    """
    near = np.abs(y - x) <= _ROUNDINGS * np.maximum(np.abs(x), np.abs(y))
    return (x == y) | (near & (y != np.rint(y)))


def has_value(cells: Cells, j: int) -> np.ndarray:
    """Return a mask (n,) of the cells with a value: neither missing nor a special code."""
    variable, atoms = cells.variables[j], cells.atoms_of(j)
    has = np.ones(len(cells), bool) if atoms is None else atoms == NO_ATOM
    if None in variable.levels:  # of nominal columns missing is a level
        has &= cells.values[:, j] != variable.levels.index(None)
    return has


def places_among(before: Sequence[object], after: Sequence[object]) -> np.ndarray:
    """Return the positions of the levels of the release among those before; -1 for new ones.

    >>> places_among(("a", "b"), ("b", "c")).tolist()
    [1, -1]
    """
    known = {level: position for position, level in enumerate(before)}
    return np.array([known.get(level, -1) for level in after] or [-1], np.int64)


def _same_atoms(before: Cells, after: Cells, j: int) -> np.ndarray:
    """Return a mask of the cells with the same special code in both tables, or missing in both."""
    marks: list[object] = []
    codes = []
    for cells in (before, after):
        atoms, variable = cells.atoms_of(j), cells.variables[j]
        of_side = np.full(len(cells), -1)
        of_side[~has_value(cells, j)] = _numbered(None, marks)
        for code, mark in enumerate(variable.marks if atoms is not None else ()):
            of_side[atoms == code] = _numbered(mark, marks)
        codes.append(of_side)
    return (codes[0] == codes[1]) & (codes[0] >= 0)


def _numbered(mark: object, marks: list[object]) -> int:
    if mark not in marks:
        marks.append(mark)
    return marks.index(mark)


def _same_words(old: Variable, new: Variable, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a mask of the cells whose range or ancestor is the original value: a range of one
    value, or a value with a branch of its own.
    """
    places = y.astype(np.int64)
    if old.levels:
        words = np.array([str(level) for level in old.levels], object)[x.astype(np.int64)]
        return words == np.array([str(level) for level in new.levels], object)[places]
    if old.unit:  # a whole date or time, and no range: then all its records have that one
        one = [
            ".." not in str(level) and bool(_WHOLE_TIME.search(str(level))) for level in new.levels
        ]
        return np.array(one, bool)[places]
    numbers = np.array([_number(level) for level in new.levels], np.float64) - float(old.origin)
    return np.nan_to_num(np.abs(numbers[places] - x), nan=np.inf) <= _ROUNDINGS * np.abs(x)


def _number(level: object) -> float:
    try:
        return float(str(level))
    except ValueError:
        return np.nan


CELLS_UNCHANGED = Measure(
    name="cells-unchanged",
    title="cells released unchanged",
    side="loss",
    unit="percent of the records, mean over columns",
    lower_is_better=False,
    lowest=0.0,
    highest=100.0,
    zero_means="No cell has the value that it had.",
    highest_means="Every cell is as it was.",
    source="A count. Missing is as it was if it is missing still; a range or an ancestor, if it "
    "is the value itself. Weights count records.",
    compute=cells_unchanged,
    basis=Basis.RECORDS,
    exact=lambda parts: unchanged_of(parts.unchanged),
)
