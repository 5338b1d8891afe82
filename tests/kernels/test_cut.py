"""The optimal cut against brute force, and the univariate solver against an independent one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import plain
from microagg.kernels import cut
from microagg.kernels.cut import optimal_cut


def all_cuts(n: int, k: int) -> Iterator[list[int]]:
    """All ways to write n as sizes from k to 2k - 1 (or n itself, if it is smaller than 2k)."""
    if n < 2 * k:
        yield [n]
        return
    for size in range(k, min(2 * k - 1, n - k) + 1):
        for rest in all_cuts(n - size, k):
            yield [size, *rest]


def labels_of(order: np.ndarray, sizes: list[int]) -> np.ndarray:
    labels = np.empty(len(order), np.int32)
    labels[order] = np.repeat(np.arange(len(sizes)), sizes)
    return labels


@pytest.mark.parametrize("seed", range(500))
def test_the_cut_equals_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    n, d = int(rng.integers(k, 13)), int(rng.integers(1, 6))
    points = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4) + 10.0 ** rng.integers(0, 7)
    if seed % 3 == 0:
        points = np.round(points)
    order = rng.permutation(n)
    labels, sse = optimal_cut(points, order, k)
    best = min(plain.sse(points, labels_of(order, sizes)) for sizes in all_cuts(n, k))
    scale = 1e-9 * plain.sse(points, np.zeros(n, np.int32)) + 1e-300
    assert sse == pytest.approx(best, rel=1e-9, abs=scale)
    assert plain.sse(points, labels) == pytest.approx(best, rel=1e-9, abs=scale)
    sizes = np.bincount(labels)
    assert (sizes >= k).all()
    assert (sizes < 2 * k).all()
    assert (np.diff(labels[order]) >= 0).all(), "not runs along the order"


def univariate_optimum(values: np.ndarray, k: int) -> float:
    """Hansen and Mukherjee's shortest path over the sorted values, in exact integers."""
    whole = [int(v) for v in sorted(values)]
    n = len(whole)
    sums, squares = [0], [0]
    for v in whole:
        sums.append(sums[-1] + v)
        squares.append(squares[-1] + v * v)
    best: list[float] = [0.0] + [float("inf")] * n
    for end in range(k, n + 1):
        for start in range(max(0, end - 2 * k + 1), end - k + 1):
            size, total = end - start, sums[end] - sums[start]
            error = ((squares[end] - squares[start]) * size - total * total) / size
            best[end] = min(best[end], best[start] + error)
    return best[n]


@pytest.mark.parametrize("seed", range(200))
def test_one_column_equals_an_independent_solver(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    small = seed % 10 != 0
    n = int(rng.integers(4, 300 if small else 2001))
    k = int(rng.integers(2, min(40 if small else 201, n)))
    values = np.rint(
        rng.choice([rng.normal(0, 1e5, n), np.exp(rng.normal(8, 2, n)), rng.integers(0, 9, n)])
    )
    order = np.argsort(values, kind="stable")
    expected = univariate_optimum(values, k)
    points = values.reshape(-1, 1)
    slack = 1e-12 * float(((values - values.mean()) ** 2).sum())
    for monge_from in (10**9, 2):  # the window solver, then the one for large k
        monkeypatch.setattr(cut, "MONGE_FROM", monge_from)
        labels, sse = optimal_cut(points, order, k)
        assert sse == pytest.approx(expected, rel=1e-9, abs=slack)
        assert plain.sse(points, labels) == pytest.approx(expected, rel=1e-9, abs=slack)
        assert np.bincount(labels).min() >= k


def test_large_offsets_do_not_cancel() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(400, 3))
    order = rng.permutation(400)
    near, far = optimal_cut(points, order, 4), optimal_cut(points + 2.0**30, order, 4)
    assert far[1] == pytest.approx(near[1], rel=1e-5)
