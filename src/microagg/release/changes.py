"""Changes of the cells of a table, column by column: everyday figures for the data holder.

How many cells are as they were, how far numbers and dates moved, by how many levels ordered
categories did, how many gaps were filled and how many values blanked. All of it is of both tables,
so none of it is public.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from microagg.formatting import counted, html_table, listed, number
from microagg.measures.loss.unchanged import has_value, places_among, same_cells
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable

# what units of time are called, and how many of the next smaller one make one; from the longest to
# the shortest
UNITS = (
    ("D", "days", 24),
    ("h", "hours", 60),
    ("m", "minutes", 60),
    ("s", "seconds", 1000),
    ("ms", "milliseconds", 1000),
    ("us", "microseconds", 1000),
    ("ns", "nanoseconds", 1),
)


@dataclass(frozen=True)
class Change:
    """Changes of the cells of one column.

    >>> Change("age", Kind.NUMERIC, 50.0, 1.5, "", 0, 0).moved
    1.5
    """

    name: str
    kind: Kind
    unchanged: float
    """Cells that are as they were, in percent; none where a column was made coarse, unless a range
    or an ancestor is the value.
    """
    moved: float | None
    """The mean absolute change where there was a value before and after: in the units of numbers,
    in `unit` for dates and times, in levels for ordinal columns; None for nominal ones, for coarse
    ones, and where there is no such cell.
    """
    unit: str
    """What `moved` counts: "" for plain numbers, "levels", or a unit of time such as "days"."""
    filled: int
    """Cells that were missing or a special code, and have a value now."""
    blanked: int
    """Cells that had a value, and are missing or a special code now."""


def changes(before: Cells, after: Cells) -> dict[str, Change]:
    """Return the changes of each column by its name. Both tables have the same records in the same
    order.

    Cells are compared by what they stand for: the levels of the two may be numbered differently.

    >>> before = Cells.plain(np.array([[30.0], [32.0], [31.0]]), ["age"])
    >>> changes(before, Cells.plain(np.full((3, 1), 31.0), ["age"]))["age"].moved
    0.6666666666666666
    """
    return {variable.name: _change(before, after, j) for j, variable in enumerate(before.variables)}


def unchanged_on_average(by_column: Mapping[str, Change]) -> float:
    """Return the share of unchanged cells in percent, averaged over columns.

    >>> town = Change("town", Kind.NOMINAL, 90.0, None, "", 0, 0)
    >>> sex = Change("sex", Kind.NOMINAL, 100.0, None, "", 0, 0)
    >>> unchanged_on_average({"town": town, "sex": sex})
    95.0
    """
    return (
        float(np.mean([change.unchanged for change in by_column.values()])) if by_column else 100.0
    )


def _change(before: Cells, after: Cells, j: int) -> Change:
    old, new = before.variables[j], after.variables[j]
    had, has = has_value(before, j), has_value(after, j)
    filled, blanked = int((~had & has).sum()), int((had & ~has).sum())
    same = same_cells(before, after, j)
    moves = moves_of(before, after, j)
    unchanged = 100.0 * float(same.mean()) if len(same) else 100.0
    moved = float(moves.mean()) if moves is not None and len(moves) else None
    return Change(old.name, old.kind, unchanged, *moved_by(old, new, moved), filled, blanked)


def moves_of(before: Cells, after: Cells, j: int) -> np.ndarray | None:
    """Return the absolute changes of the cells that have a value before and after; None where these
    have no meaning.

    >>> before = Cells.plain(np.array([[30.0]]), ["age"])
    >>> moves_of(before, Cells.plain(np.array([[31.0]]), ["age"]), 0).tolist()
    [1.0]
    """
    old, new = before.variables[j], after.variables[j]
    both = np.flatnonzero(has_value(before, j) & has_value(after, j))
    x, y = before.values[both, j], after.values[both, j]
    if old.kind is Kind.NUMERIC and not new.coarse:
        return np.abs(y - x + float(new.origin - old.origin))
    if old.kind is Kind.ORDINAL and not new.coarse:
        places = places_among(old.levels, new.levels)[y.astype(np.int64)]
        known = places >= 0  # a level of an ordered column that was not there before has no place
        return np.abs(places - x)[known]
    return None


def moved_by(old: Variable, new: Variable, moved: float | None) -> tuple[float | None, str]:
    """Return the mean change of a cell in a fitting unit.

    >>> moved_by(Variable("age"), Variable("age"), 1.5)
    (1.5, '')
    """
    if old.kind is Kind.ORDINAL:
        return moved, "levels" if moved is not None else ""
    return (
        (None, "") if new.coarse or old.kind is Kind.NOMINAL else _in_fitting_unit(moved, old.unit)
    )


def _in_fitting_unit(moved: float | None, unit: str) -> tuple[float | None, str]:
    """Return a length of time in the longest unit of which it has at least one; in its own unit
    where it is shorter than all.

    >>> _in_fitting_unit(90.0, "s"), _in_fitting_unit(0.5, "D")
    ((1.5, 'minutes'), (0.5, 'days'))
    """
    if not unit:
        return moved, ""
    index = [short for short, _, _ in UNITS].index(unit)
    fitting = moved
    while fitting is not None and index > 0 and fitting / UNITS[index - 1][2] >= 1.0:
        index -= 1
        fitting /= UNITS[index][2]
    return fitting, UNITS[index][1]


class ChangeTable(dict[str, Change]):
    """Changes by column that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        head = ("column", "kind", "cells unchanged, %", "mean change of a cell", "gaps")
        return html_table(head, rows_of_changes(self), "Internal: do not publish.")


