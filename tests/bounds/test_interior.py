"""The interior-point method and its factor against numpy and HiGHS."""

import os
import subprocess
import sys

import highspy
import numpy as np
import pytest

from microagg.bounds.factor import NormalEquations, dissection_order
from microagg.bounds.interior import SparseColumns, solve_interior


def small_program(seed):
    """Cover every row by groups of rows, or by itself at a high cost."""
    rng = np.random.default_rng(seed)
    count, groups = int(rng.integers(4, 40)), int(rng.integers(5, 120))
    matrix = np.zeros((count, groups))
    for j in range(groups):
        matrix[rng.choice(count, int(rng.integers(2, 5)), replace=False), j] = 1.0
    matrix = np.hstack([matrix, np.eye(count)])
    costs = np.concatenate([rng.random(groups), np.full(count, 3.0)])
    return matrix, costs, np.ones(count), rng


def sparse(matrix):
    rows = [np.flatnonzero(column) for column in matrix.T]
    starts = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
    values = np.concatenate([matrix[r, j] for j, r in enumerate(rows)])
    return SparseColumns(starts, np.concatenate(rows).astype(np.int64), values)


@pytest.mark.parametrize("count", [1, 47, 48, 49, 150])
def test_normal_equations_are_those_of_numpy(count):
    rng = np.random.default_rng(count)
    places = np.sort(rng.random(count))[:, None]
    matrix = (np.abs(places - places.T) < 0.1) * rng.normal(size=(count, count)) + 3.0 * np.eye(
        count
    )
    weights = 10.0 ** rng.uniform(-4, 4, count)
    order = dissection_order(places, (matrix @ matrix.T) != 0.0)
    equations = NormalEquations(*sparse(matrix), order)
    right = rng.normal(size=count)
    for scaling in (weights, np.ones(count)):
        equations.factor(scaling)
        whole = (matrix * scaling) @ matrix.T
        solution = equations.solve(right)
        scale = np.abs(whole) @ np.abs(solution) + np.abs(right)  # what rounding is measured by
        assert (np.abs(whole @ solution - right) <= 1e-12 * scale.max()).all()
        expected = np.linalg.solve(whole, right)
        near = 1e-14 * np.linalg.cond(whole) * np.abs(expected).max()
        assert np.allclose(solution, expected, rtol=0.0, atol=near)
    assert 0.0 < equations.stored <= 1.0


def test_rows_that_depend_on_others_do_no_harm():
    matrix = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    equations = NormalEquations(*sparse(matrix), np.arange(3))
    equations.factor(np.ones(3))
    solution = equations.solve(np.array([2.0, 2.0, 5.0]))
    assert np.allclose((matrix @ matrix.T) @ solution, [2.0, 2.0, 5.0])


@pytest.mark.parametrize("seed", range(25))
def test_solutions_are_those_of_a_simplex_solver(seed):
    matrix, costs, right, rng = small_program(seed)
    order = rng.permutation(len(right))
    solution = solve_interior(sparse(matrix), costs, right, 1e-8, order)
    assert solution is not None
    assert solution.converged
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    for cost in costs:
        model.addVar(0.0, highspy.kHighsInf)
        model.changeColCost(model.getNumCol() - 1, cost)
    for row in matrix:
        places = np.flatnonzero(row)
        model.addRow(1.0, 1.0, len(places), places.astype(np.int32), row[places])
    model.run()
    best = model.getInfo().objective_function_value
    assert solution.cost == pytest.approx(best, rel=1e-6)
    assert solution.value == pytest.approx(best, rel=1e-6)
    assert (solution.shares >= 0.0).all()
    assert np.allclose(matrix @ solution.shares, right, atol=1e-6)
    assert (matrix.T @ solution.prices <= costs + 1e-6).all()


def test_it_can_be_stopped():
    matrix, costs, right, _ = small_program(1)
    assert (
        solve_interior(sparse(matrix), costs, right, 1e-8, np.arange(len(right)), lambda: True)
        is None
    )


OF_MANY_COLUMNS = """
import numpy as np
from microagg.bounds.interior import SparseColumns, solve_interior
rng = np.random.default_rng(0)
count, groups = 60, 24_000
rows = np.sort(rng.permuted(np.tile(np.arange(count), (groups, 1)), axis=1)[:, :3], axis=1)
columns = SparseColumns(
    np.arange(0, 3 * groups + 1, 3), rows.reshape(-1).astype(np.int64), np.ones(3 * groups)
)
costs = rng.random(groups)
solution = solve_interior(columns, costs, np.ones(count), 1e-6, np.arange(count))
print(solution.value.hex(), [x.hex() for x in solution.prices.tolist()])
"""


@pytest.mark.slow
def test_the_number_of_threads_of_linear_algebra_does_not_matter():
    """Sums of products were numpy's, whose order hangs on the threads above 10,000 numbers."""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", OF_MANY_COLUMNS],
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True, text=True, check=True,
        ).stdout
        for threads in ("1", "2")
    ]  # fmt: skip
    assert outputs[0] == outputs[1] != ""
