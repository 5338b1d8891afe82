"""Fixed-size runs along a single axis: one column, the first principal component, or the sum of
z-scores.

Sources: Defays and Nanopoulos 1993 (single axis), as reviewed by Domingo-Ferrer and Mateo-Sanz
2002.

1. Order the records by one column, by the first principal component, or by the sum of z-scores.
2. Every k in a row form a group; the last group takes the remainder as well.

Ties go to the lower record number. The component's sign is fixed by its largest loading, which is
positive; it decides which end takes the remainder.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from microagg.kernels import sums
from microagg.methods.method import Method, Number, Partition, below_two_k
from microagg.methods.ordered.orders import Order, by_column, by_component, by_zscores
from microagg.problem.problem import Problem, Progress

COLUMN = Number("column", 0, 1e6, 0, "the column to sort by, counted from 0", whole=True)


def runs_along(order: np.ndarray, k: int) -> np.ndarray:
    """Labels of runs of k along an order, the last one with the remainder."""
    n = len(order)
    labels = np.empty(n, np.int32)
    labels[order] = np.minimum(np.arange(n) // k, n // k - 1)
    return sums.number_by_first_record(labels)


def _runs(order: Order) -> Partition:
    def partition(
        problem: Problem, *, rng: np.ndarray, progress: Progress | None = None, **params: Any
    ) -> np.ndarray:
        labels = runs_along(order(problem, rng, progress, **params), problem.k)
        if progress is not None:
            progress(len(labels), len(labels))
        return labels

    partition.__doc__ = "Runs of k along an axis."
    return partition


SOURCE = "Defays and Nanopoulos 1993; Domingo-Ferrer and Mateo-Sanz 2002"

AXIS_COLUMN = Method(
    name="axis-column",
    family="ordered",
    source=SOURCE,
    summary="runs of k records, sorted by one column",
    good_for="columns that all correlate with one of them",
    run=_runs(by_column),
    complexity="O(n log n)",
    parameters=(COLUMN,),
    largest_group=below_two_k,
)

AXIS_PCA = Method(
    name="axis-pca",
    family="ordered",
    source=SOURCE,
    summary="runs of k records, sorted by the first principal component",
    good_for="columns that are strongly correlated; very fast",
    run=_runs(by_component),
    complexity="O(n log n + n d²)",
    largest_group=below_two_k,
)

AXIS_ZSCORE = Method(
    name="axis-zscore",
    family="ordered",
    source=SOURCE,
    summary="runs of k records, sorted by the sum of z-scores",
    good_for="columns that rise and fall together; very fast",
    run=_runs(by_zscores),
    complexity="O(n log n + n d)",
    largest_group=below_two_k,
)
