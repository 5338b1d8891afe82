"""Effects on columns, against counting and summing up record by record."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from microagg.release import effects
from microagg.release.effects import ColumnEffect, effects_from, effects_of, signed_percent
from microagg.table.schema import Kind
from microagg.table.variable import NO_ATOM, Cells, Variable
from mixed_tables import mixed_cells, mixed_groups, released_cells, words


def is_gap(word: object) -> bool:
    return word is None or isinstance(word, tuple)


def mean_total_spread(values: list[float], weights: list[float]) -> tuple[float, float, float]:
    weight = math.fsum(weights)
    total = math.fsum(w * x for w, x in zip(weights, values, strict=True))
    mean = total / weight
    squares = math.fsum(w * (x - mean) ** 2 for w, x in zip(weights, values, strict=True))
    return mean, total, math.sqrt(squares / weight)


def slow_numbers(
    sides: list[list[Any]], weights: list[np.ndarray]
) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float]]:
    """Mean, total and standard deviation of a column, each before and after."""
    figures = []
    for column, weight in zip(sides, weights, strict=True):
        rows = [i for i, word in enumerate(column) if not is_gap(word)]
        figures.append(
            mean_total_spread([column[i] for i in rows], [float(weight[i]) for i in rows])
        )
    first, second = figures
    return (first[0], second[0]), (first[1], second[1]), (first[2], second[2])


@pytest.mark.parametrize("seed", range(12))
def test_against_counting_one_by_one(seed: int) -> None:
    before = mixed_cells(seed)
    after = released_cells(before, mixed_groups(seed))
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 3.0, len(before)), rng.uniform(0.5, 3.0, len(before))
    ones = np.ones(len(before))
    old, new = (list(map(list, zip(*words(cells), strict=True))) for cells in (before, after))
    for pair, known in ((None, [ones, ones]), (weights, list(weights))):
        by_name = {effect.name: effect for effect in effects_of(before, after, pair)}
        assert list(by_name) == before.names
        for j, variable in enumerate(before.variables):
            effect, sides = by_name[variable.name], [old[j], new[j]]
            gaps = [[is_gap(word) for word in column] for column in sides]
            assert effect.kind == variable.kind.value
            assert effect.values == (gaps[0].count(False), gaps[1].count(False))
            both = list(zip(*gaps, strict=True))
            assert (effect.filled, effect.blanked) == (
                both.count((True, False)),
                both.count((False, True)),
            )
            if variable.kind is Kind.NUMERIC:
                mean, total, spread = slow_numbers(sides, known)
                assert effect.mean == pytest.approx(mean, rel=1e-11)
                assert effect.spread == pytest.approx(spread, rel=1e-8)
                if variable.unit:  # a total of dates means nothing
                    assert effect.total is None
                else:
                    assert effect.total == pytest.approx(total, rel=1e-11)
                assert effect.categories is None
                assert (effect.lost_codes, effect.lost_records) == ((), 0)
            else:
                counts = [Counter(word for word in column if not is_gap(word)) for column in sides]
                lost = [level for level in counts[0] if level not in counts[1]]
                assert effect.categories == (len(counts[0]), len(counts[1]))
                assert {variable.levels[code] for code in effect.lost_codes} == set(lost)
                assert list(effect.lost_codes) == sorted(effect.lost_codes)
                assert effect.lost == len(lost)
                assert effect.lost_records == sum(counts[0][level] for level in lost)
                assert effect.mean is effect.total is effect.spread is None


def test_some_tables_lose_categories() -> None:
    """Or the comparison above would say little about them."""
    lost = [
        effect.lost_records
        for seed in range(12)
        for effect in effects_of(
            mixed_cells(seed), released_cells(mixed_cells(seed), mixed_groups(seed))
        )
    ]
    assert sum(count > 0 for count in lost) >= 5


@pytest.mark.parametrize("rows", [1, 7, 39, 40, 41])
def test_chunks_of_any_size_give_the_same(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = mixed_cells(3)
    after = released_cells(before, mixed_groups(3))
    weights = np.linspace(1.0, 2.0, len(before)), np.linspace(2.0, 1.0, len(before))
    for pair in (None, weights, (weights[0], None)):
        whole = effects_of(before, after, pair)
        with monkeypatch.context() as patch:
            patch.setattr(effects, "ROWS", rows)
            assert effects_of(before, after, pair) == whole


def test_released_levels_may_have_another_order_and_new_members() -> None:
    """A release read from a file numbers its categories anew."""
    town = Variable("town", Kind.NOMINAL, levels=("a", "b", "c", None))
    read = Variable("town", Kind.NOMINAL, levels=("new", "c", "a", None))
    before = Cells((town,), np.array([[0.0], [1.0], [1.0], [2.0], [3.0]]))
    after = Cells((read,), np.array([[2.0], [2.0], [1.0], [0.0], [3.0]]))
    (effect,) = effects_of(before, after)
    assert effect.values == (4, 4)
    assert effect.categories == (3, 2)
    assert (effect.lost_codes, effect.lost_records) == ((1,), 2)
    same = Cells((town,), np.array([[0.0], [0.0], [2.0], [2.0], [3.0]]))
    assert effects_of(before, same)[0].lost_codes == (1,)


def test_weights_that_are_not_released_leave_no_totals() -> None:
    before = Cells.plain(np.array([[1.0], [3.0]]), ["rent"])
    after = Cells.plain(np.array([[2.0], [4.0]]), ["rent"])
    (effect,) = effects_of(before, after, (np.array([3.0, 1.0]), None))
    assert (effect.total, effect.mean) == (None, (1.5, 3.0))
    (effect,) = effects_of(before, after, (np.array([3.0, 1.0]), np.array([1.0, 3.0])))
    assert (effect.total, effect.mean) == ((6.0, 14.0), (1.5, 3.5))


def test_a_column_made_coarse_has_counts_only() -> None:
    before = Cells.plain(np.array([[1.0], [3.0]]), ["rent"])
    ranges = Variable("rent", Kind.ORDINAL, levels=("1-3",), coarse=True)
    (effect,) = effects_of(before, Cells((ranges,), np.zeros((2, 1))))
    assert effect == ColumnEffect("rent", "numeric", (2, 2))


def test_a_column_without_values_has_no_moments() -> None:
    income = Variable("income", marks=(None,))
    gaps = Cells((income,), np.full((2, 1), np.nan), np.zeros((2, 1), np.int16))
    filled = Cells((income,), np.array([[1.0], [2.0]]), np.full((2, 1), NO_ATOM, np.int16))
    for before, after, values in ((gaps, filled, (0, 2)), (filled, gaps, (2, 0))):
        (effect,) = effects_of(before, after)
        assert effect.values == values
        assert (effect.filled, effect.blanked) == (values[1], values[0])
        assert effect.mean is effect.total is effect.spread is None


def test_values_that_are_all_equal_have_no_spread() -> None:
    """Not a little one from rounding of squares, and never a root of less than 0."""
    for value in (0.1, 1e6 + 0.1, -3e7 / 7):
        column = Cells.plain(np.full((7, 1), value), ["rent"])
        (effect,) = effects_of(column, column)
        assert effect.spread == (0.0, 0.0)
        assert effect.mean == pytest.approx((value, value), rel=1e-12)
    far = Cells.plain(1e4 + np.array([[0.0], [2.0]]), ["rent"])  # 1e-8 of the squared mean
    assert effects_of(far, far)[0].spread == pytest.approx((1.0, 1.0), rel=1e-6)


def test_moments_beyond_floating_point_are_left_out() -> None:
    before = Cells.plain(np.array([[1e200], [-1e200]]), ["rent"])
    after = Cells.plain(np.array([[1.0], [2.0]]), ["rent"])
    (effect,) = effects_of(before, after)
    assert effect.spread is None
    assert effect.mean == (0.0, 1.5)
    (effect,) = effects_of(after, before)
    assert effect.spread is None


@pytest.mark.parametrize("seed", range(4))
def test_the_manifest_keeps_all_of_it(seed: int) -> None:
    before = mixed_cells(seed)
    made = effects_of(before, released_cells(before, mixed_groups(seed)))
    data = json.loads(json.dumps({effect.name: effect.as_data() for effect in made}))
    assert effects_from(data) == made
    assert effects_from(None) == ()


def test_an_older_manifest_counts_no_gaps() -> None:
    assert effects_from({"rent": {"kind": "numeric", "values": [3, 2]}}) == (
        ColumnEffect("rent", "numeric", (3, 2), filled=0, blanked=0),
    )


def test_changes_in_percent() -> None:
    effect = ColumnEffect(
        "z", "numeric", (9, 9), mean=(-2.0, -3.0), total=(-20.0, -25.0), spread=(4.0, 3.0)
    )
    assert effect.mean_change == -50.0
    assert effect.total_change == -25.0
    assert effect.spread_change == -25.0
    none = ColumnEffect("z", "numeric", (9, 9))
    assert none.mean_change is none.total_change is none.spread_change is None
    assert replace(effect, spread=(0.0, 1.0)).spread_change is None
    assert replace(effect, total=(0.0, 1.0)).total_change is None
    assert replace(effect, total=(math.inf, 1.0)).total_change is None
    assert replace(effect, total=(1.0, math.nan)).total_change is None
    assert replace(effect, total=(1e-300, 1e300)).total_change is None


def test_around_zero_percents_say_nothing() -> None:
    """A mean of up to a thousandth of the standard deviation, of either sign."""
    effect = ColumnEffect(
        "z", "numeric", (9, 9), mean=(0.5, 1.0), total=(5.0, 9.0), spread=(500.0, 1)
    )
    assert effect.mean_change is None
    assert effect.total_change is None
    assert replace(effect, mean=(-0.5, 1.0)).mean_change is None
    above = replace(effect, mean=(-0.51, 1.0))
    assert above.mean_change == pytest.approx(100 * 1.51 / 0.51)
    assert above.total_change == 80.0
    assert replace(effect, spread=None).total_change == 80.0


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (0.00499, "0 %"),
        (-0.00499, "0 %"),
        (0.005, "+0.005 %"),
        (-0.0123, "−0.01 %"),
        (0.999, "+1 %"),
        (0.1234, "+0.12 %"),
        (1.0, "+1 %"),
        (-1.2345, "−1.23 %"),
        (12.345, "+12.3 %"),
    ],
)
def test_signs_and_digits(change: float, text: str) -> None:
    assert signed_percent(change) == text
