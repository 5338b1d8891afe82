"""The first principal component of narrow and wide tables, against numpy's singular values."""

from __future__ import annotations

import numpy as np
import pytest

from microagg.kernels.paths import first_component


@pytest.mark.parametrize("shape", [(300, 40), (40, 300), (6, 2000)])
def test_scores_are_those_of_the_first_singular_vector(shape: tuple[int, int]) -> None:
    points = np.random.default_rng(shape).normal(size=shape)
    centred = points - points.mean(axis=0)
    axis = np.linalg.svd(centred, full_matrices=False)[2][0]
    axis *= np.sign(axis[np.abs(axis).argmax()])
    expected = (centred * axis).sum(axis=1) / np.abs(centred).max()
    np.testing.assert_allclose(first_component(points), expected, atol=1e-9)


def test_a_wide_table_that_does_not_vary_has_no_scores() -> None:
    assert first_component(np.full((4, 200), 0.1)).tolist() == [0.0] * 4
