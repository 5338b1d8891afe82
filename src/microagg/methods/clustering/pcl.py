"""PCL: Lloyd's algorithm with a cost for every cell, chosen so that every cell gets its k records.

Source: Rebollo-Monedero, Forné and Soriano 2011 (Data and Knowledge Engineering 70),
probability-constrained Lloyd, as retold by Mortazavi, Jalili and Gohargazi 2013.

1. Start from the centroids of ⌊n / k⌋ cells, those of MDAV. 2. Every record goes to the cell for
which its squared distance from the centroid plus the cost of the cell is least.
   Raising the cost of a cell lowers the number of its records; the costs are adjusted until every
   cell has k to 2k - 1 records.
3. Compute the centroids. Repeat from 2 until no record moves, at most 100 times.

The costs of step 2 are found as the prices of a transportation problem (`kernels/assignment.py`),
whose solution is the assignment that the costs bring about: of all assignments with these sizes it
has the least sum of squares, and no record gains by another cell at these prices. So no turn raises
the loss, and it ends no worse than MDAV. Departures: the paper adjusts the costs by numerical
optimisation towards equal shares; here, for a finite number of records, they are found exactly, and
the n - k ⌊n / k⌋ records that are too many go where they cost least. Where a record is as well off
in two cells it stays where it is. The start from MDAV is ours: the retelling names none.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from microagg.kernels.assignment import assign
from microagg.kernels.sums import group_means, number_by_first_record
from microagg.methods.heuristics import labels_by
from microagg.methods.mdav.mdav import mdav
from microagg.methods.method import Method, Number, Partition, below_two_k
from microagg.problem.problem import Problem, Progress


def pcl(
    problem: Problem, *, rng: np.ndarray, progress: Progress | None = None, turns: int = 100
) -> np.ndarray:
    """Lloyd's algorithm from the centroids of MDAV, with sizes held by the costs of the cells."""
    points, k, n = problem.points, problem.k, len(problem.points)
    half = None if progress is None else lambda done, total: progress(done // 2, total)
    labels = labels_by(mdav, points, k, half)
    cells = int(labels.max()) + 1
    for turn in range(turns):
        if progress is not None:
            progress((n + n * turn // turns) // 2, n)
        moved = assign(points, group_means(points, labels, cells), labels, k, True)
        if np.array_equal(moved, labels):
            break
        labels = moved
    return number_by_first_record(labels)


PCL = Method(
    name="pcl",
    family="clustering",
    source="Rebollo-Monedero, Forné and Soriano 2011 (probability-constrained Lloyd)",
    summary="Lloyd's algorithm from MDAV, with a cost for each cell that keeps its size within k "
    "to 2k - 1",
    good_for="large k, where groups should be the cells of a quantizer with evenly filled cells",
    run=cast(Partition, pcl),
    complexity="O(n² d / k) a turn in practice, at most 100 turns",
    parameters=(
        Number(
            "turns",
            0,
            10_000,
            100,
            "maximum number of times the centroids are computed",
            whole=True,
        ),
    ),
    largest_group=below_two_k,
)
