"""t-first, against the paper the slow way; and its bound on distances."""

from __future__ import annotations

import math

import numpy as np
import pytest

import microagg as ma
import plain
import promised
from microagg.guarantees.promise import Guarantees
from microagg.kernels.random import seeded
from microagg.methods.confidential.t_first import t_first
from microagg.problem.problem import Problem
from microagg.table.confidential import Attribute, as_attributes
from microagg.table.schema import Kind


def oracle(points, k, values, t):
    """Soria-Comas et al. 2015, algorithm 3, the slow way."""
    n = len(points)
    size = max(k, math.ceil(n / (2.0 * (n - 1) * t + 1.0)))
    size += (n % size) // (n // size)
    groups_left, over = n // size, n % size
    order = sorted(range(n), key=lambda i: (values[i], i))
    strata, start = [], 0
    for s in range(size):
        extra = 0
        if size % 2 == 1 and s == size // 2:
            extra = over
        elif size % 2 == 0 and s == size // 2 - 1:
            extra = -(-over // 2)
        elif size % 2 == 0 and s == size // 2:
            extra = over // 2
        strata.append(sorted(order[start : start + n // size + extra]))
        start += n // size + extra
    groups, remaining, seed = [], list(range(n)), None
    while remaining:
        q = plain.centroid(points, remaining) if len(groups) % 2 == 0 else points[seed]
        seed = plain.farthest(points, remaining, q)
        groups_left -= 1
        group = []
        for stratum in strata:
            group += plain.nearest(points, stratum, points[seed], 1)
            stratum.remove(group[-1])
        for stratum in strata:
            if len(stratum) > groups_left:
                group += plain.nearest(points, stratum, points[seed], 1)
                stratum.remove(group[-1])
                break
        groups.append(group)
        remaining = plain.without(remaining, group)
    return plain.labels_from_groups(n, groups)


def labels_of(points, k, values, t):
    attributes = as_attributes(values, len(points))
    problem = Problem.of(
        points, k, confidential=attributes, accept=Guarantees.of(t=t).accept(attributes)
    )
    return t_first(problem, rng=seeded(0))


@pytest.mark.parametrize("seed", range(60))
def test_same_groups_as_the_paper(seed):
    points, k = plain.hard_problem(seed)
    rng = np.random.default_rng(seed)
    values = (
        rng.normal(size=len(points)) if seed % 3 else rng.integers(0, 4, len(points)).astype(float)
    )
    t = float(rng.choice([0.02, 0.1, 0.2, 0.6]))
    assert (
        labels_of(points, k, values, t).tolist() == oracle(points, k, values.tolist(), t).tolist()
    )


@pytest.mark.parametrize("seed", range(20))
def test_atoms_come_behind_all_values(seed):
    points, k = plain.hard_problem(seed)
    rng = np.random.default_rng(seed)
    values = np.where(
        rng.random(len(points)) < 0.4, np.nan, rng.integers(0, 9, len(points)).astype(float)
    )
    atoms = np.where(np.isnan(values), rng.integers(0, 2, len(points)), -1)
    column = Attribute("wage", Kind.NUMERIC, values, atoms=atoms, marks=("refused", None))
    labels = t_first(
        Problem.of(
            points, k, confidential=(column,), accept=Guarantees.of(t=0.2).accept((column,))
        ),
        rng=seeded(0),
    )
    places = np.where(atoms < 0, values, 100.0 + atoms)
    assert labels.tolist() == oracle(points, k, places.tolist(), 0.2).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_strata_keep_t_without_repair(seed):
    """The bound of the paper: values that all differ, and a number of records that the strata
    divide.
    """
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 9))
    n = size * int(rng.integers(2, 20))
    t = (n - size) / (2 * (n - 1) * size)
    points, values = rng.normal(size=(n, 2)), rng.permutation(n).astype(float)
    labels = labels_of(points, 2, values, t)
    assert np.bincount(labels).tolist() == [size] * (n // size)
    for group in range(n // size):
        members = np.flatnonzero(labels == group).tolist()
        assert promised.distance(values.tolist(), members, nominal=False) <= t + 1e-12


def test_nominal_and_several_columns_are_repaired():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(200, 3))
    words = np.column_stack([rng.choice(list("aaabbc"), 200), rng.choice(list("xy"), 200)])
    labels = ma.partition(points, 3, "t-first", confidential=words, t=0.25, l=2)
    for group in range(labels.max() + 1):
        members = np.flatnonzero(labels == group).tolist()
        assert len(members) >= 3
        for column in words.T.tolist():
            assert promised.is_kept(column, members, nominal=True, t=0.25, l=2)
    assert labels.max() > 3


def test_without_t_there_are_k_strata():
    values = np.arange(12.0)
    labels = ma.partition(np.arange(24.0).reshape(12, 2), 3, "t-first", confidential=values)
    for group in range(4):
        assert sorted(int(v // 4) for v in values[labels == group]) == [0, 1, 2]


def test_it_needs_confidential_columns():
    with pytest.raises(ma.InputError, match="needs confidential"):
        ma.partition(np.zeros((9, 1)), 3, "t-first")