def moved_text(change: Change) -> str:
    """Return the mean change of a cell with its unit.

    >>> moved_text(Change("age", Kind.NUMERIC, 50.0, 1.5, "years", 0, 0))
    '1.5 years'
    """
    return "–" if change.moved is None else f"{number(change.moved, 3)} {change.unit}".strip()


def rows_of_changes(by_column: Mapping[str, Change]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the rows of a table: column, kind, cells unchanged in percent, their mean change, gaps
    filled and values blanked.

    >>> list(rows_of_changes({"age": Change("age", Kind.NUMERIC, 50.0, 1.5, "", 2, 0)}))
    [('age', 'numeric', '50.0', '1.5', '2 filled')]
    """
    for change in by_column.values():
        gaps = [
            f"{count:,} {what}"
            for count, what in ((change.filled, "filled"), (change.blanked, "blanked"))
            if count
        ]
        yield (
            change.name,
            change.kind.value,
            f"{change.unchanged:.1f}",
            moved_text(change),
            ", ".join(gaps) or "–",
        )


def sentence_on_changes(by_column: Mapping[str, Change]) -> str:
    """Return the everyday figure in words.

    >>> sentence_on_changes({"age": Change("age", Kind.NUMERIC, 50.0, 1.5, "", 2, 0)})
    '50.0 % of the cells are as they were, averaged over columns; 2 gaps were filled (age)'
    """
    unchanged = unchanged_on_average(by_column)
    sentence = f"{unchanged:.1f} % of the cells are as they were, averaged over columns"
    filled = {name: change.filled for name, change in by_column.items() if change.filled}
    blanked = {name: change.blanked for name, change in by_column.items() if change.blanked}
    if filled:
        was = "was" if sum(filled.values()) == 1 else "were"
        sentence += (
            f"; {counted(sum(filled.values()), 'gap')} {was} filled ({listed(list(filled))})"
        )
    if blanked:
        was = "was" if sum(blanked.values()) == 1 else "were"
        sentence += (
            f"; {counted(sum(blanked.values()), 'value')} {was} blanked ({listed(list(blanked))})"
        )
    return sentence
