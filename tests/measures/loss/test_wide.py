"""Wide tables: what is worked out through the smaller side is what the plain way gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from microagg.measures.loss import eigenvalues, prediction, probabilistic, standardise
from microagg.measures.measure import Figure, Pair


def wide_pair(seed: int) -> Pair:
    rng = np.random.default_rng(seed)
    n, d = [(6, 70), (30, 70), (90, 70), (200, 66)][seed % 4]
    original = rng.normal(size=(n, 5)) @ rng.normal(size=(5, d)) + 0.3 * rng.normal(size=(n, d))
    original[:, 3] = 7.5
    labels = np.arange(n) // 3
    released = np.array([original[labels == label].mean(axis=0) for label in labels])
    released[:, 5] = 1.0
    weights = rng.lognormal(size=n) if seed % 3 == 0 else None
    return Pair(original, released, tuple(f"c{j}" for j in range(d)), weights=weights)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("module", "compute"),
    [
        (prediction, prediction.regression_kept),
        (eigenvalues, eigenvalues.eigenvalue_difference),
        (standardise, probabilistic.covariances_loss),
        (standardise, probabilistic.correlations_loss),
    ],
    ids=["regression", "eigenvalues", "covariances", "correlations"],
)
def test_both_ways_agree(
    seed: int, module: object, compute: Callable[[Pair], Figure], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = wide_pair(seed)
    figure = compute(pair)
    monkeypatch.setattr(module, "WIDE", 1000)
    expected = compute(replace(pair))  # without what the first one has worked out
    assert figure.value == pytest.approx(expected.value, rel=1e-6, abs=1e-6)
    assert figure.details == pytest.approx(expected.details, rel=1e-6, abs=1e-6)
    assert figure.columns == pytest.approx(expected.columns, rel=1e-5, abs=1e-5)


def test_products_of_few_records_are_those_of_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    left, right, shares = (
        rng.normal(size=(90, 7)),
        rng.normal(size=(90, 7)),
        rng.dirichlet(np.ones(7)),
    )
    expected = [[math.fsum(a * b * shares) for b in right] for a in left]
    assert standardise.mean_products(left, right, shares) == pytest.approx(
        np.array(expected), abs=1e-14
    )
    square = standardise.mean_products(left, left, shares)
    assert (square == square.T).all()
