"""Starts of auto: the best of several is no worse than any of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from microagg.kernels.random import seeded
from microagg.methods.lns.lns import ROUNDS, improved_start
from microagg.methods.registry import method_named
from microagg.methods.search import enforce
from microagg.methods.search.enforce import best_start, starts_along_paths
from microagg.pipeline.run_method import run_method
from microagg.problem.problem import Problem
from microagg.problem.watch import Watch
from microagg.refine.local import improve

RECORDS = enforce.FEWEST_FOR_PATHS + 12


def heavy_tailed(n: int) -> np.ndarray:
    rng = np.random.default_rng(4)
    return np.exp(1.5 * rng.normal(size=(n, 2)) @ rng.normal(size=(2, 3)))


def error_of(problem: Problem, labels: np.ndarray) -> float:
    return enforce._squared_error(problem, labels)


@pytest.mark.slow
def test_best_start_is_no_worse_than_a_path_or_trees() -> None:
    problem = Problem.of(heavy_tailed(RECORDS), 4, threads=1)
    best = error_of(problem, best_start(problem, seeded(1), Watch()))
    singles = [error_of(problem, improved_start(problem, Watch()))]
    for name in ("mhm-npn", "mhm-tsp", "mu-approx"):
        method = method_named(name)
        labels = run_method(method, problem, method.checked({}), seed=0).labels
        singles.append(error_of(problem, improve(problem, labels, rounds=ROUNDS)))
    assert best == pytest.approx(min(best, *singles), rel=1e-12)
    assert best < singles[0]


def test_start_draws_nothing() -> None:
    """So a search that follows is the same whatever starts were tried."""
    rng = seeded(1)
    before = rng.copy()
    best_start(Problem.of(heavy_tailed(RECORDS), 4, threads=1), rng, Watch())
    assert rng.tolist() == before.tolist()


@pytest.mark.parametrize(
    ("n", "columns", "along"),
    [
        (enforce.FEWEST_FOR_PATHS, 2, False),
        (RECORDS, 2, True),
        (enforce.MOST_FOR_PATHS, 2, True),
        (enforce.MOST_FOR_PATHS + 1, 2, False),
        (RECORDS, enforce.MOST_AXES + 1, False),
    ],
)
def test_paths_where_they_are_quick(n: int, columns: int, along: bool) -> None:
    problem = Problem(np.zeros((n, columns)), 3)
    assert starts_along_paths(problem) is along
    assert not starts_along_paths(replace(problem, weights=np.ones(n)))


def test_a_part_of_a_larger_table_has_no_paths() -> None:
    part = Problem(np.zeros((RECORDS, 2)), 3, of_records=enforce.MOST_FOR_PATHS + 1)
    assert not starts_along_paths(part)
    assert starts_along_paths(replace(part, of_records=enforce.MOST_FOR_PATHS))
