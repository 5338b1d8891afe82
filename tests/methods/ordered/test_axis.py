"""Runs of k along an axis against plain transcriptions."""

import math

import numpy as np
import pytest

import plain
from microagg.errors import InputError
from microagg.methods.ordered.axis import AXIS_COLUMN, AXIS_PCA, AXIS_ZSCORE
from microagg.pipeline.run_method import run_method
from microagg.problem.problem import Problem


def runs(points: np.ndarray, keys: list[float], k: int) -> np.ndarray:
    """Every k in a row are a group, the last of which takes the remainder."""
    order = sorted(range(len(keys)), key=lambda record: (keys[record], record))
    groups = [order[start : start + k] for start in range(0, len(order), k)]
    if len(groups[-1]) < k:
        groups[-2:] = [groups[-2] + groups[-1]]
    return plain.labels_from_groups(len(points), groups)


def sums_of_zscores(points: np.ndarray) -> list[float]:
    keys = [0.0] * len(points)
    for column in points.T.tolist():
        if min(column) == max(column):
            continue
        mean = math.fsum(column) / len(column)
        deviation = math.sqrt(math.fsum((x - mean) * (x - mean) for x in column) / len(column))
        keys = [key + (x - mean) / deviation for key, x in zip(keys, column, strict=True)]
    return keys


@pytest.mark.parametrize("seed", range(2100, 2165))
def test_axis_column_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    column = seed % points.shape[1]
    labels = run_method(
        AXIS_COLUMN, Problem.of(points, k), AXIS_COLUMN.checked({"column": column}), seed=0
    ).labels
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, runs(points, points[:, column].tolist(), k))


@pytest.mark.parametrize("seed", range(2200, 2265))
def test_axis_zscore_equals_the_oracle(seed: int) -> None:
    points, k = plain.hard_problem(seed)
    labels = run_method(AXIS_ZSCORE, Problem.of(points, k), {}, seed=0).labels
    np.testing.assert_array_equal(labels, runs(points, sums_of_zscores(points), k))


@pytest.mark.parametrize("seed", range(65))
def test_axis_pca_equals_the_oracle(seed: int) -> None:
    """On data without ties: LAPACK rounds otherwise than we do."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(10, 150)), int(rng.integers(1, 8)), int(rng.integers(2, 6))
    points = rng.normal(size=(n, d)) * 2.0 ** np.arange(d)
    _, axes = np.linalg.eigh(np.cov(points, rowvar=False).reshape(d, d))
    axis = axes[:, -1] * np.sign(axes[np.argmax(np.abs(axes[:, -1])), -1])
    labels = run_method(AXIS_PCA, Problem.of(points, k), {}, seed=0).labels
    np.testing.assert_array_equal(labels, runs(points, (points @ axis).tolist(), k))


def test_a_column_that_is_not_there_is_refused() -> None:
    problem = Problem.of(np.zeros((6, 2)), 2)
    with pytest.raises(InputError, match="numbered from 0 to 1"):
        run_method(AXIS_COLUMN, problem, AXIS_COLUMN.checked({"column": 2}), seed=0)
    with pytest.raises(InputError):
        AXIS_COLUMN.checked({"column": -1})
    with pytest.raises(InputError):
        AXIS_COLUMN.checked({"column": 0.5})
