"""Spread of cells: levels, bins of numbers and dates, gaps; and the released cells in their own
terms.
"""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from microagg.release.report.bins import FINEST, bins_of_dates
from microagg.release.report.spread import LEVELS, as_released, spread_of
from microagg.table.schema import Kind
from microagg.table.variable import Cells, Variable
from mixed_tables import SCHOOL, mixed_cells, mixed_groups, released_cells, words

NEW_YEAR = datetime.date(1970, 1, 1)


def date_of(edge: str) -> datetime.date:
    parts = [int(part) for part in edge.split("-")]
    return datetime.date(*(parts + [1, 1])[:3])


@pytest.mark.parametrize("days", [3, 20, 45, 150, 400, 1_000, 9_000, 40_000])
@pytest.mark.parametrize("seed", range(4))
def test_dates_are_counted_between_dates(seed: int, days: int) -> None:
    rng = np.random.default_rng([seed, days])
    column = rng.integers(-5_000, -5_000 + days, 60)
    bins = bins_of_dates("D", column, column)
    assert bins is not None
    assert 1 <= len(bins.edges) <= FINEST + 1
    dates = [NEW_YEAR + datetime.timedelta(days=int(day)) for day in column]
    edges = [date_of(word) for word in bins.words]
    assert edges == sorted(set(edges))
    slots = [sum(edge <= date for edge in edges) for date in dates]
    assert list(bins.counts[0]) == [slots.count(j) for j in range(len(edges) + 1)]
    assert bins.counts[0][0] > 0


def test_edges_of_dates_are_those_that_people_use() -> None:
    def words_of(days: int, start: str = "2001-03-07") -> tuple[str, ...]:
        first = int(np.datetime64(start, "D").astype(int))
        bins = bins_of_dates("D", np.arange(first, first + days))
        assert bins is not None
        return bins.words

    assert all(datetime.date.fromisoformat(word).weekday() == 0 for word in words_of(70)), "Mondays"
    assert all(word.count("-") == 1 for word in words_of(330)), "months"
    assert words_of(20_000)[:3] == ("2005", "2010", "2015")
    hours = bins_of_dates("s", np.arange(0, 86_400, 600))
    assert hours is not None
    assert hours.words[0] == "1970-01-01 02:00"


def counted(cells: Cells, j: int) -> Counter[str]:
    gap = {True: "missing", False: "code 97"}
    return Counter(
        "missing"
        if word is None
        else gap[word[1] is None]
        if isinstance(word, tuple)
        else str(word)
        for word in (row[j] for row in words(cells))
    )


@pytest.mark.parametrize("seed", range(10))
def test_levels_and_gaps_are_counted_one_by_one(seed: int) -> None:
    before = mixed_cells(seed)
    after = released_cells(before, mixed_groups(seed))
    for j, order in (
        (3, [*SCHOOL, "missing"]),
        (4, ["Bonn", "NA", "Rom", "rom", "Ästad", "missing"]),
    ):
        spread = spread_of([before, after], j)
        assert spread is not None
        olds, news = counted(before, j), counted(after, j)
        expected = [level for level in order if olds[level] or news[level]]
        assert list(spread.slots) == expected
        assert spread.counts == (
            tuple(olds[level] for level in expected),
            tuple(news[level] for level in expected),
        )
        alone = spread_of([after], j)
        assert alone is not None
        assert list(alone.slots) == [level for level in order if news[level]], (
            "levels that occur alone"
        )
    income = spread_of([before, after], 0)
    assert income is not None
    gaps = [
        name
        for name in ("code 97", "missing")
        if counted(before, 0)[name] or counted(after, 0)[name]
    ]
    assert [*income.slots[-len(gaps) :]] == gaps
    assert income.beside == len(gaps)
    for cells, counts in zip((before, after), income.counts, strict=True):
        assert sum(counts) == len(cells)
        assert [*counts[-len(gaps) :]] == [counted(cells, 0)[name] for name in gaps]


