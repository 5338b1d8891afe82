"""The number of decimals that means are rounded to: robust, and the same from any chunks."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from microagg.table.precision import PrecisionFacts, precision_of, round_to, rounded_means
from microagg.table.variable import Variable

RNG = np.random.default_rng(1)
WHOLE = RNG.integers(18, 90, 300).astype(float)
RAW = RNG.standard_normal(400)


def odd(*cells: float) -> np.ndarray:
    return np.concatenate([WHOLE, cells])


@pytest.mark.parametrize(
    ("column", "decimals", "reason"),
    [
        (WHOLE, 0, "own"),
        (odd(1 / 3), 0, "most"),
        (odd(0.25), 0, "most"),
        (odd(0.123456789), 0, "most"),
        (odd(*RAW[:15]), 0, "most"),
        (odd(*RAW[:16]), 2, "spread"),
        (np.array([1.0, 2.0, 1 / 3]), 0, "most"),
        (np.append(np.zeros(500), RAW[:20] ** 2), 3, "spread"),
        (np.round(RAW, 2), 2, "own"),
        (np.round(RAW, 4), 4, "own"),
        (np.round(RAW, 6), 3, "spread"),
        (np.append(np.round(RAW, 2), 1 / 3), 2, "most"),
        (RAW, 3, "spread"),
        (1e6 * RAW + 1e7, -3, "spread"),
        (1e-6 * RAW, 9, "spread"),
        (np.append(RAW, 1e8), 3, "spread"),
        (np.append(np.full(990, 5.0), 5.0 + RAW[:60]), 3, "spread"),
        (np.full(30, 1 / 3), None, "spread"),
        (np.array([]), None, "own"),
    ],
)
def test_decimals_follow_from_most_values_or_their_spread(
    column: np.ndarray, decimals: int | None, reason: str
) -> None:
    precision = precision_of(Variable("x"), column)
    assert (precision.decimals, precision.reason) == (decimals, reason)


def test_single_precision_is_no_evidence_of_seven_decimals() -> None:
    raw = np.float32(RAW).astype(float)
    assert precision_of(Variable("x", single=True), raw).decimals == 3
    prices = np.float32(np.round(100.0 + 50.0 * RAW, 1)).astype(float)
    assert precision_of(Variable("x", single=True), prices).decimals == 1


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0])
def test_three_to_four_digits_of_the_standard_deviation_are_left(sigma: float) -> None:
    for scale in (1e-200, 0.07, 1.0, 29.0, 31.0, 1e5, 1e200):
        drawn = np.random.default_rng(2).normal(3.0, sigma, 4000)
        column = scale * drawn
        decimals = precision_of(Variable("x"), column).decimals
        assert decimals is not None
        deviation = Decimal(float(scale * drawn.std())).scaleb(decimals)
        assert 100 < deviation < 10_000
        assert len(np.unique(round_to(column, decimals))) > 500


def test_chunks_give_the_counts_of_the_whole() -> None:
    columns: list[tuple[np.ndarray, dict[str, Any]]] = [
        (odd(1 / 3), {}),
        (RAW, {}),
        (np.round(RAW, 3) - 1000.1 + 1000.1, {}),
        (np.float32(RAW).astype(float), {"single": True}),
    ]
    for column, more in columns:
        whole, parts = (
            PrecisionFacts.of_chunk(column, **more),
            PrecisionFacts.of_chunk(column[:0], **more),
        )
        for part in np.array_split(column, 7):
            parts.combine(PrecisionFacts.of_chunk(part, **more))
        assert (whole.values, whole.sizes, whole.needs) == (parts.values, parts.sizes, parts.needs)
        assert whole.passed.tolist() == parts.passed.tolist()
        assert whole.of_most == parts.of_most


def test_what_rounding_leaves_over_is_no_decimal() -> None:
    column = np.round(RAW, 2) + 1000.1 - 1000.1  # off by up to 1e-13
    assert precision_of(Variable("x"), np.append(column, [500.25] * 500)).decimals == 2


def test_differences_of_large_amounts_have_the_decimals_of_these() -> None:
    """A small value is judged by what rounding leaves over of the column's usual size."""
    before = np.round(RNG.uniform(1000, 9000, 40), 2)
    rises = before + np.round(RNG.uniform(1, 9, 40), 2) - before  # off by up to 1e-12
    amounts = np.round(RNG.uniform(1000, 9000, 60), 2)
    precision = precision_of(Variable("x"), np.append(amounts, rises))
    assert (precision.decimals, precision.written, precision.reason) == (2, 2, "own")
    alone = precision_of(Variable("x"), rises)
    assert alone.reason == "spread", "of the usual size of these, the rest is no rounding"


def test_rounding_far_out_leaves_numbers_finite() -> None:
    assert round_to(np.array([1.7e308, 1.234]), 2).tolist() == [1.7e308, 1.23]
    assert round_to(np.array([1234.0, -1.0]), -2).tolist() == [1200.0, 0.0]
    assert round_to(np.array([3.333e-310]), 312).tolist() == pytest.approx([3.33e-310], rel=1e-3)


def test_values_are_rounded_and_not_their_differences_from_an_origin() -> None:
    variable = Variable("x", origin=Decimal("100000000000000007.125"))
    rounded = rounded_means(variable, np.array([0.0, 1.875, 57.0]), -1)
    assert [variable.origin + Decimal(value) for value in rounded.tolist()] == [
        Decimal("100000000000000010.000"),
        Decimal("100000000000000010.000"),
        Decimal("100000000000000060.000"),
    ]
