"""Changes of cells, against counting them one by one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from microagg.release.changes import (
    changes,
    rows_of_changes,
    sentence_on_changes,
    unchanged_on_average,
)
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable
from mixed_tables import SCHOOL, mixed_cells, mixed_groups, released_cells, words


def is_gap(word: object) -> bool:
    return word is None or isinstance(word, tuple)


def slow(before: Cells, after: Cells) -> dict[str, tuple[float, float | None, int, int]]:
    """Unchanged in percent, mean absolute change (days, levels), filled, blanked."""
    result: dict[str, tuple[float, float | None, int, int]] = {}
    pairs = list(zip(words(before), words(after), strict=True))
    for j, variable in enumerate(before.variables):
        cells = [(old[j], new[j]) for old, new in pairs]
        values = [(old, new) for old, new in cells if not is_gap(old) and not is_gap(new)]
        moves: list[float] = []
        if variable.kind is Kind.NUMERIC:
            moves = [abs(new - old) for old, new in values]
        elif variable.kind is Kind.ORDINAL:
            moves = [abs(SCHOOL.index(new) - SCHOOL.index(old)) for old, new in values]
        result[variable.name] = (
            100 * sum(old == new for old, new in cells) / len(cells),
            math.fsum(moves) / len(moves) if moves else None,
            sum(is_gap(old) and not is_gap(new) for old, new in cells),
            sum(is_gap(new) and not is_gap(old) for old, new in cells),
        )
    return result


@pytest.mark.parametrize("seed", range(30))
def test_against_counting_one_by_one(seed: int) -> None:
    before = mixed_cells(seed)
    after = released_cells(before, mixed_groups(seed))
    changed, expected = changes(before, after), slow(before, after)
    assert list(changed) == list(expected) == before.names
    for name, (unchanged, moved, filled, blanked) in expected.items():
        change = changed[name]
        assert change.unchanged == pytest.approx(unchanged, abs=1e-12)
        assert (change.filled, change.blanked) == (filled, blanked)
        assert change.moved == (None if moved is None else pytest.approx(moved, rel=1e-12))
    assert changed["income"].filled > 0
    assert any(change.blanked for change in changed.values())
    assert unchanged_on_average(changed) == pytest.approx(
        sum(percent for percent, *_ in expected.values()) / len(expected)
    )


@pytest.mark.parametrize("seed", range(10))
def test_cells_are_compared_by_what_they_stand_for(seed: int) -> None:
    """A release read from a file has levels, marks and an origin of its own."""
    before = mixed_cells(seed)
    after = released_cells(before, mixed_groups(seed))
    income, age, born, school, town = after.variables
    values, atoms = after.values.copy(), after.atoms
    assert atoms is not None
    atoms = atoms.copy()
    values[:, 2] += 30.0
    values[:, 4] = len(town.levels) - 2 - values[:, 4]
    values[values[:, 4] < 0, 4] = len(town.levels) - 1  # None stays the last
    atoms[:, 0] = np.array([1, 0, -1])[atoms[:, 0]]
    moved = Cells(
        (
            replace(income, marks=(None, 97.0)),
            age,
            replace(born, origin=born.origin - 30),
            school,
            replace(town, levels=(*town.levels[-2::-1], None)),
        ),
        values,
        atoms,
    )
    assert words(moved) == words(after)
    assert changes(before, moved) == changes(before, after)


def test_times_are_told_in_the_unit_that_fits() -> None:
    def moved(by: float, unit: str) -> tuple[float | None, str]:
        variable = (Variable("seen", unit=unit),)
        change = changes(
            Cells(variable, np.array([[0.0], [0.0]])), Cells(variable, np.array([[by], [by]]))
        )["seen"]
        return change.moved, change.unit

    assert moved(3.0, "D") == (3.0, "days")
    assert moved(7_200.0, "s") == (2.0, "hours")
    assert moved(86_400e9 * 2, "ns") == (2.0, "days")
    assert moved(1_500.0, "us") == (1.5, "milliseconds")
    assert moved(0.25, "ns") == (0.25, "nanoseconds")
    assert moved(2.0, "") == (2.0, "")


def test_ranges_and_ancestors() -> None:
    """A range has no distance; a range of one value is that value."""
    ages = Cells.plain(np.array([[30.0], [32.0], [40.0], [40.0]]), ["age"])
    ranges = Variable("age", levels=("30..32", "40"), coarse=True)
    change = changes(ages, Cells((ranges,), np.array([[0.0], [0.0], [1.0], [1.0]])))["age"]
    assert (change.unchanged, change.moved) == (50.0, None)
    towns = Cells(
        (Variable("town", Kind.NOMINAL, ("Pisa", "Rome", None)),),
        np.array([[0.0], [1.0], [1.0], [2.0]]),
    )
    parents = Variable("town", Kind.NOMINAL, ("*", "Italy", "Rome"), coarse=True)
    change = changes(towns, Cells((parents,), np.array([[1.0], [1.0], [2.0], [0.0]])))["town"]
    assert (change.unchanged, change.filled) == (25.0, 1)


def test_a_table_without_records() -> None:
    changed = changes(
        Cells.plain(np.empty((0, 1)), ["age"]), Cells.plain(np.empty((0, 1)), ["age"])
    )
    assert (changed["age"].unchanged, changed["age"].moved) == (100.0, None)


def test_the_words() -> None:
    before = mixed_cells(3)
    changed = changes(before, released_cells(before, mixed_groups(3)))
    rows = {row[0]: row for row in rows_of_changes(changed)}
    assert rows["income"][4].startswith(f"{changed['income'].filled} filled")
    assert rows["born"][3].endswith(" days")
    assert rows["school"][3].endswith(" levels")
    assert rows["town"][3] == "–"
    text = sentence_on_changes(changed)
    assert text.startswith(f"{unchanged_on_average(changed):.1f} % of the cells")
    assert f"{sum(change.filled for change in changed.values())} gaps were filled" in text