def test_at_most_a_dozen_levels_have_a_name() -> None:
    levels = tuple(f"town {j:02}" for j in range(40))
    values = np.repeat(np.arange(40.0), np.where(np.arange(40) % 3 == 0, 5, 1)).reshape(-1, 1)
    spread = spread_of([Cells((Variable("town", Kind.NOMINAL, levels),), values)], 0)
    assert spread is not None
    assert spread.slots == (*[f"town {j:02}" for j in range(0, 36, 3)], f"{40 - LEVELS} others")
    assert spread.counts == ((*[5] * LEVELS, len(values) - 5 * LEVELS),)


def test_columns_of_one_value_and_of_gaps_alone() -> None:
    atoms = np.array([[-1], [0], [0]], np.int16)
    age = Variable("age", marks=(None,))
    spread = spread_of([Cells((age,), np.array([[3.0], [np.nan], [np.nan]]), atoms)], 0)
    assert spread is not None
    assert (spread.slots, spread.counts) == (("a value", "missing"), ((1, 2),))
    assert spread.picture(before_and_after=False).data.rows == (
        ("a value", "33.3"),
        ("missing", "66.7"),
    )
    gaps = spread_of([Cells((age,), np.full((2, 1), np.nan), np.zeros((2, 1), np.int16))], 0)
    assert gaps is not None
    assert (gaps.slots, gaps.counts) == (("missing",), ((2,),))
    assert spread_of([Cells.plain(np.full((3, 1), 7.0), ["age"])], 0) is None


def test_ranges_are_shown_alone_and_in_the_order_of_their_numbers() -> None:
    ages = Cells.plain(np.array([[2.0], [5.0], [30.0], [32.0], [100.0]]), ["age"])
    ranges = Variable("age", Kind.NOMINAL, ("100", "2..5", "30..32"), coarse=True)
    spread = spread_of([ages, Cells((ranges,), np.array([[1.0], [1.0], [2.0], [2.0], [0.0]]))], 0)
    assert spread is not None
    assert (spread.slots, spread.counts) == (("2..5", "30..32", "100"), ((2, 2, 1),))
    assert spread.picture(before_and_after=True).caption == "age (as released)"


def test_lengths_of_time_have_a_unit() -> None:
    waits = Variable("wait", unit="s", span=True)
    spread = spread_of([Cells((waits,), np.arange(0.0, 36_000.0, 60.0).reshape(-1, 1))], 0)
    assert spread is not None
    assert spread.name == "wait (hours)"
    assert spread.slots[1] == "1 to under 2"


def test_long_numbers_are_shown_as_they_are() -> None:
    codes = Variable("number", origin=10**17)
    spread = spread_of([Cells((codes,), np.arange(0.0, 10**16, 10**14).reshape(-1, 1))], 0)
    assert spread is not None
    assert "·10¹⁷" in spread.slots[1]


@pytest.mark.parametrize("seed", range(10))
def test_released_cells_in_their_own_terms(seed: int) -> None:
    """The same records, whatever else the original had."""
    before = mixed_cells(seed)
    after = released_cells(before, mixed_groups(seed))
    released = as_released(after)
    assert sorted(map(repr, words(released))) == sorted(map(repr, words(after)))
    income, _, born, school, town = after.variables
    order = np.random.default_rng(seed).permutation(len(after))
    values, atoms = after.values[order], after.atoms
    assert atoms is not None
    values[:, 2] = (values[:, 2] + 11) * 86_400
    values[:, 3] += 1
    values[:, 4] += 2
    other = Cells(
        (
            replace(income, marks=(*income.marks[:1], 98.0, None)),
            after.variables[1],
            replace(born, origin=(born.origin - 11) * 86_400, unit="s"),
            replace(school, levels=("never seen either", *school.levels)),
            replace(town, levels=("Aachen", "Zürich", *town.levels)),
        ),
        values,
        np.column_stack(
            [np.where(atoms[order, 0] == 1, 2, atoms[order, 0]), atoms[order, 1:]]
        ).astype(np.int16),
    )
    again = as_released(other)
    assert again.variables == released.variables
    assert np.array_equal(again.values, released.values, equal_nan=True)
    assert (again.atoms is None) == (released.atoms is None)
    if released.atoms is not None and again.atoms is not None:
        assert np.array_equal(again.atoms, released.atoms)
    assert set(released.variables[4].levels) == {row[4] for row in words(after)}
