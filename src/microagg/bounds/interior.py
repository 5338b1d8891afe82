"""An interior-point method for the linear programs of column generation.

Mehrotra's predictor-corrector on the normal equations (`factor.py`), with corrections towards the
centre (Gondzio 1996), which save a quarter of the factors. Its prices lie in the middle of all that
are optimal, not in a corner: far fewer sets violate them, which is what pricing needs. The solution
is as exact as `tolerance` says, and no crossover follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from microagg.bounds.factor import NormalEquations
from microagg.kernels.compiling import kernel

MOST_ITERATIONS = 100
# Corrections of a direction towards the centre: a factor takes fifty times as long as a solution.
CORRECTORS, LEAST_GAIN = 4, 0.02
LONGER, FAR = 0.2, 0.1  # how much longer a step is aimed at; products this far off are corrected
STEP = 0.9995  # how far to go towards the border of what is positive


class SparseColumns(NamedTuple):
    """The columns of a constraint matrix: where each starts, its rows and its values."""

    starts: np.ndarray
    rows: np.ndarray
    values: np.ndarray


class InteriorSolution(NamedTuple):
    """A primal and a dual solution: `cost` is the primal one, `value` the dual one."""

    cost: float
    value: float
    shares: np.ndarray
    prices: np.ndarray
    converged: bool


@kernel
def _times(starts, rows, values, x, count):
    """The matrix times x."""
    result = np.zeros(count)
    for j in range(starts.shape[0] - 1):
        if x[j] != 0.0:
            for e in range(starts[j], starts[j + 1]):
                result[rows[e]] += values[e] * x[j]
    return result


@kernel
def _transposed_times(starts, rows, values, y):
    """The transposed matrix times y."""
    result = np.empty(starts.shape[0] - 1)
    for j in range(result.shape[0]):
        total = 0.0
        for e in range(starts[j], starts[j + 1]):
            total += values[e] * y[rows[e]]
        result[j] = total
    return result


@kernel
def _inner(x, z):
    """The sum of products, in one order: that of a BLAS hangs on its number of threads."""
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * z[j]
    return total


def _longest_step(x: np.ndarray, dx: np.ndarray) -> float:
    shrinking = dx < 0.0
    if not shrinking.any():
        return 1.0
    return min(1.0, float(np.min(-x[shrinking] / dx[shrinking])))


@np.errstate(all="ignore")  # what is not finite is noticed and not taken
def solve_interior(
    columns: SparseColumns,
    costs: np.ndarray,
    right: np.ndarray,
    tolerance: float,
    order: np.ndarray,
    stop: Callable[[], bool] | None = None,
) -> InteriorSolution | None:
    """Minimise costs @ x subject to A x = right, x >= 0, to a relative gap of `tolerance`.

    order: in which rows are eliminated. None if `stop` said so before the end.

    >>> columns = SparseColumns(np.array([0, 1, 2, 4]), np.array([0, 1, 0, 1]), np.ones(4))
    >>> costs = np.array([2.0, 2.0, 3.0])
    >>> solution = solve_interior(columns, costs, np.ones(2), 1e-8, np.arange(2))
    >>> round(solution.cost, 6), round(solution.value, 6)
    (3.0, 3.0)
    """
    starts, rows, values = columns
    count = len(right)
    equations = NormalEquations(starts, rows, values, order)
    if not equations.factor(np.ones(len(costs)), stop):
        return None
    x = _transposed_times(starts, rows, values, equations.solve(right))
    y = equations.solve(_times(starts, rows, values, costs, count))
    z = costs - _transposed_times(starts, rows, values, y)
    x, z = _positive_start(x, z)
    size = len(costs)
    gap_scale = 1.0 + float(np.abs(right).sum())
    for _ in range(MOST_ITERATIONS):
        primal = right - _times(starts, rows, values, x, count)
        dual = costs - _transposed_times(starts, rows, values, y) - z
        mu = _inner(x, z) / size
        cost, value = _inner(costs, x), _inner(right, y)
        if (
            float(np.abs(primal).max()) < 1e-3 * tolerance * gap_scale
            and float(np.abs(dual).max()) < 1e-9 * (1.0 + float(np.abs(costs).max()))
            and abs(cost - value) < tolerance * (1e-12 + abs(value))
        ):
            return InteriorSolution(cost, value, x, y, True)
        weights = x / z
        if not equations.factor(weights, stop):
            return None

        def direction(target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            inner = weights * dual - target / z  # noqa: B023
            dy = equations.solve(primal + _times(starts, rows, values, inner, count))  # noqa: B023
            dz = dual - _transposed_times(starts, rows, values, dy)  # noqa: B023
            return (target - x * dz) / z, dy, dz  # noqa: B023

        dx, dy, dz = direction(-x * z)
        along_x, along_z = _longest_step(x, dx), _longest_step(z, dz)
        reached = _inner(x + along_x * dx, z + along_z * dz) / size
        aim = (reached / mu) ** 3 * mu
        target = aim - x * z - dx * dz
        dx, dy, dz = direction(target)
        along_x, along_z = _longest_step(x, dx), _longest_step(z, dz)
        for _ in range(CORRECTORS):
            target = target + _towards_the_centre(x, z, dx, dz, along_x, along_z, aim)
            steps = direction(target)
            later_x, later_z = _longest_step(x, steps[0]), _longest_step(z, steps[2])
            if later_x + later_z < along_x + along_z + LEAST_GAIN:
                break
            (dx, dy, dz), along_x, along_z = steps, later_x, later_z
        along_x, along_z = STEP * along_x, STEP * along_z
        later = x + along_x * dx, y + along_z * dy, z + along_z * dz
        if not all(np.isfinite(values_of).all() for values_of in later):
            break  # no direction is left that numbers can express; what was reached stands
        x, y, z = later
    return InteriorSolution(_inner(costs, x), _inner(right, y), x, y, False)


def _towards_the_centre(
    x: np.ndarray,
    z: np.ndarray,
    dx: np.ndarray,
    dz: np.ndarray,
    along_x: float,
    along_z: float,
    aim: float,
) -> np.ndarray:
    """Return how products should change for a longer step to be possible (Gondzio 1996)."""
    ahead_x, ahead_z = min(along_x + LONGER, 1.0), min(along_z + LONGER, 1.0)
    products = (x + ahead_x * dx) * (z + ahead_z * dz)
    wanted = np.clip(products, FAR * aim, aim / FAR)
    return np.maximum(wanted - products, -aim / FAR)


def _positive_start(x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mehrotra's way to a start in which all is positive."""
    x = x + max(-1.5 * float(x.min()), 0.0)
    z = z + max(-1.5 * float(z.min()), 0.0)
    product = _inner(x, z)
    if product <= 0.0:
        return x + 1.0, z + 1.0
    return x + 0.5 * product / float(z.sum()), z + 0.5 * product / float(x.sum())
