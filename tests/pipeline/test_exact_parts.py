"""Statistics of all records that exact measures take, against the records themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from microagg.kernels import sums
from microagg.measures.loss.number_sums import number_totals, terms_of
from microagg.measures.measure import Pair
from microagg.measures.risk.classes import ClassSizes
from microagg.pipeline.exact_parts import MergedParts
from microagg.pipeline.figures import FigureCounts

NAMES = ("age", "rent")


def parts_of(**inputs: Any) -> MergedParts:
    everything: Any = SimpleNamespace(weighted=False, k=3, **inputs)
    return MergedParts(everything, True)


def sums_of(*columns: np.ndarray) -> np.ndarray:
    return sums.column_sums(np.ascontiguousarray(np.column_stack(columns), np.float64))


def test_chances_are_those_of_the_smallest_classes() -> None:
    parts = parts_of(classes=ClassSizes.of(np.array([3, 5, 3, 10])))
    chances = parts.chances
    assert chances.highest == pytest.approx(1 / 3)
    assert chances.records == 6
    assert chances.expected == pytest.approx(4.0)  # one of each class
    assert (parts.k, parts.weighted, parts.classes.records) == (3, False, 21)


def test_weighted_chances_are_those_that_were_added_up() -> None:
    expected = sums.column_sums(np.array([[2.5], [1.5]]))
    facts = SimpleNamespace(chance=0.25, at_chance=7, expected=expected)
    inputs: Any = SimpleNamespace(weighted=True, facts=facts)
    chances = MergedParts(inputs, True).chances
    assert (chances.highest, chances.records, chances.expected) == (0.25, 7, 4.0)


def test_records_alone_with_kept_columns_count_by_weight() -> None:
    kept = SimpleNamespace(
        sizes={1: 2, 4: 1},
        alone=sums.column_sums(np.array([[3.0]])),
        weights=sums.column_sums(np.array([[12.0]])),
    )
    inputs: Any = SimpleNamespace(weighted=True, kept=kept)
    parts = MergedParts(inputs, True)
    assert parts.percent_alone_with_kept == 25.0
    assert parts.classes_with_kept is not None
    assert parts.classes_with_kept.sizes.tolist() == [1, 4]
    assert parts.classes_with_kept.counts.tolist() == [2, 1]
    inputs.weighted = False
    assert parts.percent_alone_with_kept is None
    inputs.weighted, inputs.kept = True, None
    assert parts.percent_alone_with_kept is None
    assert parts.classes_with_kept is None


def test_totals_and_unchanged_cells_are_those_of_the_records() -> None:
    """Sums lie behind each other: weights before and after, terms of columns, weights unchanged."""
    rng = np.random.default_rng(3)
    before, weights = rng.normal(size=(20, 2)), rng.uniform(1, 2, 20)
    after = before + np.where(np.arange(20)[:, None] < [[5, 20]], 0.0, 0.5)
    after[:, 1] = before[:, 1]
    pair = Pair(before, after, NAMES, weights=weights)
    expected = number_totals(pair)
    terms = [
        term
        for j, totals in enumerate(expected)
        for term in terms_of(totals.scale, before[:, j], after[:, j], weights)
    ]
    same = before == after
    every = sums_of(weights, weights, *terms, *(weights * same[:, j] for j in range(2)))
    counts = FigureCounts(
        sums=every,
        lows=after.min(axis=0).tolist(),
        highs=[float(after[:, 0].max()), float(after[:, 1].min())],
        same=same.sum(axis=0).tolist(),
    )
    variables = [SimpleNamespace(name=name) for name in NAMES]
    parts = parts_of(
        counts=counts,
        aside=SimpleNamespace(numbers=[totals.scale for totals in expected]),
        variables=variables,
        records=20,
    )
    assert parts.all_numbers
    assert parts.weight == pytest.approx(weights.sum())
    for made, totals in zip(parts.numbers, expected, strict=True):
        assert made.name == totals.name
        assert made.records == 20
        assert made.sums == pytest.approx(totals.sums)
    assert [made.one_value for made in parts.numbers] == [False, True]
    assert parts.unchanged == {
        "age": pytest.approx(100.0 * weights[:5].sum() / weights.sum()),
        "rent": 100.0,
    }
    variables.append(SimpleNamespace(name="town"))
    assert not parts.all_numbers


def test_loss_by_column_is_in_percent_of_what_varies() -> None:
    inputs: dict[str, Any] = {
        "variables": [SimpleNamespace(name=name) for name in (*NAMES, "flat", "none")],
        "scores": SimpleNamespace(constant={2}),
        "counts": SimpleNamespace(one=[None, [7.0], None, [1.0]]),
        "by_column": ([1.0, 3.0, 2.0, 5.0], [4.0, 2.0, 8.0, 0.0]),
    }
    loss = parts_of(**inputs).column_loss
    assert loss is not None
    assert loss.errors == {"age": 1.0, "rent": 3.0, "flat": 2.0, "none": 5.0}
    assert loss.percents == {"age": 25.0, "rent": 150.0, "flat": 0.0, "none": 0.0}
    assert loss.one_value == {"age": False, "rent": True, "flat": False, "none": True}
    assert parts_of(**{**inputs, "by_column": None}).column_loss is None


def test_stated_loss_and_covered_ranges_are_passed_on() -> None:
    parts = parts_of(
        loss={"IL": 5.0, "SSE": 7.0, "IL_within": 4.0},
        facts=SimpleNamespace(covered={"age": 1, "rent": 2}, dominance="counts"),
        class_spec=SimpleNamespace(ranges=(("rent", 3.0),)),
    )
    assert parts.stated_loss == {"SSE": 7.0, "IL": 5.0}
    assert parts.covered == {"rent": 2}
    assert parts.dominance == "counts"
