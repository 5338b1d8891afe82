"""Repair of a partition: groups that miss l, t or units are merged with others until none does.

1. A failing group looks at the groups with the nearest centroids: at all of a thousand, at 24 of
   very many. Merging groups A and B adds n_A n_B / (n_A + n_B) |c_A - c_B|² to the squared error
   and takes some of the shortfall of both away (see `kernels/guarantee_tables.py`). Of all
   candidates it wants the one with the least error for each unit of shortfall taken away; if none
   takes anything away, the one with the least error.
2. Of all failing groups, the one whose wish is cheapest is merged first, the others' wishes being
   looked at again where the group they want has changed. A merged group inherits the candidates
   of both its parts.

Groups only grow, so this ends: at the latest with the whole table as one group, which keeps every
promise that can be kept. Merging never hurts anybody else: two groups that keep l, t and units keep
them together. Ties go to the group formed first. O(n log n) in practice: all groups are scanned
only for one that has used up its candidates.
"""

from __future__ import annotations

import numpy as np

from microagg.kernels import sums
from microagg.kernels.merging import merge_failing
from microagg.problem.problem import Problem
from microagg.refine.local_near import nearest_centroids

FEWEST, LISTED = 24, 1_000_000  # candidates of a group at least; of all groups together about


def repair(problem: Problem, labels: np.ndarray) -> np.ndarray:
    """The partition itself if all its groups are accepted; else one in which failing groups are
    merged with others.

    >>> from microagg.table.confidential import Attribute
    >>> from microagg.guarantees.promise import Guarantees
    >>> from microagg.table.schema import Kind
    >>> ill = (Attribute("ill", Kind.NOMINAL, np.array([0, 0, 1, 1, 0, 1])),)
    >>> points = [[0.0], [0.1], [1.0], [1.1], [9.0], [9.1]]
    >>> problem = Problem.of(points, k=2, accept=Guarantees.of(l=2).accept(ill))
    >>> repair(problem, np.array([0, 0, 1, 1, 2, 2], np.int32)).tolist()
    [0, 0, 0, 0, 1, 1]
    """
    accept = problem.accept
    if accept is None:
        return labels
    lacking = accept.shortfalls(labels)
    groups = len(lacking)
    if groups < 2 or not lacking.any():
        return labels
    means = sums.group_means(problem.points, labels, groups)
    near = nearest_centroids(means, min(groups - 1, max(FEWEST, LISTED // groups)), problem.threads)
    failing = np.flatnonzero(lacking).astype(np.int32)
    heap = (
        np.empty(len(failing) + 1),
        np.empty(len(failing) + 1, np.int32),
        np.empty(len(failing) + 1, np.int64),
    )
    parent = np.arange(groups, dtype=np.int32)
    merge_failing(
        labels,
        means,
        sums.group_sizes(labels, groups),
        near,
        lacking,
        failing,
        parent,
        *heap,
        *accept.tables,
    )
    return sums.number_by_first_record(parent[labels])
