"""Individual ranking (ONEDIMS): every column is microaggregated on its own.

Source: Defays and Nanopoulos 1993 (individual ranking, also called blurring); Domingo-Ferrer and
Mateo-Sanz 2002.

1. For each column alone, sort the records by it; ties keep the order of the records. 2.
`groups="fixed"`: every k records in a row form a group, the last one takes what is left (k to 2k -
1).
   `groups="optimal"`: the runs of k to 2k - 1 with the least SSE (Hansen and Mukherjee 2003).

It loses little because it protects little: every value of a column is shared by k records, but a
combination of values may well belong to one record alone. The result is NOT k-anonymous; it has to
be asked for by name, and whatever is written of it says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from microagg.kernels.cut import optimal_cut
from microagg.kernels.sums import number_by_first_record
from microagg.methods.method import Choice, Method, below_two_k
from microagg.methods.ordered.axis import runs_along
from microagg.problem.problem import Problem, Progress


def individual_ranking(
    problem: Problem,
    *,
    rng: np.ndarray,
    progress: Progress | None = None,
    groups: str = "fixed",
    **params: Any,
) -> np.ndarray:
    """(n, d) labels: a partition for each column."""
    n, d = problem.points.shape
    labels = np.empty((n, d), np.int32)
    for j in range(d):
        column = np.ascontiguousarray(problem.points[:, j : j + 1])
        order = np.argsort(column[:, 0], kind="stable")
        if groups == "optimal":
            labels[:, j] = number_by_first_record(optimal_cut(column, order, problem.k)[0])
        else:
            labels[:, j] = runs_along(order, problem.k)
        if progress is not None:
            progress(n * (j + 1) // d, n)
    return labels


INDIVIDUAL_RANKING = Method(
    name="individual-ranking",
    family="ordered",
    source="Defays and Nanopoulos 1993; Domingo-Ferrer and Mateo-Sanz 2002",
    summary="groups each column on its own; NOT k-anonymous: protects single values, not their "
    "combinations",
    good_for="the lowest loss, where k is needed for single columns only, NOT for combinations",
    run=individual_ranking,
    complexity="O(d n log n)",
    parameters=(
        Choice(
            "groups", ("fixed", "optimal"), "fixed", "runs of k, or the optimal runs of k to 2k - 1"
        ),
    ),
    largest_group=below_two_k,
    scope="column",
    guarantees_k=False,
)
