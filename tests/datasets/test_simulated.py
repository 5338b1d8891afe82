"""The simulated data are what the paper states, and the same every time."""

from __future__ import annotations

import numpy as np
import pytest

import microagg as ma
from microagg.datasets.simulated import DATA_SETS, NAMES, normals, simulated
from microagg.kernels import random


def test_shapes_ranges_and_seeds() -> None:
    for name in NAMES:
        first, again, other = simulated(name), simulated(name), simulated(name, number=1)
        assert np.array_equal(first, again)
        assert first.shape[0] == other.shape[0]
        assert not np.array_equal(first, other[: len(first), : first.shape[1]])
    sim1 = np.concatenate([simulated("Sim-1", number) for number in range(DATA_SETS)])
    assert sim1.shape == (2500, 10)
    assert -1000 <= sim1.min() < -990
    assert 990 < sim1.max() < 1000
    assert abs(sim1.mean()) < 4 * 2000 / np.sqrt(12 * sim1.size)
    widths = {simulated("Sim-2", number).shape[1] for number in range(DATA_SETS)}
    assert widths <= {4, 5, 6, 7, 8}
    assert len(widths) > 2
    with pytest.raises(ma.InputError):
        simulated("Sim-4")


def test_clusters_have_the_stated_deviations() -> None:
    for name, side in (("Sim-2", 1.0), ("Sim-3", 2.0)):
        for number in range(5):
            parts = simulated(name, number).reshape(5, 20, -1)
            centres = parts.mean(axis=1)
            deviations = (parts - centres[:, None]).std(axis=(1, 2))
            assert centres.min() > -0.4
            assert centres.max() < side + 0.4
            assert deviations.min() > 0.05
            assert deviations.max() < 0.4


def test_normal_numbers_are_normal() -> None:
    x = normals(random.seeded(5), 20_000)
    assert abs(x.mean()) < 4 / np.sqrt(20_000)
    assert abs(x.std() - 1) < 4 / np.sqrt(40_000)
    assert abs((x < -1.0).mean() - 0.1587) < 0.01
    assert abs((x**4).mean() - 3.0) < 0.25
