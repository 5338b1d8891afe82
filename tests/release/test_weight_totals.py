"""Weighted totals before and after a release, against adding up record by record."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from microagg.release.settings import Settings
from microagg.release.weight_totals import WeightTotals
from microagg.release.weighting import heavy_groups, weighted, weighting_in
from microagg.table.grouping import Groups
from microagg.table.schema import Column, Kind, Role, Schema
from microagg.table.variable import Cells
from mixed_tables import mixed_cells, mixed_groups, released_cells, words

SCHEMA = Schema(
    (
        Column("wealth", Role.CONFIDENTIAL, Kind.NUMERIC),
        Column("debt", Role.KEEP, Kind.NUMERIC),
        Column("code", Role.KEEP, Kind.NOMINAL),
        Column("income", Role.QUASI, Kind.NUMERIC),
    )
)


def total(column: list[Any], weights: np.ndarray) -> float:
    return math.fsum(
        float(weight) * float(value)
        for value, weight in zip(column, weights.tolist(), strict=True)
        if value is not None and not isinstance(value, tuple)
    )


@pytest.mark.parametrize("seed", range(5))
def test_totals_of_released_confidential_and_kept_numbers(seed: int) -> None:
    """Those of dates, categories and dropped columns mean nothing."""
    before = mixed_cells(seed)
    after = released_cells(before, mixed_groups(seed))
    rng = np.random.default_rng(seed)
    old, new = rng.uniform(1, 3, len(before)), rng.uniform(1, 3, len(before))
    wealth = rng.normal(-5, 9, len(before)).round(2)
    debt = [None if i % 7 == 0 else i for i in range(len(before))]
    frame = nw.from_native(
        pa.table({"wealth": wealth, "debt": debt, "code": ["x"] * len(before)}), eager_only=True
    )
    settings = Settings.of(k=2, quasi=before.names, weight="w")
    made: Any = SimpleNamespace(cells=after)
    totals = WeightTotals.of_chunk(frame, SCHEMA, settings, (old, new), before, made)
    income, age = (
        ([row[j] for row in words(before)], [row[j] for row in words(after)]) for j in (0, 1)
    )
    expected = {
        "wealth": (total(wealth.tolist(), old), total(wealth.tolist(), new)),
        "debt": (total(debt, old), total(debt, new)),
        "income": (total(income[0], old), total(income[1], new)),
        "age": (total(age[0], old), total(age[1], new)),
    }
    assert totals.percents == pytest.approx(
        {name: 100.0 * (b - a) / abs(a) for name, (a, b) in expected.items()}, rel=1e-9
    )
    assert totals.change == pytest.approx(math.fsum(new) / math.fsum(old) - 1.0, rel=1e-12)
    assert totals.finish() == {
        "sum_changed_by": totals.change,
        "totals_changed_by_percent": totals.percents,
    }


def test_without_released_weights_nothing_is_compared() -> None:
    cells = Cells.plain(np.array([[1.0], [2.0]]), ["age"])
    frame, none = nw.from_native(pa.table({"age": [1, 2]}), eager_only=True), Schema(())
    settings, made = Settings.of(k=2, quasi=["age"]), SimpleNamespace(cells=cells)
    of_none: Any = made
    weights = np.ones(2)
    totals = WeightTotals.of_chunk(frame, none, settings, (weights, None), cells, of_none)
    assert (totals.totals, totals.change, totals.percents) == ({}, 0.0, {})
    same = WeightTotals.of_chunk(frame, none, settings, (weights, weights), cells, of_none)
    assert (same.change, same.percents) == (0.0, {"age": 0.0})
    assert totals.combine(same).totals == same.combine(totals).totals == same.totals


def test_a_total_of_zero_has_no_change_in_percent() -> None:
    parts = {"": [[2.0, 0.0, 0.0], [2.0, 0.0, 0.0]], "z": [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]}
    assert WeightTotals(parts).percents == {}
    parts["z"] = [[-4.0, 0.0, 0.0], [-5.0, 0.0, 0.0]]
    assert WeightTotals(parts).percents == {"z": -25.0}


def test_what_weights_become() -> None:
    cells = Cells.plain(np.array([[1.0], [3.0], [10.0], [20.0]]), ["w"])
    labels = np.array([0, 0, 1, 1], np.int32)
    options: dict[str, Any] = {"k": 2, "quasi": ["age"], "weight": "w"}
    for word, after in (("mean", [2.0, 2.0, 15.0, 15.0]), ("keep", [1, 3, 10, 20]), ("drop", None)):
        settings = Settings.of(**options, aggregate={"w": word})
        weighting = weighted(weighting_in(cells, settings), labels, settings)
        assert weighting is not None
        assert weighting.before.tolist() == [1, 3, 10, 20]
        assert (None if weighting.after is None else weighting.after.tolist()) == after
        assert weighting.as_data()["aggregate"] == word
    assert weighting_in(cells, Settings.of(**options)).becomes == "mean"
    assert weighted(None, labels, Settings.of(**options)) is None


@pytest.mark.parametrize(
    ("weights", "heavy"),
    [([3, 1, 1, 1], 0), ([3.01, 1, 1, 1], 1), ([1, 1, 1, 1], 0), ([5, 1, 1, 1], 1)],
)
def test_a_record_with_more_than_half_of_its_groups_weight(
    weights: list[float], heavy: int
) -> None:
    labels = np.array([0, 0, 0, 0, 1, 1], np.int32)
    every = np.array([*weights, 2.0, 2.0])
    assert heavy_groups(every, Groups.of(labels)) == heavy
