"""Moments, principal axes and turning, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from microagg.kernels import principal_axes


def covariances(seed: int) -> np.ndarray:
    """Wide and narrow axes, equal ones, null ones, and blocks that are not correlated."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 40))
    points = rng.normal(size=(int(rng.integers(1, 60)), m)) * rng.lognormal(0.0, 3.0, m)
    if seed % 3 == 0:
        points[:, m // 2] = points[:, 0]
        points[:, m // 3] = 0.0
    if seed % 5 == 0:
        points = np.eye(m)
    return np.atleast_2d(np.cov(points.T, bias=True)).reshape(m, m)


@pytest.mark.parametrize("seed", range(40))
def test_axes_are_at_right_angles_and_have_the_variances(seed: int) -> None:
    covariance = covariances(seed)
    m = len(covariance)
    variances, axes = principal_axes.principal(covariance)
    largest = max(float(variances[0]), 1e-300)
    np.testing.assert_allclose(axes @ axes.T, np.eye(m), atol=1e-13)
    np.testing.assert_allclose(
        axes @ covariance @ axes.T / largest, np.diag(variances) / largest, atol=1e-13
    )
    expected = np.linalg.eigvalsh(covariance)[::-1]
    np.testing.assert_allclose(variances / largest, expected / largest, atol=1e-13)
    assert (np.diff(variances) <= 0.0).all()
    for axis in axes:
        leading = axis[np.abs(axis) >= 0.999999 * np.abs(axis).max()]
        assert leading[0] > 0.0
    again = principal_axes.principal(covariance)[1]
    np.testing.assert_array_equal(axes, again)


@pytest.mark.parametrize("seed", range(30))
def test_many_columns_that_are_the_same(seed: int) -> None:
    """Rounding leaves ever less of them, down to what has no finite inverse."""
    rng = np.random.default_rng(seed)
    few = rng.integers(0, 9, (6, 4 + seed % 3)) / 3.0
    few = (few - few.mean(axis=0)) / np.maximum(few.std(axis=0), 0.1)
    covariance = np.cov(few[:, rng.integers(0, few.shape[1], 80)].T, bias=True)
    variances, axes = principal_axes.principal(covariance)
    np.testing.assert_allclose(axes @ axes.T, np.eye(80), atol=1e-12)
    np.testing.assert_allclose(
        axes @ covariance @ axes.T / variances[0], np.diag(variances) / variances[0], atol=1e-12
    )


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_very_small_and_very_large_variances(size: float) -> None:
    variances, axes = principal_axes.principal(size * np.array([[2.0, 1.0], [1.0, 2.0]]))
    np.testing.assert_allclose(variances, [3.0 * size, size], rtol=1e-14)
    np.testing.assert_allclose(axes, np.sqrt(0.5) * np.array([[1.0, 1.0], [1.0, -1.0]]), rtol=1e-14)


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (40, 11)])
def test_moments_and_turns_of_sparse_coordinates(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape[0])
    block = np.where(rng.random(shape) < 0.6, 0.0, rng.normal(size=shape))
    first, second = np.zeros(shape[1]), np.zeros((shape[1], shape[1]))
    principal_axes.add_moments(block[:2].copy(), first, second)
    principal_axes.add_moments(block[2:].copy(), first, second)
    np.testing.assert_allclose(first, block.sum(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(second, np.tril(block.T @ block), rtol=1e-12, atol=1e-12)
    axes, offset = rng.normal(size=(shape[1], 2)), np.array([3.0, -1.0])
    out = np.empty((shape[0], 2))
    principal_axes.rotate(block, offset, axes, out)
    np.testing.assert_allclose(out, offset + block @ axes, rtol=1e-12, atol=1e-12)
