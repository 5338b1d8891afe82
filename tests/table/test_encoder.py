"""Scaling, against the formulas written out."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

import microagg as ma
from microagg.table.encoder import Space
from microagg.table.scales import SCALES


def slow_points(column: list[float], scale: str) -> list[float]:
    """One column, by the book."""
    if scale == "zscore":
        centre, width = statistics.fmean(column), statistics.pstdev(column)
    elif scale == "minmax":
        centre, width = min(column), max(column) - min(column)
    elif scale == "rank":
        column = [
            sum(other < value for other in column)
            + (1 + sum(other == value for other in column)) / 2
            for value in column
        ]
        centre, width = statistics.fmean(column), statistics.pstdev(column)
    elif scale == "robust":
        lower, centre, upper = statistics.quantiles(column, n=4, method="inclusive")
        width = upper - lower
    else:
        centre, width = 0.0, 1.0
    return [(value - centre) / width for value in column]


def columns(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    return np.column_stack(
        [
            rng.normal(size=n),
            rng.lognormal(3, 2, n),
            1e8 + rng.normal(size=n),
            rng.integers(0, 1000, n),
        ]
    )


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(8))
def test_points_follow_the_formulas(scale: str, seed: int) -> None:
    values = columns(seed)
    space = Space.fit(values, scale)
    points = space.points(values)
    expected = np.column_stack([slow_points(column.tolist(), scale) for column in values.T])
    np.testing.assert_allclose(points, expected, rtol=1e-7, atol=1e-7)
    assert points.flags.c_contiguous
    assert points.dtype == np.float64
    assert space.constant == ()
    if scale != "rank":
        np.testing.assert_allclose(points * space.width + space.centre, values, rtol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("value", [0.0, 0.1, -7.0, 1e9 / 3, 1e-300, 1e99])
def test_a_constant_column_has_distance_zero(scale: str, value: float) -> None:
    values = np.column_stack([np.full(7, value), np.arange(7.0)])
    space = Space.fit(values, scale)
    points = space.points(values)
    assert space.constant == (0,)
    assert space.width[0] == 1.0
    assert np.isfinite(points).all()
    assert len(set(points[:, 0].tolist())) == 1
    others = Space.fit(values[:, 1:].copy(), scale).points(values[:, 1:].copy())
    np.testing.assert_array_equal(points[:, 1:], others)


def test_robust_falls_back_where_the_quartiles_coincide() -> None:
    values = np.array([[0.0]] * 9 + [[5.0]])
    points = Space.fit(values, "robust").points(values)
    assert np.isfinite(points).all()
    assert points[-1, 0] == pytest.approx(5.0 / statistics.pstdev(values[:, 0].tolist()))


@pytest.mark.parametrize("scale", SCALES)
def test_tiny_numbers_are_not_taken_for_equal(scale: str) -> None:
    for size in (1e-160, 1e-250, 5e-324):
        values = size * np.arange(8.0).reshape(-1, 1)
        space = Space.fit(values, scale)
        points = space.points(values)
        assert space.constant == ()
        assert np.isfinite(points).all()
        assert len(np.unique(points)) == 8


def test_one_record() -> None:
    for scale in SCALES:
        assert np.isfinite(
            Space.fit(np.array([[3.0, 4.0]]), scale).points(np.array([[3.0, 4.0]]))
        ).all()


def test_the_input_is_not_changed() -> None:
    values = columns(1)
    before = values.copy()
    for scale in SCALES:
        Space.fit(values, scale).points(values)
    assert np.array_equal(values, before)


def test_an_unknown_scale() -> None:
    with pytest.raises(ma.InputError, match="zscore, minmax, robust, rank, none"):
        Space.fit(np.zeros((3, 1)), "log")
