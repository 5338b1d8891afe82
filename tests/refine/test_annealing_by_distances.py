"""Trials weighed by distances of pairs against trials weighed by dense coordinates, on mixed
tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mixed
from microagg.guarantees.promise import Guarantees
from microagg.kernels.random import seeded
from microagg.problem.problem import Problem
from microagg.refine.lns_regions import RegionByDistances
from microagg.refine.merging import repair
from microagg.table.confidential import Attribute
from microagg.table.encoder import Space
from microagg.table.schema import Kind
from slow_annealing import CloseCall, SlowTrials

PROMISES: tuple[dict[str, Any], ...] = ({}, {}, {"l": 2}, {"t": 0.5})
TRIALS = 400


def region_of(seed: int, n: int = 60) -> tuple[RegionByDistances, SlowTrials]:
    """A region of a mixed table with gaps, codes, trees and importance, some with weights or a
    promise.
    """
    rng = np.random.default_rng([7, seed])
    cells = mixed.mixed_cells(seed, n, columns=3 + seed % 3)
    space = Space.fit(cells, "zscore", {cells.names[0]: 1.0 + seed % 4})
    points = space.points(cells)
    points = points - points.mean(axis=0)
    k = 2 + seed % 4
    weights = rng.uniform(0.5, 2.0, n) if seed % 3 == 0 else None
    ill = Attribute("ill", Kind.NOMINAL, rng.integers(0, 4, n))
    accept = Guarantees.of(**PROMISES[seed % len(PROMISES)]).accept((ill,))
    problem = Problem(points, k, weights, accept=accept)
    start = (rng.permutation(n) * (n // k) // n).astype(np.int32)
    labels = repair(problem, start)
    region = RegionByDistances(problem, points, np.arange(n), labels)
    masses = np.ones(n) if weights is None else weights
    allowed = (
        (lambda records: True) if accept is None else lambda records: accept(np.array(records))
    )
    return region, SlowTrials(region, points, masses, k, allowed)


def compare(seed: int) -> bool:
    """Return True if a region was compared to its end: a trial that rounding decides ends the
    comparison.
    """
    region, slow = region_of(seed)
    try:
        slow.run(TRIALS, 0.5, 0.0, seeded(seed))
    except CloseCall:
        return False
    region.run(TRIALS, 0.5, 0.0, seeded(seed))
    assert region._label.tolist() == slow.label.tolist()
    for g in np.flatnonzero(region._sizes):
        members = region._members[g, : region._sizes[g]].tolist()
        loss = region._totals[g, 0] / region._totals[g, 1]
        assert loss == pytest.approx(slow._loss(members), rel=1e-9, abs=1e-12)
    return True


def test_same_groups_by_distances_and_by_coordinates() -> None:
    assert sum(compare(seed) for seed in range(3)) > 0


@pytest.mark.slow
def test_same_groups_on_many_tables() -> None:
    assert sum(compare(seed) for seed in range(3, 203)) > 100
