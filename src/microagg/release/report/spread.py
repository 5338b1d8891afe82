"""Distribution of a column's cells: levels as bars, numbers and dates in bins, missing values
beside them.

A public report shows the released cells alone, and must follow from them. It must not depend on
levels that only the original had, nor on the origin of the original's numbers. `as_released`
removes both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from microagg.drawing.pictures import draw_distribution, draw_levels
from microagg.formatting import counted, number
from microagg.measures.risk.classes import columns_to_compare
from microagg.release.report.bins import Bins, bins_of, bins_of_dates
from microagg.release.report.document import Grid, Picture
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Cells, Variable

NO_PICTURE = "Without a picture, because there are not two bins to show: {}."
LEVELS = 12  # of a picture; more are not told apart by eye
MISSING = "missing"
_PER_DAY = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_SPANS = (
    ("days", 86_400.0),
    ("hours", 3_600.0),
    ("minutes", 60.0),
    ("seconds", 1.0),
    ("milliseconds", 1e-3),
    ("microseconds", 1e-6),
    ("nanoseconds", 1e-9),
)


@dataclass(frozen=True)
class Spread:
    """Counts of a column's cells by slot, in each of some tables.

    >>> Spread("sex", ("F", "M"), ((2, 3),)).counts
    ((2, 3),)
    """

    name: str
    slots: tuple[str, ...]
    """What is counted: bins or levels, then what is not on the scale."""
    counts: tuple[tuple[int, ...], ...]
    """For each table, how many records are in each slot."""
    edges: tuple[str, ...] | None = None
    """What lies between bins; None for levels."""
    beside: int = 0
    """How many of the last slots are not on the scale."""

    def picture(self, before_and_after: bool) -> Picture:
        """The picture in percent of the records, and its numbers."""
        shares = [
            [round(100 * count / max(1, sum(counts)), 1) for count in counts]
            for counts in self.counts
        ]
        after, before = shares[-1], shares[0] if len(shares) > 1 else None
        what = f"{len(self.slots)} {'levels' if self.edges is None else 'bins'}"
        if before is None:
            when = "as released"
            rows = tuple((slot, f"{a:.1f}") for slot, a in zip(self.slots, after, strict=True))
            grid = Grid((self.name, "% of records"), rows, f"{self.name}, {when}.")
        else:
            when = "before and after"
            both = zip(self.slots, before, after, strict=True)
            rows = tuple((slot, f"{b:.1f}", f"{a:.1f}") for slot, b, a in both)
            grid = Grid(
                (self.name, "before, % of records", "after, % of records"),
                rows,
                f"{self.name}, {when}.",
            )
            when = (
                f"before (grey area) and after (blue {'outline' if self.edges is None else 'line'})"
            )
        caption = (
            self.name
            if before is not None or not before_and_after
            else f"{self.name} (as released)"
        )
        if self.edges is None:
            svg = draw_levels(self.slots, after, before)
        else:
            beside = self.slots[len(self.slots) - self.beside :]
            svg = draw_distribution(self.edges, after, before, beside)
        return Picture(svg, f"{self.name}: shares of records in {what}, {when}.", caption, grid, 3)


def spread_of(tables: Sequence[Cells], column: int) -> Spread | None:
    """Return the distribution of one column in some tables; the first table decides on bins and
    levels.

    None where there are not two slots. Where only the last table has ranges or ancestors, it is
    shown alone.

    >>> spread_of([Cells.plain(np.array([[1.0], [2.0], [2.0]]), ["age"])], 0)
    Spread(name='age', slots=('under 2', '2 and more'), counts=((1, 2),), edges=('2',), beside=0)
    """
    if tables[-1].variables[column].coarse:
        tables = tables[-1:]
    variable = tables[0].variables[column]
    atoms, atom_counts = _atoms(tables, column)
    if not variable.levels and any(_there(cells, column).any() for cells in tables):
        of_numbers = _of_numbers(tables, column)
        name = (
            variable.name
            if of_numbers is None or not of_numbers[1]
            else f"{variable.name} ({of_numbers[1]})"
        )
        if of_numbers is not None or atoms:
            bins = of_numbers[0] if of_numbers is not None else None
            counts = (
                bins.counts
                if bins
                else tuple((int(_there(cells, column).sum()),) for cells in tables)
            )
            slots, edges = (bins.names(), bins.texts) if bins else (("a value",), ())
            joined = tuple((*on, *off) for on, off in zip(counts, atom_counts, strict=True))
            return Spread(name, (*slots, *atoms), joined, tuple(edges), len(atoms))
        return None
    slots, counts = _of_levels(tables, column)
    joined = tuple((*on, *off) for on, off in zip(counts, atom_counts, strict=True))
    return Spread(variable.name, (*slots, *atoms), joined)


def _of_numbers(tables: Sequence[Cells], column: int) -> tuple[Bins, str] | None:
    """Bins of numbers, dates or lengths of time, and the unit of these."""
    variable = tables[0].variables[column]
    values = [absolute(cells, column) for cells in tables]
    if not variable.unit:
        bins = bins_of(values[0], *values)
        return None if bins is None else (bins, "")
    unit = tables[0].variables[column].unit
    if not variable.span:
        bins = bins_of_dates(unit, values[0], *values)
        return None if bins is None else (bins, "")
    seconds = [array * (86_400.0 / _PER_DAY[unit]) for array in values]
    largest = max((float(np.abs(array).max()) for array in seconds if len(array)), default=0.0)
    word, size = next((array for array in _SPANS if largest >= 2 * array[1]), _SPANS[-1])
    bins = bins_of(*(array / size for array in (seconds[0], *seconds)))
    return None if bins is None else (bins, word)


def absolute(cells: Cells, column: int) -> np.ndarray:
    """Return the numbers of a column without gaps: int64 for times, in units since 1970; else
    float64.

    Exact before a single rounding, so that the origin of the numbers does not matter.

    >>> absolute(Cells((Variable("born", origin=10, unit="D"),), np.array([[5.0]])), 0).tolist()
    [15]
    """
    variable, values = cells.variables[column], cells.values[:, column]
    values = values[_there(cells, column)] if cells.atoms_of(column) is not None else values
    if variable.unit:
        return np.rint(values).astype(np.int64) + int(variable.origin)
    if not variable.origin:
        return values
    origin = (
        Fraction(variable.origin) if isinstance(variable.origin, Decimal | int) else Fraction(0)
    )
    different, which = np.unique(values, return_inverse=True)
    return np.array([float(origin + Fraction(value)) for value in different.tolist()])[
        which.reshape(-1)
    ]


def _there(cells: Cells, column: int) -> np.ndarray:
    atoms = cells.atoms_of(column)
    return np.ones(len(cells), bool) if atoms is None else atoms == NO_ATOM


def _atoms(tables: Sequence[Cells], column: int) -> tuple[list[str], list[list[int]]]:
    """The special codes and the missing cells of a column: what they are called, and how many each
    table has.
    """
    counts: dict[str, list[int]] = {}
    for index, cells in enumerate(tables):
        atoms = cells.atoms_of(column)
        if atoms is None:
            continue
        for mark, code in enumerate(cells.variables[column].marks):
            count = int((atoms == mark).sum())
            if count:
                name = MISSING if code is None else f"code {level_text(code)}"
                counts.setdefault(name, [0] * len(tables))[index] = count
    names = sorted(counts, key=lambda name: name == MISSING)  # the order given, missing last
    return names, [[counts[name][index] for name in names] for index in range(len(tables))]


def _of_levels(tables: Sequence[Cells], column: int) -> tuple[list[str], list[list[int]]]:
    """The levels that occur, in their order: at most a dozen by name, the most frequent of the
    first table.
    """
    counts: list[dict[Any, int]] = []
    for cells in tables:
        levels, present = cells.variables[column].levels, _there(cells, column)
        often = np.bincount(
            cells.values[present, column].astype(np.int64), minlength=len(levels)
        ).tolist()
        counts.append({level: count for level, count in zip(levels, often, strict=True) if count})
    missing = [counter.pop(None, 0) for counter in counts]
    occurring = in_order(
        tables[0].variables[column], {level for counter in counts for level in counter}
    )
    named = occurring
    if len(occurring) > LEVELS:
        most = sorted(
            range(len(occurring)), key=lambda code: (-counts[0].get(occurring[code], 0), code)
        )
        named = [occurring[code] for code in sorted(most[:LEVELS])]
    slots = [level_text(level) for level in named]
    rows = [[counter.get(level, 0) for level in named] for counter in counts]
    if len(named) < len(occurring):
        slots.append(counted(len(occurring) - len(named), "other"))
        for counter, row in zip(counts, rows, strict=True):
            row.append(sum(counter.values()) - sum(row))
    if any(missing):
        slots.append(MISSING)
        for row, gaps in zip(rows, missing, strict=True):
            row.append(gaps)
    return slots, rows


def in_order(variable: Variable, levels: set[Any]) -> list[Any]:
    """Levels in the order in which they are shown: that of an ordinal column; else numbers by
    value, texts by code point.

    Numbers within ranges and ancestors go by their value.

    >>> in_order(Variable("town", Kind.NOMINAL, ("Rome", "Bonn")), {"Rome", "Bonn"})
    ['Bonn', 'Rome']
    """
    if variable.kind is Kind.ORDINAL and not variable.coarse:
        return [level for level in variable.levels if level in levels]
    if variable.coarse:
        return sorted(levels, key=lambda text: ([*_numbers_first(str(text))], str(text)))
    numeric = [level for level in levels if isinstance(level, bool | int | float | Decimal)]
    texts = [level for level in levels if not isinstance(level, bool | int | float | Decimal)]
    return [*sorted(numeric), *sorted(texts, key=str)]


def _numbers_first(text: str) -> list[tuple[int, float, str]]:
    parts = re.split(r"(-?\d+(?:\.\d+)?)", text)
    return [
        (0, float(part), "") if index % 2 else (1, 0.0, part)
        for index, part in enumerate(parts)
        if part
    ]


def level_text(level: Any) -> str:
    """A level as it is shown.

    >>> level_text(2.0), level_text("a b"), level_text(True)
    ('2', 'a b', 'true')
    """
    if isinstance(level, bool | np.bool_):
        return "true" if level else "false"
    if isinstance(level, int | float | np.number):
        return str(int(level)) if float(level).is_integer() else number(float(level), 12)
    return str(level)


def as_released(cells: Cells) -> Cells:
    """The same cells, rows sorted, in terms that follow from them alone: whatever the original was.

    >>> towns = Variable("town", Kind.NOMINAL, ("Bonn", "Pisa", "Rome"))
    >>> found = as_released(Cells((towns,), np.array([[2.0], [0.0]])))
    >>> found.variables[0].levels, found.values.tolist()
    (('Bonn', 'Rome'), [[0.0], [1.0]])
    """
    if cells.is_plain and not any(
        other.unit or other.origin or other.marks for other in cells.variables
    ):
        rows = np.lexsort(cells.values.T[::-1])
        return Cells.plain(cells.values[rows], cells.names)
    variables, values = [], np.full(cells.values.shape, np.nan)
    atoms = np.full(cells.values.shape, NO_ATOM, np.int16)
    for j in range(len(cells.variables)):
        present = _there(cells, j)
        variable, values[present, j] = _own_terms(cells, j, present)
        held = cells.atoms_of(j)
        if held is not None:
            occurring = [mark for mark in range(len(variable.marks)) if (held == mark).any()]
            for index, mark in enumerate(occurring):
                atoms[held == mark, j] = index
            variable = replace(variable, marks=tuple(variable.marks[mark] for mark in occurring))
        else:
            variable = replace(variable, marks=())
        variables.append(variable)
    cells_as_released = Cells(tuple(variables), values, atoms if (atoms != NO_ATOM).any() else None)
    rows = np.lexsort(tuple(reversed(columns_to_compare(cells_as_released))))
    return Cells(
        cells_as_released.variables,
        values[rows],
        None if cells_as_released.atoms is None else atoms[rows],
    )


def _own_terms(cells: Cells, j: int, present: np.ndarray) -> tuple[Variable, np.ndarray]:
    """A column's variable, and the values of those cells that have one, counted from what the
    column itself has.
    """
    old, values = cells.variables[j], cells.values[present, j]
    shown = Variable(
        old.name,
        old.kind,
        marks=old.marks,
        unit=old.unit,
        wall=old.wall,
        span=old.span,
        coarse=old.coarse,
    )
    if old.levels:
        places = values.astype(np.int64)
        used = {old.levels[code] for code in np.unique(places).tolist()}
        levels = [*in_order(old, used - {None}), *([None] if None in used else [])]
        index_of = {level: code for code, level in enumerate(levels)}
        new = np.array([index_of.get(level, -1) for level in old.levels], np.float64)
        return replace(shown, levels=tuple(levels)), new[places]
    if old.unit:
        return _own_times(shown, absolute(cells, j))
    if not old.origin:
        return shown, values
    numbers = absolute(cells, j)
    least = float(numbers.min()) if len(numbers) else 0.0
    return replace(shown, origin=Decimal(least)), numbers - least


def _own_times(shown: Variable, ticks: np.ndarray) -> tuple[Variable, np.ndarray]:
    """Times in the longest unit that all of them are whole numbers of, counted from the first."""
    if len(ticks) == 0:
        return replace(shown, unit="D"), ticks.astype(np.float64)
    for unit, per_day in _PER_DAY.items():
        size = _PER_DAY[shown.unit] // per_day
        if size >= 1 and not (ticks % size).any():
            least = int(ticks.min()) // size
            return replace(shown, unit=unit, origin=least), (ticks // size - least).astype(
                np.float64
            )
    raise AssertionError("every time is a whole number of its own unit")
