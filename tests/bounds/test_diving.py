"""Dives: partitions from the program over known groups."""

from __future__ import annotations

import numpy as np
import pytest

from microagg.bounds.cuts import Cuts
from microagg.bounds.diving import dive
from microagg.bounds.listening import Listener
from microagg.bounds.lower import Proof
from microagg.measures.loss.sse import loss_of_partition
from microagg.methods.heuristics import labels_by
from microagg.methods.mdav.mdav import mdav


def finished_proof(points: np.ndarray, k: int) -> Proof:
    proof = Proof(points, k, Listener())
    while not proof.finished:
        proof.step()
    return proof


@pytest.mark.parametrize("seed", range(12))
def test_a_dive_ends_in_allowed_groups_near_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(12, 70)), int(rng.integers(2, 6))
    points = rng.normal(size=(n, 2))
    if seed % 3 == 2:
        points = points.round()  # duplicates
    proof = finished_proof(points, k)
    assert proof.generation is not None
    labels = dive(proof.generation, lambda: False)
    assert labels is not None
    assert labels.min() == 0
    assert np.bincount(labels).min() >= k
    loss = loss_of_partition(points, labels)["SSE"]
    assert loss >= proof.value - 1e-6 * proof.sst
    assert loss < loss_of_partition(points, labels_by(mdav, points, k))["SSE"] * 1.02


def test_a_second_dive_has_the_groups_of_the_first() -> None:
    proof = finished_proof(np.random.default_rng(3).normal(size=(50, 3)), 4)
    generation = proof.generation
    assert generation is not None
    first = dive(generation, lambda: False)
    assert first is not None
    for g in range(int(first.max())):
        records = np.flatnonzero(first == g).astype(np.int32)
        if len(records) < 2 * generation.k:
            known = generation.know(records, np.array([0, len(records)]))
            assert known == 0


def test_a_dive_can_be_stopped() -> None:
    proof = finished_proof(np.random.default_rng(5).normal(size=(40, 2)), 3)
    assert proof.generation is not None
    assert dive(proof.generation, lambda: True) is None


@pytest.mark.parametrize("seed", range(20))
def test_cuts_of_the_rest_allow_every_partition_of_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 24
    partition = rng.permutation(n).reshape(-1, 4)
    cuts = Cuts(
        n,
        [tuple(sorted(rng.choice(n, size=7, replace=False).tolist())) for _ in range(6)],
        rng.integers(2, 5, size=6).tolist(),
    )
    fixed, others = partition[:3], partition[3:]
    position = np.full(n, -1)
    left = np.sort(others.reshape(-1))
    position[left] = np.arange(len(left))
    rest = cuts.of_the_rest(position, fixed.reshape(-1), np.arange(0, 13, 4), 0.0)
    for records, p, floor in zip(rest.records, rest.parts.tolist(), rest.floors, strict=True):
        held = [len(set(records) & set(position[group].tolist())) for group in others]
        assert sum(h // p for h in held) <= floor <= len(records) // p
