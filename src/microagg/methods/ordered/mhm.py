"""The optimal cut of an order: Hansen and Mukherjee's algorithm (HM), and its use on several
columns (MHM).

Sources: Hansen and Mukherjee 2003 (IEEE TKDE 15) for one column; Domingo-Ferrer, Martínez-Ballesté,
Mateo-Sanz and Sebé 2006 (VLDB Journal 15) for orders of records in several columns; Heaton 2012 for
tours.

1. Put the records into an order: by value (one column), or along a path through all of them
(`orders.py` has the paths). 2. Of all ways to cut the order into runs of k to 2k - 1 records, take
one with the least sum of squared errors: the
   shortest path in a graph whose edges are the runs. As with Mortazavi, Jalili and Gohargazi 2013,
   section 4.4, a run's error takes constant time; `kernels/cut.py` has it from sums along the order
   instead of from the run before it.

For one column the result is optimal among all partitions. An order that keeps the groups of another
method together loses no more than that method: so for `mdav`, `md` and `cbfs`.

Ties of the order go to the lower record number. The figures published for MDAV-, MD-, CBFS- and
NPN-MHM cannot be had from what the papers say (CBFS-MHM is printed worse than the groups it starts
from, which the cut of a path that keeps them together cannot be); the readings used here are those
of `orders.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from microagg.kernels import sums
from microagg.kernels.cut import optimal_cut
from microagg.methods.method import Choice, Method, Partition, below_two_k
from microagg.methods.ordered.axis import COLUMN
from microagg.methods.ordered.orders import ORDERS, order_named
from microagg.problem.problem import Problem, Progress


def cut_along(problem: Problem, order: np.ndarray, progress: Progress | None = None) -> np.ndarray:
    """The labels of the best runs along an order."""
    labels, _ = optimal_cut(problem.points, order, problem.k)
    if progress is not None:
        progress(len(labels), len(labels))
    return sums.number_by_first_record(labels)


def mhm(
    problem: Problem, *, rng: np.ndarray, progress: Progress | None = None, **params: Any
) -> np.ndarray:
    """Any order, cut optimally."""
    name, column = params.get("order", "mdav"), params.get("column", 0)
    return cut_along(problem, order_named(name, problem, rng, progress, column), progress)


def _along(order: str) -> Partition:
    def partition(
        problem: Problem, *, rng: np.ndarray, progress: Progress | None = None, **params: Any
    ) -> np.ndarray:
        return mhm(problem, rng=rng, progress=progress, order=order)

    partition.__doc__ = f"The order {order}, cut optimally."
    return partition


DATA_ORIENTED = "Domingo-Ferrer, Martínez-Ballesté, Mateo-Sanz and Sebé 2006"

HM = Method(
    name="hm",
    family="ordered",
    source="Hansen and Mukherjee 2003",
    summary="one column only, and optimal: no partition loses less",
    good_for="a single column: provably the lowest loss",
    run=_along("column"),
    complexity="O(n log n + n k)",
    largest_group=below_two_k,
    columns=1,
)

MHM_MDAV = Method(
    name="mhm-mdav",
    family="ordered",
    source=DATA_ORIENTED,
    summary="chains the groups of mdav and cuts the chain optimally",
    good_for="comparing: what an optimal cut adds to MDAV",
    run=_along("mdav"),
    complexity="O(n² / k) at worst, near O(n log n) on real data, and O(n k) for the cut",
    largest_group=below_two_k,
)

MHM_MD = Method(
    name="mhm-md",
    family="ordered",
    source=DATA_ORIENTED,
    summary="takes the groups of max-distance in the order they were formed and cuts it optimally",
    good_for="comparing: what an optimal cut adds to maximum distance",
    run=_along("md"),
    complexity="O(n³ / k) at worst, as max-distance",
    largest_group=below_two_k,
)

MHM_CBFS = Method(
    name="mhm-cbfs",
    family="ordered",
    source=DATA_ORIENTED,
    summary="chains the groups of cbfs and cuts the chain optimally",
    good_for="comparing: what an optimal cut adds to centroid-based groups",
    run=_along("cbfs"),
    complexity="O(n² / k) at worst, near O(n log n) on real data, and O(n k) for the cut",
    largest_group=below_two_k,
)

MHM_NPN = Method(
    name="mhm-npn",
    family="ordered",
    source=DATA_ORIENTED,
    summary="a path that always goes on to the nearest remaining record, cut optimally",
    good_for="comparing: the cheapest of the path orders",
    run=_along("npn"),
    complexity="O(n²) at worst, near O(n log n) on real data, and O(n k) for the cut",
    largest_group=below_two_k,
)

MHM_TSP = Method(
    name="mhm-tsp",
    family="ordered",
    source="Heaton 2012",
    summary="a short Hamiltonian path (greedy edges, 2-opt, Or-opt), cut optimally",
    good_for="the lowest loss from a single order of the records",
    run=_along("tsp"),
    complexity="O(n²) at worst, near O(n log n) on real data, and O(n k) for the cut",
    largest_group=below_two_k,
)

MHM = Method(
    name="mhm",
    family="ordered",
    source=f"Hansen and Mukherjee 2003; {DATA_ORIENTED}",
    summary="any order of the records, cut optimally",
    good_for="trying out orders: space-filling curves, paths, those of other methods",
    run=mhm,
    complexity="as the order, and O(n k) for the cut",
    parameters=(
        Choice("order", tuple(ORDERS), "mdav", "the order to cut"),
        COLUMN,
    ),
    largest_group=below_two_k,
)
