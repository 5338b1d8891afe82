"""The optimal cut against one compiled pass over the points, and one column with large k against
NumPy's stable sort.

python benchmarks/speed/cut.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numba
import numpy as np

from microagg.kernels.cut import optimal_cut


@numba.njit
def one_pass(points: np.ndarray, q: np.ndarray, out: np.ndarray) -> None:
    """All squared distances to one point."""
    for i in range(points.shape[0]):
        total = 0.0
        for j in range(points.shape[1]):
            x = points[i, j] - q[j]
            total += x * x
        out[i] = total


def quickest(work: Callable[[], object], times: int = 5) -> float:
    """The least seconds of several tries."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    """Print both ratios."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    points, out = rng.normal(size=(n, 8)), np.empty(n)
    orders = {"as they lie": np.arange(n), "in random order": rng.permutation(n)}
    one_pass(points, points[0], out)
    optimal_cut(points[:100], np.arange(100), 3)
    scan = quickest(lambda: one_pass(points, points[0], out))
    for name, order in orders.items():
        seconds = quickest(lambda order=order: optimal_cut(points, order, 10))
        print(
            f"n = {n:,}, d = 8, k = 10, records {name}: {seconds / scan:.1f} x one pass "
            f"over the points"
        )
    column = rng.normal(size=(n, 1))
    sort = quickest(lambda: np.argsort(column[:, 0], kind="stable"))
    order = np.argsort(column[:, 0], kind="stable")
    optimal_cut(column[order[:1000]], np.arange(1000), 300)
    for k in (10, 100, 1_000, 10_000):
        seconds = quickest(lambda k=k: optimal_cut(column, order, k), 3)
        print(f"n = {n:,}, one column, k = {k:,}: {seconds / sort:.2f} x numpy's stable argsort")


if __name__ == "__main__":
    main()
